"""Policies that joined at the same time: which rounds count for them, and their parts of delta."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from policysieve.evidence.certificate import delta_shares
from policysieve.problem import Problem

__all__ = ["Cohort", "Cohorts"]

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.intp]


class Cohort(NamedTuple):
    """Policies that joined together.

    Attributes
    ----------
    first, size : int
        Their numbers are the next `size` from `first` on.
    since : int
        Rounds before those that count for them.
    weights : pair of floats
        Sums of the weights of their doubly robust scores, and of the squares of these.
    """

    first: int
    size: int
    since: int
    weights: tuple[float, float]


@dataclass(frozen=True)
class Cohorts:
    """All policies, by when they joined. A value.

    Delta is split so that all holds however often candidates join, up to `additions` times. With
    a = additions + 1: any of a policies, one of each cohort, may be the best at its time, so each
    has a part of 1/a for not being eliminated, and each pair of a best and a leader's cohort one
    of 1/a^2 for certificates, which is split again over the leaders (docs/maths.md, "Candidates
    that join").

    Attributes
    ----------
    problem : Problem
    additions : int
        How often candidates may join.
    every : tuple of Cohort
        In the order of their numbers.
    """

    problem: Problem
    additions: int
    every: tuple[Cohort, ...]

    @classmethod
    def first(cls, problem: Problem, n_policies: int, additions: int) -> "Cohorts":
        """All policies, before any round."""
        return cls(problem, additions, (Cohort(0, n_policies, 0, (0.0, 0.0)),))

    @property
    def left(self) -> int:
        """How often candidates may still join."""
        return self.additions + 1 - len(self.every)

    @property
    def n_policies(self) -> int:
        """All policies."""
        last = self.every[-1]
        return last.first + last.size

    def joined(self, size: int, since: int, weights: tuple[float, float]) -> "Cohorts":
        """The same with so many policies more."""
        new = Cohort(self.n_policies, size, since, weights)
        return replace(self, every=(*self.every, new))

    def after(self, new: int, weight: float) -> "Cohorts":
        """The same after so many rounds more of this weight."""
        more = (new * weight, new * weight**2)
        return replace(
            self,
            every=tuple(
                one._replace(weights=(one.weights[0] + more[0], one.weights[1] + more[1]))
                for one in self.every
            ),
        )

    def of(self, policy: int) -> Cohort:
        """The cohort of a policy."""
        return next(one for one in reversed(self.every) if one.first <= policy)

    def spread(self, policies: Numbers, of_each: list[Any]) -> Any:
        """One number of each cohort for each of some policies, in increasing order.

        It is the number itself if there is one cohort.
        """
        if len(self.every) == 1:
            return of_each[0]
        ends = policies.searchsorted([one.first for one in self.every[1:]])
        return np.repeat(of_each, np.diff(ends, prepend=0, append=len(policies)))

    def weights_of(self, policies: Numbers) -> tuple[Any, Any]:
        """Sums of weights and of their squares of policies in increasing order, as `spread` has."""
        pairs = [one.weights for one in self.every]
        return tuple(self.spread(policies, list(part)) for part in zip(*pairs, strict=True))

    def since(self, policies: Numbers) -> npt.NDArray[np.int64]:
        """Rounds before those that count for each of some policies, in any order."""
        firsts = [one.first for one in self.every]
        places = np.searchsorted(firsts, policies, side="right") - 1
        return np.array([one.since for one in self.every])[places]

    def since_both(self, leader: int, rivals: Numbers) -> npt.NDArray[np.int64]:
        """Rounds before those that count for the leader and for each of its rivals."""
        return np.maximum(self.since(rivals), self.of(leader).since)

    @property
    def log_elimination(self) -> float:
        """What the log-wealth of bets against a policy reaches when it is eliminated."""
        delta = self.problem.delta_of_best
        return delta_shares.log_elimination(delta / (self.additions + 1))

    def leaders(self, leader: int) -> int:
        """Into how many parts something is split for each policy that could have led.

        Each cohort has the same part, which is split over its policies. A policy does not lead
        against itself, but one of another cohort may lead against any.
        """
        parts = self.parts(self.of(leader))
        return parts if self.additions else parts - 1

    def log_retrospect(self, leader: int) -> float:
        """What bets on a leader have to reach in all rounds that count."""
        delta = self.problem.delta_of_best / (self.additions + 1)
        return delta_shares.log_retrospect(delta, self.leaders(leader) + 1)

    def log_incumbent(self, number: int) -> float:
        """What bets have to reach on the leader of this number since the past was forgotten."""
        delta = self.problem.delta_of_best
        return delta_shares.log_incumbent(delta / (self.additions + 1), number)

    def parts(self, cohort: Cohort) -> int:
        """Into how many parts something is split for each policy of a cohort."""
        return (self.additions + 1) * cohort.size

    def pairs(self, first: int, second: int) -> float:
        """Pairs of policies of these two cohorts, times the pairs of cohorts."""
        a, b = self.of(first), self.of(second)
        n = self.additions + 1
        within = a.size * (a.size - 1) / 2 if a is b else float(a.size * b.size)
        return n * (n + 1) / 2 * within
