"""A class whose answers are kept on disk: each candidate is asked once about each context, ever."""

import json
import os
from collections.abc import Iterable, Sequence
from contextlib import closing
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.arrays import shown
from policysieve.availability import Available
from policysieve.checks import as_path
from policysieve.errors import InvalidArgumentError
from policysieve.files import AnyPath
from policysieve.policies.base import Policies, Reply, action_dtype
from policysieve.policies.digests import context_digests, digest
from policysieve.policies.keeping import AnswerFile
from policysieve.policies.usage import Usage
from policysieve.policies.wrapping import WrappedPolicies

__all__ = ["CachedPolicies", "cached"]

_FILE = "answers.sqlite"
_SECONDS = 1.0  # between writes of answers that come one by one


def cached(policies: Policies, folder: AnyPath, *, version: str = "") -> "CachedPolicies":
    """The same policies, whose answers are kept in a folder and read from there the next time.

    A rerun, another process or another learner asks only what nobody has asked before. An answer is
    found by the content of its context and the name of its candidate, or the number of one without
    a name. Classes of different kinds, numbers (as weights), actions or order of actions never get
    each other's answers. But functions and models are known by name alone: two classes of them
    in one folder need different names or versions, and candidates without names must keep their
    order. Many processes may share a folder, on a local disk.

    The first answer that is kept stays the candidate's answer at that context, also if it would
    answer otherwise the next time, and also if it was the fallback of `Calls`. Another `version`
    asks again, and so does removing the folder. Two processes that ask at the same time may each
    go on with its own answer; one of the two is kept. Of functions that are told what is available
    an answer is kept for each set of that; of others the answer where everything is.

    Parameters
    ----------
    policies : Policies
        Functions, models or others that can be listed.
    folder : path
        Made if it is not there. One that cannot be written is read, as long as it has all answers.
    version : str
        Another one keeps its answers apart: change it when a model, a prompt or the `Calls` have
        changed.

    Raises
    ------
    InvalidArgumentError
        If the policies cannot be listed, or look their answers up anyway, or if `folder` is none.
    """
    return CachedPolicies(policies, folder, version=version)


class CachedPolicies(WrappedPolicies):
    """What `cached` returns.

    Attributes
    ----------
    policies : Policies
        Who is asked.
    path : Path
        The file with the answers.
    version : str
    """

    def __init__(self, policies: Policies, folder: AnyPath, *, version: str = "") -> None:
        if not isinstance(policies, Policies) or isinstance(policies, CachedPolicies):
            raise InvalidArgumentError(
                "policies must be functions, models or others that can be listed, and not cached "
                f"before, got {shown(policies)}"
            )
        if policies.looked_up:
            raise InvalidArgumentError(
                f"policies must be worth keeping answers of: {type(policies).__name__} only looks "
                "them up; use it as it is"
            )
        if not isinstance(version, str):
            raise InvalidArgumentError(f"version must be a text, got {shown(version)}")
        super().__init__(policies)
        self.version = version
        self.path = as_path(folder, name="folder").absolute() / _FILE
        place = self.path.parent
        if os.path.isdir(self.path) or (os.path.exists(place) and not os.path.isdir(place)):
            raise InvalidArgumentError(
                f"folder must be one for a file {_FILE}, or a new one, got {shown(str(folder))}; "
                "there is a file in place of the folder, or a folder in place of the file"
            )
        self._hashes = _hashes_of(policies)
        self._scope = {
            "version": version,
            "kind": policies.kind,
            "numbers": "",  # those that a policy is made of
            "n_actions": self.n_actions,
            "actions": self.action_names,
            "slate_size": self.slate_size,
        }

    def __repr__(self) -> str:
        return f"cached({self.policies!r}, {str(self.path.parent)!r})"

    def usage(self) -> Usage:
        """What asking has cost, and how many answers were read from disk instead."""
        return self.policies.usage().plus(super().usage())

    def _evaluate(self, contexts: Any, which: npt.NDArray[np.intp] | None) -> npt.NDArray[Any]:
        everyone = np.arange(self.n_policies) if which is None else which
        return self._recalled(contexts, everyone, None)

    def _asked(
        self, contexts: Any, which: npt.NDArray[np.intp] | None, available: Available
    ) -> npt.NDArray[Any]:
        """What is kept of policies who heed what is available is kept for each set of it."""
        everyone = np.arange(self.n_policies) if which is None else which
        heeds = self._heeds[everyone]
        if not heeds.any():
            return self._recalled(contexts, everyone, None)
        shape = (len(contexts), len(everyone), self.slate_size)
        said = np.empty(shape, action_dtype(self.n_actions))
        said[:, ~heeds] = self._recalled(contexts, everyone[~heeds], None)
        said[:, heeds] = self._recalled(contexts, everyone[heeds], available)
        return said

    def _mended(
        self,
        contexts: Any,
        which: npt.NDArray[np.intp] | None,
        slates: npt.NDArray[Any],
        available: Available,
    ) -> npt.NDArray[Any]:
        return self.policies._mended(contexts, which, slates, available)

    def _recalled(
        self, contexts: Any, everyone: npt.NDArray[np.intp], available: Available | None
    ) -> npt.NDArray[Any]:
        """Answers that are kept, and those that are new."""
        n = len(contexts)
        shape = (n, len(everyone), self.slate_size)
        if not n or not len(everyone):
            return np.empty(shape, action_dtype(self.n_actions))
        asked, back = np.unique(everyone, return_inverse=True)
        digests = context_digests(contexts)
        if available is not None:
            pairs = zip(digests, available.bits, strict=True)
            digests = [digest(one + b"available" + bits.tobytes()) for one, bits in pairs]
        places = {one: place for place, one in enumerate(dict.fromkeys(digests))}
        rows = np.array([places[one] for one in digests])
        first = np.unique(rows, return_index=True)[1]
        keys = [self._keys(int(policy), list(places)) for policy in asked]
        file = AnswerFile(self.path, self.n_actions, self.slate_size)
        known = file.read([key for column in keys for key in column])
        slates = np.empty((len(places), len(asked), self.slate_size), action_dtype(self.n_actions))
        missing = np.ones((len(places), len(asked)), dtype=np.bool_)
        for column, policy in enumerate(asked):
            for place, key in enumerate(keys[column]):
                if key in known:
                    slates[place, column], missing[place, column] = known[key], False
            self._meter.add(int(policy), hits=int((~missing[rows, column]).sum()))
        wanted = np.zeros((n, len(asked)), dtype=np.bool_)
        wanted[first] = missing
        if wanted.any():
            file.check_writable(int(wanted.sum()))
            with closing(self.policies._replies(contexts, asked, wanted, available)) as replies:
                self._keep(replies, file, keys, rows, slates)
        every: npt.NDArray[Any] = slates[rows][:, back]
        return every

    def _keep(
        self,
        replies: Iterable[Reply],
        file: AnswerFile,
        keys: list[list[bytes]],
        places: npt.NDArray[np.intp],
        slates: npt.NDArray[Any],
    ) -> None:
        """Enter the replies into the slates, each at the place of its row, and keep them.

        What has come is kept also if the rest fails or is interrupted: it was paid for.
        """
        new: dict[bytes, npt.NDArray[Any]] = {}
        written = perf_counter()
        try:
            for reply in replies:
                here = places[reply.rows]
                slates[here, reply.column] = reply.slates
                mine = (keys[reply.column][place] for place in here)
                new.update(zip(mine, reply.slates, strict=True))
                if perf_counter() - written > _SECONDS:
                    file.write(new)
                    new, written = {}, perf_counter()
        finally:
            if new:
                file.write(new)

    def _keys(self, policy: int, digests: list[bytes]) -> list[bytes]:
        """Under which the answers of a policy are kept."""
        name = policy if self.names is None else self.names[policy]
        whole = {**self._scope, "numbers": self._hashes[policy], "policy": name}
        mine = digest(json.dumps(whole).encode())
        return [digest(mine + context) for context in digests]


def _hashes_of(policies: Policies) -> list[str]:
    """For each policy what tells the arrays that it is made of from others."""
    known: dict[tuple[int, ...], tuple[Any, str]] = {}  # arrays are held, so that ids stay theirs
    found = []
    for policy in range(policies.n_policies):
        arrays = policies._made_of(policy)
        same = tuple(map(id, arrays))
        if same not in known:  # many policies are made of the same arrays
            known[same] = arrays, _hashed(arrays)
        found.append(known[same][1])
    return found


def _hashed(arrays: Sequence[npt.NDArray[Any]]) -> str:
    """What tells the numbers that policies are made of from others."""
    parts = (f"{a.dtype.str} {a.shape} ".encode() + digest(a.tobytes()) for a in arrays)
    return digest(b"".join(parts)).hex()
