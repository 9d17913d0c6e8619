"""What keeps a learner from exploring, or makes it stop: a switch, and a limit on its cost."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from policysieve.errors import InvalidArgumentError
from policysieve.exploration.asking import Asking, alone, changing
from policysieve.exploration.costs import ExploringCost, exploring_cost
from policysieve.exploration.designs.base import Array, Exploration
from policysieve.exploration.designs.today import TodayExploration
from policysieve.exploration.settled import Part
from policysieve.exploration.spending import Spending
from policysieve.exploration.status import Look, Status, status_of
from policysieve.policies import Answers
from policysieve.problem import Problem

__all__ = ["Restrained"]


class Restrained(Asking):
    """A learner that can show what the policy that runs today would, instead of exploring.

    Whether a round explores is fixed before its context is looked at, so what is learnt from the
    others is as it would be without these (docs/maths.md, "A limit on what exploring costs").
    """

    policies: Any
    problem: Problem
    exploration: Exploration
    _room_left: int | None = None  # rounds that may explore, of a snapshot: it has no ledger,
    _was_spent = False  # and whether that was none, and nothing was waited for

    def _begin(self) -> None:
        """Begin to count what exploring earns and loses, before the first round."""
        named = self.problem.against is not None
        self._spending = Spending(self.problem.unit)
        self._today = TodayExploration(self.policies, self.problem) if named else None
        self._stopped = False

    @property
    def exploring(self) -> bool:
        """Whether `ask` explores, as far as the problem's `max_loss` allows; False if stopped."""
        return not self._stopped

    @changing
    def stop_exploring(self) -> None:
        """From now on show what the policy that runs today would, with propensity one.

        Answers of earlier rounds still count. The new rounds are logged, and prove nothing about
        other policies.

        Raises
        ------
        InvalidArgumentError
            If the problem does not name that policy as `against`.
        BusyError
            Within another call of the same thread, as in a signal handler.
        """
        if self._today is None:
            raise InvalidArgumentError(
                "to stop exploring, the policy that runs today must be known, which is shown then: "
                "make the learner for a Problem(against=...) with its number or name"
            )
        self._stopped = True

    @changing
    def resume_exploring(self) -> None:
        """Explore again, from where `stop_exploring` has stopped."""
        self._stopped = False

    def cost(self) -> ExploringCost:
        """What was earned so far, and what exploring has cost, with limits that always hold."""
        return exploring_cost(self._snapshot())

    def status(self) -> Status:
        """How things stand: for a page, or for a service. Looking changes nothing."""
        return status_of(self._glance())

    @alone
    def _glance(self) -> Look:
        left = None if self.problem.max_loss is None else self._room()
        spent = left == 0 and not self._ledger.waiting(self._frontier)
        learner = self._snapshot()
        learner._room_left, learner._was_spent = left, spent
        return Look(learner, self._ledger.pending(self._frontier))

    def _seen(self) -> Self:
        """A snapshot that knows how much may still be explored, if that is limited."""
        if self._lock is None or self.problem.max_loss is None:
            return self._snapshot()
        seen: Self = self._glance().learner
        return seen

    @property
    def _spent(self) -> bool:
        """Whether the problem's `max_loss` lets nothing be explored, and no answer is waited for.

        A snapshot knows it if it was `_seen`.
        """
        return bool(self._seen()._was_spent)

    @property
    def _why_no_proof(self) -> str | None:
        """Why no proof is to be expected of a snapshot that was `_seen`, if it does not explore."""
        if self._stopped:
            return "it was told to stop exploring; ask again after resume_exploring."
        if self._was_spent:
            return "the limit on what exploring may cost is used up, and nothing more is explored."
        if self._room_left == 0:
            return (
                "the limit on what exploring may cost lets nothing be explored before more answers "
                "are told."
            )
        return None

    def _room(self) -> int:
        """How many more rounds may explore within the problem's `max_loss`."""
        return self._spending.room(self._ledger.exploring)

    def _may_explore(self, most: int) -> int:
        """How many of so many rounds may explore."""
        if self._stopped:
            return 0
        return most if self.problem.max_loss is None else min(most, self._room())

    def _with_today(
        self, actions: npt.NDArray[np.int32], propensities: Array, answers: Answers
    ) -> tuple[npt.NDArray[np.int32], Array]:
        """What rounds show that explore, and behind it what the policy that runs today would."""
        if len(answers) == len(actions):
            return actions, propensities
        assert self._today is not None
        shown = self._today._slates_of_today(answers.take(slice(len(actions), None)))
        return (
            np.concatenate([actions, shown]),
            np.concatenate([propensities, np.ones(shown.shape)]),
        )

    def _spend(self, part: Part, answers: Answers | None) -> None:
        """Count what settled rounds have earned and lost; without answers they showed today's.

        Their rewards are in [0, 1], and more is better.
        """
        today = None
        if answers is None:
            today = part.rounds.actions
        elif self._today is not None:
            today = self._today._slates_of_today(answers)
        explored = answers is not None
        self._spending = self._spending.plus(
            part.rounds, today, explored=explored, issued=part.issued
        )
