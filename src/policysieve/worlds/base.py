"""What a world promises: contexts are seen, rewards only of what is shown."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from policysieve.availability import Available
from policysieve.checks import MOST_ACTIONS, as_actions, as_rng, integer, number, refuse_rows
from policysieve.errors import InvalidArgumentError, UnknownValueError
from policysieve.frames import Contexts, read_only
from policysieve.naming import check_same_actions, labels_of, looked_up, named_actions
from policysieve.problem import Objective, Problem
from policysieve.scaling import Range, range_in_words

if TYPE_CHECKING:
    from policysieve.policies import AnyPolicies, MarginalPolicy, Policies, Policy

__all__ = ["Draw", "RewardsOf", "World"]

# From checked slates (n, m) of one draw to the rewards (n, m) of their items.
RewardsOf = Callable[[npt.NDArray[np.int32]], npt.NDArray[np.float64]]


class Draw:
    """Some rounds of a world: contexts, and rewards of whatever is shown in them.

    Made by `World.draw`. The rewards of all actions were fixed together with the contexts, so
    `rewards` may be called again and answers consistently.
    """

    def __init__(
        self,
        contexts: Contexts,
        rewards_of: RewardsOf,
        *,
        n_actions: int,
        slate_size: int,
        actions: Sequence[str] | None = None,
        available: Available | None = None,
    ) -> None:
        self._contexts = contexts[:]
        read_only(self._contexts)
        self._available = available
        self._rewards_of = rewards_of
        self._n_actions = n_actions
        self._slate_size = slate_size
        self._names = actions

    @property
    def contexts(self) -> Any:
        """Contexts, shape (n, ...), read-only."""
        return self._contexts

    @property
    def available(self) -> Available | None:
        """What can be shown in each round, as `ask` takes it; None if everything can."""
        return self._available

    def __len__(self) -> int:
        return len(self._contexts)

    def __repr__(self) -> str:
        return f"Draw({len(self)} rounds, slate_size={self._slate_size})"

    def rewards(self, actions: Any) -> npt.NDArray[np.float64]:
        """Rewards of the shown items.

        Parameters
        ----------
        actions : array of shape (n, m), or (n,) when m = 1
            The slate shown in each round: different actions in [0, n_actions - 1], or their names.

        Returns
        -------
        array of shape (n, m)
            Rewards in [0, 1] or the world's range. A row of NaN means that the world cannot say;
            only `Replay` has such.

        Raises
        ------
        InvalidArgumentError
            If the actions are not n slates of m different actions in range, and available.
        """
        return self._rewards_of(self._checked(actions))

    def _checked(self, actions: Any) -> npt.NDArray[np.int32]:
        shown = labels_of("actions", actions, "an array with slates of one size")
        slates = as_actions(looked_up("actions", shown, self._names), len(self))
        if slates.shape[1] != self._slate_size:
            raise InvalidArgumentError(
                f"actions must have shape ({len(self)}, {self._slate_size}), slate_size items in "
                f"each round, got {slates.shape}"
            )
        refuse_rows(
            (slates >= self._n_actions).any(axis=1),
            f"actions must lie in [0, {self._n_actions - 1}]",
            lambda row: slates[row].tolist(),
        )
        if self._available is not None:
            refuse_rows(
                ~self._available.has(slates).all(axis=1),
                "actions must be available",
                lambda row: slates[row].tolist(),
                hint="pass draw.available to ask",
            )
        return slates


class World(ABC):
    """Where rewards come from: a distribution D over contexts x and reward vectors r.

    The rewards of the K actions lie in [0, 1] and sum to at most `sparsity` in every round. A world
    whose rewards lie in another range says so in `reward_range`. A new world implements `_draw` and
    `_values`.

    Attributes
    ----------
    n_actions, slate_size : int
        How many actions there are, how many are shown each round.
    sparsity : float or None
        Bound on the sum of all K rewards of one round; None if rewards have a range, and it is not
        known.
    reward_range : (low, high) or None
        Least and largest reward of an action; None for 0 and 1.
    actions : tuple of str or None
        Names of the actions, in the order of their numbers, if they have any.
    """

    n_actions: int
    slate_size: int
    sparsity: Any
    reward_range: Range = None
    actions: tuple[str, ...] | None = None

    def __init__(
        self,
        *,
        n_actions: int | None,
        slate_size: int,
        sparsity: float | None,
        actions: Sequence[str] | None = None,
    ) -> None:
        self.actions, count = named_actions(actions, n_actions)
        self.n_actions = integer("n_actions", count, low=1, high=MOST_ACTIONS)
        self.slate_size = integer(
            "slate_size",
            slate_size,
            low=1,
            high=self.n_actions,
            hint="a slate holds different actions, so at most n_actions",
        )
        self.sparsity = None
        if sparsity is not None or self.reward_range is None:
            self.sparsity = number(
                "sparsity",
                sparsity,
                above=0,
                below=self.n_actions * (self.reward_range or (0.0, 1.0))[1],
                closed=True,
                hint=f"it bounds the sum of n_actions rewards in "
                f"{range_in_words(self.reward_range)}",
            )

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(n_actions={self.n_actions}, slate_size={self.slate_size}, "
            f"sparsity={'None' if self.sparsity is None else f'{self.sparsity:g}'})"
        )

    def draw(self, n: int, rng: Any) -> Draw:
        """Draw n rounds (x, r) ~ D independently.

        Parameters
        ----------
        n : int
            How many rounds.
        rng : seed or numpy Generator
            The same seed gives the same rounds; a Generator moves on.
        """
        return self._draw(integer("n", n, low=0), as_rng(rng))

    def values(self, policies: "Policies") -> npt.NDArray[np.float64]:
        """Exact expected reward per round of each policy, shape (n_policies,).

        Raises
        ------
        InvalidArgumentError
            If the policies are for other actions or another slate size.
        UnknownValueError
            If this world cannot know.
        """
        for name in ("n_actions", "slate_size"):
            theirs, ours = getattr(policies, name, None), getattr(self, name)
            if theirs is None:
                raise InvalidArgumentError(
                    f"policies must be a policy class, such as PolicyTable(actions, n_actions), "
                    f"got {type(policies).__name__}"
                )
            if theirs != ours:
                raise InvalidArgumentError(
                    f"policies must have the world's {name}={ours}, got {name}={theirs}"
                )
        check_same_actions(policies.action_names, self.actions, of="policies and world")
        if policies.n_policies is None:
            raise UnknownValueError(
                f"{type(policies).__name__} cannot be listed; ask for best_value(policies), and "
                "for value(policy) of one of them"
            )
        return self._values(policies)

    def value(self, policy: "Policy | MarginalPolicy") -> float:
        """Exact expected reward per round of one policy of a class that cannot be listed.

        Raises
        ------
        UnknownValueError
            If this world cannot know.
        """
        raise UnknownValueError(
            f"{type(self).__name__} cannot tell the exact value of {type(policy).__name__}"
        )

    def best_value(self, policies: "AnyPolicies") -> float:
        """Exact expected reward per round of the best policy of a class: the largest.

        Raises
        ------
        UnknownValueError
            If this world cannot know.
        """
        if policies.n_policies is not None:
            return float(self.values(cast("Policies", policies)).max())
        raise UnknownValueError(
            f"{type(self).__name__} cannot tell the best value of {type(policies).__name__}"
        )

    def problem(
        self,
        *,
        epsilon: float,
        delta: float,
        against: int | str | None = None,
        traffic: float = 1.0,
        max_loss: float | None = None,
        objective: Objective = "maximize",
    ) -> Problem:
        """The problem of finding a policy within `epsilon` of the best in this world.

        And better than the one `against` which it runs, if that is given, by number or name. What
        exploring may cost is limited by `traffic` and `max_loss`. With ``objective="minimize"``
        rewards are costs, of which no sparsity is known.
        """
        return Problem(
            n_actions=self.n_actions,
            slate_size=self.slate_size,
            sparsity=self.sparsity if objective == "maximize" else None,
            epsilon=epsilon,
            delta=delta,
            actions=self.actions,
            against=against,
            reward_range=self.reward_range,
            objective=objective,
            traffic=traffic,
            max_loss=max_loss,
        )

    @abstractmethod
    def _draw(self, n: int, rng: np.random.Generator) -> Draw:
        """Draw n >= 0 rounds."""

    @abstractmethod
    def _values(self, policies: "Policies") -> npt.NDArray[np.float64]:
        """Exact values of policies that fit this world, or UnknownValueError."""
