"""Logs in parts: how much faster two workers are than one, what a part costs, and what moves."""

import pickle
import resource
import shutil
import sys
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from scipy.optimize import nnls

from policysieve.bench.scale.simulating import CONTEXTS, FLOOR, candidates, problem, simulated
from policysieve.evidence import FloorEvidence, select
from policysieve.evidence.digests import digests_for
from policysieve.exploration.learners import Uniform
from policysieve.log import AnyLog, LogFile
from policysieve.policies import Policies
from policysieve.problem import Problem
from policysieve.scale import RayEngine

__all__ = ["growth", "moved", "part_overhead", "workers"]

_PARTS = 200  # without work, to see what each costs


def workers(folder: Path, *, rounds: int, n_policies: int, counts: tuple[int, ...]) -> list[Any]:
    """Seconds of `select` over one log: in this process, and on clusters of some sizes.

    With a floor under the propensities only rewarded rounds come back; with all of them, as the
    exploration knows them, every round does, and the bets on it are made here, in order.
    """
    policies, asked = candidates(n_policies), problem()
    known: dict[str, dict[str, Any]] = {
        "floor": {"floor": FLOOR},
        "all": {"exploration": Uniform(policies, asked, rng=0).exploration},
    }
    found: list[Any] = []
    values = {}
    with RayEngine() as engine:
        paths = simulated(engine, folder / "workers", rounds)
    for kind, more in known.items():
        chosen = partial(_selected, policies, asked, more)
        chosen(paths[:1])  # what is compiled at first is no part of it
        seconds, values[kind] = _timed(partial(chosen, paths))
        found.append({"kind": kind, "workers": 0, "rounds": rounds, "seconds": seconds})
    for count in counts:
        with RayEngine(workers=count) as engine:
            for kind, more in known.items():
                chosen = partial(_selected, policies, asked, more)
                warm = engine.share(partial(chosen, paths[:1]), "policies")
                list(engine.map(_warmed, range(2 * count), warm))
                seconds, value = _timed(partial(chosen, engine.log(paths)))
                row = {"kind": kind, "workers": count, "rounds": rounds, "seconds": seconds}
                peak = max(engine.map(_peak, range(4 * count)))
                found.append({**row, "worker_bytes": peak, "same": value == values[kind]})
    shutil.rmtree(folder / "workers")
    return found


def part_overhead(_folder: Path, *, counts: tuple[int, ...]) -> dict[str, float]:
    """Milliseconds of a part without work, for clusters of some sizes."""
    found = {}
    for count in counts:
        with RayEngine(workers=count) as engine:
            list(engine.map(_nothing, range(4 * count)))  # workers start
            seconds, _ = _timed(partial(list, engine.map(_nothing, range(_PARTS))))
        found[str(count)] = 1e3 * seconds / _PARTS
    return found


def moved(folder: Path, *, n_policies: int) -> list[Any]:
    """Bytes that come back for each round, by what is known and what the candidates are."""
    found = []
    with RayEngine(workers=1) as engine:
        paths = simulated(engine, folder / "moved", 1 << 16)
    policies, asked = candidates(n_policies), problem()
    classes = {"a table": policies, "anything else": _Asked(policies)}
    for name, one in classes.items():
        evidence = FloorEvidence(one, asked)
        digests = digests_for(evidence, FLOOR, None)
        assert digests is not None
        pieces = list(islice(LogFile(paths).pieces(), 1))
        size = sum(len(pickle.dumps(digests.of(piece), protocol=5)) for piece in pieces)
        rounds = sum(map(len, pieces))
        each = size / rounds
        found.append(
            {"policies": name, "n_policies": n_policies, "bytes": each, "each": each / n_policies}
        )
    shutil.rmtree(folder / "moved")
    return found


def growth(
    folder: Path, *, rounds: tuple[int, ...], n_policies: tuple[int, ...], workers: int
) -> dict[str, Any]:
    """Seconds of `select` against rounds and policies, and a model that foretells every third.

    seconds = a + b rounds + c policies + d rewarded rounds x policies, with coefficients that are
    not negative, and the least relative error on the points that it is fitted on.
    """
    most, rows = max(rounds), []
    with RayEngine(workers=workers) as engine:
        paths = simulated(engine, folder / "growth", most)
        sizes = [len(LogFile(path)) for path in paths]
        known = {"floor": FLOOR}
        warm = engine.share(
            partial(_selected, candidates(100), problem(), known, paths[:1]), "policies"
        )
        list(engine.map(_warmed, range(2 * workers), warm))
        points = [(n, 100) for n in rounds] + [(min(most, 1_000_000), p) for p in n_policies]
        for n, count in points:
            some = paths[: int(np.searchsorted(np.cumsum(sizes), n)) + 1]
            log, policies = engine.log(some), candidates(count)
            seconds, _ = _timed(partial(_selected, policies, problem(), known, log))
            rows.append({"rounds": len(log), "n_policies": count, "seconds": seconds})
    shutil.rmtree(folder / "growth")
    return {"points": rows, "workers": workers, "contexts": CONTEXTS, **_fitted(rows)}


def _selected(policies: Policies, asked: Problem, known: dict[str, Any], log: AnyLog) -> float:
    """The value of what is selected, with its certificate."""
    return select(log, policies, asked, **known).value


def _fitted(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Coefficients from some of the points, and the errors at the others."""
    order = np.argsort([row["seconds"] for row in rows], kind="stable")
    held = {int(place) for place in order[1:-1:2]}
    used = [row for number, row in enumerate(rows) if number not in held]
    terms = np.array([_terms(row) for row in used])
    seconds = np.array([row["seconds"] for row in used])
    weights, _ = nnls(terms / seconds[:, None], np.ones(len(used)))
    for number, row in enumerate(rows):
        row["foretold"] = float(np.dot(_terms(row), weights))
        row["held_out"] = number in held
    errors = [abs(row["foretold"] / row["seconds"] - 1) for row in rows if row["held_out"]]
    names = ("start", "round", "policy", "round_and_policy")
    return {
        "model": dict(zip(names, map(float, weights), strict=True)),
        "largest_error": max(errors, default=0.0),
    }


def _terms(row: dict[str, Any]) -> list[float]:
    n, p = float(row["rounds"]), float(row["n_policies"])
    return [1.0, n, p, n * p]


class _Asked(Policies):
    """The same answers, worked out for each context instead of looked up in a table."""

    def __init__(self, table: Policies) -> None:
        super().__init__(
            n_policies=table.n_policies, n_actions=table.n_actions, slate_size=table.slate_size
        )
        self._table = table

    def check_contexts(self, contexts: Any) -> Any:
        """As the table has it."""
        return self._table.check_contexts(contexts)

    def _evaluate(self, contexts: Any, which: Any) -> Any:
        return self._table.actions(contexts, which)


def _warmed(_item: int, call: Callable[[], float]) -> float:
    """Compile and load all that a worker needs, before time is taken."""
    return call()


def _nothing(item: int) -> int:
    return item


def _peak(_item: int) -> int:
    """Most bytes that a worker has held."""
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _timed(call: Any) -> tuple[float, Any]:
    began = perf_counter()
    found = call()
    return perf_counter() - began, found
