"""What exploring has earned and lost so far, in a few sums, and what it may still lose."""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from policysieve.evidence.classical import limit_of_sum
from policysieve.log import Log
from policysieve.problem import Problem

__all__ = ["Spending", "Sums", "running_sum"]

Array = npt.NDArray[np.float64]


def running_sum(total: float, terms: Array) -> float:
    """Add one after the other: the same bits, however rounds are cut into parts."""
    return float(np.concatenate([[total], terms]).cumsum()[-1])


class Sums(NamedTuple):
    """Sums of numbers and of their squares, over rounds."""

    total: float = 0.0
    square: float = 0.0

    def plus(self, x: Array) -> "Sums":
        """The sums with the numbers of more rounds."""
        return Sums(running_sum(self.total, x), running_sum(self.square, x * x))

    def upper(self, largest: float, delta: float) -> float:
        """Upper limit, at all times, on the sum of the means; no number is above `largest`."""
        return limit_of_sum(self.total, self.square, largest, delta)

    def lower(self, least: float, delta: float) -> float:
        """Lower limit; no number is below -`least`."""
        return -limit_of_sum(-self.total, self.square, least, delta)


@dataclass(frozen=True)
class Spending:
    """Sums over the rounds learnt from, whatever explored. A value.

    With b what the policy that runs today would show, h_j = f + 1[j shown] (r_j - f)/W_j has the
    mean of r_j for every f that is fixed before the round. So the sum over b of h, less what was
    earned, has the mean of what a round loses. With f = 0 it is nowhere below -mu, with f large
    enough for the problem's traffic nowhere above m (docs/maths.md, "What exploring costs").

    Attributes
    ----------
    problem : Problem
    rounds, explored, settled : int
        Rounds learnt from, those that explored, and those of them that were asked for here.
    earned : Sums
        Of the rewards of rounds.
    lost_least, lost_most : Sums
        Of what a round has lost, for a lower limit and for an upper one.
    worth : Sums
        Of what the policy that runs today would have earned, for an upper limit.
    returning : bool
        Whether units are named, so that later rounds need not be worth what earlier ones were.
    """

    problem: Problem
    rounds: int = 0
    explored: int = 0
    settled: int = 0
    earned: Sums = field(default=Sums())
    lost_least: Sums = field(default=Sums())
    lost_most: Sums = field(default=Sums())
    worth: Sums = field(default=Sums())
    returning: bool = False

    @property
    def _expected(self) -> float:
        """The smallest f for which (1-f)(1/W - 1) <= 1 wherever W >= 1 - traffic."""
        traffic = self.problem.traffic
        return max(0.0, (2 * traffic - 1) / traffic)

    def plus(
        self, rounds: Log, today: npt.NDArray[Any] | None, *, explored: bool, issued: bool
    ) -> Self:
        """The same with more rounds, in which it is known what today's policy would show.

        Parameters
        ----------
        rounds : Log
        today : integer array of shape (n, slate_size) or None
            None if the problem names no such policy.
        explored, issued : bool
            Whether the rounds explored, and whether they were asked for here.
        """
        n, rewards = len(rounds), rounds.rewards.sum(axis=1)
        then = replace(
            self,
            rounds=self.rounds + n,
            explored=self.explored + n * explored,
            settled=self.settled + n * (explored and issued),
            earned=self.earned.plus(rewards),
            returning=self.returning or rounds.units is not None,
        )
        if today is None:
            return then
        both = (rounds.actions[:, :, None] == today[:, None, :]).any(axis=2) / rounds.propensities
        f = self._expected
        low = (rounds.rewards * both).sum(axis=1)
        high = f * today.shape[1] + ((rounds.rewards - f) * both).sum(axis=1)
        return replace(
            then,
            lost_least=self.lost_least.plus(low - rewards),
            lost_most=self.lost_most.plus(high - rewards),
            worth=self.worth.plus(high),
        )

    def lost(self, delta: float) -> tuple[float, float, float]:
        """Estimate and limits of the expected reward lost, each limit at level delta/2."""
        q = self.problem
        most = self._most_lost(q.reward_cap)
        lower = max(-most, self.lost_least.lower(q.reward_cap, delta / 2))
        upper = min(most, self.lost_most.upper(q.slate_size, delta / 2))
        sharper = min(self.lost_least, self.lost_most, key=lambda sums: sums.square)
        return min(max(lower, sharper.total), upper), min(lower, upper), upper

    def earned_limits(self, delta: float) -> tuple[float, float]:
        """Limits of the expected reward earned, each at level delta/2."""
        cap = self.problem.reward_cap
        lower, upper = self.earned.lower(cap, delta / 2), self.earned.upper(cap, delta / 2)
        return max(0.0, lower), min(self.rounds * cap, upper)

    def room(self, issued: int) -> int:
        """How many more rounds may explore within the problem's `max_loss`.

        A round loses at most the traffic's share of what the policy that runs today would earn.
        What was lost so far and that value have upper limits, each at level delta/2, that hold at
        all times; rounds that explore and were not learnt from count with the most they can lose
        (docs/maths.md, "A limit on what exploring costs").

        Parameters
        ----------
        issued : int
            Rounds asked for here that explore.
        """
        q = self.problem
        assert q.max_loss is not None
        worth = q.reward_cap
        if self.rounds and not self.returning:
            f, stays = self._expected, 1 - q.traffic
            largest = q.slate_size * (f + (1 - f) / stays if stays else 1.0)
            worth = min(worth, self.worth.upper(largest, q.delta / 2) / self.rounds)
        lost = min(self._most_lost(worth), self.lost_most.upper(q.slate_size, q.delta / 2))
        left = (q.max_loss - lost) / (q.traffic * worth) - (issued - self.settled)
        return max(0, int(left))

    def _most_lost(self, worth: float) -> float:
        """The most that exploring rounds can have lost, if today's policy earns at most so much.

        Nor can they have gained more than that if no round can earn more.
        """
        return self.explored * self.problem.traffic * worth
