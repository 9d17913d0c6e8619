"""What exploration by optimization plays: a closed form of the weights' marginal at a context."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from policysieve.checks import flag, number
from policysieve.errors import InvalidArgumentError
from policysieve.exploration.designs.base import Array, Exploration
from policysieve.exploration.designs.parts import ContextMemory, check_weights
from policysieve.kernels.by_optimization import closed_forms, real_valued_forms
from policysieve.kernels.slates import draw_actions, look_up
from policysieve.policies import Answers
from policysieve.policies.weights import Weights
from policysieve.sizes import LEAST_PRICE

__all__ = ["OptimizedExploration", "Solution"]

_BLOCK = 1 << 22  # probabilities held at once when contexts are not remembered


class Solution(NamedTuple):
    """What was solved for at contexts: arrays of shape (., K), (., K) and (.,), and their rows."""

    w: Array
    q: Array
    aside: Array
    rows: npt.NDArray[np.intp]

    def at(self, actions: npt.NDArray[np.int32]) -> tuple[Array, Array, Array]:
        """The w, q and what was set aside, for single actions (n, 1): arrays of shape (n,)."""
        w_a, q_a = np.empty(actions.shape), np.empty(actions.shape)
        look_up(self.w, self.rows, actions, w_a)
        look_up(self.q, self.rows, actions, q_a)
        return w_a[:, 0], q_a[:, 0], self.aside[self.rows]


@dataclass(frozen=True, eq=False)
class OptimizedExploration(Exploration):
    """Play q, the closed form of the marginal w of the weights at a context; single actions only.

    For 0/1 rewards q_a = (w_a + kappa)(1 - w_a - kappa)/(kappa G) (docs/maths.md, "Exploration by
    optimization"). Policies show available actions only, so w and q are 0 elsewhere.

    Attributes
    ----------
    policies : PolicyClass
    problem : Problem
    weights : Weights
        The reference weights.
    information_weight : float
        G.
    binary : bool
        Whether rewards are 0 or 1, or anything in [0, 1].
    """

    weights: Weights = field(kw_only=True)
    information_weight: float = field(kw_only=True)
    binary: bool = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.problem.slate_size != 1:
            raise InvalidArgumentError(
                f"slate_size must be 1 for exploration by optimization, got "
                f"{self.problem.slate_size}"
            )
        check_weights(self.weights, self.policies)
        binary = flag("binary", self.binary)
        price = number(
            "information_weight",
            self.information_weight,
            above=LEAST_PRICE * self.problem.n_actions * (1 - 1e-12),
            below=float("inf"),
            hint="the closed form needs a little more than the number of actions",
        )
        self.__dict__.update(information_weight=price, binary=binary)
        self._check_floor()

    @property
    def _draws(self) -> int:
        """One, for the action."""
        return 1

    @property
    def _floor(self) -> float:
        """1/q <= G D/(D - 2) with D = G - K + 2 for 0/1 rewards, and G for others."""
        price = self.information_weight
        if not self.binary:
            return 1 / price
        room = price - self.problem.n_actions + 2
        return (room - 2) / (price * room)

    def solve(self, answers: Answers) -> Solution:
        """The closed form at the contexts of the answers."""
        if self._memory.works(answers):
            rows = answers.numbers
            found = self._memory.at(rows, lambda fresh: self._solved(answers.at_numbers(fresh)))
        else:
            rows, found = np.arange(len(answers)), self._solved(answers)
        w, q, aside = found
        return Solution(w, q, aside[:, 0], rows)

    @cached_property
    def _memory(self) -> ContextMemory:
        return ContextMemory(self.policies, self.problem.n_actions, self.problem.n_actions, 1)

    def _solved(self, answers: Answers) -> tuple[Array, ...]:
        w = self.weights.marginals(answers)
        q, aside = np.empty_like(w), np.empty(len(w))
        forms = closed_forms if self.binary else real_valued_forms
        forms(w, np.arange(len(w)), self.information_weight, q, aside)
        return w, q, aside[:, None]

    def _choose(self, answers: Answers, uniforms: Array) -> tuple[npt.NDArray[np.int32], Array]:
        n = len(answers)
        actions, propensities = np.empty((n, 1), dtype=np.int32), np.empty((n, 1))
        remembered = self._memory.works(answers)
        block = n if remembered else max(1, _BLOCK // self.problem.n_actions)
        for start in range(0, n, max(1, block)):
            part = slice(start, start + block)
            solution = self.solve(answers.take(part))
            draw_actions(solution.q, solution.rows, uniforms[part, 0], actions[part])
            propensities[part, 0] = solution.at(actions[part])[1]
        return actions, np.minimum(propensities, 1.0)

    def _propensities(self, answers: Answers) -> Array:
        solution = self.solve(answers)
        return np.minimum(solution.q[solution.rows], 1.0)

    def __repr__(self) -> str:
        return (
            f"OptimizedExploration({self.policies.size_in_words}, "
            f"information_weight={self.information_weight:.4g})"
        )
