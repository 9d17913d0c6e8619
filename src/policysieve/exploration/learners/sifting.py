"""Learners that let go of policies on the way: epochs, looks at the evidence, elimination."""

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.checks import integer
from policysieve.evidence import Evidence, ValueIntervals
from policysieve.exploration.decisions import Recommendation
from policysieve.exploration.designs.needs import NeedExploration, needs_of
from policysieve.exploration.explorer import Explorer
from policysieve.log import Log
from policysieve.policies import Answers, Policies
from policysieve.problem import Problem

__all__ = ["Array", "SiftingExplorer"]

Array = npt.NDArray[np.float64]

_LOOK = 1.05  # growth of the rounds between looks at the evidence
_FIRST_EPOCH = 20  # rounds
_CHEAP = 2_000_000  # slates that may be looked through without further thought


class SiftingExplorer(Explorer):
    """Play a fixed exploration for an epoch, look at the evidence, eliminate, and explore anew.

    A betting certificate eliminates policies that are proved to be no better than a leader, and
    exploration keeps to what the others would show (docs/maths.md, "Elimination"). Explorations
    are fixed before the contexts they are used on, so certificates are valid at any time. The
    learner looks when the rounds have grown by a factor; others may look whenever they like,
    which eliminates nothing.

    A subclass implements `_explore_next`.

    Parameters
    ----------
    policies, problem, rng
        As for every learner; at least two policies.
    rounds : int or None
        Rounds after which to stop, certified or not.
    first_mixing : float
        Share of uniform exploration in the first epoch; the rest follows all policies alike.
    growth : float
        Factor by which the rounds grow from one epoch to the next.
    """

    exploration: NeedExploration

    def __init__(
        self,
        policies: Policies,
        problem: Problem,
        *,
        rounds: int | None,
        first_mixing: float,
        growth: float,
        rng: Any,
    ) -> None:
        super().__init__(policies, problem, rng=rng)
        self.max_rounds = None if rounds is None else integer("rounds", rounds, low=1)
        self.evidence = Evidence(policies, problem)
        self._certificate = self.evidence.certificate()
        everyone = np.full(policies.n_policies, 1 / policies.n_policies)
        (self.exploration,) = self._by_need(everyone, [first_mixing])
        self._growth = growth
        self._next_epoch = self._next_look = _FIRST_EPOCH

    @property
    def mixing(self) -> float:
        """Share of uniform exploration in the current epoch."""
        return self.exploration.mixing

    @property
    def survivors(self) -> npt.NDArray[np.intp]:
        """Numbers of the policies that can still be the best."""
        return self.evidence.survivors

    @property
    def _finished(self) -> bool:
        """Whether epsilon is certified, or the rounds are used up."""
        return self._certificate.certified or self._used_up

    @property
    def _used_up(self) -> bool:
        return self.max_rounds is not None and self._rounds >= self.max_rounds

    @property
    def _wanted(self) -> int | None:
        """Rounds up to the next look at the evidence, which wants their answers, or to the end."""
        end = self._next_look
        return (end if self.max_rounds is None else min(end, self.max_rounds)) - self._rounds

    def _learn(self, rounds: Log, exploration: Any, answers: Answers) -> None:
        """Look at the same numbers of rounds, in whatever parts they come."""
        self.evidence, start = copy(self.evidence), 0
        while start < len(rounds):
            pause = min(self._next_look, self._next_epoch)
            end = min(len(rounds), start + pause - self.evidence.rounds)
            part = rounds if end - start == len(rounds) else rounds[start:end]
            events = self._events(part, answers.take(slice(start, end)) if start else answers)
            self.evidence.take(events, floor=exploration.floor, ranges=exploration.ranges)
            start, n = end, self.evidence.rounds
            if n == self._next_look:
                self._certificate = self.evidence.eliminate()
                self._next_look = int(_LOOK * n) + 1
            if n == self._next_epoch:
                self.exploration = self._explore_next()
                self._next_epoch = int(self._growth * n) + 1

    @abstractmethod
    def _explore_next(self) -> NeedExploration:
        """What to play in the next epoch, from everything learnt so far."""

    def _by_need(
        self, p_hat: Array, mixings: Sequence[float], need: Array | None = None
    ) -> list[NeedExploration]:
        """Explorations that follow p_hat, made of survivors, and mix in their actions by need.

        Contexts are listed at a cost that the rounds so far have had as well.
        """
        survivors, n_contexts = self.survivors, self.policies.n_contexts
        listed = n_contexts is not None and (
            n_contexts <= self.evidence.rounds or n_contexts * len(survivors) <= _CHEAP
        )
        return needs_of(
            self.policies,
            self.problem,
            survivors=survivors,
            need=np.ones(len(survivors)) if need is None else need,
            p_hat=p_hat,
            mixings=np.array(mixings),
            listed=listed,
        )

    def _recommend(self) -> Recommendation:
        """The surviving policy with the largest estimate, and the latest certificate about it."""
        proof = self.evidence.certificate()
        intervals = self._intervals()
        bound = proof.suboptimality_bound
        sure = f"with probability at least {1 - self.problem.delta:g}"
        return Recommendation(
            policy=proof.leader,
            value=float(intervals.values[proof.leader]),
            lower=float(intervals.lower[proof.leader]),
            upper=float(intervals.upper[proof.leader]),
            suboptimality_bound=bound,
            certified=proof.certified,
            rounds=self._rounds,
            guarantee=f"Within {bound:.3g} of the best policy {sure}, whenever you look.",
        )

    def _intervals(self) -> ValueIntervals:
        """Estimates and limits that hold at any time; those of eliminated policies are too low."""
        return self.evidence.intervals()
