"""Worlds on which the terms of the theorems can be seen one by one, with known answers."""

from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.bench.rounds import Made
from policysieve.policies import PolicyTable
from policysieve.worlds import HiddenArm, RareContext, SparseSynthetic
from policysieve.worlds.base import RewardsOf
from policysieve.worlds.finite import FiniteWorld

__all__ = [
    "KnownMeans",
    "arms_among_many",
    "both_terms",
    "common_lists",
    "contest",
    "hidden_arm",
    "rare_context",
    "sparse_synthetic",
]

_CONTEXTS = 400  # of a contest
_SYNTHETIC_CONTEXTS = 500  # as in the race


class KnownMeans(FiniteWorld):
    """0/1 rewards with given probabilities.

    Parameters
    ----------
    means : float array of shape (n_contexts, n_actions)
        At most `sparsity` of them positive at each context.
    sparsity : float
    probabilities : float array of shape (n_contexts,), optional
        Of the contexts; equal by default.
    slate_size : int
    coins : integer array of shape (n_actions,), optional
        Actions with the same number share a coin: their rewards come together. Different coins are
        independent. One for all by default, which single actions cannot tell from many.
    """

    def __init__(
        self,
        means: npt.NDArray[np.float64],
        *,
        sparsity: float,
        probabilities: npt.NDArray[np.float64] | None = None,
        slate_size: int = 1,
        coins: npt.NDArray[np.intp] | None = None,
    ) -> None:
        n_contexts, n_actions = means.shape
        super().__init__(
            np.arange(n_contexts),
            n_actions=n_actions,
            slate_size=slate_size,
            sparsity=sparsity,
            probabilities=probabilities,
        )
        self._means = means
        self._coins = np.zeros(n_actions, dtype=np.intp) if coins is None else coins

    def variances(
        self, policies: PolicyTable, propensities: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]:
        """Each policy's E[sum over j in pi(x) of r(j)/W(x,j)], exactly, from all W(x,j)."""
        rows = np.arange(self.n_contexts)
        chance = self._probabilities
        shares = np.full(len(rows), 1 / len(rows)) if chance is None else chance
        terms = (self._means / propensities)[rows[:, None, None], policies.actions(rows)]
        return np.asarray(shares @ terms.sum(axis=2))

    def _expected_rewards(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
        return self._means[rows]

    def _rewards_of(self, rows: npt.NDArray[np.intp], rng: np.random.Generator) -> RewardsOf:
        uniforms = rng.random((len(rows), int(self._coins.max()) + 1))

        def rewards_of(actions: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
            thrown = np.take_along_axis(uniforms, self._coins[actions], axis=1)
            return (thrown < self._means[rows[:, None], actions]).astype(np.float64)

        return rewards_of


def both_terms(
    seed: int, *, n_actions: int, sparsity: int, epsilon: float, n_close: int | None = None
) -> Made:
    """A rare context and close arms, and only who gets both right is epsilon-optimal.

    Context 0 comes with probability 2 epsilon and rewards one action of K. Context 1 has s arms
    with reward probability 1/2, one of them 1/2 + 2 epsilon. Policies choose any action at the
    first and any of the arms at the second. With uniform actions the arms take about K/epsilon^2
    rounds; policies that are followed tell them apart in s/epsilon^2, and the rare context takes
    K/epsilon. With `n_close`, only so many arms have 1/2, and the others nothing.
    """
    rng = np.random.default_rng(seed)
    means = np.zeros((2, n_actions))
    means[0, rng.integers(n_actions)] = 1.0
    arms = rng.permutation(n_actions)[:sparsity]
    means[1, arms[: None if n_close is None else 1 + n_close]] = 0.5
    means[1, arms[0]] += 2 * epsilon
    chances = np.array([2 * epsilon, 1 - 2 * epsilon])
    world = KnownMeans(means, sparsity=float(sparsity), probabilities=chances)
    first, second = np.meshgrid(np.arange(n_actions), arms, indexing="ij")
    pool = rng.permutation(np.stack([first.ravel(), second.ravel()]), axis=1)
    return world, PolicyTable(pool, n_actions=n_actions)


def contest(seed: int, *, n_actions: int, n_policies: int, epsilon: float) -> Made:
    """Policies that are right at half of the contexts, one at 2 epsilon more, all at random."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_actions, size=_CONTEXTS)
    n_right = np.full(n_policies, _CONTEXTS // 2)
    n_right[rng.integers(n_policies)] += round(2 * epsilon * _CONTEXTS)
    order = rng.permuted(np.tile(np.arange(_CONTEXTS)[:, None], n_policies), axis=0)
    off = np.where(order < n_right, 0, rng.integers(1, n_actions, size=order.shape))
    means = np.zeros((_CONTEXTS, n_actions))
    means[np.arange(_CONTEXTS), labels] = 1.0
    pool = (labels[:, None] + off) % n_actions
    return KnownMeans(means, sparsity=1.0), PolicyTable(pool, n_actions=n_actions)


def arms_among_many(
    seed: int, *, n_actions: int, sparsity: int, epsilon: float
) -> tuple[KnownMeans, PolicyTable]:
    """One context and a policy for each action: s arms with probability 1/2, the others nothing.

    One of the arms has 1/2 + 2 epsilon. Following all policies alike is no better than uniform
    actions, so that a design has to be learnt.
    """
    rng = np.random.default_rng(seed)
    means = np.zeros((1, n_actions))
    arms = rng.permutation(n_actions)[:sparsity]
    means[0, arms] = 0.5
    means[0, arms[0]] += 2 * epsilon
    world = KnownMeans(means, sparsity=float(sparsity))
    return world, PolicyTable(np.arange(n_actions)[None], n_actions=n_actions)


def common_lists(
    seed: int, *, n_actions: int, slate_size: int, sparsity: int, epsilon: float
) -> Made:
    """One context and s/m lists without a common item, each rewarded as a whole or not at all.

    The chance is 1/2, for one list 1/2 + 2 epsilon/m, which is worth 2 epsilon. Rewards that come
    together are the worst case of lists: the second moment of an estimate is m times its variance
    term.
    """
    rng = np.random.default_rng(seed)
    n_lists = sparsity // slate_size
    items = rng.permutation(n_actions)[: n_lists * slate_size].reshape(n_lists, slate_size)
    means = np.zeros((1, n_actions))
    means[0, items] = 0.5
    means[0, items[0]] += 2 * epsilon / slate_size
    coins = np.zeros(n_actions, dtype=np.intp)
    coins[items] = np.arange(n_lists)[:, None]
    world = KnownMeans(means, sparsity=float(sparsity), slate_size=slate_size, coins=coins)
    pool = rng.permutation(items)[None]
    return world, PolicyTable(pool[:, :, 0] if slate_size == 1 else pool, n_actions=n_actions)


def rare_context(seed: int, *, n_actions: int, epsilon: float) -> Made:
    """The world behind the lower bound of order K/epsilon."""
    world = RareContext(n_actions=n_actions, epsilon=epsilon, rng=seed)
    return world, PolicyTable(world.pool, n_actions=n_actions)


def hidden_arm(seed: int, **settings: Any) -> Made:
    """The worlds behind the lower bounds of order s min(s, m)/epsilon^2."""
    world = HiddenArm(**settings, rng=seed)
    return world, PolicyTable(world.pool, n_actions=world.n_actions)


def sparse_synthetic(seed: int, *, n_actions: int, n_policies: int, profile: str) -> Made:
    """The made-up worlds of the race, for any number of policies."""
    world = SparseSynthetic(
        n_actions=n_actions,
        n_contexts=_SYNTHETIC_CONTEXTS,
        n_policies=n_policies,
        profile=profile,
        rng=seed,
    )
    return world, PolicyTable(world.pool, n_actions=n_actions)
