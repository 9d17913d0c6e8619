"""Follow policies drawn by shares, mixed with uniform slates."""

from abc import abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.availability import Available
from policysieve.checks import number
from policysieve.exploration.designs.base import Array, Exploration
from policysieve.exploration.designs.parts import (
    ContextMemory,
    alias_of,
    checked_shares,
    even_share,
    spread,
)
from policysieve.kernels.slates import look_up, marginals, mixed_subsets, shown_marginals
from policysieve.policies import Answers

__all__ = ["MixedExploration", "MixtureExploration"]


@dataclass(frozen=True, eq=False)
class MixedExploration(Exploration):
    """With probability `mixing` a uniform slate, else what a design would show.

    Both of what is available, if not everything is.

    Attributes
    ----------
    policies : PolicyClass
    problem : Problem
    mixing : float
    variance_bound : float
        Bound on the variance term of every policy's estimate: one that was observed, which holds
        with probability at least 1 - delta/2, or by default `largest_gain`, which always holds. For
        a class whose best policy is searched for, only an estimate.
    """

    mixing: float = field(kw_only=True)
    variance_bound: float = field(kw_only=True, default=float("inf"))

    def __post_init__(self) -> None:
        super().__post_init__()
        set_ = object.__setattr__
        set_(self, "mixing", number("mixing", self.mixing, above=0, below=1, closed=True))
        self._check_floor()
        bound = number(
            "variance_bound", self.variance_bound, above=0, below=float("inf"), closed=True
        )
        set_(self, "variance_bound", self.largest_gain if bound == float("inf") else bound)

    @property
    def _draws(self) -> int:
        """A coin, the policy, and one for each item."""
        return self.problem.slate_size + 2

    @property
    def _floor(self) -> float:
        """Smallest propensity that an available item can have: mixing m/K."""
        return self.mixing * self.problem.slate_size / self.problem.n_actions

    @property
    def largest_gain(self) -> float:
        """The most one round can add to an estimate: B = mu K / (mixing m)."""
        return self.problem.unit.reward_cap / self.floor

    def _mixed(self, shown: Array, available: Available | None = None) -> Array:
        """W = mixing m/K(x) + (1-mixing) Q, in place of Q of available items."""
        shown *= 1 - self.mixing
        shown += even_share(self.problem, available, self.mixing)
        return np.minimum(shown, 1.0, out=shown)

    def _propensities(self, answers: Answers) -> Array:
        found, available = self._marginals(answers), answers.available
        found = self._mixed(found, available)
        return found if available is None else found * available.dense()

    @abstractmethod
    def _marginals(self, answers: Answers) -> Array:
        """Q(x, j): how often the design shows each item, shape (n, n_actions)."""


@dataclass(frozen=True, eq=False)
class MixtureExploration(MixedExploration):
    """With probability `mixing` a uniform slate, else the slate of a policy drawn from p_hat.

    Item j is shown at context x with propensity W(x, j) = mixing m/K + (1-mixing) Q(x, j), where
    Q(x, j) is the share of p_hat that shows j (docs/maths.md, "Low-variance exploration"). With all
    shares on one policy that is epsilon-greedy, with exponential weights as shares EXP4.

    Attributes
    ----------
    policies : Policies
    problem : Problem
    support : integer array
        Policies that may have a share, different ones.
    shares : float array of the same shape
        Their shares in p_hat; they sum to one.
    mixing : float
    variance_bound : float
        Bound on the variance term of every policy's estimate.
    """

    support: npt.NDArray[np.int32] = field(kw_only=True)
    shares: Array = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        support, shares = checked_shares(self.support, self.shares, self.policies)
        object.__setattr__(self, "support", support)
        object.__setattr__(self, "shares", shares)

    @cached_property
    def _alias(self) -> tuple[Array, npt.NDArray[np.int32]]:
        return alias_of(self.shares)

    @cached_property
    def _memory(self) -> ContextMemory:
        return ContextMemory(self.policies, self.problem.n_actions)

    def _choose(self, answers: Any, uniforms: Array) -> tuple[npt.NDArray[np.int32], Array]:
        table, rows, available = answers.table, answers.rows, answers.available
        slates = np.empty((len(rows), self.problem.slate_size), dtype=np.int32)
        mixed_subsets(
            uniforms,
            self.mixing if available is None else 0.0,
            self.problem.n_actions,
            table,
            rows,
            self.support,
            *self._alias,
            slates,
        )
        if available is not None:
            spread(slates, uniforms[:, 0] < self.mixing, uniforms[:, 2:], available)
        shown = np.empty(slates.shape)
        if self._memory.works(answers):
            (known,) = self._memory.at(
                rows, lambda fresh: (self._marginals(answers.at_numbers(fresh)),)
            )
            look_up(known, rows, slates, shown)
        else:
            shown_marginals(
                table, rows, self.support, self.shares, self.problem.n_actions, slates, shown
            )
        return slates, self._mixed(shown, available)

    def _marginals(self, answers: Any) -> Array:
        shown = np.zeros((len(answers), self.problem.n_actions))
        marginals(answers.table, answers.rows, self.support, self.shares, shown)
        return shown

    def __repr__(self) -> str:
        return (
            f"MixtureExploration({len(self.support)} of {self.policies.n_policies} policies, "
            f"mixing={self.mixing:.3g}, variance_bound={self.variance_bound:.3g})"
        )
