"""A list of policies, each a map from a context to a slate."""

from abc import abstractmethod
from collections.abc import Callable, Generator, Iterable, Sequence
from functools import cached_property
from math import log
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from policysieve.arrays import plain_array, shown, told
from policysieve.availability import Available
from policysieve.errors import InvalidArgumentError, PolicyFailureError
from policysieve.naming import (
    as_names,
    number_of,
)
from policysieve.policies.answered import CheckedAnswers
from policysieve.policies.answers import ContextAnswers, Slates
from policysieve.policies.restricting import as_order, with_fallback
from policysieve.policies.usage import Meter, Usage
from policysieve.progress import late_bar

if TYPE_CHECKING:
    from policysieve.policies.weights import Weights

__all__ = [
    "Policies",
    "Reply",
    "action_dtype",
    "run_of",
    "top_actions",
]


def action_dtype(n_actions: int) -> np.dtype[Any]:
    """Smallest unsigned dtype that numbers the actions: uint8 up to 256, uint16 up to 65,536."""
    return np.dtype(np.min_scalar_type(n_actions - 1))


def top_actions(scores: npt.NDArray[Any], slate_size: int) -> npt.NDArray[np.intp]:
    """The `slate_size` best actions along the last axis, best first, ties to the lower number."""
    if slate_size == 1:
        return np.asarray(scores.argmax(axis=-1))[..., None]
    return np.argsort(-scores, axis=-1, kind="stable")[..., :slate_size]


def run_of(numbers: npt.NDArray[np.intp]) -> npt.NDArray[np.intp] | slice:
    """Numbers that follow one another as a slice, which arrays are quicker with; others as is."""
    if len(numbers) and numbers[-1] - numbers[0] == len(numbers) - 1:
        first = int(numbers[0])
        if (np.diff(numbers) == 1).all():
            return slice(first, first + len(numbers))
    return numbers


class Reply(NamedTuple):
    """What one policy says at some contexts.

    Attributes
    ----------
    column : int
        Which of those that were asked.
    rows : integer array of shape (n,)
        Of the contexts.
    slates : array of shape (n, slate_size)
    """

    column: int
    rows: npt.NDArray[np.intp]
    slates: npt.NDArray[Any]


class Policies(CheckedAnswers):
    """A finite class of policies, numbered from 0, each a map from a context to a slate.

    A new class implements `_evaluate`, `check_contexts` if its contexts are special, and `_numbers`
    if it is made of arrays. One that ranks actions implements `_evaluate_among`, too, and one that
    can be taken apart `part`.

    Attributes
    ----------
    n_policies, n_actions, slate_size : int
        How many policies, how many actions there are, how many items a policy shows.
    fallback : integer array or None
        The actions that take the place of what is not available, the first choice first.
    """

    n_policies: int

    def __init__(
        self,
        *,
        n_policies: int,
        n_actions: int | None,
        slate_size: int,
        names: Any = None,
        actions: Any = None,
        fallback: Any = None,
    ) -> None:
        if n_policies < 1:
            raise InvalidArgumentError("a policy class needs at least one policy, got none")
        self.n_policies = n_policies
        self._meter = Meter()
        self.names = None if names is None else as_names("names", names)
        if self.names is not None and len(self.names) != n_policies:
            raise InvalidArgumentError(
                f"names must name each of the {n_policies:,} policies, got {len(self.names):,}"
            )
        super().__init__(n_actions=n_actions, slate_size=slate_size, actions=actions)
        self.fallback = as_order(fallback, self.n_actions, self.action_names)

    @property
    def log_size(self) -> float:
        """ln|Pi|."""
        return log(self.n_policies)

    def __len__(self) -> int:
        return self.n_policies

    def __add__(self, others: "Policies") -> "Policies":
        """These policies and behind them the others, for the same actions, slates and contexts.

        They may be of another kind. Either all have names, each its own, or none has.

        Raises
        ------
        InvalidArgumentError
            If the others do not fit.
        """
        from policysieve.policies.union import check_joins, union_of  # a kind of these

        check_joins(self, others)
        return union_of(self, others)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(n_policies={self.n_policies}, n_actions={self.n_actions}, "
            f"slate_size={self.slate_size})"
        )

    def actions(
        self,
        contexts: Any,
        which: Sequence[int | str] | npt.NDArray[Any] | None = None,
        *,
        available: Any = None,
    ) -> npt.NDArray[Any]:
        """Slates of the policies (all, or the numbers or names in `which`) at the contexts.

        Parameters
        ----------
        contexts : array, data frame, list or sparse matrix
            Of the kind that the policies take.
        which : sequence of int or str, optional
        available : bool array of shape (n, n_actions), or sequence of sequences, optional
            What can be shown at each context, as a mask or as lists of numbers or names. A policy
            that ranks the actions shows its best available ones; others keep what is available, and
            their `fallback` takes the other places.

        Returns
        -------
        array of shape (n, n_policies or len(which), slate_size)
            Action numbers in the smallest unsigned dtype that holds them.

        Raises
        ------
        InvalidArgumentError
            If the contexts are not of the kind these policies take, or `which` is out of range.
        PolicyFailureError
            If a policy raises, or returns an action out of range or a repeated item, or one that
            is not available and has no fallback.
        """
        x, numbers = self.check_contexts(contexts), self._check_which(which)
        checked = self.check_available(available, len(x))
        if checked is None:
            return self._evaluate(x, numbers)
        return self._evaluate_among(x, numbers, checked)

    @property
    def size_in_words(self) -> str:
        """How large the class is, for people."""
        return f"{self.n_policies:,} policies"

    def answers(self, contexts: Any, available: Any = None) -> Slates:
        """The slates of all policies at the contexts: each is asked once for each context.

        A class that stores its actions hands out its own table without a copy, unless not all of
        them are available.
        """
        if isinstance(contexts, Slates):
            return contexts
        if isinstance(contexts, ContextAnswers):
            contexts, available = contexts.contexts, contexts.available
        x = self.check_contexts(contexts)
        return self.answers_at(x, None, self.check_available(available, len(x)))

    def answers_at(
        self,
        contexts: Any,
        which: npt.NDArray[np.integer] | None = None,
        available: Available | None = None,
    ) -> Slates:
        """`answers` at contexts that `check_contexts` has returned, or of policies `which` alone.

        Columns of the other policies are then there, so that numbers stay what they are, and empty.
        """
        everyone = which is None or len(which) == self.n_policies
        asked = None if everyone or which is None else which.astype(np.intp)
        if available is None:
            said = self._evaluate(contexts, asked)
        else:
            said = self._evaluate_among(contexts, asked, available)
        if asked is None:
            return Slates(said, available=available)
        slates = np.zeros((len(said), self.n_policies, self.slate_size), said.dtype)
        slates[:, asked] = said
        return Slates(slates, available=available)

    def usage(self) -> Usage:
        """What asking the policies has cost since this class was made, in this process.

        Of functions and models. Answers that are looked up or worked out from numbers cost nothing.
        """
        return self._meter.usage(self.name_of)

    def prior(self) -> "Weights":
        """The same weight for every policy."""
        from policysieve.policies.weights import ListedWeights  # brings numba, which loads on use

        return ListedWeights.equal(self)

    def same_as(self, policy: int, others: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
        """Which of the others are known to be the same map as `policy`, at every context."""
        return np.zeros(len(others), dtype=np.bool_)

    def part(self, numbers: npt.NDArray[np.intp]) -> "Policies | None":
        """Some of the policies, in this order, as a class of their own.

        None if the class cannot be taken apart.
        """
        return None

    def _like(self, numbers: npt.NDArray[np.intp], **parts: Any) -> Self:
        """The same with other policies: those of these numbers, and what they are made of."""
        like = object.__new__(type(self))
        derived = {name for kind in type(self).__mro__ for name in _cached(kind)}
        kept = {name: value for name, value in self.__dict__.items() if name not in derived}
        names = None if self.names is None else tuple(self.names[p] for p in numbers.tolist())
        like.__dict__.update(kept, n_policies=len(numbers), names=names, _meter=Meter(), **parts)
        return like

    def _made_of(self, policy: int) -> Sequence[npt.NDArray[Any]]:
        """The arrays that answers of one policy depend on, as far as they are known.

        A class that is made of others says what theirs depend on.
        """
        return self._numbers()

    @abstractmethod
    def _evaluate(self, contexts: Any, which: npt.NDArray[np.intp] | None) -> npt.NDArray[Any]:
        """Slates at checked contexts: (n, n_policies or len(which), slate_size), compact dtype."""

    def _evaluate_among(
        self, contexts: Any, which: npt.NDArray[np.intp] | None, available: Available
    ) -> npt.NDArray[Any]:
        """The same of available items."""
        said = self._asked(contexts, which, available)
        return self._mended(contexts, which, said, available)

    def _asked(
        self, contexts: Any, which: npt.NDArray[np.intp] | None, available: Available
    ) -> npt.NDArray[Any]:
        """What policies say, some of whom may be told what is available and heed it."""
        return self._evaluate(contexts, which)

    def _mended(
        self,
        contexts: Any,
        which: npt.NDArray[np.intp] | None,
        slates: npt.NDArray[Any],
        available: Available,
    ) -> npt.NDArray[Any]:
        """Slates that policies have said, with others in place of what is not available."""
        return with_fallback(self, which, slates, available)

    @cached_property
    def _heeds(self) -> npt.NDArray[np.bool_]:
        """Which policies are told what is available, so that it may change what they say."""
        return np.zeros(self.n_policies, np.bool_)

    def _replies(
        self,
        contexts: Any,
        which: npt.NDArray[np.intp],
        wanted: npt.NDArray[np.bool_],
        available: Available | None = None,
    ) -> Generator[Reply, None, None]:
        """What some policies say, in parts that are there as soon as they are known.

        Of the shape (n, len(which)), `wanted` says at which contexts each of them is asked.
        """
        for column in np.flatnonzero(wanted.any(axis=0)).tolist():
            rows, one = np.flatnonzero(wanted[:, column]), which[column : column + 1]
            if available is None:
                said = self._evaluate(contexts[rows], one)
            else:
                said = self._asked(contexts[rows], one, available[rows])
            yield Reply(column, rows, said[:, 0])

    def _check_which(
        self, which: Sequence[int | str] | npt.NDArray[Any] | None
    ) -> npt.NDArray[np.intp] | None:
        if which is None:
            return None
        chosen = plain_array("which", which, "a sequence of policy numbers or names")
        if chosen.ndim == 1 and chosen.dtype.kind in "UTO":
            numbers = [_number(one, self.names) for one in which]
            chosen = plain_array("which", numbers, "a sequence of policy numbers or names")
        if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "iu"):
            raise InvalidArgumentError(
                f"which must be a sequence of policy numbers or names, got {shown(which)}"
            )
        if chosen.size and (chosen.min() < 0 or chosen.max() >= self.n_policies):
            raise InvalidArgumentError(
                f"which must hold policy numbers in [0, {self.n_policies - 1}], got "
                f"{chosen[(chosen < 0) | (chosen >= self.n_policies)][0]}"
            )
        return chosen.astype(np.intp)

    def _ask_each(
        self,
        which: npt.NDArray[np.intp] | None,
        n: int,
        answer: Callable[[int], Any],
        *,
        calls: int = 1,
    ) -> npt.NDArray[Any]:
        """Put the checked answers of single policies for n contexts side by side.

        Each answer takes so many `calls` of the policy.
        """
        chosen = range(self.n_policies) if which is None else which.tolist()
        slates = np.empty((n, len(chosen), self.slate_size), dtype=action_dtype(self.n_actions))
        if not n:
            return slates
        with late_bar("Asking the candidates", len(chosen)) as move:
            for column, policy in enumerate(chosen):
                raw = self._answer_of(policy, answer, n, calls)
                slates[:, column] = self._checked_slates(policy, raw, n)
                move(column + 1)
        return slates

    def _answer_of(self, policy: int, answer: Callable[[int], Any], n: int, calls: int) -> Any:
        """What one policy answers for n contexts, in so many calls, or an error naming it."""
        try:
            return self._meter.timed(answer, policy, contexts=n, calls=calls)
        except PolicyFailureError:
            raise
        except Exception as error:
            raise self._failure(policy, f"raised {told(error)}") from error


def _cached(kind: type) -> Iterable[str]:
    """Names of the attributes that a class works out once."""
    return (name for name, value in vars(kind).items() if isinstance(value, cached_property))


def _number(policy: Any, names: Sequence[str] | None) -> Any:
    """The number that a name stands for; anything else as it is."""
    return number_of("which", str(policy), names) if isinstance(policy, str) else policy
