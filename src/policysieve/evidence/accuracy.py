"""How often a classifier is right, from answers to labels that another one showed.

And whether it is right more often than another one.
"""

from dataclasses import dataclass
from math import isnan, log

import numpy as np
import numpy.typing as npt

from policysieve.evidence.betting import log_mean_exp
from policysieve.log import Log

__all__ = ["Accuracy", "accuracy_from", "accuracy_gain", "least_average"]

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.integer]

_MULTIPLES = np.geomspace(1e-4, 20.0, 14)  # of scores, in bets on their average
_TOLERANCE = 1e-4  # of a limit


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


def accuracy_from(rounds: Log, labels: Labels, delta: float) -> Accuracy:
    """Accuracy of the classifier that would have said `labels`, shape (n, m), in these rounds.

    With h and e the sums over labels both said and shown of r/(m W) and of (1-r)/(m W), E h is the
    accuracy and E e its complement. Neither is negative, so each is bounded from below by betting,
    whatever its range; the lower limit of one is the upper limit of the other (docs/maths.md,
    "Accuracy from the log"). The labels of a round must not depend on its answer or on later ones,
    but may on earlier ones: the limits are for the average over the rounds.
    """
    n, m = rounds.actions.shape
    weights = _says(rounds, labels) / (rounds.propensities * m)
    right = weights * rounds.rewards
    scores = (right.sum(axis=1), (weights - right).sum(axis=1))
    totals = [float(score.sum()) for score in scores]
    if not any(totals):
        return Accuracy(value=np.nan, lower=0.0, upper=1.0, rounds=n, delta=delta)
    lower, wrong = (least_average(score, log(2 / delta), most=1.0) for score in scores)
    upper = max(lower, 1.0 - wrong)
    value = float(np.clip(totals[0] / sum(totals), lower, upper))
    return Accuracy(value=value, lower=lower, upper=upper, rounds=n, delta=delta)


def accuracy_gain(
    rounds: Log, labels: Labels, others: Labels, delta: float
) -> tuple[float, float, float]:
    """Accuracy of a classifier that says `labels` less that of one that says `others`.

    Both have shape (n, m). The result is an estimate, NaN where labels that only one of them says
    were never shown, and limits that hold at any time, each with probability 1 - delta/2, for the
    average over the rounds (docs/maths.md, "Better than another classifier").
    """
    n, m = rounds.actions.shape
    own, common = _says(rounds, labels), (labels[:, :, None] == others[:, None, :]).any(axis=2)
    rival = _says(rounds, others)
    weights = 1 / (rounds.propensities * m)
    right, wrong = weights * rounds.rewards, weights * (1 - rounds.rewards)
    apart = 1 - common.mean(axis=1)  # share of the labels that only one of them says
    mine, theirs = own & ~rival, rival & ~own

    def least(first: npt.NDArray[np.bool_], second: npt.NDArray[np.bool_]) -> float:
        scores = (right * first + wrong * second).sum(axis=1) + 1 - apart
        return least_average(scores, log(2 / delta), most=2.0) - 1

    lower = least(mine, theirs)
    upper = max(lower, -least(theirs, mine))
    if not n or not apart.any():
        return (0.0 if n else np.nan), lower, upper
    if not (mine.any() and theirs.any()):
        return np.nan, lower, upper
    first, second = (
        float((right * only).sum() / (weights * only).sum()) for only in (mine, theirs)
    )
    value = float(np.clip(float(apart.mean()) * (first - second), lower, upper))
    return value, lower, upper


def least_average(scores: Array, log_term: float, *, most: float) -> float:
    """Lower limit on the average mean, at most `most`, of scores that are not negative.

    With mu_i the mean of score i given all before it, the mean over multiples lam of
    prod (1 + lam s_i)/(1 + lam mu_i) is a martingale from one. The product of the denominators is
    at most (1 + lam mu)^n for their average mu, so with probability 1 - exp(-log_term) the wealth
    at v = mu never reaches exp(log_term), however the means change; limits are found by bisection.
    Multiples must not depend on v: mu is only known at the end, and who learns can choose it by the
    answers, so bets of v's own, prod (1 + lam (s_i - v)), would need a union over v.
    """
    seen, counts = np.unique(scores, return_counts=True)
    gained = counts @ np.log1p(_MULTIPLES * seen[:, None])

    def passes(v: float) -> bool:
        wealth = gained - len(scores) * np.log1p(_MULTIPLES * v)
        return bool(log_mean_exp(wealth[None, :])[0] >= log_term)

    low, high = 0.0, most
    while high - low > _TOLERANCE:
        middle = (low + high) / 2
        low, high = (middle, high) if passes(middle) else (low, middle)
    return low


def _says(rounds: Log, labels: Labels) -> npt.NDArray[np.bool_]:
    """Which of the labels shown are among these, shape (n, m)."""
    said: npt.NDArray[np.bool_] = (rounds.actions[:, :, None] == labels[:, None, :]).any(axis=2)
    return said
