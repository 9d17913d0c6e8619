"""The exploration that phase 1 finds: follow p_hat, mixed with uniform slates."""

import os
import uuid
from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from policysieve.checks import as_rng
from policysieve.exploration.decisions import Decisions
from policysieve.exploration.design_file import DesignFile
from policysieve.exploration.marginals import Marginals
from policysieve.kernels.subsets import (
    alias_table,
    look_up,
    marginals,
    mixed_subsets,
    shown_marginals,
)
from policysieve.policies import AnyPolicies, Policies
from policysieve.problem import Problem

__all__ = ["Exploration", "MixedExploration"]

_STREAM = 2  # of random numbers: others than those of worlds and learners


class MixedExploration(ABC):
    """With probability `mixing` a uniform slate, else what a design would show.

    Attributes
    ----------
    policies : PolicyClass
    problem : Problem
    mixing : float
    variance_bound : float
        Observed bound on the variance term of every policy's estimate; it holds with probability
        at least 1 - delta/2. For a class whose best policy is searched for, only an estimate.
    """

    def __init__(
        self,
        policies: AnyPolicies,
        problem: Problem,
        *,
        mixing: float,
        variance_bound: float,
        rng: Any,
    ) -> None:
        self.policies = policies
        self.problem = problem
        self.mixing = mixing
        self.variance_bound = variance_bound
        self._rng = as_rng(rng, stream=_STREAM)
        self._issuer, self._issued = uuid.uuid4().hex, 0

    @property
    def draws_per_round(self) -> int:
        """Uniform random numbers that one round uses."""
        return self.problem.slate_size + 2

    @property
    def floor(self) -> float:
        """Smallest propensity that an item can have, for `Evidence`: mixing m/K."""
        return self.mixing * self.problem.slate_size / self.problem.n_actions

    @property
    def largest_gain(self) -> float:
        """The most one round can add to an estimate: B = mu K / (mixing m)."""
        q = self.problem
        return q.reward_cap * q.n_actions / (self.mixing * q.slate_size)

    def ask(self, contexts: Any) -> Decisions:
        """Decide what to show at the contexts, and with which propensities."""
        x = self.policies.check_contexts(contexts)
        actions, propensities = self.choose(x, self._rng.random((len(x), self.draws_per_round)))
        self._issued += 1
        return Decisions(
            contexts=x.copy(),
            actions=actions,
            propensities=propensities,
            batch=self._issued - 1,
            rows=np.arange(len(x)),
            issuer=self._issuer,
        )

    @abstractmethod
    def propensities(self, contexts: Any) -> npt.NDArray[np.float64]:
        """W(x, j) of every item at the contexts, shape (n, n_actions); rows sum to m."""

    @abstractmethod
    def choose(
        self, contexts: npt.NDArray[Any], uniforms: npt.NDArray[np.float64]
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]:
        """Slates and propensities at checked contexts, from (n, draws_per_round) uniforms."""

    def _mixed(self, shown: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        share = self.mixing * self.problem.slate_size / self.problem.n_actions
        shown *= 1 - self.mixing
        shown += share
        return np.minimum(shown, 1.0, out=shown)


class Exploration(MixedExploration):
    """With probability `mixing` a uniform slate, else the slate of a policy drawn from p_hat.

    Item j is shown at context x with propensity W(x, j) = mixing m/K + (1-mixing) Q(x, j), where
    Q(x, j) is the share of p_hat that shows j (docs/maths.md, "Low-variance exploration").

    Attributes
    ----------
    policies : Policies
    problem : Problem
    support : integer array
        Policies with a positive share, increasing.
    shares : float array of the same shape
        Their shares in p_hat; they sum to one.
    mixing : float
    variance_bound : float
        Observed bound on the variance term of every policy's estimate; it holds with probability
        at least 1 - delta/2.
    """

    policies: Policies

    def __init__(
        self,
        policies: Policies,
        problem: Problem,
        *,
        support: npt.NDArray[np.int32],
        shares: npt.NDArray[np.float64],
        mixing: float,
        variance_bound: float,
        rng: Any = None,
    ) -> None:
        super().__init__(policies, problem, mixing=mixing, variance_bound=variance_bound, rng=rng)
        self.support = support
        self.shares = shares
        self._accept, self._alias = np.empty(len(shares)), np.empty(len(shares), np.int32)
        alias_table(shares, self._accept, self._alias)
        self._marginals = Marginals(policies)

    @property
    def ranges(self) -> npt.NDArray[np.float64]:
        """Largest importance-weighted reward of each policy, for `Evidence`."""
        followed = np.zeros(self.policies.n_policies)
        followed[self.support] = self.shares
        return self.problem.reward_cap / (self.floor + (1 - self.mixing) * followed)

    def propensities(self, contexts: Any) -> npt.NDArray[np.float64]:
        """W(x, j) of every item at the contexts, shape (n, n_actions); rows sum to m."""
        table, rows = self.policies.action_rows(self.policies.check_contexts(contexts))
        shown = np.zeros((len(rows), self.problem.n_actions))
        marginals(table, rows, self.support, self.shares, shown)
        return self._mixed(shown)

    def choose(
        self, contexts: npt.NDArray[Any], uniforms: npt.NDArray[np.float64]
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]:
        """Slates and propensities at checked contexts, from (n, draws_per_round) uniforms."""
        table, rows = self.policies.action_rows(contexts)
        slates = np.empty((len(rows), self.problem.slate_size), dtype=np.int32)
        mixed_subsets(
            uniforms,
            self.mixing,
            self.problem.n_actions,
            table,
            rows,
            self.support,
            self._accept,
            self._alias,
            slates,
        )
        shown = np.empty(slates.shape)
        if self._marginals.remembered:
            known, slots, _ = self._marginals.at(table, rows, self.support, self.shares)
            look_up(known, slots, slates, shown)
        else:
            shown_marginals(
                table, rows, self.support, self.shares, self.problem.n_actions, slates, shown
            )
        return slates, self._mixed(shown)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the design as one file; an existing one is replaced only when all is written."""
        DesignFile(
            problem=self.problem,
            fingerprint=self.policies.fingerprint(),
            mixing=self.mixing,
            variance_bound=self.variance_bound,
            support=self.support,
            shares=self.shares,
        ).write(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], policies: Policies, *, rng: Any = None) -> Self:
        """Read a design written by `save`, for the policies that it was made for.

        Raises
        ------
        FileFormatError
            If the file is not a design of this version.
        InvalidArgumentError
            If the policies are others, as far as their `fingerprint` tells.
        """
        file = DesignFile.read(path)
        file.check_policies(policies)
        return cls(
            policies,
            file.problem,
            support=file.support,
            shares=file.shares,
            mixing=file.mixing,
            variance_bound=file.variance_bound,
            rng=rng,
        )

    def __repr__(self) -> str:
        return (
            f"Exploration({len(self.support)} of {self.policies.n_policies} policies, "
            f"mixing={self.mixing:.3g}, variance_bound={self.variance_bound:.3g})"
        )
