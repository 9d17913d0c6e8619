"""Logs in parts: how much faster two workers are than one, what a part costs, and what moves."""

import resource
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from policysieve.bench.scale.growth import CountingEngine, timed, usual
from policysieve.bench.scale.simulating import FLOOR, candidates, problem, simulated
from policysieve.evidence import select
from policysieve.exploration.learners import Uniform
from policysieve.log import AnyLog
from policysieve.policies import Policies
from policysieve.problem import Problem
from policysieve.scale import RayEngine

__all__ = ["moved", "part_overhead", "workers"]

Known = dict[str, dict[str, Any]]  # arguments of select, by what is known of propensities

_PARTS = 200  # without work, to see what each costs


def workers(
    folder: Path, *, rounds: dict[str, int], n_policies: int, counts: tuple[int, ...]
) -> list[Any]:
    """Seconds of `select` over one log: in this process, and on clusters of some sizes.

    With a floor under the propensities only rewarded rounds come back; with all of them, as the
    exploration knows them, every round does, and the bets on it are made here, in order. `rounds`
    says how many for each of the two.
    """
    policies, asked = candidates(n_policies), problem()
    known: Known = {
        "floor": {"floor": FLOOR},
        "all": {"exploration": Uniform(policies, asked, rng=0).exploration},
    }
    chosen = {kind: partial(_selected, policies, asked, known[kind]) for kind in rounds}
    found: list[Any] = []
    with RayEngine() as engine:
        paths = {kind: simulated(engine, folder, rounds[kind]) for kind in rounds}
        few = simulated(engine, folder, 10_000)
    values = {}
    for kind, call in chosen.items():
        call(few)  # what is compiled at first is no part of it
        seconds, values[kind], _ = usual(partial(call, paths[kind]))
        found.append({"kind": kind, "workers": 0, "rounds": rounds[kind], "seconds": seconds})
    for count in counts:
        for kind, call in chosen.items():
            with CountingEngine(workers=count) as engine:
                list(engine.map(_called, range(2 * count), engine.share(partial(call, few), "it")))
                engine.moved = 0
                seconds, value, times = usual(partial(call, engine.log(paths[kind])))
                row = {"kind": kind, "workers": count, "rounds": rounds[kind], "seconds": seconds}
                row |= {"bytes_moved": engine.moved // times, "same": value == values[kind]}
                found.append({**row, "worker_bytes": max(engine.map(_peak, range(4 * count)))})
    return found


def part_overhead(_folder: Path, *, counts: tuple[int, ...]) -> dict[str, float]:
    """Milliseconds of a part without work, for clusters of some sizes."""
    found = {}
    for count in counts:
        with RayEngine(workers=count) as engine:
            list(engine.map(_nothing, range(4 * count)))  # workers start
            seconds, _ = timed(partial(list, engine.map(_nothing, range(_PARTS))))
        found[str(count)] = 1e3 * seconds / _PARTS
    return found


def moved(folder: Path, *, rounds: int, n_policies: tuple[int, ...]) -> list[Any]:
    """Bytes that move for each round, by what is known and what the candidates are."""
    found, asked = [], problem()
    with CountingEngine(workers=1) as engine:
        log = engine.log(simulated(engine, folder, rounds))
        for count in n_policies:
            table = candidates(count)
            for name, one in {"a table": table, "anything else": _Asked(table)}.items():
                exploration = Uniform(one, asked, rng=0).exploration
                known: Known = {"floor": {"floor": FLOOR}, "all": {"exploration": exploration}}
                for kind, more in known.items():
                    engine.moved = 0
                    _selected(one, asked, more, log)
                    row = {"kind": kind, "policies": name, "n_policies": count}
                    found.append({**row, "bytes": engine.moved / rounds})
    return found


def _selected(policies: Policies, asked: Problem, known: dict[str, Any], log: AnyLog) -> float:
    """The value of what is selected, with its certificate."""
    return select(log, policies, asked, **known).value


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


def _called(_item: int, call: Callable[[], float]) -> float:
    """Compile and load all that a worker needs, before time is taken."""
    return call()


def _nothing(item: int) -> int:
    return item


def _peak(_item: int) -> int:
    """Most bytes that a worker has held."""
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
