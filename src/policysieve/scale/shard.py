"""An actor that holds some candidates in its memory, and answers for them."""

import pickle
from time import perf_counter
from typing import Any, NamedTuple

from policysieve.arrays import told
from policysieve.errors import ClusterError
from policysieve.evidence.share import ASKING, Missing, Share
from policysieve.policies import Policies

__all__ = ["Question", "Said", "Shard", "packed"]


class Question(NamedTuple):
    """What a shard is asked about contexts.

    Attributes
    ----------
    method : str
        Of the class that it holds a part of, such as ``_evaluate``: it takes contexts, numbers of
        policies, and more.
    which : integer array, a reference to one, or None
        Policies by their numbers in the part; None for all of it.
    more : tuple
        Further arguments: slates that were said before, what is available.
    """

    method: str
    which: Any
    more: tuple[Any, ...]


class Said(NamedTuple):
    """What a shard answers.

    Attributes
    ----------
    slates : array of shape (n, len(which), slate_size), or None
        Or what a `Share` of evidence has returned.
    spent : dict
        What asking has cost, by policy and then by the names of `CandidateUsage`.
    seconds, loading : float
        That it took to answer, and before that to load the part if it was not there.
    error : BaseException or None
        Why there are no slates.
    """

    slates: Any
    spent: dict[int, dict[str, float]]
    seconds: float
    loading: float
    error: BaseException | None


class Shard:
    """Holds the part that it was last asked about; one that begins anew loads it again."""

    def __init__(self) -> None:
        self._key: int | None = None
        self._part: Policies | None = None
        self._shares: dict[int, Share] = {}  # of evidence, by whose it is

    def evidence(
        self, key: int, place: list[Any], owner: int, first: int, method: str, *given: Any
    ) -> Said:
        """Call a method of the share of evidence that an owner has here.

        Its first policy has this number. Methods that ask are given the part. The last argument may
        be what another shard has said.
        """
        before = given[-1] if given else None
        if isinstance(before, Said):
            if before.error is not None or isinstance(before.slates, Missing):
                return before
            given = (*given[:-1], before.slates)
        began, part = perf_counter(), None
        if method in ASKING:
            try:
                part = self._held(key, *place)
            except Exception as error:
                return Said(None, {}, 0.0, 0.0, _not_loaded(error))
        loaded = perf_counter()
        share, found, failure = self._shares.setdefault(owner, Share()), None, None
        try:
            asked = () if part is None else (part, first)
            found = getattr(share, method)(*asked, *given)
        except BaseException as error:  # SystemExit, too, which would end the actor
            failure = _sendable(error)
        spent = {} if part is None else part._meter.taken()
        return Said(found, spent, perf_counter() - loaded, loaded - began, failure)

    def answer(
        self, key: int, place: list[Any], contexts: Any, method: str, which: Any, more: Any
    ) -> Said:
        """Answer a `Question` about a part, which is known by its key; `place` has where it is."""
        began = perf_counter()
        try:
            part = self._held(key, *place)
        except Exception as error:
            return Said(None, {}, 0.0, 0.0, _not_loaded(error))
        loaded = perf_counter()
        slates, failure = None, None
        try:
            slates = getattr(part, method)(contexts, which, *more)
        except BaseException as error:  # SystemExit, too, which would end the actor
            failure = _sendable(error)
        now = perf_counter()
        return Said(slates, part._meter.taken(), now - loaded, loaded - began, failure)

    def _held(self, key: int, reference: Any) -> Policies:
        if self._part is None or key != self._key:
            import ray

            self._part = None  # not two at once
            self._part, self._key = _unpacked(ray.get(reference)), key
        return self._part


def packed(part: Policies) -> Any:
    """A part to be sent.

    As its state: lambdas and functions of a notebook can be sent, though they cannot be saved.
    """
    return type(part), part.__dict__


def _unpacked(sent: Any) -> Policies:
    """The part that was sent, or the class if that was sent as a whole."""
    if isinstance(sent, Policies):
        return sent
    kind, state = sent
    part: Policies = object.__new__(kind)
    part.__dict__.update(state)
    return part


def _not_loaded(error: Exception) -> ClusterError:
    return ClusterError(
        f"a worker could not load its candidates: {told(error)}; the modules and versions of "
        "packages that they need must be on every node of the cluster"
    )


def _sendable(error: BaseException) -> BaseException:
    """An error that can be raised elsewhere, where its type may not be known."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(told(error))
    return error
