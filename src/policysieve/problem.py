"""What is asked: how many actions, how sparse the rewards, how good, how sure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from policysieve.arrays import shown
from policysieve.checks import integer, number
from policysieve.errors import InvalidArgumentError
from policysieve.naming import named_actions
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
    traffic : float
        Share of the rounds that explore; the others show what the policy that runs today would,
        which `against` must name then.
    max_loss : float, optional
        Limit on the expected reward that exploring may cost in all, compared with the policy that
        runs today, which `against` must name then.

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
    traffic: float = 1.0
    max_loss: float | None = None

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
        for name, value in [
            ("n_actions", n_actions),
            ("slate_size", slate_size),
            ("sparsity", sparsity),
            ("epsilon", epsilon),
            ("delta", delta),
            ("actions", actions),
            ("against", _as_against(self.against)),
            ("traffic", number("traffic", self.traffic, above=0, below=1, closed=True)),
            ("max_loss", _as_max_loss(self.max_loss)),
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
        """The most one round can earn: min(s, m), or m when the sparsity is not known."""
        if self.sparsity is None:
            return float(self.slate_size)
        return min(self.sparsity, float(self.slate_size))

    @property
    def delta_of_best(self) -> float:
        """The part of delta for what is said about the best policy: half if `against` is set."""
        return self.delta if self.against is None else self.delta / 2


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
