"""How often a classifier is right, from answers to labels that another one showed."""

from dataclasses import dataclass
from math import isnan, log

import numpy as np
import numpy.typing as npt

from policysieve.evidence.classical import value_limits
from policysieve.log import Log

__all__ = ["Accuracy", "accuracy_from"]


@dataclass(frozen=True, kw_only=True)
class Accuracy:
    """How often a classifier's labels are right, with limits that hold at any time.

    Attributes
    ----------
    value : float
        Estimate of the share of its labels that are right; NaN before the first of them was shown.
    lower, upper : float
    rounds : int
        Rounds that count.
    delta : float
        Probability with which the limits fail, ever.
    """

    value: float
    lower: float
    upper: float
    rounds: int
    delta: float

    def __str__(self) -> str:
        if not self.rounds:
            return "nothing is known yet (0 rounds)"
        value = "unknown" if isnan(self.value) else f"{self.value:.3f}"
        return (
            f"{value}, between {self.lower:.3f} and {self.upper:.3f} with probability "
            f"{1 - self.delta:g} ({self.rounds:,} rounds)"
        )


def accuracy_from(rounds: Log, labels: npt.NDArray[np.integer], delta: float) -> Accuracy:
    """Accuracy of the classifier that would have said `labels`, shape (n, m), in these rounds.

    With h and e the sums over labels both said and shown of r/W and of (1-r)/W, E h = m accuracy
    and E e = m (1 - accuracy). Neither is negative, so each is bounded from below by the stitched
    boundary of scale 0, whatever its range; the lower limit of one is the upper limit of the other
    (docs/maths.md, "Accuracy from the log"). The labels must not depend on the answers of these
    rounds, but may on earlier ones.
    """
    n, m = rounds.actions.shape
    said = (rounds.actions[:, :, None] == labels[:, None, :]).any(axis=2)
    weights = said / (rounds.propensities * m)
    right = weights * rounds.rewards
    sums = np.array([right.sum(axis=1), (weights - right).sum(axis=1)])
    if not sums.any():
        return Accuracy(value=np.nan, lower=0.0, upper=1.0, rounds=n, delta=delta)
    totals = sums.sum(axis=1)
    least, _ = value_limits(totals, (sums**2).sum(axis=1), np.full(2, float(n)), log(2 / delta))
    lower, upper = np.clip([least[0], 1 - least[1]], 0.0, 1.0).tolist()
    value = float(np.clip(totals[0] / totals.sum(), lower, upper))
    return Accuracy(value=value, lower=lower, upper=upper, rounds=n, delta=delta)
