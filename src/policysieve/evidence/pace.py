"""How much longer bets have to go on as they did, to prove what they are made for."""

import numpy as np
import numpy.typing as npt

from policysieve.evidence.betting import log_mean_exp

__all__ = ["times_as_long"]

Array = npt.NDArray[np.float64]

LONGEST = 100.0  # times; beyond, nothing can be said
_STEPS = 30  # of bisection, each of which halves what is left of ln(LONGEST)


def times_as_long(log_wealth: Array, log_threshold: float) -> float | None:
    """How many times the rounds behind some bets it takes until all reach a threshold.

    The log-wealth of every stake is taken to grow in proportion to the rounds. Then the smallest
    t >= 1 is looked for with ln mean exp(t log_wealth) >= log_threshold (docs/maths.md,
    "Forecasts"). That is convex in t, and 0 at t = 0, so it is reached once and for good.

    Parameters
    ----------
    log_wealth : float array of shape (n_bets, n_stakes)
    log_threshold : float
        Above 0.

    Returns
    -------
    float or None
        1 without bets; None if it takes more than a hundred times, or for ever.
    """
    if not len(log_wealth):
        return 1.0
    low, high = 0.0, float(np.log(LONGEST))
    if not _all_reach(log_wealth, high, log_threshold):
        return None
    if _all_reach(log_wealth, low, log_threshold):
        return 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if _all_reach(log_wealth, middle, log_threshold):
            high = middle
        else:
            low = middle
    return float(np.exp(high))


def _all_reach(log_wealth: Array, log_times: float, log_threshold: float) -> bool:
    return bool((log_mean_exp(np.exp(log_times) * log_wealth) >= log_threshold).all())
