"""Everything that writes a file, each with contents that can be told apart."""

import io
import runpy
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from policysieve.bench.cells import keep_cell
from policysieve.exploration.learners import Exp4
from policysieve.log import Log
from policysieve.policies import PolicyTable
from policysieve.problem import Problem

__all__ = ["CONTENTS", "CONVERTED", "Writer", "all_writers"]

CONTENTS = 5  # different ones, which each writer can write
CONVERTED = {
    "csv": "log.csv",
    "jsonl": "log.jsonl",
    "vw": "log.vw",
    "vw-adf": "log.adf",
    "dsjson": "log.dsjson",
    "obp-csv": "log.obp.csv",
}
"""Formats that `policysieve convert` writes beside Parquet, and file names."""

_ACTIONS = 20
_CONTEXTS = 200
_ROUNDS = 2_000


@dataclass(frozen=True)
class Writer:
    """What writes one of `CONTENTS` contents to a file that has a folder of its own.

    Attributes
    ----------
    name : str
    path : Path
    write : callable
        Writes the content of this number, modulo `CONTENTS`.
    replaces : bool
        Whether it replaces a file. If not, an old one is removed first.
    """

    name: str
    path: Path
    write: Callable[[int], None]
    replaces: bool = True

    @property
    def folder(self) -> Path:
        """The folder that holds the file and nothing else."""
        return self.path.parent

    def left_over(self) -> list[Path]:
        """What else is in the folder."""
        return [path for path in self.folder.iterdir() if path != self.path]


def all_writers(folder: Path) -> Iterator[Writer]:
    """Every writer, with its inputs in `folder`."""

    def place(name: str, file: str) -> Path:
        path = folder / name.replace(" ", "-") / file
        path.parent.mkdir()
        return path

    tables, explorations, logs = _contents()
    inputs = folder / "inputs"
    inputs.mkdir()
    for k in range(CONTENTS):
        logs[k].save(inputs / f"{k}.parquet")
    tables[0].save(inputs / "table.npy")
    explorations[0].save(inputs / "design.npz")
    np.save(inputs / "contexts.npy", logs[0].contexts)

    path = place("PolicyTable.save", "table.npy")
    yield Writer("PolicyTable.save", path, _saving(tables, path))
    path = place("Exploration.save", "design.npz")
    yield Writer("Exploration.save", path, _saving(explorations, path))
    path = place("Log.save", "log.parquet")
    yield Writer("Log.save", path, _saving(logs, path))
    for name, file in CONVERTED.items():
        path = place(f"convert {name}", file)
        yield Writer(f"policysieve convert --to {name}", path, _converting(inputs, path, name))
    path = place("decide", "decisions.parquet")
    yield Writer("policysieve decide", path, _deciding(inputs, path), replaces=False)
    path = place("keep_cell", "cells") / "cell.json"
    path.parent.mkdir()
    yield Writer("results of benchmarks", path, _keeping(path))


def _contents() -> tuple[list[PolicyTable], list[Any], list[Log]]:
    """Tables, explorations for the first of them, and logs."""
    rng = np.random.default_rng(0)
    tables = [
        PolicyTable(rng.integers(0, _ACTIONS, (_CONTEXTS, 300)), n_actions=_ACTIONS)
        for _ in range(CONTENTS)
    ]
    logs = [
        Log(
            contexts=rng.integers(0, _CONTEXTS, _ROUNDS),
            actions=rng.integers(0, _ACTIONS, _ROUNDS),
            propensities=np.full(_ROUNDS, 1 / _ACTIONS),
            rewards=rng.integers(0, 2, _ROUNDS),
        )
        for _ in range(CONTENTS)
    ]
    learner = Exp4(tables[0], Problem(n_actions=_ACTIONS, epsilon=0.1, delta=0.1), rng=0)
    explorations = []
    for _ in range(CONTENTS):
        decisions = learner.ask(rng.integers(0, _CONTEXTS, 50))
        learner.tell(decisions, rng.integers(0, 2, 50))
        explorations.append(learner.exploration)
    return tables, explorations, logs


def _saving(things: list[Any], path: Path) -> Callable[[int], None]:
    return lambda k: things[k % CONTENTS].save(path)


def _converting(inputs: Path, path: Path, name: str) -> Callable[[int], None]:
    def convert(k: int) -> None:
        source = str(inputs / f"{k % CONTENTS}.parquet")
        options = ("--to", name, "--actions", str(_ACTIONS), "--overwrite", "--json")
        _run("convert", source, str(path), *options)

    return convert


def _deciding(inputs: Path, path: Path) -> Callable[[int], None]:
    def decide(k: int) -> None:
        path.unlink(missing_ok=True)  # which it does not replace
        files = (
            "--policies",
            str(inputs / "table.npy"),
            "--contexts",
            str(inputs / "contexts.npy"),
        )
        where = ("--out", str(path), "--seed", str(k % CONTENTS), "--json")
        _run("decide", str(inputs / "design.npz"), *files, *where)

    return decide


def _keeping(path: Path) -> Callable[[int], None]:
    def keep(k: int) -> None:
        found = {"values": [k % CONTENTS] * 5_000}
        keep_cell(path.parent.parent, path.stem, {"content": k % CONTENTS}, found)

    return keep


def _run(*arguments: str) -> None:
    """Run the program as from the command line; raises `OSError` where it says what is wrong."""
    with patch.object(sys, "argv", ["policysieve", *arguments]), redirect_stdout(io.StringIO()):
        try:
            runpy.run_module("policysieve", run_name="__main__", alter_sys=False)
        except SystemExit as ended:
            if ended.code:
                raise OSError(f"policysieve {arguments[0]} ended with {ended.code}") from None
        except Exception as error:
            raise RuntimeError(f"policysieve {arguments[0]} showed a traceback") from error
