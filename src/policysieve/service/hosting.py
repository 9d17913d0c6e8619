"""The studies that a service answers for, with the policies that whoever started it named."""

import threading
from collections.abc import Callable, Mapping

from sqlalchemy import literal, select

from policysieve.checks import flag
from policysieve.errors import InvalidArgumentError, NotFoundError, PolicySieveError
from policysieve.policies import AnyPolicies
from policysieve.study import Study, StudySummary
from policysieve.study.looking import summaries_in
from policysieve.study.record import StudyRecord
from policysieve.study.storage import Storage

__all__ = ["Hosted", "Loader"]

Loader = Callable[[StudyRecord], AnyPolicies]
"""What finds the policies of a study, or raises NotFoundError if it has none for it."""

_FEW = 10  # names that an error lists


class Hosted:
    """The studies of one database, opened when they are first asked for, and kept.

    Parameters
    ----------
    url : str
        Of the database.
    policies : PolicyClass, mapping of names to classes, or function
        One class for all studies; one for each name; or a function of a `StudyRecord` that returns
        one or raises `NotFoundError`.
    version : str or mapping of names to str, optional
        What the policies are called, if the studies were created with a version.
    learn : bool
        Whether this process learns from rewards that are told.

    Attributes
    ----------
    storage : Storage
        The database, which all studies share.
    learns : bool
        Whether somebody here learns; who tells does not.
    """

    def __init__(
        self,
        url: str,
        policies: "AnyPolicies | Mapping[str, AnyPolicies] | Loader",
        *,
        version: str | Mapping[str, str] | None = None,
        learn: bool = True,
    ) -> None:
        self.storage = Storage(url)
        self._loader = _loader(policies)
        self._version, self.learns = version, flag("learn", learn)
        self._lock = threading.Lock()
        self._studies: dict[str, Study] = {}
        self._refused: dict[str, PolicySieveError] = {}  # for good: their class is another

    def names(self) -> list[str]:
        """The studies of the database, in order."""
        return [one.name for one in self.summaries()]

    def summaries(self) -> list[StudySummary]:
        """A line for each study of the database, by name."""
        return summaries_in(self.storage)

    def check(self) -> None:
        """Raise if the database does not answer."""
        with self.storage.reading() as connection:
            connection.execute(select(literal(1)))

    def study(self, name: str) -> Study:
        """The study of a name.

        Raises
        ------
        NotFoundError
            If there is none, or the service has no policies for it.
        InvalidArgumentError
            If its policies are others than the service has.
        """
        opened = self._studies.get(name)
        if opened is not None:
            return opened
        with self._lock:
            if name not in self._studies:
                self._studies[name] = self._open(name)
            return self._studies[name]

    def opened(self, name: str) -> Study | None:
        """The study of a name, if it was opened before."""
        return self._studies.get(name)

    def trouble(self, name: str) -> str | None:
        """Why the service does not answer for a study; None if it does."""
        if "/" in name:
            return f"study {name!r} has no address here: its name has a slash"
        try:
            self.study(name)
        except (NotFoundError, InvalidArgumentError) as error:
            return str(error)
        return None

    def close(self) -> None:
        """Let others learn at once, and close all connections."""
        studies, self._studies = self._studies, {}
        for study in studies.values():
            study.release()
        self.storage.close()

    def _open(self, name: str) -> Study:
        if name in self._refused:
            raise self._refused[name]
        if "\0" in name:  # no database keeps it
            raise NotFoundError(f"there is no study {name!r} here")
        with self.storage.reading() as connection:
            record = StudyRecord.find(connection, name)
        if record is None:
            names = self.names()
            some = ", ".join(map(repr, names[:_FEW])) + (", ..." if len(names) > _FEW else "")
            raise NotFoundError(
                f"there is no study {name!r} here; the service has {some or 'none yet'}"
            )
        version = self._version
        if isinstance(version, Mapping):
            version = version.get(name)
        try:
            return Study.open_in(
                self.storage, name, self._loader(record), version=version, learn=False
            )
        except (NotFoundError, InvalidArgumentError) as error:
            self._refused[name] = error
            raise


def _loader(policies: "AnyPolicies | Mapping[str, AnyPolicies] | Loader") -> Loader:
    """A function that finds the policies of a study."""
    if isinstance(policies, Mapping):
        by_name = dict(policies)

        def listed(record: StudyRecord) -> AnyPolicies:
            if record.name not in by_name:
                raise NotFoundError(
                    f"this service has no policies for study {record.name!r}; start it with "
                    f"policies={{{record.name!r}: ...}}"
                )
            return by_name[record.name]

        return listed
    if callable(policies):
        return policies
    one = policies
    return lambda record: one
