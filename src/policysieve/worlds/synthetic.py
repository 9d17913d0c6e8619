"""Made-up worlds with sparse rewards, and the policies to choose from."""

from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.checks import as_rng, flag, integer, number, one_of
from policysieve.worlds.base import RewardsOf
from policysieve.worlds.finite import FiniteWorld

__all__ = ["SparseSynthetic"]

_PROFILES = ("one_good", "close", "clusters", "confusable")
_BLOCK = 1 << 20  # numbers held at once while the pool is made

_GOOD = 0.8  # how often the one good policy is right
_CLOSE = (0.5, 0.6)  # how often policies of close value are right
_LEVELS = (0.2, 1.0)  # fractional rewards
_N_FEATURES = 16
_SPREAD = 0.2  # of features around their cluster's centre, which has length 1
_PERTURBATIONS = (0.1, 3.0)  # of the centres that policies believe in
_PLAUSIBLE = 3  # wrong actions for each rewarded one
_EASE = (0.8, 1.2)  # mean and deviation of rewarded actions' score; plausible ones are below 0
_MISTAKES = (0.2, 4.0)  # of the scores that confusable policies see
_FAMILIES = 10  # of policies that make half of their mistakes together


class SparseSynthetic(FiniteWorld):
    """Few rewarded actions at each context, and a pool of policies of a known profile.

    Each context, drawn uniformly, has max(1, floor(sparsity)) rewarded actions.

    Parameters
    ----------
    n_actions, n_contexts, n_policies : int
        Number K of actions, of contexts (which are row numbers) and of policies in the pool.
    profile : {"one_good", "close", "clusters", "confusable"}
        ``"one_good"``: one policy shows the best slate at 80% of the contexts, everything else is
        uniformly random. ``"close"``: every policy shows the best slate at 50% to 60% of the
        contexts and a uniformly random one elsewhere. ``"clusters"``: contexts have Gaussian
        features around one centre per action, the rewarded actions are the context's cluster and
        the next nearest ones, and policies score actions by centres that are perturbed, each policy
        by a noise of its own level. ``"confusable"``: as classifiers and rankers are; contexts are
        easy or hard, three wrong actions look plausible for each rewarded one, and policies see
        scores of these with mistakes, each at a level of its own, half of them made by a whole
        family of policies.
    slate_size : int
        Number m of actions shown.
    sparsity : float
        Bound s on the rewards of one round. Below 1, the single reward is at most s.
    noise : float
        Probability in [0, 1] that in a round the rewards go to uniformly random actions instead.
    fractional : bool
        Whether rewards are levels in [0.2, 1], fixed for each context and rewarded action, and not
        all 1.
    rng : seed or numpy Generator
        Where the world and its pool come from. Draws have their own.

    Attributes
    ----------
    pool : integer array of shape (n_contexts, n_policies), or (n_contexts, n_policies, m) for m > 1
        Actions of the policies, ready for ``PolicyTable(world.pool, n_actions=world.n_actions)``.
        Which policy is best is as good as random.
    features : float array of shape (n_contexts, 16), or None
        Features behind the contexts of the profile ``"clusters"``.

    Examples
    --------
    >>> world = SparseSynthetic(n_actions=50, n_contexts=200, n_policies=30, profile="one_good")
    >>> world.pool.shape, world.pool.dtype
    ((200, 30), dtype('uint8'))
    """

    pool: npt.NDArray[Any]
    features: npt.NDArray[np.float64] | None

    def __init__(
        self,
        *,
        n_actions: int,
        n_contexts: int,
        n_policies: int,
        profile: str,
        slate_size: int = 1,
        sparsity: float = 1.0,
        noise: float = 0.0,
        fractional: bool = False,
        rng: Any = 0,
    ) -> None:
        integer("n_actions", n_actions, low=2)
        n_contexts = integer("n_contexts", n_contexts, low=1)
        n_policies = integer("n_policies", n_policies, low=1)
        one_of("profile", profile, _PROFILES)
        super().__init__(
            np.arange(n_contexts), n_actions=n_actions, slate_size=slate_size, sparsity=sparsity
        )
        self.noise = number("noise", noise, above=0, below=1, closed=True, closed_below=True)
        generator = as_rng(rng)
        n_rewarded = max(1, int(self.sparsity))
        self._levels = np.full((n_contexts, n_rewarded), min(1.0, self.sparsity))
        if flag("fractional", fractional):
            levels = generator.uniform(*_LEVELS, size=self._levels.shape)
            self._levels *= -np.sort(-levels, axis=1)  # the best first
        if profile == "clusters":
            centres = _unit_rows(generator.standard_normal((self.n_actions, _N_FEATURES)))
            label = generator.integers(self.n_actions, size=n_contexts)
            spread = _SPREAD * generator.standard_normal((n_contexts, _N_FEATURES))
            self.features = centres[label] + spread
            self._rewarded = _label_then_nearest(self.features, centres, label, n_rewarded)
            pool = self._linear_pool(n_policies, self.features, centres, generator)
        else:
            self.features = None
            wrong = max(_PLAUSIBLE * n_rewarded, self.slate_size) if profile == "confusable" else 0
            items = random_slates(
                generator, (n_contexts,), self.n_actions, min(self.n_actions, n_rewarded + wrong)
            )
            self._rewarded = items[:, :n_rewarded]
            if profile == "confusable":
                pool = self._confusable_pool(n_policies, items, generator)
            else:
                pool = self._graded_pool(_right_shares(profile, n_policies, generator), generator)
        self.pool = pool[:, :, 0] if self.slate_size == 1 else pool

    def _expected_rewards(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
        levels = self._levels[rows]
        rewards = np.empty((len(rows), self.n_actions))
        rewards[:] = (self.noise / self.n_actions) * levels.sum(axis=1, keepdims=True)
        rewards[np.arange(len(rows))[:, None], self._rewarded[rows]] += (1 - self.noise) * levels
        return rewards

    def _rewards_of(self, rows: npt.NDArray[np.intp], rng: np.random.Generator) -> RewardsOf:
        levels, rewarded = self._levels[rows], self._rewarded[rows]
        if self.noise:
            strays = rng.random(len(rows)) < self.noise
            rewarded[strays] = random_slates(
                rng, (int(strays.sum()),), self.n_actions, rewarded.shape[1]
            )

        def rewards_of(actions: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
            rewards = np.zeros(actions.shape)
            for item, level in zip(rewarded.T, levels.T, strict=True):
                rewards += np.where(actions == item[:, None], level[:, None], 0.0)
            return rewards

        return rewards_of

    def _graded_pool(
        self, shares: npt.NDArray[np.float64], rng: np.random.Generator
    ) -> npt.NDArray[Any]:
        """Policy p shows the best slate at a share shares[p] of contexts, random ones elsewhere."""
        n, k, m = self.n_contexts, self.n_actions, self.slate_size
        n_right = np.rint(shares * n).astype(np.int64)
        pool = self._empty_pool(len(shares))
        best = self._rewarded[:, :m]
        n_best = best.shape[1]
        ascending = np.sort(best, axis=1).T[:, :, None, None]
        block = max(1, _BLOCK // (n * m))
        for p in range(0, len(shares), block):
            counts = n_right[p : p + block]
            shape = (n, len(counts))
            order = np.broadcast_to(np.arange(n)[:, None], shape)
            right = rng.permuted(order, axis=0) < counts
            fill = random_slates(rng, shape, k - n_best, m - n_best)
            for item in ascending:
                fill += fill >= item  # count only the actions that are not among the best
            slates = np.concatenate(
                [np.broadcast_to(best[:, None], (*shape, n_best)), fill], axis=2
            )
            elsewhere = random_slates(rng, shape, k, m)
            pool[:, p : p + block] = np.where(right[:, :, None], slates, elsewhere)
        return pool

    def _linear_pool(
        self,
        n_policies: int,
        features: npt.NDArray[np.float64],
        centres: npt.NDArray[np.float64],
        rng: np.random.Generator,
    ) -> npt.NDArray[Any]:
        """Policy p shows the m best scores <centre + noise, x>, its noise at a level of its own."""
        log_low, log_high = np.log(_PERTURBATIONS)
        levels = np.exp(rng.uniform(log_low, log_high, size=n_policies)) / np.sqrt(_N_FEATURES)
        pool = self._empty_pool(n_policies)
        block = max(1, _BLOCK // self.n_actions)
        for p, level in enumerate(levels):
            believed = centres + level * rng.standard_normal(centres.shape)
            for x in range(0, self.n_contexts, block):
                scores = features[x : x + block] @ believed.T
                pool[x : x + block, p] = _best_scores(scores, self.slate_size)
        return pool

    def _confusable_pool(
        self, n_policies: int, items: npt.NDArray[np.int64], rng: np.random.Generator
    ) -> npt.NDArray[Any]:
        """Policy p shows the m best scores of `items`, of which the first are rewarded."""
        scores = -rng.exponential(size=items.shape)
        ease = rng.normal(*_EASE, size=(len(items), 1))
        scores[:, : self._rewarded.shape[1]] = ease
        log_low, log_high = np.log(_MISTAKES)
        levels = np.exp(rng.uniform(log_low, log_high, size=n_policies)) / np.sqrt(2)
        shared = rng.standard_normal((min(_FAMILIES, n_policies), *items.shape))
        pool = self._empty_pool(n_policies)
        for p, level in enumerate(levels):
            mistakes = shared[p % len(shared)] + rng.standard_normal(items.shape)
            best = _best_scores(scores + level * mistakes, self.slate_size)
            pool[:, p] = np.take_along_axis(items, best, axis=1)
        return pool

    def _empty_pool(self, n_policies: int) -> npt.NDArray[Any]:
        dtype = np.min_scalar_type(self.n_actions - 1)
        return np.empty((self.n_contexts, n_policies, self.slate_size), dtype=dtype)


def random_slates(
    rng: np.random.Generator, shape: tuple[int, ...], n_actions: int, size: int
) -> npt.NDArray[np.int64]:
    """Uniformly random ordered slates, shape (*shape, size), by Floyd's method."""
    slates = np.empty((*shape, size), dtype=np.int64)
    for slot, last in enumerate(range(n_actions - size, n_actions)):
        item = rng.integers(last + 1, size=shape)
        taken = (slates[..., :slot] == item[..., None]).any(axis=-1)
        slates[..., slot] = np.where(taken, last, item)
    return rng.permuted(slates, axis=-1) if size > 1 else slates


def _right_shares(
    profile: str, n_policies: int, rng: np.random.Generator
) -> npt.NDArray[np.float64]:
    if profile == "close":
        return rng.uniform(*_CLOSE, size=n_policies)
    shares = np.zeros(n_policies)
    shares[rng.integers(n_policies)] = _GOOD
    return shares


def _unit_rows(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def _label_then_nearest(
    features: npt.NDArray[np.float64],
    centres: npt.NDArray[np.float64],
    label: npt.NDArray[np.int64],
    size: int,
) -> npt.NDArray[np.int64]:
    """For each context its cluster, then the other clusters by falling score <centre, x>."""
    nearest = np.empty((len(features), size), dtype=np.int64)
    block = max(1, _BLOCK // len(centres))
    for x in range(0, len(features), block):
        scores = features[x : x + block] @ centres.T
        scores[np.arange(len(scores)), label[x : x + block]] = np.inf
        nearest[x : x + block] = _best_scores(scores, size)
    return nearest


def _best_scores(scores: npt.NDArray[np.float64], size: int) -> npt.NDArray[np.intp]:
    """Columns of the `size` largest scores of each row, the largest first."""
    if size == 1:
        return np.asarray(scores.argmax(axis=1))[:, None]
    best = np.argpartition(-scores, size - 1, axis=1)[:, :size]
    order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1, kind="stable")
    return np.asarray(np.take_along_axis(best, order, axis=1))
