"""What is varied: one quantity at a time, in worlds that show the terms of the theorems."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from math import log
from typing import Any, NamedTuple

from policysieve import theory
from policysieve.bench.rounds import DELTA, Made, Task
from policysieve.bench.scaling import worlds
from policysieve.bench.scaling.closer import rounds_of_contest
from policysieve.problem import Problem

__all__ = ["LEARNERS", "PROVERS", "RATES", "SWEEPS", "Point", "Sweep"]

Rate = Callable[[Problem, float], float | None]

LEARNERS = ("Uniform", "LowVarianceExploration", "ExplorationByOptimization", "Sieve")
PROVERS = ("Uniform", "Sieve")
_LISTS = tuple(name for name in LEARNERS if name != "ExplorationByOptimization")
RATES: dict[str, Rate] = dict.fromkeys(LEARNERS, theory.rate_sparse)
RATES["Uniform"] = theory.rate_uniform
"""The theorems' rates for any world."""

_RARE: dict[str, Rate] = dict.fromkeys(LEARNERS, theory.lower_bound_rare_context)


class Point(NamedTuple):
    """One world of a sweep.

    Attributes
    ----------
    x : float
        Where it lies on the axis.
    settings : dict
        Of the world.
    task : Task
    problem : Problem
    log_n_policies : float
    """

    x: float
    settings: dict[str, Any]
    task: Task
    problem: Problem
    log_n_policies: float


@dataclass(frozen=True)
class Sweep:
    """Worlds that differ in one quantity.

    Attributes
    ----------
    name, summary : str
    axis : str
        What is varied, in words.
    build : callable
        From a seed and settings to the world and the policies.
    varied : str
        Which setting; ``epsilon`` is drawn as 1/epsilon.
    fixed : mapping
        The other settings.
    small, full : tuple
        Values of the varied one.
    learners : tuple of str
    rates : mapping
        What theory says about these worlds, for each learner. The Sieve has no theorem of its own
        and is held against the paper's.
    lower_bound : callable or None
        The lower bound that this world is an instance of.
    closer : callable or None
        What is expected of the rounds until right more closely than by the rates.
    kinds : tuple of str
        What rounds are counted until: "right", "certified".
    """

    name: str
    summary: str
    axis: str
    build: Callable[..., Made]
    varied: str
    fixed: Mapping[str, Any]
    small: tuple[float, ...]
    full: tuple[float, ...]
    learners: tuple[str, ...] = LEARNERS
    rates: Mapping[str, Rate] = field(default_factory=lambda: RATES)
    lower_bound: Rate | None = None
    closer: Rate | None = None
    kinds: tuple[str, ...] = ("right", "certified")

    def lines(self) -> list[tuple[str, str]]:
        """Kinds and learners to measure: all can be right, and some can prove it."""
        return [
            (kind, learner)
            for kind in self.kinds
            for learner in self.learners
            if kind == "right" or learner in PROVERS
        ]

    def points(self, *, full: bool) -> list[Point]:
        """The worlds, in the order of the axis."""
        return [self._point(value) for value in (self.full if full else self.small)]

    def _point(self, value: float) -> Point:
        settings = {**self.fixed, self.varied: value}
        build = partial(self.build, **settings)
        task = Task(self.name, self.summary, build, epsilon=settings["epsilon"])
        world, policies = build(0)
        problem = world.problem(epsilon=task.epsilon, delta=DELTA)
        x = 1 / value if self.varied == "epsilon" else float(value)
        return Point(x, settings, task, problem, log(policies.n_policies))


def _all_sweeps() -> list[Sweep]:
    epsilons, actions = "1/epsilon", "actions K"
    return [
        Sweep(
            "epsilon_few",
            "both terms, 8 actions, 2 arms",
            epsilons,
            worlds.both_terms,
            "epsilon",
            {"n_actions": 8, "sparsity": 2},
            small=(0.2, 0.14, 0.1, 0.07),
            full=(0.2, 0.14, 0.1, 0.07, 0.05, 0.035),
        ),
        Sweep(
            "epsilon_many",
            "both terms, 128 actions, 2 arms",
            epsilons,
            worlds.both_terms,
            "epsilon",
            {"n_actions": 128, "sparsity": 2},
            small=(0.2, 0.14, 0.1, 0.07),
            full=(0.2, 0.14, 0.1, 0.07, 0.05, 0.035),
        ),
        Sweep(
            "actions_few",
            "both terms, epsilon 0.05, 2 arms: K below s/epsilon = 40",
            actions,
            worlds.both_terms,
            "n_actions",
            {"epsilon": 0.05, "sparsity": 2},
            small=(2, 4, 8, 16),
            full=(2, 3, 4, 6, 8, 12, 16),
        ),
        Sweep(
            "actions_many",
            "both terms, epsilon 0.2, 2 arms: K above s/epsilon = 10",
            actions,
            worlds.both_terms,
            "n_actions",
            {"epsilon": 0.2, "sparsity": 2},
            small=(32, 64, 128, 256),
            full=(32, 64, 128, 256, 512, 1024),
        ),
        Sweep(
            "sparsity",
            "both terms, 32 actions, epsilon 0.14",
            "arms s",
            worlds.both_terms,
            "sparsity",
            {"n_actions": 32, "epsilon": 0.14},
            small=(2, 4, 8, 16),
            full=(2, 4, 8, 16, 32),
        ),
        Sweep(
            "sparsity_one_rival",
            "the same with one close rival",
            "arms s",
            worlds.both_terms,
            "sparsity",
            {"n_actions": 32, "epsilon": 0.14, "n_close": 1},
            small=(2, 4, 8, 16),
            full=(2, 4, 8, 16, 32),
            learners=PROVERS,
            kinds=("certified",),
        ),
        Sweep(
            "policies",
            "a contest, 10 actions, epsilon 0.1",
            "policies",
            worlds.contest,
            "n_policies",
            {"n_actions": 10, "epsilon": 0.1},
            small=(10, 30, 100, 300),
            full=(10, 30, 100, 300, 1000, 3000),
            closer=rounds_of_contest,
        ),
        Sweep(
            "lists_short",
            "lists whose items are rewarded together, 64 actions, s = 16, epsilon 0.2",
            "list size m, below s",
            worlds.common_lists,
            "slate_size",
            {"n_actions": 64, "sparsity": 16, "epsilon": 0.2},
            small=(1, 2, 4, 8),
            full=(1, 2, 4, 8),
            learners=_LISTS,
        ),
        Sweep(
            "lists_long",
            "hidden arms in two pairs, 64 actions, s = 2, epsilon 0.05",
            "list size m, from s on",
            worlds.hidden_arm,
            "slate_size",
            {"n_actions": 64, "sparsity": 2, "epsilon": 0.05},
            small=(2, 4, 8, 16),
            full=(2, 4, 8, 16, 32),
            learners=_LISTS,
            lower_bound=theory.lower_bound_hidden_arm,
        ),
        Sweep(
            "rare_context",
            "a rare context, epsilon 0.1",
            actions,
            worlds.rare_context,
            "n_actions",
            {"epsilon": 0.1},
            small=(16, 32, 64, 128),
            full=(16, 32, 64, 128, 256, 512),
            rates=_RARE,
            lower_bound=theory.lower_bound_rare_context,
        ),
        Sweep(
            "hidden_arm",
            "four hidden arms among 16 actions",
            epsilons,
            worlds.hidden_arm,
            "epsilon",
            {"n_actions": 16, "sparsity": 4},
            small=(0.2, 0.14, 0.1, 0.07),
            full=(0.2, 0.14, 0.1, 0.07, 0.05, 0.035),
            lower_bound=theory.lower_bound_hidden_arm,
        ),
    ]


SWEEPS = {sweep.name: sweep for sweep in _all_sweeps()}
"""Every sweep by its name."""
