"""Piecewise constant functions of one feature: stumps, and more thresholds."""

from collections.abc import Sequence
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.checks import as_array, integer
from policysieve.errors import InvalidArgumentError
from policysieve.policies.base import Policies, action_dtype

__all__ = ["ThresholdPolicies", "Thresholds"]

_MAX_POLICIES = 1 << 22
_BUDGET = 1 << 22  # values held at once


class Thresholds:
    """All functions of one feature, any one, that are constant between at most k thresholds.

    With one threshold these are all axis-aligned stumps. On contexts of one feature the family has
    Natarajan dimension k + 1: with two possible actions at each of k + 2 points, one can be chosen
    at each such that neighbours differ, which takes k + 1 thresholds.

    Parameters
    ----------
    n_thresholds : int
        k, at least 1.
    """

    def __init__(self, n_thresholds: int = 1) -> None:
        self.n_thresholds = integer("n_thresholds", n_thresholds, low=1)

    @property
    def dimension(self) -> int:
        """Natarajan dimension for one feature."""
        return self.n_thresholds + 1

    def representatives(
        self, contexts: Any, n_actions: int, *, actions: Sequence[str] | None = None
    ) -> "ThresholdPolicies":
        """One function for each way in which the family can answer at the contexts, by feature.

        Thresholds halfway between neighbouring values, and neighbouring pieces with different
        actions, make all patterns; a pattern that two features can make comes twice. The actions
        may have names.
        """
        rows = _feature_rows(contexts)
        cuts = [_between(np.unique(column)) for column in rows.T]
        k, n = self.n_thresholds, n_actions
        total = n + sum(
            comb(len(points), j) * n * (n - 1) ** j for points in cuts for j in range(1, k + 1)
        )
        if total > _MAX_POLICIES:
            raise InvalidArgumentError(
                f"{k} thresholds on these contexts make {total:,} patterns, more than "
                f"{_MAX_POLICIES:,}; take fewer contexts, actions or thresholds"
            )
        features, thresholds = [np.zeros(n, np.int64)], [np.full((n, k), np.inf)]
        shown = [np.tile(np.arange(n)[:, None], k + 1)]
        for j in range(1, k + 1):
            pieces = _different_neighbours(n, j + 1)
            pieces = np.concatenate([pieces, np.repeat(pieces[:, -1:], k - j, axis=1)], axis=1)
            for f, points in enumerate(cuts):
                places = np.array(list(combinations(points, j))).reshape(-1, j)
                grid = np.full((len(places), k), np.inf)
                grid[:, :j] = places
                features.append(np.full(len(places) * len(pieces), f))
                thresholds.append(np.repeat(grid, len(pieces), axis=0))
                shown.append(np.tile(pieces, (len(places), 1)))
        return ThresholdPolicies(
            np.concatenate(features),
            np.concatenate(thresholds),
            np.concatenate(shown),
            n_actions,
            actions=actions,
        )

    def __repr__(self) -> str:
        return f"Thresholds({self.n_thresholds})"


class ThresholdPolicies(Policies):
    """Numbered piecewise constant functions of one feature.

    Parameters
    ----------
    features : integer array of shape (n_policies,)
        Which feature each one looks at.
    thresholds : float array of shape (n_policies, k)
        Increasing; infinity where there are fewer.
    pieces : integer array of shape (n_policies, k + 1)
        The action of each piece: piece j lies where j thresholds are at most the feature's value.
    n_actions : int
        May be left out where the actions are named.
    names, actions : sequences of str, optional
        Names of the policies, and of the actions.
    """

    def __init__(
        self,
        features: npt.NDArray[np.int64],
        thresholds: npt.NDArray[np.float64],
        pieces: npt.NDArray[np.int64],
        n_actions: int | None = None,
        *,
        names: Sequence[str] | None = None,
        actions: Sequence[str] | None = None,
    ) -> None:
        super().__init__(
            n_policies=len(features),
            n_actions=n_actions,
            slate_size=1,
            names=names,
            actions=actions,
        )
        self.features, self.thresholds = features, thresholds
        self.pieces = pieces.astype(action_dtype(self.n_actions))

    def check_contexts(self, contexts: Any) -> npt.NDArray[Any]:
        """Return the contexts as feature rows, or raise."""
        x = _feature_rows(contexts)
        if x.shape[1] <= self.features.max():
            raise InvalidArgumentError(
                f"contexts must have at least {self.features.max() + 1} features, got {x.shape[1]}"
            )
        return x

    def _numbers(self) -> tuple[npt.NDArray[Any], ...]:
        return (self.features, self.thresholds, self.pieces)

    def _evaluate(
        self, contexts: npt.NDArray[Any], which: npt.NDArray[np.intp] | None
    ) -> npt.NDArray[Any]:
        chosen = np.arange(self.n_policies) if which is None else which
        features, thresholds, pieces = (
            column[chosen] for column in (self.features, self.thresholds, self.pieces)
        )
        out = np.empty((len(contexts), len(chosen), 1), dtype=pieces.dtype)
        block = max(1, _BUDGET // max(1, len(chosen)))
        every = np.arange(len(chosen))
        for i in range(0, len(contexts), block):
            values = contexts[i : i + block][:, features]
            piece = sum((values >= column).astype(np.intp) for column in thresholds.T)
            out[i : i + block, :, 0] = pieces[every, piece]
        return out


def _between(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Thresholds halfway between increasing values, or at the upper one if nothing is between."""
    low, high = values[:-1], values[1:]
    middle = low / 2 + high / 2
    return np.where(middle > low, middle, high)


def _different_neighbours(n_actions: int, length: int) -> npt.NDArray[np.int64]:
    """All sequences of actions in which no two neighbours are equal."""
    every = np.arange(n_actions)[:, None]
    for _ in range(length - 1):
        grown = np.repeat(every, n_actions, axis=0)
        last = np.tile(np.arange(n_actions), len(every))
        keep = last != grown[:, -1]
        every = np.concatenate([grown, last[:, None]], axis=1)[keep]
    return every


def _feature_rows(contexts: Any) -> npt.NDArray[np.float64]:
    x = as_array(contexts)
    if x.ndim == 1 and x.dtype != object:
        x = x[:, None]
    if x.ndim != 2 or x.dtype == object:
        raise InvalidArgumentError(
            f"contexts must be numbers or feature rows of shape (n, n_features), got shape "
            f"{x.shape} of {x.dtype}"
        )
    return x.astype(np.float64)
