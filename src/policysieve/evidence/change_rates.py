"""Whether rewards of what was shown have changed, where they need no weights."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import betaln, xlogy

from policysieve.arrays import shown
from policysieve.evidence.groups import ACTION_GROUPS, context_codes
from policysieve.log import Rounds

__all__ = ["Rates", "RatesFound", "ShownSums"]

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.intp]

_MOST_PAIRS = 256
_FIRST = 2048  # rounds in which pairs have to come again, to count
_ODD = np.uint64(0x9E3779B97F4A7C15)
_FEW, _SELDOM = 32, 3  # more rates than that are looked at less often
_PRIOR = 0.5  # of Beta distributions of rates
_LIKE_BEFORE = (0.0, 100.0)  # rounds that the mean before counts for the one after, at most
_CHANGED = (0.9, 0.1)  # share of the rates that are bet on


class RatesFound(NamedTuple):
    """Evidence that some of many rates have changed.

    Attributes
    ----------
    log_evidence : float
    split : int
        The boundary that has most of it,
    which : int
        and the rate that has most of that.
    """

    log_evidence: float
    split: int
    which: int


@dataclass(frozen=True, eq=False)
class Rates:
    """Rewards of disjoint rounds, which have one mean each in a world that does not change.

    Attributes
    ----------
    rounds, rewards : float arrays of shape (n_rates, n_stretches)
        How many they are in each stretch between boundaries, and the sums of their rewards.
    valid : bool array of shape (n_stretches,)
        Whether that is known to be so up to the end of each stretch.
    """

    rounds: Array
    rewards: Array
    valid: npt.NDArray[np.bool_]

    def looks(self, last: int, enough: float) -> list[int]:
        """Numbers of stretches after which evidence is asked for, if it can be enough.

        Of many rates less often, whether or not it can. Which ones they are must not depend on the
        last, but for itself: who has looked before would else find another change than who has not.
        """
        if len(self.rounds) > _FEW:
            return [look for look in range(last, 1, -1) if look == last or look % _SELDOM == 0]
        return [look for look in range(last, 1, -1) if self._at_most[look - 1] >= enough]

    @cached_property
    def _at_most(self) -> Array:
        """Bounds on the evidence after each stretch: with the best means of all, at any split."""
        found = np.zeros((self.rounds.shape[1],) * 2)
        for n, s in zip(*self._sums, strict=True):
            apart = _best_log(n, s) + _best_log(n[:, None] - n, s[:, None] - s)
            found += np.maximum(apart - _best_log(n, s)[:, None], 0.0)
        return np.asarray(np.tril(found, -1).max(axis=1))

    def evidence(self, last: int, log_prior: Array) -> RatesFound:
        """Ln of an e-process after `last` stretches (docs/maths.md, "Rates of what was shown").

        For each split, products over rates of likelihoods with one mean before and another after,
        against the best single mean.

        Parameters
        ----------
        last : int
            At least two.
        log_prior : float array
            Capital of the splits.
        """
        if not len(self.rounds) or not self.valid[last - 1]:
            return RatesFound(-np.inf, 0, 0)
        each = self._log_ratios(last)
        parts = [np.logaddexp(np.log1p(-one), np.log(one) + each).sum(axis=0) for one in _CHANGED]
        splits = np.logaddexp.reduce(parts) - np.log(len(parts)) + log_prior[: last - 1]
        split = int(splits.argmax())
        return RatesFound(float(np.logaddexp.reduce(splits)), split, int(each[:, split].argmax()))

    def _log_ratios(self, last: int) -> Array:
        """Ln of the likelihood of each rate and split, over that with the best single mean."""
        n_all, s_all = (sums[:, last - 1 : last] for sums in self._sums)
        before, around = self._before
        n, s = (sums[:, : last - 1] for sums in self._sums)
        after = [
            betaln(a[:, : last - 1] + s_all - s, b[:, : last - 1] + n_all - n - s_all + s)
            - prior[:, : last - 1]
            for a, b, prior in around
        ]
        mixed = np.logaddexp.reduce(after) - np.log(len(after))
        return np.asarray(before[:, : last - 1] + mixed - _best_log(n_all, s_all))

    @cached_property
    def _sums(self) -> tuple[Array, Array]:
        return self.rounds.cumsum(axis=1), self.rewards.cumsum(axis=1)

    @cached_property
    def _before(self) -> tuple[Array, list[tuple[Array, Array, Array]]]:
        """Ln of likelihoods up to each split, the mean drawn from Beta(1/2, 1/2).

        And Beta distributions of the mean after it: the same, or around the mean before.
        """
        n, s = self._sums
        before = betaln(_PRIOR + s, _PRIOR + n - s) - betaln(_PRIOR, _PRIOR)
        mean, around = (s + _PRIOR) / (n + 2 * _PRIOR), []
        for like in _LIKE_BEFORE:
            weight = np.minimum(like, n)
            a, b = _PRIOR + weight * mean, _PRIOR + weight * (1 - mean)
            around.append((a, b, betaln(a, b)))
        return before, around


def _best_log(n: Array, s: Array) -> Array:
    """Ln of the largest likelihood that a single mean gives to n rounds with rewards of s."""
    some = np.maximum(n, 1.0)
    return np.asarray(xlogy(s, s / some) + xlogy(n - s, 1 - s / some))


class ShownSums:
    """Sums of the rewards of shown actions, and of pairs of a context and an action.

    Pairs that come again within the first rounds count from then on: which they are is known before
    the rewards that count. Contexts that never come twice have none. Slates are left out, because
    the rewards of their items depend on each other.
    """

    def __init__(self) -> None:
        self._actions = np.zeros((2, ACTION_GROUPS, 0))
        self._pairs = np.zeros((2, _MOST_PAIRS, 0))
        self._left = _FIRST  # rounds in which pairs may begin to count
        self._once: set[int] = set()
        self._places: dict[int, int] = {}
        self.names: list[tuple[str, int]] = []  # of pairs: the context in words, and the action

    def add(self, rounds: Rounds, at: Numbers) -> None:
        """Take in rounds with the numbers of their stretches."""
        if rounds.actions.shape[1] != 1:
            return
        more = int(at[-1]) + 1 - self._actions.shape[2]
        if more > 0:
            pad = ((0, 0), (0, 0), (0, more))
            self._actions, self._pairs = np.pad(self._actions, pad), np.pad(self._pairs, pad)
        actions, rewards = rounds.actions[:, 0], rounds.rewards[:, 0]
        places, known = self._places_of(rounds), ~np.isnan(rewards)
        kept = known & (places >= 0)
        _count(self._actions, (actions % ACTION_GROUPS)[known], at[known], rewards[known])
        _count(self._pairs, places[kept], at[kept], rewards[kept])

    def _places_of(self, rounds: Rounds) -> Numbers:
        """The number of each round's pair; -1 if it does not count."""
        actions = rounds.actions[:, 0]
        keys = context_codes(rounds.contexts) + _ODD * (actions.astype(np.uint64) + np.uint64(1))
        available = rounds.beside.available
        if available is not None:  # what else could be shown may matter, and was part of the draw
            keys ^= context_codes(available.bits) * _ODD
        first = min(len(keys), self._left)
        self._left -= first
        early = [self._begin(int(keys[row]), rounds, row) for row in range(first)]
        numbers = np.fromiter(self._places, np.uint64, len(self._places))
        order = np.argsort(numbers)
        later = np.full(len(keys) - first, -1)
        if len(order):
            found = np.searchsorted(numbers, keys[first:], sorter=order)
            nearest = order[np.minimum(found, len(order) - 1)]
            later = np.where(numbers[nearest] == keys[first:], nearest, -1)
        return np.concatenate([np.array(early, np.intp), later])

    def _begin(self, key: int, rounds: Rounds, row: int) -> int:
        """The number of a pair in one of the first rounds; it gets one when it comes again."""
        if key not in self._places:
            if key not in self._once or len(self._places) == _MOST_PAIRS:
                self._once.add(key)
                return -1
            self._places[key] = len(self._places)
            context = rounds.contexts[row : row + 1].tolist()[0]
            self.names.append((shown(context), int(rounds.actions[row, 0])))
        return self._places[key]

    def rates(
        self, n_actions: int, fixed: npt.NDArray[np.bool_], complete: npt.NDArray[np.bool_]
    ) -> dict[str, Rates]:
        """The rates of all actions together, of each action (or group), and of each pair.

        The first two have one mean each only while the design is fixed, and the pairs while no
        reward is missing: which ones are known may depend on what they are. Slates have none.
        """
        if not self._actions.shape[2]:
            return {}
        n, s = self._actions[:, : min(n_actions, ACTION_GROUPS)]
        pairs, earned = self._pairs[:, : len(self._places)]
        return {
            "rate": Rates(n.sum(axis=0)[None], s.sum(axis=0)[None], fixed),
            "rates": Rates(n, s, fixed),
            "pairs": Rates(pairs, earned, complete),
        }


def _count(sums: Array, places: Numbers, at: Numbers, rewards: Array) -> None:
    """Add rounds and their rewards to sums of shape (2, n_places, n_stretches)."""
    _, n, stretches = sums.shape
    where = places * stretches + at
    for part, weights in zip(sums, (None, rewards), strict=True):
        part += np.bincount(where, weights, n * stretches).reshape(n, stretches)
