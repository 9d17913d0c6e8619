"""How much reward exploration by optimization has lost at most, from what it has observed."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from policysieve.evidence.classical import limit_of_sum

__all__ = ["RegretBound", "Transfer"]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class RegretBound:
    """Bounds on the reward lost so far, compared with the best policy at the same contexts.

    Both hold at all times at once, with probability 1 - delta (docs/maths.md, "Regret").

    Attributes
    ----------
    recommended : float
        What policies drawn from the weights of each round would have lost in all.
    played : float
        What the actions that were played have lost in all, in expectation over the draws. It
        grows with the rounds however long they are: what is played is to teach, not to earn.
    rounds : int
        Rounds that count.
    """

    recommended: float
    played: float
    rounds: int


@dataclass(frozen=True)
class Transfer:
    """Sums over rounds of X = (w_a/q_a - 1) r, which has the mean reward of w less that of q.

    Attributes
    ----------
    total, square : float
        Of X and of its squares; a round without reward has X = 0.
    """

    total: float = 0.0
    square: float = 0.0

    def plus(self, w: Array, q: Array, rewards: Array) -> Self:
        """The same with rewarded rounds: weight, propensity and reward of what was played."""
        x = (w / q - 1) * rewards
        return type(self)(self.total + float(x.sum()), self.square + float(x @ x))

    def limit(self, largest: float, delta: float) -> float:
        """Upper limit, at all times, on the sum of the means of X, none of which is over it."""
        return limit_of_sum(self.total, self.square, largest, delta)
