"""What is asked: how many actions, how sparse the rewards, how good, how sure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import nextafter
from typing import Any, Literal, get_args

from policysieve.arrays import shown
from policysieve.checks import integer, number, one_of
from policysieve.errors import InvalidArgumentError
from policysieve.naming import named_actions
from policysieve.outcome import as_guardrails, declared_outcomes
from policysieve.reported import Carded
from policysieve.scaling import Range, RewardScale, as_reward_range, range_in_words

__all__ = ["Objective", "Problem", "check_problem"]

Objective = Literal["maximize", "minimize"]

_SMALLEST = 1e-100  # positive number, whose square is a number, too
_COUNTED: Any = None  # the named actions are counted
_USUAL: Any = "1, or None where rewards have a range or are costs"


@dataclass(frozen=True, kw_only=True)
class Problem(Carded):
    """Find a policy within `epsilon` of the best, with probability at least 1 - `delta`.

    Parameters
    ----------
    n_actions : int
        Size K of the action set; actions are 0, ..., K-1. May be left out where they are named.
    slate_size : int
        Number m of different actions shown each round; 1 is the ordinary bandit.
    sparsity : float or None
        Bound s on the sum of all K rewards of a context: 1 for one right label or one click.
        None when it is not known, which is the default where rewards have a range or are costs. It
        is in the units of the rewards, and only for rewards from 0 up of which more is better: a
        sum of others does not say how many are good.
    epsilon : float
        How far from the best policy the returned one may be, in expected reward per round, in the
        units of the rewards.
    delta : float
        Probability with which that may fail.
    actions : sequence of str, optional
        Names of the actions, in the order of their numbers.
    against : int or str, optional
        Number or name of the policy that runs today. Then it is also proved by how much the
        recommended policy is better, and half of delta is for that.
    reward_range : (low, high), optional
        Least and largest reward that one item can have, fixed before any is seen; [0, 1] by
        default. All that is told and all that is reported is in these units.
    objective : {"maximize", "minimize"}
        Whether larger rewards are better, or lower ones, because they are costs.
    no_answer : float, optional
        What an item counts that has no answer by its deadline (`Explorer.expire`), in the units of
        the rewards. By default 0, where that lies in the range.
    traffic : float
        Share of the rounds that explore; the others show what the policy that runs today would,
        which `against` must name then.
    max_loss : float, optional
        Limit on the expected reward that exploring may cost in all, compared with the policy that
        runs today, which `against` must name then.
    outcomes : dict, optional
        Other rewards of what is shown, which policies are not chosen by: from their names to
        ranges, such as ``{"sale": (0, 1)}``, or to `Outcome`.
    guardrails : dict, optional
        From names of outcomes to the amounts, in their own units and per round, by which they may
        be worse than with `against`. What is proved to break one leaves the race, and half of what
        delta has for the best policy is for that.

    Examples
    --------
    >>> Problem(n_actions=100, epsilon=0.05, delta=0.05).reward_cap
    1.0
    >>> Problem(actions=["shoes", "hats"], epsilon=0.05, delta=0.05).n_actions
    2
    >>> Problem(n_actions=9, epsilon=5, delta=0.05, reward_range=(0, 500)).reward_cap
    500.0
    """

    n_actions: int = _COUNTED
    slate_size: int = 1
    sparsity: float | None = _USUAL
    epsilon: float
    delta: float
    actions: Sequence[str] | None = None
    against: int | str | None = None
    reward_range: Range = None
    objective: Objective = "maximize"
    no_answer: float | None = None
    traffic: float = 1.0
    max_loss: float | None = None
    outcomes: Mapping[str, Any] | None = field(default=None, hash=False)
    guardrails: Mapping[str, float] | None = field(default=None, hash=False)

    def __post_init__(self) -> None:
        actions, n_actions = named_actions(self.actions, self.n_actions)
        slate_size = integer(
            "slate_size",
            self.slate_size,
            low=1,
            high=n_actions,
            hint="a slate holds different actions, so at most n_actions",
        )
        reward_range = None if self.reward_range is None else as_reward_range(self.reward_range)
        one_of("objective", self.objective, get_args(Objective))
        plain = reward_range is None and self.objective == "maximize"
        low, high = reward_range or (0.0, 1.0)
        span = high - low
        sparsity = self.sparsity
        if sparsity is _USUAL:
            sparsity = 1.0 if plain else None
        if sparsity is not None:
            _check_summable(reward_range, self.objective)
            sparsity = number(
                "sparsity",
                sparsity,
                above=0,
                below=n_actions * high,
                closed=True,
                smallest=_SMALLEST * high,
                hint=f"it bounds the sum of n_actions rewards in {range_in_words(reward_range)}; "
                "None when not known",
            )
        cap = slate_size * span if sparsity is None else min(sparsity, slate_size * span)
        epsilon = number(
            "epsilon",
            self.epsilon,
            above=0,
            below=span if slate_size == 1 else cap,
            smallest=_SMALLEST * span,
            hint=_about_epsilon(slate_size, reward_range),
        )
        delta = number(
            "delta",
            self.delta,
            above=0,
            below=1,
            smallest=_SMALLEST,
            hint="it is the probability of being wrong, so 0.05 for 95% confidence",
        )
        outcomes = declared_outcomes(self.outcomes)
        for name, value in [
            ("n_actions", n_actions),
            ("slate_size", slate_size),
            ("sparsity", sparsity),
            ("epsilon", epsilon),
            ("delta", delta),
            ("actions", actions),
            ("against", _as_against(self.against)),
            ("reward_range", reward_range),
            ("no_answer", _as_no_answer(self.no_answer, low, high)),
            ("traffic", number("traffic", self.traffic, above=0, below=1, closed=True)),
            ("max_loss", _as_max_loss(self.max_loss)),
            ("outcomes", outcomes),
            ("guardrails", as_guardrails(self.guardrails, outcomes, self.against)),
        ]:
            object.__setattr__(self, name, value)
        if self.against is None:
            for name, given in [("traffic", self.traffic < 1), ("max_loss", self.max_loss)]:
                if given:
                    raise InvalidArgumentError(
                        f"{name} needs the policy that runs today, which is shown where nothing is "
                        "explored: give its number or name as against"
                    )

    @property
    def reward_cap(self) -> float:
        """The most one round can earn: min(s, m), or m when the sparsity is not known.

        With a range, the most by which a round can be better than the worst, in its units.
        """
        if self.unit is not self:
            return self.scale.distance(self.unit.reward_cap)
        if self.sparsity is None:
            return float(self.slate_size)
        return min(self.sparsity, float(self.slate_size))

    @property
    def delta_of_best(self) -> float:
        """The part of delta for what is said about the best policy.

        Half if `against` is set, and half of that if there are guardrails.
        """
        share = self.delta if self.against is None else self.delta / 2
        return share if self.guardrails is None else share / 2

    @property
    def delta_of_guardrails(self) -> float:
        """The part of delta for what is said about guardrails."""
        return 0.0 if self.guardrails is None else self.delta / 4

    @cached_property
    def scale(self) -> RewardScale:
        """From the user's rewards to [0, 1], and back."""
        low, high = self.reward_range or (0.0, 1.0)
        minimize = self.objective == "minimize"
        return RewardScale(low=low, high=high, minimize=minimize, slate_size=self.slate_size)

    @cached_property
    def unit(self) -> "Problem":
        """The same problem with rewards in [0, 1] of which more is better; itself if it is so."""
        scale = self.scale
        if scale.is_unit:
            return self
        sparsity, cap = self.sparsity, float(self.slate_size)
        if sparsity is not None:
            sparsity = max(min(sparsity / scale.span, float(self.n_actions)), _SMALLEST)
            cap = cap if self.slate_size == 1 else min(sparsity, cap)
        most = nextafter(cap, 0.0)  # which rounding must not get to
        return replace(
            self,
            sparsity=sparsity,
            epsilon=max(min(self.epsilon / scale.span, most), _SMALLEST),
            reward_range=None,
            objective="maximize",
            no_answer=None,
            max_loss=None if self.max_loss is None else self.max_loss / scale.span,
        )

    @property
    def of_rewards(self) -> "Problem":
        """The same about rewards alone: no policy runs today, and there are no outcomes."""
        return replace(
            self, against=None, traffic=1.0, max_loss=None, outcomes=None, guardrails=None
        )

    @property
    def unanswered(self) -> float:
        """What an item without an answer counts, or raise if that was not declared."""
        low, high = self.reward_range or (0.0, 1.0)
        if self.no_answer is not None:
            return self.no_answer
        if low <= 0 <= high:
            return 0.0
        raise InvalidArgumentError(
            "no_answer must be declared, what an item counts that has no answer by its deadline: 0 "
            f"is outside of the rewards' range {range_in_words(self.reward_range)}; give "
            f"Problem(no_answer={high if self.scale.minimize else low:g}), or what else it is worth"
        )


def _check_summable(reward_range: Range, objective: str) -> None:
    """Raise unless a sum of rewards says how many of them can be good."""
    if objective == "minimize":
        raise InvalidArgumentError(
            "sparsity must be None with objective='minimize': a small sum of costs does not say "
            "how many actions are good; leave it out"
        )
    if reward_range is not None and reward_range[0] != 0:
        raise InvalidArgumentError(
            f"sparsity must be None unless rewards begin at 0, got the range "
            f"{range_in_words(reward_range)}: a sum of shifted rewards does not say how many "
            "actions are good; leave it out"
        )


def _about_epsilon(slate_size: int, reward_range: Range) -> str:
    if slate_size > 1:
        return "a round is worth at most min(sparsity, slate_size)" + (
            "" if reward_range is None else ", in the units of the rewards"
        )
    if reward_range is None:
        return "it is in the units of the rewards, so 0.05 for five hundredths of a full reward"
    return "it is in the units of the rewards"


def _as_no_answer(no_answer: Any, low: float, high: float) -> float | None:
    if no_answer is None:
        return None
    return number(
        "no_answer",
        no_answer,
        above=low,
        below=high,
        closed=True,
        closed_below=True,
        hint="it is in the range of the rewards",
    )


def _as_against(against: Any) -> int | str | None:
    if against is None or isinstance(against, str):
        return against
    return integer("against", against, low=0, hint="or a name: the policy that runs today")


def _as_max_loss(most: Any) -> float | None:
    return None if most is None else number("max_loss", most, above=0, below=float("inf"))


def check_problem(problem: Any) -> None:
    """Raise unless it is a `Problem`."""
    if not isinstance(problem, Problem):
        raise InvalidArgumentError(
            f"problem must be a Problem, got {shown(problem)}; for instance "
            "Problem(n_actions=100, epsilon=0.05, delta=0.05)"
        )
