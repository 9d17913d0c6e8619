"""What a study says of itself."""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from policysieve.evidence import ValueIntervals
from policysieve.exploration.costs import ExploringCost
from policysieve.exploration.decisions import Recommendation
from policysieve.exploration.forecast import Forecast
from policysieve.problem import Problem
from policysieve.reported import Reported
from policysieve.study.durations import in_words

__all__ = ["Pulse", "StudyStatus", "StudySummary", "Told", "Verification"]


@dataclass(frozen=True, kw_only=True)
class Told:
    """What became of rewards.

    Attributes
    ----------
    counted : int
        Rounds that were settled by this call.
    again : int
        Rounds whose reward was told before, the same.
    late : tuple of str
        Ids of rounds that were settled without it: after the deadline, or because they were given
        up. Their rewards are kept in the audit table, and not counted.
    """

    counted: int
    again: int
    late: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The fields, for JSON."""
        return {**asdict(self), "late": list(self.late)}


@dataclass(frozen=True, kw_only=True)
class Pulse:
    """What changes when something happens in a study.

    Attributes
    ----------
    rounds, settled, learnt : int
        Decisions that were made, those that are settled, and those learnt from.
    exploration : int
        Version of the newest that is published.
    archived : bool
    """

    rounds: int
    settled: int
    learnt: int
    exploration: int
    archived: bool

    def to_dict(self) -> dict[str, Any]:
        """The fields, for JSON."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class StudySummary:
    """A line of the list of studies.

    Attributes
    ----------
    name, learner : str
    rounds, settled : int
        Decisions that were made, and those whose rewards are known or given up.
    created : float
        Seconds since 1970.
    archived : bool
    """

    name: str
    learner: str
    rounds: int
    settled: int
    created: float
    archived: bool

    def to_dict(self) -> dict[str, Any]:
        """The fields, for JSON."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class StudyStatus(Reported):
    """Where a study stands.

    Attributes
    ----------
    name, learner : str
    problem : Problem
    candidates : str
        How many there are, in words.
    created, as_of : float
        When, and when it stood so, in seconds since 1970 by the clock of the database.
    archived : bool
    rounds : int
        Decisions that were made.
    learnt : int
        Of these, the first, which are all settled and were learnt from.
    open : int
        Those without an answer.
    oldest_open : float or None
        Seconds for which the oldest of them has waited.
    oldest_open_id : str or None
        Its id.
    told, expired, discarded : int
        How the others were settled.
    late, refused : int
        Answers that were kept in the audit table, and not counted.
    forgotten : int
        Rounds whose contexts were erased.
    deadline : float or None
        Seconds.
    exploration : int
        Version of the newest that is published.
    holder : str or None
        Who may publish the next, if anybody.
    survivors : int or None
        Policies that can still be the best; None if the learner eliminates none.
    finished : bool
    recommendation : Recommendation
    cost : ExploringCost
        What exploring has cost in the rounds learnt from.
    forecast : Forecast
        How many rounds it will take.
    intervals : ValueIntervals
    """

    name: str
    learner: str
    problem: Problem
    candidates: str
    created: float
    as_of: float
    archived: bool
    rounds: int
    learnt: int
    open: int
    oldest_open: float | None
    oldest_open_id: str | None
    told: int
    expired: int
    discarded: int
    late: int
    refused: int
    forgotten: int
    deadline: float | None
    exploration: int
    holder: str | None
    survivors: int | None
    finished: bool
    recommendation: Recommendation
    cost: ExploringCost
    forecast: Forecast
    intervals: ValueIntervals

    @property
    def waiting(self) -> int:
        """Settled rounds that are not learnt from yet, because earlier ones are open."""
        return self.rounds - self.learnt - self.open

    @property
    def counts(self) -> dict[str, int]:
        """What became of the rounds, by words for a table."""
        return {
            "decided": self.rounds,
            "learnt from, in the order of decisions": self.learnt,
            "told": self.told,
            "expired at their deadline": self.expired,
            "given up": self.discarded,
            "open": self.open,
            "settled, and waiting behind open ones": self.waiting,
            "late answers, kept and not counted": self.late,
            "refused answers, kept and not counted": self.refused,
            "contexts erased": self.forgotten,
        }

    @property
    def held_up(self) -> str | None:
        """What open decisions hold up, and what to do, in a sentence; None if nothing waits."""
        if not self.waiting or self.oldest_open is None:
            return None
        since = datetime.fromtimestamp(self.as_of - self.oldest_open, UTC)
        settled = f"{self.waiting:,} settled rounds wait"
        if self.waiting == 1:
            settled = "1 settled round waits"
        behind = f"{self.open:,} open ones, of which the oldest is"
        if self.open == 1:
            behind = "an open one,"
        said = (
            f"{settled} behind {behind} {self.oldest_open_id!r}, asked for at "
            f"{since:%Y-%m-%d %H:%M} UTC, {in_words(self.oldest_open)} ago. Tell what is open, or "
            "expire or discard it"
        )
        if self.deadline is None:
            return f"{said}; there is no deadline."
        return (
            f"{said}; after the deadline of {in_words(self.deadline)} it expires as soon as a "
            "process tells or learns."
        )

    @property
    def chosen(self) -> Any:
        """The recommended policy."""
        return self.recommendation.policy

    @property
    def true_values(self) -> None:
        """A study does not know them."""
        return None

    def leaders(self, count: int = 10) -> list[dict[str, Any]]:
        """The policies with the best estimates, with their limits."""
        return self.intervals.leaders(count)

    def to_dict(self) -> dict[str, Any]:
        """The fields, for JSON; of the intervals those of the leaders."""
        fields = {
            name: value
            for name, value in self.__dict__.items()
            if name not in ("problem", "recommendation", "cost", "forecast", "intervals")
        }
        return fields | {
            "waiting": self.waiting,
            "held_up": self.held_up,
            "problem": asdict(self.problem),
            "recommendation": self.recommendation.to_dict(),
            "cost": self.cost.to_dict(),
            "forecast": self.forecast.to_dict(),
            "leaders": self.leaders(),
        }


@dataclass(frozen=True, kw_only=True)
class Verification:
    """What came out when a study was folded again from its beginning.

    Attributes
    ----------
    rounds : int
        Rounds that were folded.
    explorations : int
        Published explorations that were made again.
    rounded : int
        Those of them that agree to nine digits but not in the last bit: processors of other kinds
        round otherwise.
    differences : tuple of str
        What is not as it should be, a sentence each; none if everything is the same.
    """

    rounds: int
    explorations: int
    rounded: int
    differences: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether everything is the same, but for rounding."""
        return not self.differences

    @property
    def verdict(self) -> str:
        """What was found, in a sentence."""
        if not self.holds:
            return "not all of them are the same."
        if self.rounded:
            return (
                f"all are the same, {self.rounded:,} explorations but for the last digits, which "
                "another kind of processor has rounded otherwise."
            )
        return "all bits are the same."

    def to_dict(self) -> dict[str, Any]:
        """The fields, for JSON."""
        return {**asdict(self), "differences": list(self.differences), "holds": self.holds}
