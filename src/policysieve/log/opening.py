"""The door for logs: whatever takes one takes it from memory, or from files of any format."""

from collections.abc import Sequence

from policysieve.errors import InvalidArgumentError
from policysieve.files import Paths, are_paths
from policysieve.log.log import Log
from policysieve.log.log_file import LogFile
from policysieve.log.ranges import check_fits_range
from policysieve.scaling import usual_range

__all__ = ["AnyLog", "load_for", "log_paths", "open_for", "open_log"]

AnyLog = Log | LogFile | Paths
"""Rounds in memory or on disk: everything that can be opened as a log."""


def open_log(log: AnyLog, reward_range: tuple[float, float] | None = None) -> Log | LogFile:
    """A log that can be read in pieces, from memory or from one or several files of any format.

    A `Log` and a `LogFile` are returned as they are. Files whose range of rewards nobody has said
    are taken to have the one that is given, which others must have.

    Raises
    ------
    InvalidArgumentError
        If rewards have another range.
    """
    wanted = usual_range(reward_range)
    opened = log if isinstance(log, Log | LogFile) else LogFile(log_paths(log), reward_range=wanted)
    if reward_range is not None and opened.reward_range != wanted:
        if isinstance(opened, LogFile) and not opened.says_range:
            return opened.with_reward_range(wanted)
        check_fits_range(opened.reward_range, wanted)
    return opened


def open_for(
    log: AnyLog,
    names: Sequence[str] | None,
    reward_range: tuple[float, float] | None = None,
) -> Log | LogFile:
    """A log with the actions' numbers that policies and a problem have, and with its rewards.

    Raises
    ------
    InvalidArgumentError
        If the log has names of actions and the others have only numbers, or if a round in memory
        shows an action that they do not know; or if rewards have another range.
    FileFormatError
        If a round of a file does.
    """
    opened = open_log(log, reward_range)
    mine = opened.action_names
    if mine is None and names is not None and isinstance(opened, LogFile):
        return opened.read_with(names)
    if mine is None or (names is not None and mine == tuple(names)):
        return opened
    if names is None:
        first = ", ".join(map(repr, mine[:3]))
        raise InvalidArgumentError(
            f"actions of the log have names ({first}, ...), and those of the problem only "
            "numbers, so that nobody knows which is which; write Problem(actions=log.action_names, "
            "...), and actions=log.action_names for the policies, or a list in the order of the "
            "numbers that they use"
        )
    return opened.with_action_names(names)


def load_for(
    log: AnyLog,
    names: Sequence[str] | None,
    reward_range: tuple[float, float] | None = None,
) -> Log:
    """The same with all of it in memory."""
    return Log.load(open_for(log, names, reward_range))


def log_paths(log: object) -> Paths:
    """The paths of a log, or an error in the words of everything that takes logs."""
    if are_paths(log):
        return log
    raise InvalidArgumentError(
        f"log must be a Log, a LogFile, a path or several paths, got {type(log).__name__}; "
        "Log.from_frame makes one of a data frame"
    )
