"""How things stand with a learner, in one value."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from policysieve.evidence.change import Change
from policysieve.evidence.estimates import ValueIntervals
from policysieve.exploration.costs import ExploringCost, exploring_cost
from policysieve.exploration.decisions import Recommendation
from policysieve.exploration.forecast import Forecast
from policysieve.reported import Carded

__all__ = ["Look", "Status", "status_of"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Status(Carded):
    """How things stand with a learner, at the time that it was asked.

    Attributes
    ----------
    learner : str
        Name of its class.
    rounds, pending : int
        Rounds learnt from, and issued ones that are not settled yet.
    survivors : int or None
        Policies that can still be the best; None if the learner eliminates none.
    finished, exploring : bool
        Whether it has finished, and whether it explores unless it was told to stop.
    traffic : float
        Share of the rounds that explore.
    max_loss : float or None
        Limit on what exploring may cost, and
    left : int or None
        how many more rounds it allows to explore now; None if there is no limit.
    since : int
        The first round of the log that counts.
    recommendation : Recommendation
    cost : ExploringCost
    forecast : Forecast
        How many rounds it will take.
    intervals : ValueIntervals
        Estimate and limits of every policy's value.
    open_outcomes : dict of int, or None
        In how many rounds each outcome is not known yet, if the problem declares any.
    """

    learner: str
    rounds: int
    pending: int
    survivors: int | None
    finished: bool
    exploring: bool
    traffic: float
    max_loss: float | None
    left: int | None
    since: int
    recommendation: Recommendation
    cost: ExploringCost
    forecast: Forecast
    intervals: ValueIntervals = field(repr=False)
    find_alarm: Callable[[], Change | None] = field(repr=False)
    open_outcomes: dict[str, int] | None = None

    @cached_property
    def alarm(self) -> Change | None:
        """The change of the world that the rounds prove, or None.

        It is looked for when it is first asked for, which takes a pass over all rounds.
        """
        return self.find_alarm()

    def __getstate__(self) -> dict[str, Any]:
        """Look for a change before travelling: the search needs the rounds."""
        return {**self.__dict__, "alarm": self.alarm, "find_alarm": None}

    def __repr__(self) -> str:
        best = self.recommendation
        certified = "certified" if best.certified else "not certified"
        open_ = "".join(
            f", guardrail on {name} not proved" + (f" ({n:,} open)" if n else "")
            for name, n in self.unproved.items()
        )
        return (
            f"Status({self.learner}, {self.rounds:,} rounds, {self.pending:,} pending, "
            f"{best.policy_name} {certified}{open_}, "
            f"{'exploring' if self.exploring else 'stopped'})"
        )

    @property
    def unproved(self) -> dict[str, int]:
        """Guardrails that the recommended policy is not proved to keep, and rounds that are open.

        The learner does not finish before they are proved, unless its rounds are used up.
        """
        missing = self.open_outcomes or {}
        return {
            one.outcome: missing.get(one.outcome, 0)
            for one in self.recommendation.guardrails or ()
            if one.verdict == "not proved"
        }

    def to_dict(self, *, alarm: bool = False) -> dict[str, Any]:
        """Plain values for JSON.

        Parameters
        ----------
        alarm : bool
            Whether to look for a change of the world, too, which takes a pass over all rounds.
        """
        names = ("learner", "rounds", "pending", "survivors", "finished", "exploring", "traffic")
        found: dict[str, Any] = {name: getattr(self, name) for name in names}
        found |= {"max_loss": self.max_loss, "left": self.left, "since": self.since}
        for name in ("recommendation", "cost", "forecast"):
            found[name] = getattr(self, name).to_dict()
        if self.open_outcomes is not None:
            found["open_outcomes"] = self.open_outcomes
        if alarm:
            found["alarm"] = None if self.alarm is None else self.alarm.to_dict()
        return found


class Look(NamedTuple):
    """A learner that nobody changes any more, and what its ledger said at the same time."""

    learner: Any
    pending: int


def status_of(look: Look) -> Status:
    """How things stand with a learner that was looked at."""
    learner, problem = look.learner, look.learner.problem
    evidence, limits = getattr(learner, "evidence", None), learner.intervals()
    return Status(
        learner=type(learner).__name__,
        rounds=learner.rounds,
        pending=look.pending,
        survivors=None if evidence is None else len(evidence.survivors),
        finished=learner.finished,
        exploring=learner.exploring,
        traffic=problem.traffic,
        max_loss=problem.max_loss,
        left=learner._room_left,
        since=learner.since,
        recommendation=learner.recommend(),
        cost=exploring_cost(learner, limits),
        forecast=learner.forecast(),
        intervals=limits,
        find_alarm=lambda: learner.alarm,
        open_outcomes=None if problem.outcomes is None else learner.open_outcomes,
    )
