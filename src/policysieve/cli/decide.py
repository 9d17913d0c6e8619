"""``policysieve decide``: what to show at new contexts, according to a design."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from policysieve.cli.options import as_floor, json_option
from policysieve.cli.output import print_json, print_text

if TYPE_CHECKING:
    import numpy as np

    from policysieve.exploration import Exploration
    from policysieve.log import Rounds

__all__ = ["decide"]

_FORMATS = ("parquet", "csv")
_BATCH = 1 << 16  # contexts decided at once


@click.command(short_help="Decide what to show at new contexts.")
@click.argument("design", type=click.Path(dir_okay=False))
@click.option(
    "--policies",
    required=True,
    help="The policies that the design was made for, as design took them.",
)
@click.option(
    "--contexts",
    required=True,
    type=click.Path(dir_okay=False),
    help="A .npy array, a file of contexts with or without ids and times, or a log.",
)
@click.option(
    "--out",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the decisions here, to a new file: .parquet or .csv.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    help="For the same decisions again; take another one for each batch of contexts.",
)
@json_option()
def decide(
    design: str, policies: str, contexts: str, out: Path, seed: int | None, as_json: bool
) -> None:
    """Draw actions for contexts as DESIGN says, and write them with their propensities.

    The file is a log whose rewards are missing: fill them in, and it is one that select takes.
    Rows are in the order of the contexts, with their ids and times, if these have any. Contexts are
    read in pieces, so there may be more than fit into memory.
    """
    from policysieve.checks import as_rng
    from policysieve.cli.loading import load_policies
    from policysieve.exploration.designs.saving import ExplorationFile

    file = ExplorationFile.read(design)
    problem = file.problem
    candidates = load_policies(policies, problem.n_actions, problem.slate_size)
    exploration = file.exploration(candidates)
    rounds, smallest = _write(exploration, contexts, out, as_rng(seed, stream=2))
    floor = exploration.floor
    if as_json:
        print_json(
            {
                "rounds": rounds,
                "smallest_propensity": smallest,
                "floor": floor,
                "out": str(out),
            }
        )
        return
    print_text(
        f"{rounds:,} decisions, none with a propensity below {as_floor(smallest)}. Their rewards "
        f"are missing: fill them in, then select with --floor {as_floor(floor)}, below which the "
        "design has no propensity."
    )
    click.echo(f"Decisions: {out}")


def _write(
    exploration: "Exploration", contexts: str, out: Path, rng: "np.random.Generator"
) -> tuple[int, float]:
    """Write the decisions; returns how many there are, and their smallest propensity."""
    from policysieve.errors import InvalidArgumentError
    from policysieve.formats.registry import find_format

    format = find_format(out, None)
    if format.name not in _FORMATS:
        raise InvalidArgumentError(f"--out must end in .parquet or .csv, got {out}")
    if out.exists():
        raise InvalidArgumentError(
            f"--out must be a new file, {out} exists, and what it says may have been shown "
            "already; remove it first or name another file"
        )
    count, smallest = 0, 1.0

    def counted(batches: Iterator["Rounds"]) -> Iterator["Rounds"]:
        nonlocal count, smallest
        for rounds in batches:
            count += len(rounds)
            smallest = min(smallest, float(rounds.propensities.min()))
            yield rounds

    batches = _decisions(exploration, contexts, rng)
    first = next(batches, None)
    if first is None:
        raise InvalidArgumentError(f"--contexts must hold at least one, {contexts} is empty")
    format.not_held(first.layout)
    format.save(out, counted(chain([first], batches)), first.layout)
    return count, smallest


def _decisions(
    exploration: "Exploration", source: str, rng: "np.random.Generator"
) -> Iterator["Rounds"]:
    import numpy as np

    from policysieve.log import Rounds

    for contexts, ids, times in _contexts(source):
        made = exploration.ask(contexts, rng=rng)
        rewards = np.full(made.actions.shape, np.nan)
        yield Rounds(made.contexts, made.actions, made.propensities, rewards, ids, times)


def _contexts(source: str) -> Iterator[tuple[Any, Any, Any]]:
    """Contexts of a .npy array or of another file, in pieces, with the ids and times of that."""
    from policysieve.formats import open_contexts

    if not source.endswith(".npy"):
        for rounds in open_contexts(source):
            yield rounds.contexts, rounds.ids, rounds.times
        return
    array = _array(source)
    for start in range(0, len(array), _BATCH):
        yield array[start : start + _BATCH], None, None


def _array(path: str) -> Any:
    import numpy as np

    from policysieve.errors import FileFormatError

    if not Path(path).is_file():
        raise FileNotFoundError(f"no contexts at {path}")
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        if not array.ndim:
            raise ValueError("it has no rows")
    except (ValueError, EOFError, OSError, AttributeError) as error:
        raise FileFormatError(
            f"{path} is not a readable .npy array with a row for each context ({error})"
        ) from error
    return array
