"""Are certificates true, and how soon do they come? Counted and measured, for every method."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from policysieve.bench.cells import Cell, Progress, Runner, code_version, run_cells
from policysieve.bench.certificates.floors import (
    EXPLORERS,
    FLOOR_METHODS,
    UNMET,
    WAYS,
    with_true_floor,
    with_unmet,
)
from policysieve.bench.certificates.nulls import NULLS
from policysieve.bench.certificates.watching import DELTA, Verdict
from policysieve.bench.rounds import Game, Made, Task
from policysieve.evidence import Evidence, FloorEvidence
from policysieve.exploration import Exploration, design
from policysieve.exploration.learners import Uniform
from policysieve.log import Log
from policysieve.policies import PolicyTable
from policysieve.worlds import SparseSynthetic

__all__ = [
    "METHODS",
    "MOST_ROUNDS",
    "SOURCES",
    "count",
    "limit",
    "measure_certificates",
    "rounds_to_certify",
]

METHODS = ("capped", *FLOOR_METHODS)
SOURCES = ("uniform", "low_variance")
MOST_ROUNDS = 300_000
_N_ACTIONS = (10, 100, 1000)
_AT_ONCE = 250  # runs of a cell
_LEVEL = 0.999  # of limits


class _Counted(NamedTuple):
    """A game that is played many times, and what its row says of it."""

    table: str
    row: dict[str, str]
    play: Callable[[int], Verdict]

    @property
    def name(self) -> str:
        """Of its cells."""
        return "-".join([self.table, *self.row.values()]).replace(" ", "_").replace(",", "")


def measure_certificates(
    *,
    runs: int,
    seeds: int,
    folder: Path | None = None,
    progress: Progress = lambda _done, _all, _name: None,
    runner: Runner | None = None,
) -> dict[str, Any]:
    """Count false certificates in `runs` runs, and measure rounds to certify for `seeds` seeds.

    Cells in `folder` are not run again.

    Returns
    -------
    dict
        ``code`` that measured; ``false``: a row for each null world; ``floors``: for each method
        with a true floor, and explorer; ``unmet``: for each log with propensities that were not
        met, and what was known of it; ``power``: for each number of actions and source of data,
        with the median rounds of each method.
    """
    games = list(_games())
    counts = [
        (game, first, min(runs, first + _AT_ONCE))
        for game in games
        for first in range(0, runs, _AT_ONCE)
    ]
    races = [(k, source, seed) for k in _N_ACTIONS for source in SOURCES for seed in range(seeds)]
    cells = [
        Cell(f"{game.name}-{first}", {"last": last}, count, (game.play, first, last))
        for game, first, last in counts
    ]
    cells += [
        Cell(
            f"power-{k}-{source}-{seed}",
            {"most": MOST_ROUNDS},
            rounds_to_certify,
            (k, source, seed),
        )
        for k, source, seed in races
    ]
    found = run_cells(cells, folder=folder, progress=progress, runner=runner)
    tables: dict[str, list[dict[str, Any]]] = {"false": [], "floors": [], "unmet": []}
    for game in games:
        parts = [found[f"{game.name}-{first}"] for first in range(0, runs, _AT_ONCE)]
        sums = {key: sum(part[key] for part in parts) for key in Verdict._fields}
        tables[game.table].append(
            {**game.row, "runs": runs, **sums, "delta": DELTA, "limit": limit(runs)}
        )
    return {
        "code": code_version(),
        **tables,
        "power": [
            _power(k, source, [found[f"power-{k}-{source}-{seed}"] for seed in range(seeds)])
            for k in _N_ACTIONS
            for source in SOURCES
        ],
    }


def count(play: Callable[[int], Verdict], first: int, last: int) -> dict[str, int]:
    """In how many runs, with seeds from `first` to before `last`, each thing was seen."""
    verdicts = [play(seed) for seed in range(first, last)]
    return dict(
        zip(Verdict._fields, (sum(seen) for seen in zip(*verdicts, strict=True)), strict=True)
    )


def limit(runs: int) -> int:
    """How many false runs delta allows, exact at level 0.999."""
    return int(stats.binom.ppf(_LEVEL, runs, DELTA))


def rounds_to_certify(
    n_actions: int, source: str, seed: int, *, most: int = MOST_ROUNDS
) -> dict[str, Any]:
    """Rounds until each method certifies epsilon on the same data; None beyond the limit.

    50 policies of close value, epsilon = delta = 0.05. Low-variance data is uniform for the first
    20 K rounds, then follows the design made from them.
    """
    task = Task("close", "50 policies of close value", partial(_close_policies, n_actions))
    game = Game.of(task, seed)
    capped = Evidence(game.policies, game.problem)
    floored = {m: FloorEvidence(game.policies, game.problem, method=m) for m in FLOOR_METHODS}
    done: dict[str, int | None] = dict.fromkeys(METHODS)
    for log, exploration in _data(game, source, most):
        if done["capped"] is None:
            capped.add(log, exploration)
            if capped.certificate().certified:
                done["capped"] = capped.rounds
        for method, evidence in floored.items():
            if done[method] is None:
                evidence.add(log, floor=exploration.floor)
                if evidence.eliminate().certified:
                    done[method] = evidence.rounds
        if None not in done.values():
            break
    return {"rounds": done}


def _games() -> Iterator[_Counted]:
    for world, play in NULLS.items():
        yield _Counted("false", {"world": world}, play)
    for method in FLOOR_METHODS:
        for explorer in EXPLORERS:
            row = {"method": method, "explorer": explorer}
            yield _Counted("floors", row, partial(with_true_floor, method, explorer))
    for log in UNMET:
        for way in WAYS:
            yield _Counted("unmet", {"log": log, "known": way}, partial(with_unmet, log, way))


def _power(n_actions: int, source: str, found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    each = {
        m: [np.inf if f["rounds"][m] is None else f["rounds"][m] for f in found] for m in METHODS
    }
    medians = {method: float(np.median(rounds)) for method, rounds in each.items()}
    return {
        "n_actions": n_actions,
        "source": source,
        "seeds": len(found),
        "max_rounds": MOST_ROUNDS,
        "rounds": {m: None if value == np.inf else value for m, value in medians.items()},
    }


def _close_policies(n_actions: int, seed: int) -> Made:
    world = SparseSynthetic(
        n_actions=n_actions, n_contexts=500, n_policies=50, profile="close", rng=seed
    )
    return world, PolicyTable(world.pool, n_actions=n_actions)


def _data(game: Game, source: str, most: int) -> Iterator[tuple[Log, Exploration]]:
    """Pieces of the log that grow by a tenth, and what decided each."""
    policies, problem, seed = game.policies, game.problem, game.seed
    explore = 20 * problem.n_actions if source == "low_variance" else most + 1
    learner = Uniform(policies, problem, rounds=2 * most, rng=seed)
    designed: Exploration | None = None
    played, rng = 0, np.random.default_rng(seed)
    while played < most:
        if played >= explore and designed is None:
            designed = design(learner.log, policies, problem, rng=seed)
        size = max(100, played // 10)
        if designed is None:
            size = min(size, explore - played)
        draw = game.world.draw(size, game.rng)
        if designed is None:
            decisions = learner.ask(draw.contexts)
        else:
            decisions = designed.ask(draw.contexts, rng=rng)
        rewards = draw.rewards(decisions.actions)
        if designed is None:
            learner.tell(decisions, rewards)
        log = Log(
            contexts=decisions.contexts,
            actions=decisions.actions,
            propensities=decisions.propensities,
            rewards=rewards,
        )
        yield log, learner.exploration if designed is None else designed
        played += size
