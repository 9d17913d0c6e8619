"""What rounds prove about one policy, and how small a distance they prove."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import log
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from policysieve.problem import Problem
from policysieve.reported import Carded
from policysieve.scaling import RewardScale

__all__ = ["TOLERANCE", "Certificate", "Proof", "delta_shares", "gain_in_words"]

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.intp]

TOLERANCE = 1e-3  # of a bound, relative
_HARD = 4  # rivals that are looked at first, and on which a bound is searched for
_MORE = 8  # times as many are looked at next
_POINTS = 33  # values of epsilon that are tried at once


@dataclass(frozen=True, kw_only=True, eq=False)
class Certificate(Carded):
    """What the rounds so far prove about one policy, the leader.

    Attributes
    ----------
    leader : int or Policy
        The policy with the largest estimate among the surviving ones.
    certified : bool
        Whether, with probability at least 1 - delta, the leader is within epsilon of the best.
    eliminated : bool array of shape (n_policies,)
        Policies that are out of the race: with probability at least 1 - delta the best is not among
        them. Empty for a class that cannot be listed, of which none are eliminated.
    rounds : int
        Rounds behind it.
    pending : int
        Rounds whose rewards were not known yet; they are left out.
    log_threshold : float
        What the logarithm of the evidence against each rival has to reach.
    method : str
        How it was proved, or "none".
    name : str or None
        Name of the leader, if it has one.
    against : str or None
        The policy that runs today in words, if the problem names it.
    barred : integer array or None
        Policies that are proved to break a guardrail, which are among the eliminated; None if there
        are no guardrails.
    cleared : bool or None
        Whether the leader is proved to keep all guardrails, True if there are none; None if the
        evidence cannot say, as that of a floor, or of none, before `select` has looked.
    """

    leader: Any
    certified: bool
    eliminated: npt.NDArray[np.bool_]
    rounds: int
    pending: int
    log_threshold: float
    method: str
    find_bound: Callable[[], float] = field(repr=False)
    name: str | None = None
    against: str | None = None
    find_gain: Callable[[], float | None] = field(default=lambda: None, repr=False)
    barred: Numbers | None = None
    cleared: bool | None = True

    def in_units(self, scale: RewardScale) -> Self:
        """The same in the user's units, from what is proved inside."""
        if scale.is_unit:
            return self

        def find_gain() -> float | None:
            return None if self.gain is None else scale.distance(self.gain)

        return replace(
            self,
            find_bound=lambda: scale.distance(self.suboptimality_bound),
            find_gain=find_gain,
        )

    @property
    def policy_name(self) -> str:
        """The leader in words: its name, its number, or what it is."""
        if self.name is not None:
            return self.name
        return f"policy {self.leader}" if isinstance(self.leader, int) else repr(self.leader)

    @cached_property
    def suboptimality_bound(self) -> float:
        """With probability at least 1 - delta no policy is better than the leader by more.

        The smallest epsilon that is proved, at most the most a round can earn. It is searched for
        when it is first asked for, on the rounds that the certificate has seen.
        """
        return self.find_bound()

    @cached_property
    def gain(self) -> float | None:
        """By how much the leader is at least better than the policy that runs today.

        The largest number that is proved; it may be negative. The bound, what is said of eliminated
        policies, and this hold together, with probability at least 1 - delta. None if the problem
        names no policy to be better than.
        """
        return self.find_gain()

    def __getstate__(self) -> dict[str, Any]:
        """Find the numbers before travelling: the search needs the evidence."""
        found = {"suboptimality_bound": self.suboptimality_bound, "gain": self.gain}
        return {**self.__dict__, **found, "find_bound": None, "find_gain": None}

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; of the eliminated policies only their number."""
        return {
            "leader": self.leader if isinstance(self.leader, int) else repr(self.leader),
            "policy_name": self.policy_name,
            "suboptimality_bound": self.suboptimality_bound,
            "certified": self.certified,
            "n_eliminated": int(self.eliminated.sum()),
            "rounds": self.rounds,
            "pending": self.pending,
            "log_threshold": None if self.method == "none" else self.log_threshold,
            "method": self.method,
            "against": self.against,
            "gain": self.gain,
            **(
                {}
                if self.barred is None
                else {"barred": self.barred.tolist(), "cleared": self.cleared}
            ),
        }


def gain_in_words(leader: str, against: str, gain: float, problem: Problem) -> str:
    """What is proved about a leader and the policy that runs today, in one sentence."""
    if leader == against:
        return f"{against}, which runs today, leads itself."
    costs = problem.scale.minimize
    better = "costs less than" if costs else "is better than"
    if gain > 0:
        return (
            f"With probability at least {1 - problem.delta:g}, {leader} {better} {against} by at "
            f"least {gain:.3g}."
        )
    worse, not_worse = (
        ("cost more", "does not cost more") if costs else ("be worse", "is not worse")
    )
    doubt = f": it may {worse} by {-gain:.3g}" if gain < 0 else f", only that it {not_worse}"
    return f"It is not proved that {leader} {better} {against}{doubt}."


@dataclass(frozen=True, eq=False)
class Proof:
    """Whether the wealth of bets against all rivals reaches a threshold, and for which epsilon.

    Attributes
    ----------
    rivals : integer array
        The hardest first, as far as that is known.
    log_threshold : float
    log_wealth : callable
        From some rivals and epsilons to their log-wealth, shape (n_rivals, n_epsilons), which grows
        with epsilon.
    """

    rivals: Numbers
    log_threshold: float
    log_wealth: Callable[[Numbers, Array], Array]

    def holds(self, epsilon: float) -> bool:
        """Whether all rivals reach the threshold; few are looked at if the hardest do not."""
        return all(self._reach(part, np.array([epsilon])).all() for part in self._parts())

    def smallest_epsilon(self, low: float, high: float) -> float:
        """The smallest epsilon in (low, high] at which all reach it; `high` if there is none below.

        It is searched for on the hardest rivals, and checked on all: those that fail join in.
        """
        if not len(self.rivals):
            return low
        hard = self.rivals[:_HARD]
        while True:
            low = self._zoomed(hard, low, high)
            if low >= high:
                return high
            others = self.rivals[~np.isin(self.rivals, hard)]
            log_wealth = self.log_wealth(others, np.array([low]))[:, 0]
            order = np.argsort(log_wealth)[:_HARD]
            hard = others[order[log_wealth[order] < self.log_threshold]]
            if not len(hard):
                return low

    def _zoomed(self, rivals: Numbers, low: float, high: float) -> float:
        """The smallest epsilon for some rivals, from above; `high` if there is none below."""
        grid = np.linspace(low, high, _POINTS)
        while True:
            passed = self._reach(rivals, grid[:-1]).all(axis=0)
            first = int(passed.argmax()) if passed.any() else len(grid) - 1
            if first == 0:
                return float(grid[0])
            if grid[first] - grid[first - 1] <= TOLERANCE * grid[first]:
                return float(grid[first])
            grid = np.linspace(grid[first - 1], grid[first], _POINTS)

    def _reach(self, rivals: Numbers, epsilons: Array) -> npt.NDArray[np.bool_]:
        return np.asarray(self.log_wealth(rivals, epsilons) >= self.log_threshold)

    def _parts(self) -> Iterator[Numbers]:
        start, size = 0, _HARD
        while start < len(self.rivals):
            yield self.rivals[start : start + size]
            start, size = start + size, _MORE * size


@dataclass(frozen=True)
class DeltaShares:
    """How the probability delta of being wrong is split between the ways of being wrong.

    Attributes
    ----------
    elimination : float
        That the best policy is ever eliminated.
    retrospect : float
        That a leader which is too far from the best is ever certified by all its rounds; split
        again over the policies that may lead.
    incumbents : float
        That one is certified by the rounds since it leads, once the past was forgotten; split
        again over the leaders in their order.
    """

    elimination: float = 0.5
    retrospect: float = 0.45
    incumbents: float = 0.05

    def log_elimination(self, delta: float) -> float:
        """ln(1/delta_e): only the one best policy must not be eliminated, so there is no union."""
        return log(1 / (self.elimination * delta))

    def log_retrospect(self, delta: float, n_policies: int) -> float:
        """What bets in retrospect have to reach: any could have led, so each has its part."""
        return log((n_policies - 1) / (self.retrospect * delta))

    def log_incumbent(self, delta: float, number: int) -> float:
        """What the bets on the leader with this number, counted from 1, have to reach."""
        return log(number * (number + 1) / (self.incumbents * delta))


delta_shares = DeltaShares()
