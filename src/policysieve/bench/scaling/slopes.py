"""Straight lines through points on log-log axes, and how far they are from the predicted ones."""

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np

__all__ = ["fit_slope"]

_LEVEL = 0.95
_ROUNDING = 1e-9


def fit_slope(
    x: Sequence[float], measured: Sequence[float | None], predicted: Sequence[float]
) -> dict[str, Any]:
    """Slopes of what was measured and of what was predicted, by least squares.

    The interval of the measured slope is Student's 95% interval for the slope of measured over
    predicted, moved by the predicted slope. It is about scatter: a curve that was predicted, as at
    the crossover of two terms, does not widen it.

    Parameters
    ----------
    x, measured, predicted : sequence of the same length
        Points that were given up are None and do not count.

    Returns
    -------
    dict
        ``slope``, ``low``, ``high``, ``predicted``, all None below three points, and ``verdict``:
        "as predicted" when the interval holds the predicted slope, "below", "above" or "unknown".
    """
    known = [(at, y, p) for at, y, p in zip(x, measured, predicted, strict=True) if y is not None]
    if len(known) < 3:
        empty: dict[str, Any] = dict.fromkeys(("slope", "low", "high", "predicted"))
        return {**empty, "verdict": "unknown"}
    from scipy.special import stdtrit

    at, y, p = np.log(np.array(known)).T
    expected = float(np.polyfit(at, p, 1)[0])
    excess, start = np.polyfit(at, y - p, 1)
    left = y - p - start - excess * at
    freedom = len(known) - 2
    error = sqrt(float(left @ left) / freedom / float(((at - at.mean()) ** 2).sum()))
    slope = expected + float(excess)
    half = float(stdtrit(freedom, (1 + _LEVEL) / 2)) * error
    verdict = "as predicted"
    if abs(excess) > half + _ROUNDING:
        verdict = "above" if excess > 0 else "below"
    return {
        "slope": slope,
        "low": slope - half,
        "high": slope + half,
        "predicted": expected,
        "verdict": verdict,
    }
