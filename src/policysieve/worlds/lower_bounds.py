"""The worlds on which no learner can be quick: what proves the lower bounds."""

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.checks import as_rng, integer, number
from policysieve.errors import InvalidArgumentError
from policysieve.worlds.base import RewardsOf
from policysieve.worlds.finite import FiniteWorld

__all__ = ["HiddenArm", "RareContext"]

_POOL_SIZE = 200  # policies of a slate world's pool, at most


class RareContext(FiniteWorld):
    """A context that comes seldom, with one rewarded action: the K / epsilon lower bound.

    Context 0 comes with probability 2 epsilon and rewards one hidden action, uniformly random.
    Context 1 comes otherwise and rewards nothing. A policy that misses the hidden action is
    2 epsilon worse than the best. The class meant is all functions,
    ``TabularPolicies(n_contexts=2, n_actions=K)``.

    Parameters
    ----------
    n_actions : int
        Number K of actions.
    epsilon : float
        Below 1/2.
    rng : seed or numpy Generator
        Where the hidden action comes from.

    Attributes
    ----------
    optimum : float
        Value of the best policy, 2 epsilon.
    pool : integer array of shape (2, K)
        The policies that matter: policy a shows a at context 0, and 0 at context 1.
    lower_bound_rounds : float
        (3K/4 - 1) / (2 epsilon): with fewer rounds no learner that returns a policy finds an
        epsilon-optimal one with probability 3/4. It can visit context 0 only so often, each visit
        rules out one action, and one guess is free.
    """

    def __init__(self, *, n_actions: int, epsilon: float, rng: Any = 0) -> None:
        k = integer("n_actions", n_actions, low=2)
        epsilon = number(
            "epsilon", epsilon, above=0, below=0.5, hint="the rare context comes with 2 epsilon"
        )
        super().__init__(
            np.arange(2),
            n_actions=k,
            slate_size=1,
            sparsity=1.0,
            probabilities=np.array([2 * epsilon, 1 - 2 * epsilon]),
        )
        self.optimum = 2 * epsilon
        self.lower_bound_rounds = (3 * k / 4 - 1) / (2 * epsilon)
        self.pool = np.zeros((2, k), dtype=np.min_scalar_type(k - 1))
        self.pool[0] = np.arange(k)
        self._hidden = int(as_rng(rng).integers(k))

    def _expected_rewards(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
        rewards = np.zeros((len(rows), self.n_actions))
        rewards[rows == 0, self._hidden] = 1.0
        return rewards

    def _rewards_of(self, rows: npt.NDArray[np.intp], rng: np.random.Generator) -> RewardsOf:
        rare = (rows == 0)[:, None]
        return lambda actions: ((actions == self._hidden) & rare).astype(np.float64)


class HiddenArm(FiniteWorld):
    """One context and arms of nearly the same value: the s / epsilon^2 lower bound.

    Which arms matter, and which of those are better, is hidden: they lie anywhere among the K.

    ===================  ====================================================  =================
    case                 rewards                                               optimum
    ===================  ====================================================  =================
    m = 1, s = 1         exactly one of two arms, with probability             1/2 + epsilon
                         1/2 + epsilon the better one
    m = 1, s >= 2        s independent arms, probability 1/2, one of them      1/2 + 2 epsilon
                         1/2 + 2 epsilon
    2 <= m <= s/2        m groups of floor(s/m) independent items,             m/2 + 4 epsilon
                         probability 1/2, one per group 1/2 + 4 epsilon/m
    m >= s, m >= 2       exactly one of each of s pairs, with probability      s/2 + 2 epsilon
                         1/2 + 2 epsilon/s the better one; m - s dummies
    ===================  ====================================================  =================

    All other arms never earn anything. In the last case the optimum is that of the policies meant
    there, which show one item of each pair and the dummies: for m > s a slate that shows both items
    of a pair instead of a dummy earns more.

    Parameters
    ----------
    n_actions : int
        Number K of actions.
    slate_size : int
        Number m of actions shown.
    sparsity : float
        Bound s on the rewards of one round, a whole number. s/2 < m < s is not covered.
    epsilon : float
        Small enough that all probabilities are at most 1.
    rng : seed or numpy Generator
        Where the hidden positions come from.

    Attributes
    ----------
    optimum : float
        Value of the best policy.
    pool : integer array of shape (1, n_policies), or (1, n_policies, m) for m > 1
        For m = 1 every arm. For slates the policies that show one item of each group or pair: all
        of them if there are at most 200, else the best one among 199 random others.
    """

    def __init__(
        self,
        *,
        n_actions: int,
        slate_size: int = 1,
        sparsity: float,
        epsilon: float,
        rng: Any = 0,
    ) -> None:
        k = integer("n_actions", n_actions, low=2)
        m = integer("slate_size", slate_size, low=1, high=k)
        whole = isinstance(sparsity, float) and sparsity.is_integer()
        s = integer("sparsity", int(sparsity) if whole else sparsity, low=1, high=k)
        if s / 2 < m < s:
            raise InvalidArgumentError(
                "slate_size and sparsity must satisfy 2 * slate_size <= sparsity or slate_size >= "
                f"sparsity, got slate_size={m} and sparsity={s}; no hard instance is known between"
            )
        super().__init__(np.zeros(1, dtype=np.int64), n_actions=k, slate_size=m, sparsity=s)

        paired = m >= s
        n_groups, size = (s, 2) if paired else (m, s // m)
        n_dummies = m - n_groups
        if n_groups * size + n_dummies > k:
            raise InvalidArgumentError(
                f"n_actions must be at least {n_groups * size + n_dummies} for slate_size={m} and "
                f"sparsity={s}, which need {n_groups} groups of {size} items and {n_dummies} "
                f"dummies, got {k}"
            )
        gain = (1 if paired else 2) if m == 1 else (2 if paired else 4)
        epsilon = number(
            "epsilon",
            epsilon,
            above=0,
            below=n_groups / (2 * gain),
            closed=True,
            hint="or the best items would be rewarded with a probability above 1",
        )
        self.optimum = n_groups / 2 + gain * epsilon
        best_chance = 1 / 2 + gain * epsilon / n_groups

        # Item j is rewarded in a round iff low[j] <= u[source[j]] < high[j], where u holds one
        # uniform number for each pair, or for each independent item. Group by group, the first item
        # is the better one.
        generator = as_rng(rng)
        items = generator.permutation(k)[: n_groups * size + n_dummies]
        groups = items[: n_groups * size].reshape(n_groups, size)
        self._source = np.zeros(k, dtype=np.intp)
        self._low, self._high = np.zeros(k), np.zeros(k)
        if paired:
            self._source[groups] = np.arange(n_groups)[:, None]
            self._low[groups[:, 1]], self._high[groups[:, 1]] = best_chance, 1.0
        else:
            self._source[groups] = np.arange(n_groups * size).reshape(n_groups, size)
            self._high[groups] = 1 / 2
        self._high[groups[:, 0]] = best_chance
        self._n_sources = int(self._source.max()) + 1
        pool = (
            np.arange(k)[:, None]
            if m == 1
            else _one_of_each(groups, items[n_groups * size :], generator)
        )
        pool = pool.astype(np.min_scalar_type(k - 1))[None]
        self.pool = pool[:, :, 0] if m == 1 else pool

    def _expected_rewards(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
        return np.tile(self._high - self._low, (len(rows), 1))

    def _rewards_of(self, rows: npt.NDArray[np.intp], rng: np.random.Generator) -> RewardsOf:
        uniform = rng.random((len(rows), self._n_sources))

        def rewards_of(actions: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
            u = np.take_along_axis(uniform, self._source[actions], axis=1)
            return ((self._low[actions] <= u) & (u < self._high[actions])).astype(np.float64)

        return rewards_of


def _one_of_each(
    groups: npt.NDArray[np.int64], dummies: npt.NDArray[np.int64], rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Slates with one item of each group and the dummies, shuffled; all, or the best and others."""
    n_groups, size = groups.shape
    if n_groups * math.log(size) <= math.log(_POOL_SIZE):
        picks = np.array(list(itertools.product(range(size), repeat=n_groups)))
    else:
        seen: set[tuple[int, ...]] = {
            (0,) * n_groups
        }  # the first item of each group: the best slate
        while len(seen) < _POOL_SIZE:
            seen.add(tuple(map(int, rng.integers(size, size=(n_groups,)))))
        picks = np.array(sorted(seen))
    slates = groups[np.arange(n_groups), rng.permutation(picks)]
    return np.concatenate([slates, np.tile(dummies, (len(slates), 1))], axis=1)
