"""Everything PolicySieve raises, in one tree.

Each error derives from `PolicySieveError` and from the builtin that fits, so both
``except ps.PolicySieveError`` and ``except ValueError`` work. Messages name the argument, the
rule, what arrived and what to do.
"""

from pickle import PicklingError

__all__ = [
    "ArchivedError",
    "BusyError",
    "DatasetUnavailableError",
    "DecisionsError",
    "FileFormatError",
    "InUseError",
    "InvalidArgumentError",
    "MissingExtraError",
    "NotFoundError",
    "PolicyFailureError",
    "PolicySieveError",
    "StorageError",
    "UnknownIdsError",
    "UnknownValueError",
    "UnpicklableError",
]


class PolicySieveError(Exception):
    """Base of all errors raised by PolicySieve."""


class InvalidArgumentError(PolicySieveError, ValueError):
    """An argument breaks a rule; nothing was changed."""


class DecisionsError(PolicySieveError, ValueError):
    """A batch of decisions is not this learner's, or was settled before; nothing was changed."""


class ArchivedError(InvalidArgumentError):
    """A study was archived: it can be looked at, and takes nothing any more."""


class BusyError(PolicySieveError, RuntimeError):
    """A call came within another of the same thread that has to end first; nothing was changed.

    A signal handler can do that to a learner. It may look at the learner; to change it, let it
    leave a note, and call when the other call has returned. An async candidate can do it that asks
    a class with `Calls`: let it ask in a thread.
    """


class PolicyFailureError(PolicySieveError, RuntimeError):
    """A policy raised, or answered with something that is not a slate of actions.

    Attributes
    ----------
    policy : int
        Index of the policy in its class.
    name : str or None
        Its name, if it has one.
    """

    def __init__(self, policy: int, problem: str, name: str | None = None) -> None:
        super().__init__(f"policy {policy if name is None else repr(name)} {problem}")
        self.policy = policy
        self.name = name
        self._problem = problem

    def __reduce__(self) -> tuple[type["PolicyFailureError"], tuple[int, str, str | None]]:
        return type(self), (self.policy, self._problem, self.name)


class FileFormatError(PolicySieveError, ValueError):
    """A file is truncated, of an unknown format, or does not hold what it should."""


class InUseError(PolicySieveError, BlockingIOError):
    """Another process writes to the same folder; the message says which, and since when."""


class StorageError(PolicySieveError, OSError):
    """The database of a study cannot be reached, is full, or was cut off; the message says what.

    Nothing of the call counts that was not acknowledged. `tell` may be called again in any case.
    """


class NotFoundError(PolicySieveError, LookupError):
    """A service has no such study, or a database no such token; the message says what there is."""


class UnknownIdsError(DecisionsError, NotFoundError):
    """Ids are not those of decisions of this study; nothing was changed."""


class DatasetUnavailableError(PolicySieveError, OSError):
    """A data set is not in the cache and could not be downloaded."""


class UnknownValueError(PolicySieveError, LookupError):
    """A world was asked for a value that it cannot know exactly."""


class UnpicklableError(PolicySieveError, PicklingError):
    """A learner or a class holds something that cannot be pickled; the message says what to do."""


class MissingExtraError(PolicySieveError, ImportError):
    """An optional dependency is not installed; the message says how to install it."""

    def __init__(self, needed_by: str, package: str, extra: str | None = None) -> None:
        install = package if extra is None else f'"policysieve[{extra}]"'
        super().__init__(
            f"{needed_by} needs {package}, which is not installed: pip install {install}"
        )
