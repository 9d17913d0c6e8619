"""What exploring costs: the reward that was earned, and what others would have earned."""

from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np

from policysieve.evidence.estimates import ValueIntervals
from policysieve.reported import Carded

__all__ = ["ExploringCost", "Loss", "exploring_cost", "lost_to_today"]


@dataclass(frozen=True, kw_only=True)
class Loss:
    """Expected reward that was lost, compared with what one policy would have earned.

    In expectation over contexts, rewards and what was drawn to be shown; negative if exploring has
    earned more.

    Attributes
    ----------
    policy_name : str
        Whom it is compared with, in words.
    estimate, lower, upper : float
        In all rounds together; the estimate is NaN if there is none yet.
    rounds : int
    """

    policy_name: str
    estimate: float
    lower: float
    upper: float
    rounds: int

    @property
    def per_round(self) -> tuple[float, float, float]:
        """Estimate, lower and upper limit per round; NaN before the first."""
        n = self.rounds or float("nan")
        return self.estimate / n, self.lower / n, self.upper / n

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; what is not known is None."""
        names = ("estimate", "lower", "upper")
        each = dict(zip(names, self.per_round, strict=True))
        return {
            "policy_name": self.policy_name,
            **{name: _known(getattr(self, name)) for name in names},
            "per_round": {name: _known(value) for name, value in each.items()},
        }


@dataclass(frozen=True, kw_only=True)
class ExploringCost(Carded):
    """What the rounds learnt from have earned, and what exploring has cost in them.

    Attributes
    ----------
    rounds, explored : int
        Rounds learnt from, and those that might explore, each with the probability `traffic`; the
        others had to show what the policy that runs today would.
    earned : float
        Sum of their rewards, or of their costs.
    today : Loss or None
        Compared with the policy that runs today, which the problem names as `against`; None if it
        names none. The interval holds at any time with probability at least 1 - delta.
    best : Loss
        Compared with the best policy. The interval holds at any time with probability at least
        1 - 2 delta.
    guarantee : str
        All this in words.
    traffic : float
        Share of the traffic that explores, as the problem has it.
    minimize : bool
        Whether rewards are costs.
    """

    rounds: int
    explored: int
    earned: float
    today: Loss | None
    best: Loss
    guarantee: str
    traffic: float = 1.0
    minimize: bool = False

    @property
    def explored_in_words(self) -> str:
        """How many rounds explored, and with which probability each."""
        chance = "" if self.traffic == 1 else f", each with probability {self.traffic:g}"
        return f"{self.explored:,} explored{chance}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "rounds": self.rounds,
            "explored": self.explored,
            "traffic": self.traffic,
            "earned": self.earned,
            "today": None if self.today is None else self.today.to_dict(),
            "best": self.best.to_dict(),
            "guarantee": self.guarantee,
        }


def exploring_cost(learner: Any, limits: ValueIntervals | None = None) -> ExploringCost:
    """What exploring has cost a learner, which nobody changes meanwhile.

    Its `limits` on values take a pass over all rounds, unless somebody has them.
    Compared with the policy that runs today by paired sums, whatever the learner. Compared with the
    best by the learner's own limits on values: delta for these, another one for an elimination of
    the best, for what chance has added to the rewards, and for the best being as good as the one
    that runs today (docs/maths.md, "What exploring costs").
    """
    problem, policies, spending = learner.problem, learner.policies, learner._spending
    n, today, scale = spending.rounds, lost_to_today(learner), problem.scale
    number, limits = policies.against(problem), limits or learner._intervals()
    sign = -1.0 if scale.minimize else 1.0  # costs count as what they take away
    none_earned = n * sign * scale.value(0.0)
    earned, least_earned, most_earned = (
        none_earned + scale.distance(inner)
        for inner in (spending.earned.total, *spending.earned_limits(problem.delta / 4))
    )
    values = sign * limits.values
    most = float(values.max())
    guess = n * most - earned
    if today is not None:
        guess = today.estimate + n * (most - float(values[number]))
    low, high = _value_of_best(learner, limits, sign)
    upper = n * high - least_earned
    lower = n * low - most_earned
    if today is not None:
        lower = max(lower, today.lower)
    lower = min(lower, upper)
    earned *= sign
    best = Loss(
        policy_name="the best policy",
        estimate=0.0 if not n else guess if isnan(guess) else min(max(lower, guess), upper),
        lower=lower,
        upper=upper,
        rounds=n,
    )
    return ExploringCost(
        rounds=n,
        explored=spending.explored,
        earned=earned,
        today=today,
        best=best,
        guarantee=_in_words(learner, n, earned, today, best),
        traffic=problem.traffic,
        minimize=scale.minimize,
    )


def lost_to_today(learner: Any) -> Loss | None:
    """Compared with the policy that runs today, if the problem names it."""
    spending, number = learner._spending, learner.policies.against(learner.problem)
    if number is None:
        return None
    scale = learner.problem.scale
    estimate, lower, upper = map(scale.distance, spending.lost(learner.problem.delta))
    return Loss(
        policy_name=learner.policies.name_of(number),
        estimate=estimate,
        lower=lower,
        upper=upper,
        rounds=spending.rounds,
    )


def _why_no_limits(learner: Any) -> str | None:
    """Why limits on values do not hold now, or not of all rounds that are counted here."""
    if learner._log is not None and learner._log.has_units:
        return "limits on values are about the first round of each unit, and this is about all"
    if learner.since:
        return f"limits on values count rounds from {learner.since:,} on, and this is about all"
    if learner._limits_hold:
        return None
    if learner._finished:
        return "this learner has no limits on values that hold for these policies"
    return "the limits on values of this learner hold only when its planned rounds are done"


def _value_of_best(learner: Any, limits: Any, sign: float) -> tuple[float, float]:
    """Limits of the best policy's value; trivial ones where the learner's do not hold.

    Of costs, which have a negative sign, those of what is left when they are taken away.
    """
    policies, least = learner.policies, sign * learner.problem.scale.value(0.0)
    most = least + learner.problem.reward_cap
    if _why_no_limits(learner) is not None:
        return least, most
    lower, upper = (limits.lower, limits.upper) if sign > 0 else (-limits.upper, -limits.lower)
    if policies.n_policies is None:  # limits are those of the leader alone
        return float(lower.max()) if policies.log_size is not None else least, most
    evidence = getattr(learner, "evidence", None)
    left = np.arange(policies.n_policies) if evidence is None else evidence.survivors
    return float(lower.max()), float(upper[left].max())


def _in_words(learner: Any, rounds: int, earned: float, today: Loss | None, best: Loss) -> str:
    if not rounds:
        return "Nothing was explored yet: no round was told."
    delta, why = learner.problem.delta, _why_no_limits(learner)
    have = "cost" if learner.problem.scale.minimize else "earned"
    parts = [f"{rounds:,} rounds have {have} {earned:,.5g}."]
    if today is not None:
        parts.append(
            f"With probability at least {1 - delta:g}, exploring has cost between "
            f"{today.lower:,.4g} and {today.upper:,.4g} in all, compared with {today.policy_name}, "
            "which runs today, whenever you look."
        )
    sure = max(0.0, 1 - 2 * delta)
    parts.append(
        f"With probability at least {sure:g} it has cost between {best.lower:,.4g} and "
        f"{best.upper:,.4g}, compared with the best policy."
    )
    if why is not None:
        kind = "costs" if learner.problem.scale.minimize else "rewards"
        parts.append(f"That is wide: {why}, so it goes by the range of {kind} alone.")
    return " ".join(parts)


def _known(value: float) -> float | None:
    return None if isnan(value) else value
