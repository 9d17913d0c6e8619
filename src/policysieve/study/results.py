"""What a study says of itself."""

from dataclasses import asdict, dataclass
from typing import Any

from policysieve.evidence import ValueIntervals
from policysieve.exploration.costs import ExploringCost
from policysieve.exploration.decisions import Recommendation
from policysieve.exploration.forecast import Forecast
from policysieve.problem import Problem
from policysieve.reported import Reported

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
    created : float
        Seconds since 1970.
    archived : bool
    rounds : int
        Decisions that were made.
    learnt : int
        Of these, the first, which are all settled and were learnt from.
    open : int
        Those without an answer.
    oldest_open : float or None
        Seconds for which the oldest of them has waited.
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
    archived: bool
    rounds: int
    learnt: int
    open: int
    oldest_open: float | None
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
