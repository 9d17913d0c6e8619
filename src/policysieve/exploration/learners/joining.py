"""Candidates that join a learner while it runs."""

from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from policysieve.evidence import Evidence
from policysieve.log import Log
from policysieve.policies import Policies, Slates
from policysieve.policies.base import action_dtype
from policysieve.policies.union import union_of

__all__ = ["Joining"]


@dataclass(frozen=True, eq=False)
class Joining:
    """Candidates that have joined, until the first round is learnt from that may show them.

    Rounds that were decided before may still be open then, and none of these counts for the
    candidates, unless all earlier rounds do. A value.

    Attributes
    ----------
    period : int
        That of the explorations which know them; later ones do as well.
    policies : Policies
        The class with them.
    new : Policies
        They alone.
    answers : Slates or None
        What they say in all earlier rounds that were learnt from, if these count.
    """

    period: int
    policies: Policies
    new: Policies
    answers: Slates | None

    @classmethod
    def of(cls, new: Policies, others: Policies, period: int, *, unseen: bool) -> "Joining":
        """Candidates that join others, before they were asked about any round."""
        nothing = np.empty((0, new.n_policies, new.slate_size), action_dtype(new.n_actions))
        return cls(period, union_of(others, new), new, Slates(nothing) if unseen else None)

    @property
    def rounds(self) -> int:
        """Rounds that they were asked about."""
        return 0 if self.answers is None else len(self.answers)

    def after(self, rounds: Log | None) -> "Joining":
        """The same after rounds that were decided before, if there were any."""
        if self.answers is None or rounds is None or not len(rounds):
            return self
        x = self.new.check_contexts(rounds.contexts)
        allowed = self.new.check_available(rounds.available, len(x))
        return replace(self, answers=self.answers.plus(self.new.answers_at(x, None, allowed)))

    def joined(self, evidence: Evidence) -> Evidence:
        """The evidence with them."""
        wider = copy(evidence)
        wider.join(self.policies, self.answers)
        return wider
