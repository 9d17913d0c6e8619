"""An actor that holds some candidates in its memory, and answers for them."""

import pickle
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from policysieve.arrays import told
from policysieve.availability import Available
from policysieve.errors import ClusterError
from policysieve.policies import Policies

__all__ = ["Question", "Said", "Shard", "packed", "unpacked"]


class Question(NamedTuple):
    """What a shard is asked.

    Attributes
    ----------
    method : str
        Of the class that it holds a part of: ``_evaluate``, ``_evaluate_among``, ``_asked`` or
        ``_mended``.
    contexts
        As `check_contexts` has returned them.
    which : integer array
        Policies, by their numbers in the part.
    more : tuple
        Further arguments: what was said before, what is available.
    """

    method: str
    contexts: Any
    which: npt.NDArray[np.intp]
    more: tuple[npt.NDArray[Any] | Available, ...] = ()


class Said(NamedTuple):
    """What a shard answers.

    Attributes
    ----------
    slates : array of shape (n, len(which), slate_size), or None
    spent : dict
        What asking has cost, by policy and then by the names of `CandidateUsage`.
    seconds, loading : float
        That it took to answer, and to load the part before if it was not there.
    error : BaseException or None
        Why there are no slates.
    """

    slates: npt.NDArray[Any] | None
    spent: dict[int, dict[str, float]]
    seconds: float
    loading: float
    error: BaseException | None


class Shard:
    """Holds the part that it was last asked about; one that begins anew loads it again."""

    def __init__(self) -> None:
        self._key: Any = None
        self._part: Policies | None = None

    def answer(
        self,
        key: int,
        parts: list[Any],
        method: str,
        contexts: Any,
        which: npt.NDArray[np.intp],
        more: tuple[Any, ...],
    ) -> Said:
        """Answer a `Question` about a part, which is known by its key; `parts` has where it is."""
        began = perf_counter()
        try:
            part = self._held(key, parts[0])
        except Exception as error:
            return Said(None, {}, 0.0, 0.0, _not_loaded(error))
        loading, began = perf_counter() - began, perf_counter()
        slates, failure = None, None
        try:
            slates = getattr(part, method)(contexts, which, *more)
        except BaseException as error:  # SystemExit, too, which would end the actor
            failure = _sendable(error)
        return Said(slates, part._meter.taken(), perf_counter() - began, loading, failure)

    def _held(self, key: Any, reference: Any) -> Policies:
        if self._part is None or key != self._key:
            import ray

            self._part = None  # not two at once
            self._part, self._key = unpacked(ray.get(reference)), key
        return self._part


def packed(part: Policies) -> Any:
    """A part to be sent.

    Its state by itself: lambdas and functions of a notebook can be sent, which cannot be saved.
    """
    return type(part), part.__dict__


def unpacked(sent: Any) -> Policies:
    """The part that was sent."""
    if isinstance(sent, Policies):
        return sent
    kind, state = sent
    part: Policies = object.__new__(kind)
    part.__dict__.update(state)
    return part


def _not_loaded(error: Exception) -> ClusterError:
    return ClusterError(
        f"a worker could not load its candidates: {told(error)}; the modules and the versions of "
        "packages that they need must be on every node of the cluster"
    )


def _sendable(error: BaseException) -> BaseException:
    """An error that the caller can raise, who may not know its type."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(told(error))
    return error
