"""The one small protocol through which exploration and evidence consult a policy class."""

import hashlib
import json
import pickle
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from policysieve.availability import Available
from policysieve.checks import MOST_ACTIONS, as_contexts, integer
from policysieve.errors import InvalidArgumentError, UnpicklableError
from policysieve.naming import (
    check_same_actions,
    named_actions,
    number_of,
)
from policysieve.policies.answers import Answers
from policysieve.problem import Problem, check_problem

if TYPE_CHECKING:
    from policysieve.policies.weights import Weights

__all__ = ["PolicyClass", "names_of_actions"]

_HASH_BYTES = 1 << 26  # hashed in one go, so that a memory-mapped table stays on disk


class PolicyClass(ABC):
    """The protocol through which learners consult a class, listed or not: answers, weights, size.

    A class never changes, so copies of what refers to it share it.

    Attributes
    ----------
    n_actions, slate_size : int
        How many actions there are, how many items a policy shows.
    names, action_names : tuple of str or None
        Names of the policies and of the actions, in the order of their numbers, if they have any.
    """

    n_actions: int
    slate_size: int
    n_policies: int | None = None
    """How many policies there are, numbered from 0; None if they cannot be listed."""

    names: tuple[str, ...] | None = None
    action_names: tuple[str, ...] | None = None

    exact = True
    """Whether the best policy is really found; certificates need that."""
    looked_up = False
    """Whether answers are only looked up, so that nobody needs to remember them."""
    fitted_on = 0
    """Rounds that some policies are known to be fitted on, which must not judge them."""
    called = False
    """Whether answers are calls of candidates, which may cost: nobody asks more than is needed."""

    def __init__(self, *, n_actions: int | None, slate_size: int, actions: Any = None) -> None:
        self.action_names, count = named_actions(actions, n_actions)
        self.n_actions = integer("n_actions", count, low=1, high=MOST_ACTIONS)
        self.slate_size = integer("slate_size", slate_size, low=1, high=self.n_actions)

    @property
    def holders(self) -> Any:
        """Whoever keeps policies and the evidence on them together; None if nobody does."""
        return None

    @property
    @abstractmethod
    def log_size(self) -> float | None:
        """What the guarantees need: ln|Pi|, or the largest ln(1/p1(pi)) for a prior p1.

        None if it is not known; then nothing is guaranteed.
        """

    @property
    def kind(self) -> str:
        """What tells it from classes of other kinds in a study or a cache: its name, by default."""
        return type(self).__name__

    @property
    def n_contexts(self) -> int | None:
        """How many contexts there are, numbered from 0; None if they cannot be listed."""
        return None

    @property
    @abstractmethod
    def size_in_words(self) -> str:
        """How large the class is, for people."""

    @abstractmethod
    def answers_at(
        self,
        contexts: Any,
        which: npt.NDArray[np.integer] | None = None,
        available: Available | None = None,
    ) -> Answers:
        """`answers` at contexts that `check_contexts` has returned.

        Who needs those of some policies alone says `which`, by number. Others need not be asked
        then: what stands in their place must not be read. `available` is what `check_available` has
        returned.
        """

    @abstractmethod
    def answers(self, contexts: Any, available: Any = None) -> Answers:
        """What the class says at the contexts, or what it has said: answers are given back.

        Parameters
        ----------
        contexts : contexts, or Answers
            Answers know what was available.
        available : bool array of shape (n, n_actions), or sequence of sequences, optional
            What can be shown at each context, as a mask or as lists of numbers or names.

        Raises
        ------
        InvalidArgumentError
            If the contexts are not of the kind these policies take.
        PolicyFailureError
            If a policy raises, or returns something that is not a slate of actions, or not of
            available ones.
        """

    def check_available(
        self, available: Any, n: int, names: Sequence[str] | None = None
    ) -> Available | None:
        """What can be shown at n contexts, checked, or None if that is not said.

        Names of the actions are those of the policies unless others are given.
        """
        if available is None:
            return None
        known, m = self.action_names if names is None else names, self.slate_size
        return Available.of(available, n, self.n_actions, names=known, slate_size=m)

    @abstractmethod
    def prior(self) -> "Weights":
        """Exponential weights on the class before any event."""

    def fingerprint(self) -> str:
        """What tells these policies from others in a file: kind and sizes, and a hash.

        It is one of the numbers that they are made of, and of the names of policies and actions.
        Functions and fitted models have no such numbers: others of the same number pass for them,
        if they have the same names.
        """
        digest = hashlib.blake2b(digest_size=8)
        for array in self._numbers():
            block = max(1, _HASH_BYTES * len(array) // max(1, array.nbytes))
            for start in range(0, len(array), block):
                digest.update(np.ascontiguousarray(array[start : start + block]).data)
        if self._named:
            digest.update(json.dumps([self.names, self.action_names]).encode())
        order = getattr(self, "fallback", None)
        if order is not None:
            digest.update(b"fallback" + json.dumps(order.tolist()).encode())
        known = self._numbers() or self._named or order is not None
        code = f" {digest.hexdigest()}" if known else ""
        return f"{self!r}{code}"

    @property
    def _named(self) -> bool:
        return self.names is not None or self.action_names is not None

    def name_of(self, number: int) -> str:
        """The name of a policy, or ``policy 3`` if the policies have no names."""
        most = None if self.n_policies is None else self.n_policies - 1
        policy = integer("number", number, low=0, high=most)
        return f"policy {policy}" if self.names is None else self.names[policy]

    def number_of(self, policy: int | str, *, argument: str = "policy") -> int:
        """The number of a policy that is given by its number or its name.

        If there is none, the error names the `argument`.
        """
        if isinstance(policy, str):
            return number_of(argument, policy, self.names)
        most = None if self.n_policies is None else self.n_policies - 1
        hint = "or its name" if self.names is not None else ""
        return integer(argument, policy, low=0, high=most, hint=hint)

    def _numbers(self) -> tuple[npt.NDArray[Any], ...]:
        """The arrays that the policies are made of, if they are."""
        return ()

    @staticmethod
    def _check_pickles(kind: str, candidates: Iterable[Any]) -> None:
        """Raise if a candidate cannot be pickled, and say what can be done."""
        for index, candidate in enumerate(candidates):
            try:
                pickle.dumps(candidate)
            except Exception as error:
                raise UnpicklableError(
                    f"{kind} {index} cannot be pickled ({error}): use functions that are defined "
                    "by name at the top of a module, not lambdas or functions within functions; "
                    "or keep learner.log, and rebuild the learner from the same calls"
                ) from error

    def __deepcopy__(self, memo: dict[int, Any]) -> "PolicyClass":
        return self

    def check_fits(self, problem: Problem) -> None:
        """Raise unless these are policies for the problem's actions and slates."""
        check_problem(problem)
        for name in ("n_actions", "slate_size"):
            ours, theirs = getattr(self, name), getattr(problem, name)
            if ours != theirs:
                raise InvalidArgumentError(
                    f"policies and problem must agree on {name}, got {ours} and {theirs}"
                )
        check_same_actions(self.action_names, problem.actions, of="policies and problem")
        self.against(problem)

    def against(self, problem: Problem) -> int | None:
        """The number of the policy that the problem asks to be better than, if it names one."""
        if problem.against is None:
            return None
        if self.n_policies is None:
            raise InvalidArgumentError(
                f"against must be a policy of a list, got {problem.against!r} with "
                f"{type(self).__name__}, whose policies cannot be listed; leave it out, or give a "
                "list of candidates with the one that runs today"
            )
        return self.number_of(problem.against, argument="against")

    def check_contexts(self, contexts: Any) -> Any:
        """Return the contexts as an array, or as rows of a table, one for each, or raise."""
        return as_contexts(contexts)


def names_of_actions(policies: PolicyClass, problem: Problem) -> Sequence[str] | None:
    """The names of actions, of which the problem or the policies may know, or both."""
    return policies.action_names if problem.actions is None else problem.actions
