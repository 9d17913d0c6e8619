"""What is asked: how many actions, how sparse the rewards, how good, how sure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from policysieve.arrays import shown
from policysieve.checks import integer, number
from policysieve.errors import InvalidArgumentError
from policysieve.naming import named_actions
from policysieve.outcome import as_guardrails, declared_outcomes
from policysieve.reported import Carded

__all__ = ["Problem", "check_problem"]

_SMALLEST = 1e-100  # positive number, whose square is a number, too
_COUNTED: Any = None  # the named actions are counted


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
        None when it is not known.
    epsilon : float
        How far from the best policy the returned one may be, in expected reward per round.
    delta : float
        Probability with which that may fail.
    actions : sequence of str, optional
        Names of the actions, in the order of their numbers.
    against : int or str, optional
        Number or name of the policy that runs today. Then it is also proved by how much the
        recommended policy is better, and half of delta is for that.
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
    """

    n_actions: int = _COUNTED
    slate_size: int = 1
    sparsity: float | None = 1.0
    epsilon: float
    delta: float
    actions: Sequence[str] | None = None
    against: int | str | None = None
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
        sparsity = self.sparsity
        if sparsity is not None:
            sparsity = number(
                "sparsity",
                sparsity,
                above=0,
                below=n_actions,
                closed=True,
                smallest=_SMALLEST,
                hint="it bounds the sum of n_actions rewards in [0, 1]; None when not known",
            )
        cap = float(slate_size) if sparsity is None else min(sparsity, slate_size)
        epsilon = number(
            "epsilon",
            self.epsilon,
            above=0,
            below=1.0 if slate_size == 1 else cap,
            smallest=_SMALLEST,
            hint="a round is worth at most min(sparsity, slate_size)" if slate_size > 1 else "",
        )
        delta = number("delta", self.delta, above=0, below=1, smallest=_SMALLEST)
        outcomes = declared_outcomes(self.outcomes)
        for name, value in [
            ("n_actions", n_actions),
            ("slate_size", slate_size),
            ("sparsity", sparsity),
            ("epsilon", epsilon),
            ("delta", delta),
            ("actions", actions),
            ("against", _as_against(self.against)),
            ("outcomes", outcomes),
            ("guardrails", as_guardrails(self.guardrails, outcomes, self.against)),
        ]:
            object.__setattr__(self, name, value)

    @property
    def reward_cap(self) -> float:
        """The most one round can earn: min(s, m), or m when the sparsity is not known."""
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


def _as_against(against: Any) -> int | str | None:
    if against is None or isinstance(against, str):
        return against
    return integer("against", against, low=0, hint="or a name: the policy that runs today")


def check_problem(problem: Any) -> None:
    """Raise unless it is a `Problem`."""
    if not isinstance(problem, Problem):
        raise InvalidArgumentError(
            f"problem must be a Problem, got {shown(problem)}; for instance "
            "Problem(n_actions=100, epsilon=0.05, delta=0.05)"
        )
