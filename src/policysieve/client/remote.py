"""A study of a service, with the verbs of a study."""

import os
import secrets
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from policysieve.arrays import shown
from policysieve.checks import as_contexts, as_numbers, as_path, one_of
from policysieve.client.calling import Calling
from policysieve.client.wire import asked, decided, recommended, slate_size_of
from policysieve.errors import InvalidArgumentError
from policysieve.exploration.decisions import Decisions, Recommendation
from policysieve.exploration.designs.base import Exploration
from policysieve.files import whole_or_nothing
from policysieve.formats.registry import find_format
from policysieve.log import Log, LogFile
from policysieve.policies import AnyPolicies
from policysieve.study import Told
from policysieve.study.durations import seconds
from policysieve.study.ids import as_ids
from policysieve.study.telling import as_told

__all__ = ["RemoteStudy"]

_MARK = 10  # random bytes in an id
_AT_ONCE = 100  # ids that are looked up at once
_FORMATS = ("parquet", "csv", "jsonl")


class RemoteStudy:
    """A study that a service answers for. Made with `Client.study`.

    Attributes
    ----------
    name : str
    """

    def __init__(self, calling: Calling, name: str) -> None:
        if not isinstance(name, str) or not name:
            raise InvalidArgumentError(f"name must be that of a study, got {shown(name)}")
        self.name, self._calling = name, calling
        self._path = f"/v1/studies/{quote(name, safe='')}"

    def ask(self, contexts: Any, *, ids: Any = None, available: Any = None) -> Decisions:
        """Decide what to show at one context or many; the decisions are durable when it returns.

        Parameters
        ----------
        contexts : array, data frame or list
            Of the kind that the policies take: numbers, strings, row numbers, data frames.
        ids : sequence of str, optional
            Your names of the rounds. By default they are made here, before the first attempt, so
            that an attempt whose answer was lost is not decided anew.
        available : bool array of shape (n, n_actions), or sequence of sequences, optional
            What can be shown at each context.

        Returns
        -------
        Decisions

        Raises
        ------
        InvalidArgumentError, PolicyFailureError, DecisionsError, AccessError, NotFoundError
            Nothing is changed.
        ServiceError, StorageError
            If the service or its database cannot be reached. A `ServiceError` has the ids: asking
            again with these and the same contexts returns what was decided, if it was.
        """
        rows = as_contexts(contexts)
        if not len(rows):
            return decided([], rows)
        names = _new_ids(len(rows)) if ids is None else as_ids(ids, len(rows))
        body, headers = asked(rows, names, available)
        answer = self._calling.call(
            "POST", f"{self._path}/ask", body=body, headers=headers, ids=tuple(names)
        )
        return decided([answer], rows)

    def tell(self, ids: Any, rewards: Any = None) -> Told:
        """Report the rewards of what was shown; they are durable when it returns.

        Telling the same again changes nothing. Where the answer of a first attempt was lost, its
        rewards are among those that were told before, ``told.again``.

        Parameters
        ----------
        ids : str, sequence of str, Decisions, or a frame
            Of decisions, in any order. A frame has the columns ``id`` and ``reward``, of slates
            ``reward_0``, ``reward_1``, ....
        rewards : array of shape (n, m), or (n,) when m = 1
            Rewards of the shown items, in the problem's units; None with a frame.
        """
        names, given = as_told(ids, rewards, slate_size_of(ids, rewards))
        body = {"ids": names, "rewards": as_numbers("rewards", given).tolist()}
        answer = self._calling.call("POST", f"{self._path}/tell", body=body, ids=tuple(names))
        said = answer.json()
        return Told(counted=said["counted"], again=said["again"], late=tuple(said["late"]))

    def decisions(self, ids: Any) -> Decisions:
        """What was decided for some ids, as `ask` returned it, without the contexts."""
        names = as_ids(ids)
        queries = [
            urlencode([("id", one) for one in names[start : start + _AT_ONCE]])
            for start in range(0, len(names), _AT_ONCE)
        ]
        return decided(
            [self._calling.call("GET", f"{self._path}/decisions?{query}") for query in queries]
        )

    def open_decisions(self, *, older_than: Any = None, limit: int = 10_000) -> Decisions:
        """Decisions that wait for their rewards, the oldest first; ``.ages`` says for how long.

        Parameters
        ----------
        older_than : duration, optional
            Only those that have waited for at least so long, such as ``"1h"``.
        limit : int
            At most so many, up to 10,000.
        """
        chosen = {"limit": str(limit)}
        if older_than is not None:
            chosen["older_than"] = f"{seconds('older_than', older_than):.6f}s"
        return decided([self._calling.call("GET", f"{self._path}/open?{urlencode(chosen)}")])

    def expire(self, *, older_than: Any = None) -> list[str]:
        """Settle decisions that have waited too long with reward 0, and return their ids.

        Parameters
        ----------
        older_than : duration, optional
            How long a decision may wait; by default the deadline.
        """
        age = None if older_than is None else seconds("older_than", older_than)
        found: list[str] = self._change("expire", {"older_than": age})["expired"]
        return found

    def discard(self, ids: Any, *, reason: str) -> list[str]:
        """Give up on decisions whose rewards will never be known; return their ids.

        Parameters
        ----------
        ids : str or sequence of str
        reason : str
            One that has nothing to do with the rewards.
        """
        found: list[str] = self._change("discard", {"ids": as_ids(ids), "reason": reason})[
            "discarded"
        ]
        return found

    def archive(self) -> None:
        """End the study: from now on it can be looked at, and takes nothing any more."""
        self._change("archive", {})

    def recommend(self) -> Recommendation:
        """The policy to deploy now, and what is known about it."""
        return recommended(self._look("recommendation"))

    def status(self) -> dict[str, Any]:
        """Where the study stands, the fields of `StudyStatus` as plain values."""
        return self._look("status")

    @property
    def finished(self) -> bool:
        """Whether the planned rounds are done, or the answer is certified."""
        return bool(self.status()["finished"])

    def exploration(self, policies: AnyPolicies) -> Exploration:
        """What is played now, for a program that has the policies and decides by itself.

        Parameters
        ----------
        policies : PolicyClass
            Those of the study.
        """
        found = self._calling.call("GET", f"{self._path}/exploration").content
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "exploration"
            path.write_bytes(found)
            return Exploration.load(path, policies)

    def log(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        format: str | None = None,
        overwrite: bool = False,
    ) -> Log | LogFile:
        """The rounds that were learnt from, in the order of their decisions.

        Parameters
        ----------
        path : path, optional
            Write them there, with ids and times, as they come. By default they are returned.
        format : str, optional
            "parquet", "csv" or "jsonl"; by default what the name of the file says.
        overwrite : bool
            Whether a file that exists is replaced; otherwise it is an error.

        Returns
        -------
        Log or LogFile
        """
        if path is None:
            with tempfile.TemporaryDirectory() as folder:
                here = Path(folder) / "rounds.parquet"
                self.log(here)
                return Log.load(here)
        out = as_path(path)
        if out.exists() and not overwrite:
            raise InvalidArgumentError(f"{out} exists; name another file, or pass overwrite=True")
        kind = find_format(out, format).name
        one_of("format", kind, _FORMATS)
        source = f"{self._path}/rounds?format={kind}"
        with (
            whole_or_nothing(out, new=not overwrite) as partial,
            partial.open("wb") as file,
            self._calling.streamed(source) as pieces,
        ):
            file.writelines(pieces)
        units = self.status()["problem"]["reward_range"]
        return LogFile(out, kind, reward_range=None if units is None else tuple(units))

    def _look(self, what: str) -> dict[str, Any]:
        found: dict[str, Any] = self._calling.call("GET", f"{self._path}/{what}").json()
        return found

    def _change(self, what: str, body: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = self._calling.call("POST", f"{self._path}/{what}", body=body).json()
        return found

    def __repr__(self) -> str:
        return f"RemoteStudy({self.name!r}, {self._calling.url})"


def _new_ids(n: int) -> list[str]:
    """Names of rounds that no other round of any study has."""
    mark = secrets.token_hex(_MARK)
    return [f"{mark}-{number}" for number in range(n)]
