"""What passes between a learner and its user: decisions out, recommendations at the end."""

import math
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from policysieve.arrays import shown
from policysieve.availability import Available
from policysieve.checks import number
from policysieve.errors import InvalidArgumentError
from policysieve.evidence.estimates import ValueIntervals
from policysieve.evidence.outcomes import OutcomeValue, values_of
from policysieve.evidence.verdicts import Guardrail, open_in_words, outcomes_to_dict
from policysieve.frames import Contexts, read_only
from policysieve.log import NOTHING, Beside
from policysieve.naming import named
from policysieve.policies import MarginalPolicy, Policy, RandomizedPolicy
from policysieve.reported import Carded
from policysieve.scaling import RewardScale

__all__ = ["Decisions", "Recommendation", "as_age", "asked_before"]

_BESIDE = ("outcomes", "outcomes_against", "guardrails")  # only some recommendations have these


def _ticks() -> float:
    """Seconds by a clock that nobody sets."""
    if sys.platform == "linux":
        return time.clock_gettime(time.CLOCK_BOOTTIME)  # goes on while the machine sleeps
    return time.monotonic()


_STARTED = time.time() - _ticks()  # read once: later the clock of the day may be set anew


def _now() -> float:
    """Seconds since 1970 by a clock that nobody sets while the process runs."""
    return _STARTED + _ticks()


def as_age(older_than: Any) -> float:
    """Seconds that something has waited, or raise."""
    if isinstance(older_than, timedelta):
        older_than = older_than.total_seconds()
    return number("older_than", older_than, above=0, below=math.inf, closed_below=True)


def asked_before(older_than: Any) -> float:
    """Until when decisions were asked for that have waited for so long."""
    age = as_age(older_than)
    return _now() - age if age else math.inf


@dataclass(frozen=True, eq=False, repr=False)
class Decisions:
    """A batch of rounds to play. Arrays are read-only.

    Index it by a slice, a mask or row numbers to settle only a part: whatever part of a batch
    comes back first may be told first.

    Attributes
    ----------
    contexts : array of shape (n, ...), or ContextFrame
        A `ContextFrame` if they were a data frame, dicts or a sparse matrix; its ``native()`` is
        that again.
    actions : integer array of shape (n, m)
        The items to show.
    propensities : float array of shape (n, m)
        Probability with which each of them is shown, fixed before the round.
    numbers : integer array of shape (n,)
        Places of the rounds in the order of all decisions of the learner, from 0.
    asked : float array of shape (n,)
        When they were asked for, in seconds since 1970, by a clock that is set once, when the
        process starts: setting the clock of the day later does not change ages. On Linux it goes on
        while the machine sleeps. In another process, as after a pickle, ages are as right as the
        clocks of both were when they started.
    issuer : str
        Mark of the learner that issued them; empty if none did.
    all_actions : tuple of str or None
        Names of all actions, in the order of their numbers, if they have any.
    beside : Beside
        What else was said of the rounds: what was available, who came.
    ids : array of str of shape (n,), or None
        What a study knows the rounds by, wherever they are told.
    """

    contexts: Any
    actions: npt.NDArray[np.int32]
    propensities: npt.NDArray[np.float64]
    numbers: npt.NDArray[np.int64]
    asked: npt.NDArray[np.float64]
    issuer: str
    all_actions: Sequence[str] | None = None
    beside: Beside = field(default_factory=lambda: NOTHING)
    ids: npt.NDArray[np.object_] | None = None

    def __post_init__(self) -> None:
        for array in (self.contexts, self.actions, self.propensities, self.numbers, self.asked):
            read_only(array)

    @classmethod
    def of(
        cls,
        contexts: Contexts,
        actions: npt.NDArray[np.int32],
        propensities: npt.NDArray[np.float64],
        *,
        first: int = 0,
        issuer: str = "",
        all_actions: Sequence[str] | None = None,
        beside: Beside = NOTHING,
    ) -> Self:
        """A whole batch, its rounds numbered from `first`, asked for now."""
        times = np.empty(len(actions))
        times.fill(_now())
        numbers = np.arange(first, first + len(actions))
        return cls(contexts, actions, propensities, numbers, times, issuer, all_actions, beside)

    def __len__(self) -> int:
        return len(self.actions)

    @property
    def available(self) -> Available | None:
        """The actions that could be shown; None if that was not said."""
        return self.beside.available

    @property
    def action_names(self) -> npt.NDArray[np.object_] | None:
        """The items to show by their names, shape (n, m); None if the actions have no names."""
        return None if self.all_actions is None else named(self.actions, self.all_actions)

    @property
    def ages(self) -> npt.NDArray[np.float64]:
        """Seconds since they were asked for, shape (n,)."""
        return np.maximum(_now() - self.asked, 0.0)

    def __repr__(self) -> str:
        return f"Decisions({len(self)} rounds, slate_size={self.actions.shape[1]})"

    def __getitem__(self, rows: Any) -> "Decisions":
        if isinstance(rows, int | np.integer):
            rows = [rows]
        index = np.arange(len(self))
        try:
            index = np.asarray(index[rows])
        except Exception as error:  # what an odd object raises is its own matter
            raise InvalidArgumentError(
                f"decisions are indexed by a slice, a mask or row numbers below {len(self)} "
                f"({error})"
            ) from error
        if index.ndim != 1 or isinstance(rows, np.ma.MaskedArray):
            raise InvalidArgumentError(
                f"decisions are indexed by a slice, a mask or row numbers below {len(self)}, got "
                f"{shown(rows)}"
            )
        return Decisions(
            contexts=self.contexts[index],
            actions=self.actions[index],
            propensities=self.propensities[index],
            numbers=self.numbers[index],
            asked=self.asked[index],
            issuer=self.issuer,
            all_actions=self.all_actions,
            beside=self.beside[index],
            ids=None if self.ids is None else self.ids[index],
        )


@dataclass(frozen=True, kw_only=True)
class Recommendation(Carded):
    """What a learner would deploy now, and what is known about it.

    Attributes
    ----------
    policy : int, Policy, RandomizedPolicy or MarginalPolicy
        Number of the policy in its class, the policy itself if the class cannot be listed, or one
        that draws from the class each time.
    value : float
        Estimate of its expected reward per round; NaN before the first round.
    lower, upper : float
        Interval for that expected reward.
    suboptimality_bound : float
        How much better the best policy of the class can be at most.
    certified : bool
        Whether that bound proves the problem's epsilon.
    rounds : int
        Rounds behind these numbers.
    guarantee : str
        What holds, and with which probability, in one sentence.
    name : str or None
        Name of the policy, if it has one.
    against : str or None
        The policy that runs today in words, if the problem names it.
    gain : float or None
        By how much the recommended one is at least better; None if nothing can be said.
    outcomes : dict of OutcomeValue, or None
        What it has of each outcome that the problem declares, by name: estimate, lower and upper.
    outcomes_against : dict of OutcomeValue, or None
        The same of the policy that runs today.
    guardrails : tuple of Guardrail, or None
        What is proved of it and each guardrail of the problem.
    """

    policy: int | Policy | RandomizedPolicy | MarginalPolicy
    value: float
    lower: float
    upper: float
    suboptimality_bound: float
    certified: bool
    rounds: int
    guarantee: str
    name: str | None = None
    against: str | None = None
    gain: float | None = None
    outcomes: dict[str, OutcomeValue] | None = None
    outcomes_against: dict[str, OutcomeValue] | None = None
    guardrails: tuple[Guardrail, ...] | None = None

    def in_units(self, scale: RewardScale) -> Self:
        """The same in the user's units, from what is known inside; its sentence is in them."""
        if scale.is_unit:
            return self
        lower, upper = scale.limits(self.lower, self.upper)
        return replace(
            self,
            value=scale.value(self.value),
            lower=lower,
            upper=upper,
            suboptimality_bound=scale.distance(self.suboptimality_bound),
            gain=None if self.gain is None else scale.distance(self.gain),
        )

    @property
    def policy_name(self) -> str:
        """The policy in words: its name or number, what it is, or that it is randomised."""
        if self.name is not None:
            return self.name
        if isinstance(self.policy, Policy):
            return repr(self.policy)
        return f"policy {self.policy}" if isinstance(self.policy, int) else "a randomised policy"

    def with_outcomes(
        self, outcomes: Mapping[str, ValueIntervals], against: int | None
    ) -> "Recommendation":
        """The same with what it, and the policy that runs today, have of outcomes."""
        mine = values_of(outcomes, self.policy) if isinstance(self.policy, int) else None
        theirs = None if against is None else values_of(outcomes, against)
        return replace(self, outcomes=mine, outcomes_against=theirs)

    def with_open(self, missing: Mapping[str, int], *, finished: bool) -> "Recommendation":
        """The same, with a guarantee that says what guardrails wait for.

        Parameters
        ----------
        missing : dict of int
            In how many rounds each outcome is not known yet.
        finished : bool
            Whether the learner has finished.
        """
        said = open_in_words(self.guardrails, missing)
        if not said or not self.rounds:
            return self
        if self.certified and not finished:
            said = f"{said} The learner goes on until it is."
        return replace(self, guarantee=f"{self.guarantee} {said}")

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values that JSON can hold: NaN becomes None, an object its name."""
        plain: dict[str, Any] = {"policy": self.policy, "policy_name": self.policy_name}
        plain |= {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name not in ("policy", "name", *_BESIDE)
        }
        plain |= outcomes_to_dict(self.outcomes, self.outcomes_against, self.guardrails)
        if not isinstance(self.policy, int):
            plain["policy"] = repr(self.policy)
        return {
            name: None if isinstance(value, float) and math.isnan(value) else value
            for name, value in plain.items()
        }
