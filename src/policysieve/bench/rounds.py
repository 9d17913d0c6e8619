"""The rounds that a learner needs on a task, to be right and to prove it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import exp, log
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from policysieve.bench.provers import PROVERS
from policysieve.bench.racers import RACERS, Racer
from policysieve.planning import plan
from policysieve.policies import PolicyTable
from policysieve.problem import Problem
from policysieve.worlds import World

__all__ = [
    "COMPARED",
    "DELTA",
    "EPSILON",
    "Game",
    "Made",
    "Task",
    "budgets",
    "picking",
    "proving",
    "rounds_needed",
]

EPSILON = 0.05  # as a share of the most that a round can earn
DELTA = 0.05
_SHARE = 0.95  # of the seeds that have to be right
_FIRST, _GROWTH = 20, 1.5  # of the budgets
_BATCH = 50  # a batch is at most this part of the rounds so far
_SETTLED = 3  # budgets in a row at which enough seeds have to be right
COMPARED = 3000  # rounds up to which everybody plays every budget
_MORE = 4  # budgets that are added to those which did not settle it

Made = tuple[World, PolicyTable]


@dataclass(frozen=True)
class Task:
    """A world and the class to choose from.

    Attributes
    ----------
    name, summary : str
    build : callable
        From a seed to the world and the policies. Made-up worlds are new for each seed; those of a
        data set are the same, with other draws.
    fixed : bool
        Whether `build` does not depend on the seed.
    epsilon : float
    """

    name: str
    summary: str
    build: Callable[[int], Made]
    fixed: bool = False
    epsilon: float = EPSILON


class Game(NamedTuple):
    """A task with one seed, and the draws that a learner meets there."""

    world: World
    policies: PolicyTable
    problem: Problem
    seed: int
    rng: np.random.Generator

    @classmethod
    def of(cls, task: Task, seed: int) -> Self:
        """The game of a seed, from its beginning."""
        world, policies = task.build(seed)
        problem = world.problem(epsilon=task.epsilon, delta=DELTA)
        return cls(world, policies, problem, seed, np.random.default_rng(1000 + seed))

    def advance(self, learner: Any, stop: int) -> None:
        """Play up to a number of rounds, in batches that grow with the rounds."""
        while learner.rounds < stop and not learner.finished:
            size = min(stop - learner.rounds, max(1, learner.rounds // _BATCH))
            if learner.ask_limit is not None:
                size = max(1, min(size, learner.ask_limit))
            draw = self.world.draw(size, self.rng)
            decisions = learner.ask(draw.contexts)
            learner.tell(decisions, draw.rewards(decisions.actions))


def budgets(most: int) -> list[int]:
    """Numbers of rounds at which recommendations are looked at."""
    count = int(log(most / _FIRST) / log(_GROWTH) + 1e-9) + 1 if most >= _FIRST else 0
    return [round(_FIRST * _GROWTH**i) for i in range(count)]


def picking(
    task: Task, learner: str, *, seeds: int, most: int, compared: int | None = None
) -> dict[str, Any]:
    """True suboptimality of what a learner recommends, for each budget and seed.

    Parameters
    ----------
    task, learner, seeds
    most : int
        Rounds after which it is given up.
    compared : int, optional
        Rounds up to which every budget is played; beyond, until enough seeds are right at three in
        a row. By default 3,000 where each budget is a run of its own, else `most`.

    Returns
    -------
    dict
        ``budgets``; ``suboptimality``, one row per budget, one column per seed; ``right``, the
        share of the seeds that are within epsilon at each budget.
    """
    racer = RACERS[learner]
    stops = budgets(min(most, racer.most or most))
    if compared is None:
        compared = COMPARED if racer.planned else most
    made = [task.build(seed) for seed in range(1 if task.fixed else seeds)]
    same = replace(task, build=lambda seed: made[0 if task.fixed else seed])
    rows: list[list[float]] = []
    tried = sum(stop <= compared for stop in stops)
    while len(rows) < len(stops) and not (len(rows) >= tried and _settled(rows, task.epsilon)):
        if racer.planned:
            stop = stops[len(rows)]
            rows.append([_play(same, racer, seed, [stop])[0] for seed in range(seeds)])
        else:  # from the beginning: only one learner is in memory
            part = stops[: max(tried, len(rows) + _MORE)]
            each = [_play(same, racer, seed, part) for seed in range(seeds)]
            rows = [list(row) for row in zip(*each, strict=True)]
    return {
        "budgets": stops[: len(rows)],
        "suboptimality": rows,
        "right": [_share(row, task.epsilon) for row in rows],
    }


def rounds_needed(stops: list[int], shares: list[float]) -> float | None:
    """Rounds at which 95% of the seeds are right, at that budget and the next two that were tried.

    Between budgets the share is interpolated linearly in the logarithm of the rounds.

    Returns
    -------
    float or None
        None if there is no such budget.
    """
    enough = np.asarray(shares) >= _SHARE
    for first in range(len(stops)):
        if enough[first : first + _SETTLED].all():
            break
    else:
        return None
    if first == 0:
        return float(stops[0])
    low, high = shares[first - 1], shares[first]
    part = (_SHARE - low) / (high - low)
    return exp(log(stops[first - 1]) + part * (log(stops[first]) - log(stops[first - 1])))


def proving(task: Task, learner: str, *, seeds: int, most: int) -> dict[str, Any]:
    """Rounds until epsilon is certified, for each seed (None beyond `most`), and the plan's."""
    rounds, wrong = [], 0
    planned = 0
    for seed in range(seeds):
        game = Game.of(task, seed)
        planned = plan(game.problem, game.policies.n_policies).total_rounds
        leader, needed, *others = PROVERS[learner](game, most)
        values = game.world.values(others[0] if others else game.policies)
        rounds.append(needed)
        wrong += needed is not None and values.max() - values[leader] > task.epsilon
    median = float(np.median([np.inf if n is None else n for n in rounds]))
    return {
        "rounds": rounds,
        "median": None if median == np.inf else median,
        "false": int(wrong),
        "planned": planned,
    }


def _share(suboptimalities: list[float], epsilon: float) -> float:
    return float(np.mean(np.asarray(suboptimalities) <= epsilon + 1e-12))


def _settled(rows: list[list[float]], epsilon: float) -> bool:
    """Whether enough seeds were right at the last three budgets."""
    last = rows[-_SETTLED:]
    return len(last) == _SETTLED and all(_share(row, epsilon) >= _SHARE for row in last)


def _play(task: Task, racer: Racer, seed: int, stops: list[int]) -> list[float]:
    """True suboptimality of the recommendation at the stops."""
    game = Game.of(task, seed)
    values = game.world.values(game.policies)
    learner = racer.make(game.policies, game.problem, stops[-1], seed)
    found = []
    for stop in stops:
        game.advance(learner, stop)
        found.append(float(values.max() - _value(learner, game.world, values)))
    return found


def _value(learner: Any, world: World, values: npt.NDArray[np.float64]) -> float:
    policy = learner.recommend().policy
    if isinstance(policy, int):
        return float(values[policy])
    if isinstance(policy, PolicyTable):  # not of the class
        return float(world.values(policy)[0])
    return float(policy.average(values))
