"""How many rounds it will take: planned ones exactly, those to a proof as a forecast."""

import datetime
from dataclasses import asdict, dataclass, field
from math import ceil, floor, log10
from typing import Any

from policysieve.reported import Carded

__all__ = ["LEVEL", "Forecast", "about", "forecast_of_proof", "no_forecast", "planned_forecast"]

LEVEL = 0.8
"""Share of forecasts whose interval held what came, on the tasks that made it."""

FEWEST_ROUNDS = 100  # before any forecast of a proof
_EXPECTED, _LOWER, _UPPER = 0.88, 0.5, 1.3  # docs/maths.md, "Forecasts"


@dataclass(frozen=True, kw_only=True)
class Forecast(Carded):
    """After how many rounds a learner is expected to have its proof. No guarantee.

    Attributes
    ----------
    rounds : int
        Rounds so far, those that wait for an answer left out.
    total : int or None
        Rounds in all at which the proof is expected; None if that cannot be said, for the `reason`.
    lower, upper : int or None
        Interval of `total`; both are `total` if it is planned or already there.
    level : float
        How often such an interval held what came, where it was made; 1 if `total` is exact.
    reason : str
        What it goes by, in words, or why there is none.
    limit : int or None
        Rounds after which the learner stops, proved or not.
    per_day : float or None
        Rounds of traffic a day.
    day : date
        When it was asked for.
    """

    rounds: int
    total: int | None
    lower: int | None
    upper: int | None
    level: float
    reason: str
    limit: int | None
    per_day: float | None = None
    day: datetime.date = field(default_factory=datetime.date.today)

    @property
    def exact(self) -> bool:
        """Whether the number is planned or already there, and not expected only."""
        return self.total is not None and self.lower == self.upper

    @property
    def proof_expected(self) -> int | None:
        """The `total` if it is that of a proof which is still to come, else None."""
        return None if self.exact else self.total

    @property
    def left(self) -> int | None:
        """Rounds still to go, those that wait for an answer among them."""
        return None if self.total is None else max(self.total - self.rounds, 0)

    @property
    def days(self) -> float | None:
        """Days still to go; None without `per_day`."""
        return self._days(self.total)

    @property
    def days_lower(self) -> float | None:
        """Lower end of their interval."""
        return self._days(self.lower)

    @property
    def days_upper(self) -> float | None:
        """Upper end of their interval."""
        return self._days(self.upper)

    @property
    def date(self) -> datetime.date | None:
        """The day on which it is expected; None without `per_day`, or if no calendar has it."""
        days = self.days
        try:
            return None if days is None else self.day + datetime.timedelta(days=ceil(days))
        except OverflowError:
            return None

    def _days(self, total: int | None) -> float | None:
        if total is None or self.per_day is None:
            return None
        return max(total - self.rounds, 0) / self.per_day

    def sentence(self) -> str:
        """The forecast in words."""
        if self.total is None or self.lower is None or self.upper is None:
            return f"No forecast: {self.reason}"
        if self.exact:
            return f"{self.reason}{self._by_day()}"
        said = (
            f"The proof is expected after about {about(self.total)} rounds in all, "
            f"{about(self.left)} more; in {self.level:.0%} of such cases it came after "
            f"{about(self.lower)} to {about(self.upper)}.{self._by_day()}"
        )
        if self.limit is None or self.limit >= self.upper:
            return said
        likely = "probably" if self.limit < self.total else "perhaps"
        return f"{said} The learner stops after {self.limit:,} rounds, {likely} before that."

    def _by_day(self) -> str:
        if not self.days or self.per_day is None:
            return ""
        days = f"{about(self.days)} day{'' if self.days == 1 else 's'}"
        spread = "" if self.exact else f" ({about(self.days_lower)} to {about(self.days_upper)})"
        when = "" if self.date is None else f", around {self.date}"
        return f" At {self.per_day:,g} rounds a day that takes {days}{spread}{when}."

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            **asdict(self),
            "left": self.left,
            "days": self.days,
            "days_lower": self.days_lower,
            "days_upper": self.days_upper,
            "day": self.day.isoformat(),
            "date": None if self.date is None else self.date.isoformat(),
            "sentence": self.sentence(),
        }


def forecast_of_proof(
    times: float | None, *, rounds: int, next_look: int, limit: int | None
) -> Forecast:
    """When a proof is expected, if that takes so many times the rounds until now.

    Parameters
    ----------
    times : float or None
        As `Evidence.times_to_proof` has it.
    rounds, next_look : int
        Rounds so far, and before which no proof can come.
    limit : int or None
        Rounds after which the learner stops.
    """
    if rounds < FEWEST_ROUNDS:
        few = f"{FEWEST_ROUNDS} rounds are needed to go by, and there are {rounds}."
        return no_forecast(few, rounds=rounds, limit=limit)
    if times is None:
        far = (
            "as it stands, the proof would take more than a hundred times the rounds until now; "
            "ask again later."
        )
        return no_forecast(far, rounds=rounds, limit=limit)
    total, lower, upper = (
        max(next_look, ceil(rounds * factor))
        for factor in (times**_EXPECTED, times**_LOWER, _UPPER * times)
    )
    return Forecast(
        rounds=rounds,
        total=total,
        lower=lower,
        upper=upper,
        level=LEVEL,
        reason="The evidence against the rivals of the leader goes on growing as it did.",
        limit=limit,
    )


def planned_forecast(left: int, *, rounds: int) -> Forecast:
    """The end of what is planned, so many rounds from now, which may be none."""
    total = rounds + left
    planned = f"It ends as planned after {total:,} rounds, {left:,} more."
    return Forecast(
        rounds=rounds,
        total=total,
        lower=total,
        upper=total,
        level=1.0,
        reason=planned if left else "It has finished.",
        limit=total,
    )


def no_forecast(reason: str, *, rounds: int, limit: int | None = None) -> Forecast:
    """A forecast that says nothing, and why."""
    return Forecast(
        rounds=rounds, total=None, lower=None, upper=None, level=LEVEL, reason=reason, limit=limit
    )


def about(number: float | None) -> str:
    """A number in two digits, but at most one behind the point."""
    if not number:
        return "0"
    places = min(1 - floor(log10(number)), 1)
    return f"{round(number, places):,.1f}".removesuffix(".0")
