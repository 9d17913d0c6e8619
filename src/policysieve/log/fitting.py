"""Whether full distributions fit what was shown: the same actions, with the same propensities."""

from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.log.distributions import Distributions, Faults, entry_keys, refuse_faults

__all__ = ["agreeing", "disagreements", "fitting"]

_SUM_SLACK = 1e-3 + 1e-9  # files round: 0.333 three times is a distribution
_SAME = 1e-6  # relative difference of two texts of the same propensity


def disagreements(
    lists: Distributions, actions: npt.NDArray[Any], propensities: npt.NDArray[np.float64]
) -> Faults:
    """Where lists that are in order do not fit what was shown, of shape (n, m)."""
    m = actions.shape[1]
    sums = np.bincount(lists.rows, lists.propensities, minlength=len(lists))
    places, found = _places(lists, actions)
    absent = ~found
    listed = np.append(lists.propensities, np.nan)[places]
    with np.errstate(invalid="ignore"):  # of propensities that are none
        other = found & ~(np.abs(listed - propensities) <= _SAME * propensities)

    def unequal(row: int) -> str:
        item = int(other[row].argmax())
        return (
            f"action {actions[row, item]} was shown with propensity {propensities[row, item]:.9g}, "
            f"but has {listed[row, item]:.9g} in the distribution; both must be of the same draw"
        )

    return [
        (
            ~(np.abs(sums - m) <= _SUM_SLACK * m),
            lambda i: (
                f"the propensities of the distribution must sum to {m}, as {m} "
                f"{'item is' if m == 1 else 'items are'} shown, got {sums[i]:g}; list every action "
                "that could be shown"
            ),
        ),
        (
            absent.any(axis=1),
            lambda i: (
                f"action {actions[i][absent[i]][0]} was shown, but is not in the distribution; are "
                "the actions of both numbered in the same way?"
            ),
        ),
        (other.any(axis=1), unequal),
    ]


def agreeing(
    lists: Distributions, actions: npt.NDArray[Any], propensities: npt.NDArray[np.float64]
) -> Distributions:
    """Lists that fit what was shown, with exactly the propensities that it was shown with."""
    places, _ = _places(lists, actions)
    exact = lists.propensities
    if not np.array_equal(exact[places], propensities):
        exact = exact.copy()
        exact[places] = propensities
    return Distributions.trusted(lists.offsets, lists.actions.astype(np.int32, copy=False), exact)


def fitting(
    values: Any, actions: npt.NDArray[np.int32], propensities: npt.NDArray[np.float64]
) -> Distributions:
    """Distributions of rounds that showed these items, or raise."""
    lists = Distributions.of(values, len(actions))
    refuse_faults(disagreements(lists, actions, propensities))
    return agreeing(lists, actions, propensities)


def _places(
    lists: Distributions, actions: npt.NDArray[Any]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
    """Entries of the actions of rounds, of shape (n, m), and whether they are there."""
    keys = entry_keys(lists.rows, lists.actions)
    wanted = entry_keys(np.arange(len(lists), dtype=np.int64)[:, None], actions)
    places = np.searchsorted(keys, wanted)
    return places, np.append(keys, -1)[places] == wanted
