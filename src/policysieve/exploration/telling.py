"""What every learner does with outcomes beside the reward, and with segments."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.errors import InvalidArgumentError
from policysieve.evidence import ValueIntervals
from policysieve.evidence.segment_labels import in_words, labels_of
from policysieve.evidence.segmenting import pair_to_show, values_by_segment
from policysieve.evidence.segments import MOST, Segments
from policysieve.exploration.asking import Asking, changing
from policysieve.exploration.decisions import Decisions, Recommendation, asked_before
from policysieve.exploration.late_outcomes import LateOutcomes
from policysieve.log import Log
from policysieve.log.returning import chosen_rounds
from policysieve.problem import Problem

__all__ = ["OutcomeTelling"]


class OutcomeTelling(Asking):
    """Learners whose rounds have outcomes, if the problem declares any.

    A subclass that draws conclusions from outcomes implements `_weigh`, and `_asked_of` if it does
    not ask all policies.
    """

    policies: Any
    problem: Problem
    _late: LateOutcomes | None = None

    @property
    @abstractmethod
    def log(self) -> Log:
        """The rounds learnt from so far, in the order of their decisions."""

    @abstractmethod
    def recommend(self) -> Recommendation:
        """The policy to deploy now, and what is known about it."""

    @abstractmethod
    def intervals(self) -> ValueIntervals:
        """Estimate and limits of every policy's value, as `recommend` uses them."""

    @changing
    def tell_outcomes(self, decisions: Decisions, outcomes: Any) -> None:
        """Report outcomes that have come later than the rewards, at any time and in any order.

        They count in the order of decisions: an outcome of a round once it is known of all rounds
        before. What never comes holds up the others until it is told, or settled with
        `expire_outcomes`.

        Parameters
        ----------
        decisions : Decisions
            A batch whose rewards were told, or a part of one.
        outcomes : dict
            Arrays of shape (n, m), or (n,) when m = 1, by the names of outcomes; NaN if not known
            yet. Each is told once.

        Raises
        ------
        DecisionsError, InvalidArgumentError, BusyError
            The learner is then as it was before.
        """
        late, numbers = self._declared(), self._ledger.check_told(decisions, self._frontier)
        told = late.checked(outcomes, len(numbers))
        self._hear(late.with_late(numbers, told, self._frontier.learnt))

    @changing
    def expire_outcomes(self, *, older_than: Any) -> dict[str, int]:
        """Settle outcomes that have not come for so long with what their declaration has for late.

        Parameters
        ----------
        older_than : seconds or timedelta
            Since the decision was asked for; its reward was told. 0 settles all.

        Returns
        -------
        dict of int
            How many rounds that were, by the names of outcomes.
        """
        late, found = self._declared().expired(asked_before(older_than))
        self._hear(late)
        return found

    def outcomes(self) -> dict[str, ValueIntervals]:
        """Estimate and limits of every policy in every outcome, by name, in its own units.

        They hold for all policies and outcomes at once, and at any time (docs/maths.md, "Other
        outcomes"). Those of eliminated policies are as they were then.
        """
        return self._declared().counted.intervals()

    @property
    def open_outcomes(self) -> dict[str, int]:
        """In how many rounds that were learnt from each outcome is not known yet, by name."""
        counted = self._declared().counted
        return {name: counted.missing(name) for name in self.problem.outcomes or {}}

    def by_segment(
        self,
        segment: Any,
        *,
        every_policy: bool = False,
        outcome: str | None = None,
        most: int = MOST,
    ) -> Segments:
        """For whom the recommended policy is better: as `Selection.by_segment`, from `log`.

        The rounds are those that count for all policies that are shown, who are asked about their
        contexts again. If labels are given, it is one for each round of `log`.
        """
        then = self._snapshot()
        best, intervals = then.recommend(), then.intervals()
        if not isinstance(best.policy, int):
            raise InvalidArgumentError(
                f"by_segment needs one of a list of policies, got {best.policy_name}"
            )
        pair = pair_to_show(self.policies, self.problem, intervals, best.policy)
        log, places = then.log, then._places_for(None if every_policy else pair)
        labels = labels_of(segment, log.contexts, 0, len(log))
        return values_by_segment(
            chosen_rounds(log, places).without_units(),
            self.policies,
            self.problem,
            labels[places],
            by=in_words(segment),
            pair=pair,
            every_policy=every_policy,
            outcome=outcome,
            most=most,
        )

    @abstractmethod
    def _places_for(self, policies: Sequence[int] | None) -> npt.NDArray[np.int64]:
        """Where the rounds are in the log that count for some policies; None for all."""

    def _declared(self) -> LateOutcomes:
        """What is known of outcomes, or raise if there are none."""
        if self._late is None:
            raise InvalidArgumentError(
                "outcomes must be declared by the problem, which has none; write "
                'Problem(..., outcomes={"sale": (0, 1)})'
            )
        return self._late

    def _hear(self, late: LateOutcomes) -> None:
        """Take in what is known of outcomes now; all attributes that change are bound anew."""
        then = self._twin()
        then._late = late
        then._weigh()
        self.__dict__.update({k: v for k, v in then.__dict__.items() if v is not self.__dict__[k]})

    def _weigh(self) -> None:
        """Draw conclusions from outcomes."""

    @property
    def _asked_of(self) -> npt.NDArray[np.integer] | None:
        """Policies that were asked in all rounds that are learnt from now; None if all."""
        return None
