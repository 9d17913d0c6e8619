"""An exploration is a value: how to act, fixed before the contexts it is used on."""

import os
import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from policysieve.arrays import plain_array, real_numbers, same_numbers
from policysieve.availability import Available
from policysieve.checks import as_path, as_rng, refuse_rows
from policysieve.errors import InvalidArgumentError
from policysieve.exploration.decisions import Decisions
from policysieve.log import NOTHING, Beside
from policysieve.policies import Answers, PolicyClass, check_class
from policysieve.policies.policy_class import names_of_actions
from policysieve.problem import Problem

__all__ = ["Array", "Exploration", "frozen_array"]

Array = npt.NDArray[np.float64]

_STREAM = 2  # of random numbers: others than those of worlds and learners
_ENTRIES = 1 << 22  # propensities worked out at once
_own = threading.local()  # a generator for each thread of each process


@dataclass(frozen=True, eq=False)
class Exploration(ABC):
    """How to act: what to show at a context, and with which propensities.

    Immutable, checked when it is made or loaded, and tied to the class of policies that it was made
    for. Any thread or process may decide with it. A learner publishes its own as
    ``learner.exploration``; `design` makes one from a log.

    A new kind is a frozen dataclass whose fields are numbers, arrays and `Weights`, with `_draws`,
    `_floor`, `_choose` and `_propensities`; it raises in ``__post_init__`` if its fields break a
    rule. `save` and `load` then know it by its name. What a kind says is how to explore: if only a
    share of the rounds does so, the problem's `traffic`, the others show what the policy that runs
    today would, and propensities are those of both together.

    Attributes
    ----------
    policies : PolicyClass
    problem : Problem
    """

    policies: Any  # of the kind that the exploration needs
    problem: Problem

    kinds: ClassVar[dict[str, type["Exploration"]]] = {}
    """Every kind by its name: what a file may hold."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        Exploration.kinds[cls.__name__] = cls

    def __post_init__(self) -> None:
        check_class(self.policies)
        self.policies.check_fits(self.problem)

    @property
    def draws_per_round(self) -> int:
        """Uniform random numbers that one round uses; one more if only a share explores."""
        return self._draws + (self.problem.traffic < 1)

    @property
    def floor(self) -> float:
        """Smallest propensity that an item can have, for `FloorEvidence`."""
        return self.problem.traffic * self._floor

    @property
    @abstractmethod
    def _draws(self) -> int:
        """Uniform random numbers that a round uses which explores."""

    @property
    @abstractmethod
    def _floor(self) -> float:
        """Smallest propensity that an item can have in a round which explores."""

    @property
    def consulted(self) -> npt.NDArray[np.int32] | None:
        """Policies whose answers are read of rounds that it decides, now or later; None if all."""
        return None

    def ask(self, contexts: Any, *, available: Any = None, rng: Any = None) -> Decisions:
        """Decide what to show at the contexts, and with which propensities.

        Parameters
        ----------
        contexts : array, data frame, list or sparse matrix
            Of the kind that the policies take.
        available : bool array of shape (n, n_actions), or sequence of sequences, optional
            What can be shown at each context, as a mask or as lists of numbers or names.
        rng : seed or numpy Generator, optional
            By default a generator of this process. A seed draws the same numbers each time: pass a
            generator for several batches.
        """
        rng = _own_generator() if rng is None else rng
        x = self.policies.check_contexts(contexts)
        names = names_of_actions(self.policies, self.problem)
        allowed = self.policies.check_available(available, len(x), names)
        uniforms = as_rng(rng, stream=_STREAM).random((len(x), self.draws_per_round))
        actions, propensities = self._decide(self._answers_at(x, allowed), uniforms)
        beside = NOTHING if allowed is None else Beside(allowed)
        return Decisions.of(x.copy(), actions, propensities, all_actions=names, beside=beside)

    def choose(
        self, contexts: Any, uniforms: Array, *, available: Any = None
    ) -> tuple[npt.NDArray[np.int32], Array]:
        """What to show, and its propensities, as uniform random numbers have it.

        Parameters
        ----------
        contexts : contexts, or Answers of the policies at them
        uniforms : float array of shape (n, draws_per_round)
            In [0, 1).
        available : optional
            As in `ask`; answers know it.

        Returns
        -------
        actions, propensities : arrays of shape (n, slate_size)
        """
        answers = self._answers(contexts, available)
        shape = (len(answers), self.draws_per_round)
        drawn = real_numbers("uniforms", uniforms, f"numbers in [0, 1) of shape {shape}")
        if drawn.shape != shape:
            raise InvalidArgumentError(
                f"uniforms must have shape {shape}, one row for each context, got {drawn.shape}"
            )
        outside = ~((drawn >= 0) & (drawn < 1))
        refuse_rows(
            outside.any(axis=1),
            "uniforms must lie in [0, 1)",
            lambda row: f"{drawn[row][outside[row]][0]:g}",
            hint="draw them with rng.random",
        )
        return self._decide(answers, drawn)

    def propensities(self, contexts: Any, *, available: Any = None) -> Array:
        """W(x, j) of every item at the contexts, shape (n, n_actions); rows sum to slate_size.

        It is 0 of what is not available.
        """
        answers = self._answers(contexts, available)
        found, traffic = self._propensities(answers), self.problem.traffic
        if traffic < 1:
            found *= traffic
            found[np.arange(len(found))[:, None], self._slates_of_today(answers)] += 1 - traffic
            np.minimum(found, 1.0, out=found)
        return found

    def same_as(self, other: Any, *, within: float = 0.0) -> bool:
        """Whether the other is of this kind, for the same problem, and has the same numbers.

        Parameters
        ----------
        other : Exploration
        within : float
            How much numbers may differ, relative to their size; by default not in a bit.
        """
        if other is self:
            return True
        if type(other) is not type(self) or other.problem != self.problem:
            return False
        names = [field.name for field in fields(self) if field.name not in ("policies", "weights")]
        pairs = [(getattr(self, name), getattr(other, name)) for name in names]
        weights: Any = getattr(self, "weights", None)
        if weights is not None:
            theirs: Any = other
            arrays = theirs.weights.arrays()
            pairs += [(mine, arrays.get(name)) for name, mine in weights.arrays().items()]
        return all(same_numbers(one, two, within) for one, two in pairs)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one small file; an existing one is replaced only when all is written."""
        from policysieve.exploration.designs.saving import ExplorationFile

        ExplorationFile.of(self).write(as_path(path))

    @staticmethod
    def load(path: str | os.PathLike[str], policies: PolicyClass) -> "Exploration":
        """Read what `save` wrote, for the policies that it was made for.

        Raises
        ------
        FileFormatError
            If the file is not an exploration of this version, or breaks a rule.
        InvalidArgumentError
            If the policies are others, as far as their `fingerprint` tells.
        """
        from policysieve.exploration.designs.saving import ExplorationFile

        check_class(policies)
        return ExplorationFile.read(as_path(path)).exploration(policies)

    def _answers(self, contexts: Any, available: Any = None) -> Answers:
        """What the policies say at contexts, or have said: then answers are given back."""
        if isinstance(contexts, Answers):
            if available is not None:
                raise InvalidArgumentError(
                    "available goes with contexts: answers know what was available"
                )
            return self._given(contexts)
        x = self.policies.check_contexts(contexts)
        names = names_of_actions(self.policies, self.problem)
        return self._answers_at(x, self.policies.check_available(available, len(x), names))

    def _given(self, answers: Answers) -> Answers:
        """Answers of the policies, or of others that know the contexts."""
        found: Answers = self.policies.answers(answers)
        return found

    def _answers_at(self, contexts: Any, available: Available | None) -> Answers:
        """What the policies say at contexts that were checked."""
        answers: Answers = self.policies.answers_at(contexts, None, available)
        return answers

    def _check_floor(self) -> None:
        """Raise unless every item's importance weight is a finite number."""
        if not np.finfo(np.float64).tiny <= self.floor <= 1:
            raise InvalidArgumentError(
                f"the smallest propensity must be a number that can be divided by, got "
                f"{self.floor:g}; explore more"
            )

    @cached_property
    def _today(self) -> Any:
        """Number of the policy that runs today, if the problem names it."""
        return self.policies.against(self.problem)

    def _slates_of_today(self, answers: Any) -> npt.NDArray[np.int32]:
        """What the policy that runs today would show, shape (n, slate_size)."""
        return np.asarray(answers.table[answers.rows, self._today], dtype=np.int32)

    def _decide(self, answers: Answers, uniforms: Array) -> tuple[npt.NDArray[np.int32], Array]:
        """What to show, whether a round explores or not: W' = traffic W + (1-traffic) 1[today].

        Whole slates are either explored or those of the policy that runs today (docs/maths.md,
        "Exploring on a share of the traffic").
        """
        traffic = self.problem.traffic
        if traffic == 1:
            return self._choose(answers, uniforms)
        actions, propensities = self._choose(answers, uniforms[:, 1:])
        today, stays = self._slates_of_today(answers), np.flatnonzero(uniforms[:, 0] >= traffic)
        actions[stays] = today[stays]
        block = max(1, _ENTRIES // self.problem.n_actions)
        for start in range(0, len(stays), block):
            rows = stays[start : start + block]
            every = self._propensities(answers.take(rows))
            propensities[rows] = np.take_along_axis(every, actions[rows].astype(np.intp), axis=1)
        propensities *= traffic
        propensities[(actions[:, :, None] == today[:, None, :]).any(axis=2)] += 1 - traffic
        return actions, np.minimum(propensities, 1.0)

    @abstractmethod
    def _choose(self, answers: Answers, uniforms: Array) -> tuple[npt.NDArray[np.int32], Array]:
        """What to show in rounds that explore, and its propensities."""

    @abstractmethod
    def _propensities(self, answers: Answers) -> Array:
        """W(x, j) of rounds that explore."""

    def __getstate__(self) -> dict[str, Any]:
        """The fields; what was worked out from them can be worked out again."""
        return {field.name: self.__dict__[field.name] for field in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for value in state.values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
        self.__dict__.update(state)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Exploration":
        return self


def _own_generator() -> np.random.Generator:
    """A generator that no other thread draws from, nor a process forked from this one."""
    if getattr(_own, "process", None) != os.getpid():
        _own.process, _own.rng = os.getpid(), np.random.default_rng()
    rng: np.random.Generator = _own.rng
    return rng


def frozen_array(name: str, values: Any, dtype: Any, length: int | None = None) -> npt.NDArray[Any]:
    """A read-only array of one dimension, with finite entries, or raise."""
    array = plain_array(name, values, "numbers in one dimension")
    whole = np.dtype(dtype).kind == "i"
    if array.ndim != 1 or (len(array) and array.dtype.kind not in ("iu" if whole else "iuf")):
        raise InvalidArgumentError(
            f"{name} must be {'whole ' if whole else ''}numbers in one dimension, got shape "
            f"{array.shape} of {array.dtype}"
        )
    if length is not None and len(array) != length:
        raise InvalidArgumentError(f"{name} must have {length} entries, got {len(array)}")
    if whole and len(array) and array.dtype != dtype:
        largest = np.iinfo(dtype).max
        if array.min() < -largest or array.max() > largest:
            raise InvalidArgumentError(
                f"{name} must be numbers up to {largest}, got {array.min()} to {array.max()}"
            )
    with np.errstate(over="ignore"):
        array = array.astype(dtype, copy=array.flags.writeable or array.base is not None)
    if not np.isfinite(array).all():
        raise InvalidArgumentError(f"{name} must be finite, got NaN or infinity")
    array.flags.writeable = False
    return array
