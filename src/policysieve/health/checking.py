"""Whether a log can be what it says it is: the first thing to ask of any log."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from policysieve.checks import MOST_ACTIONS, integer, number
from policysieve.errors import InvalidArgumentError
from policysieve.evidence.change import Change
from policysieve.evidence.change_bets import find_change
from policysieve.health.findings import Finding, Verdict, findings
from policysieve.health.weight_tests import LogSums, WeightTests
from policysieve.log import AnyLog, Rounds, open_log
from policysieve.reported import Reported

__all__ = ["LogHealth", "check_log"]

_NOT_SEEN = (
    "Such a check cannot find every error. It does not see rewards that were joined to the wrong "
    "rounds, or rounds that were left out because of their rewards. It hardly sees propensities "
    "that were swapped between rounds."
)
_OF_SUPPORT = {  # findings that are broken, too, where actions were left out on purpose
    "mean weight",
    "weight over time",
    "frequency of actions",
    "frequency by context",
    "exploration",
}
_LEGEND = (
    "An importance weight is 1/propensity where an action is shown, and 0 where it is not; its "
    "mean should be 1. A value is the mean in this log, with its confidence limits in brackets. It "
    "is ok if 1 lies between them. Of many means the worst is shown, the one that fits 1 the "
    "least. It may be far from 1 in a healthy log, and its limits allow for that."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class LogHealth(Reported):
    """What was found in a log.

    Attributes
    ----------
    rounds, n_actions, slate_size : int
    delta : float
        A healthy log is called broken because of its propensities with at most this probability,
        and a world that has not changed is said to have changed with at most this one.
    findings : tuple of Finding
    tests : WeightTests
        The mean importance weights, with limits, behind the findings.
    change : Change or None
        The change of the world that the log proves; None also if propensities are too small, so
        that nothing can be told.
    """

    rounds: int
    n_actions: int
    slate_size: int
    delta: float
    findings: tuple[Finding, ...] = field(repr=False)
    tests: WeightTests = field(repr=False)
    change: Change | None = field(repr=False)

    @property
    def worst(self) -> Verdict:
        """The worst verdict of all findings."""
        found = {finding.verdict for finding in self.findings}
        return "broken" if "broken" in found else "warning" if "warning" in found else "ok"

    @property
    def broken(self) -> bool:
        """Whether conclusions from this log would be wrong."""
        return self.worst == "broken"

    @property
    def leaves_out(self) -> bool:
        """Whether it is broken, and all of that may be because actions were left out on purpose.

        Learners that eliminate policies show less and less: the Sieve's own log is like that. So is
        a log whose propensities are too large, unless they leave no room for other actions.
        """
        broken = {one.name for one in self.findings if one.verdict == "broken"}
        has_room = not self.tests.too_small and not self.tests.fixed
        return bool(broken) and broken <= _OF_SUPPORT and has_room

    @property
    def verdict(self) -> str:
        """All findings in a few sentences."""
        names = ", ".join(one.name for one in self.findings if one.verdict == self.worst)
        if self.leaves_out:
            return (
                f"Not every action could be shown in every round of this log, or its propensities "
                f"are too large ({names}). A learner that eliminates policies, such as the Sieve, "
                "leaves actions out on purpose: then what it proved holds, and only estimates of "
                "policies that show what was left out would be wrong. If nothing was left out on "
                "purpose, correct the propensities before you draw conclusions."
            )
        if self.worst == "broken":
            return f"This log is broken ({names}): correct it before you draw conclusions from it."
        if self.worst == "warning":
            return f"Nothing in this log is broken, but look at: {names}. {_NOT_SEEN}"
        return f"No problem was found in this log. {_NOT_SEEN}"

    @property
    def legend(self) -> str:
        """How to read the values of the findings."""
        return _LEGEND

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "rounds": self.rounds,
            "n_actions": self.n_actions,
            "slate_size": self.slate_size,
            "delta": self.delta,
            "broken": self.broken,
            "verdict": self.verdict,
            "findings": [finding.to_dict() for finding in self.findings],
        }


def check_log(
    log: AnyLog,
    *,
    n_actions: int | None = None,
    delta: float = 0.05,
    since: int = 0,
    reward_range: tuple[float, float] | None = None,
    track: Callable[[Iterable[Rounds]], Iterable[Rounds]] = iter,
) -> LogHealth:
    """Check whether a log's propensities can be right, and what else may be wrong with it.

    Every action that can be shown has an importance weight, 1/W where it is shown and 0 where it is
    not, with a mean of one, whatever explored (docs/maths.md, "Health of a log"). That is tested
    for the whole log, over time, for each action, and for each action in groups of contexts. So is
    whether rewards and contexts come from one world throughout (docs/maths.md, "A changed world").
    Where the log names its units, their first rounds are looked at for that. It says who comes
    back, or without units whether contexts come again too soon, and whether what was shown was
    available.

    Parameters
    ----------
    log : Log, LogFile, path or paths
        Rounds in the order of their decisions. Files may be of any format and larger than memory:
        only ids, if there are any, take memory for each round (sixteen bytes), and units for each
        unit.
    n_actions : int, optional
        Number of actions; by default the largest in the log plus one, or those that have names.
    delta : float
        Probability with which a healthy log may be called broken, provided that no propensity
        could be less than half the smallest one in the log. A world that has not changed is said to
        have changed with the same probability at most, whatever explored and however often you
        check a log that grows.
    since : int
        Rounds before this number do not count. It must have been fixed beforehand, or be the
        `alarm` of a change that was found in the rounds before it: a start chosen by a look at the
        rounds that count makes what is said of them wrong.
    reward_range : (low, high), optional
        Least and largest reward that an item can have, if that is not 0 and 1, and the log does not
        say it.
    track : callable
        Wraps the loop over batches of rounds, for instance to show progress.

    Raises
    ------
    InvalidArgumentError
        If there are no rounds, or actions that do not fit `n_actions`.
    FileNotFoundError, FileFormatError
        As `LogFile` has it: a value that cannot be what it says, such as a propensity above 1, is
        an error.

    Examples
    --------
    >>> from policysieve import Log
    >>> rng = np.random.default_rng(0)
    >>> log = Log(
    ...     contexts=np.zeros(500, int),
    ...     actions=rng.integers(0, 4, 500),
    ...     propensities=np.full(500, 0.25),
    ...     rewards=rng.integers(0, 2, 500),
    ... )
    >>> check_log(log).worst
    'ok'
    """
    level = number("delta", delta, above=0, below=1)
    if n_actions is not None:
        n_actions = integer("n_actions", n_actions, low=1, high=MOST_ACTIONS)
    opened = open_log(log, reward_range).since(since)
    sums = LogSums(opened.slate_size)
    for rounds in track(opened.rounds()):
        sums.add(rounds.in_unit())
    if not sums.rounds:
        raise InvalidArgumentError("log must have at least one round, got none")
    names = opened.action_names
    least = max(sums.n_actions if names is None else len(names), sums.mass.slate_size)
    hint = f"the log shows action {sums.n_actions - 1}"
    if names is not None:
        hint = f"the log names so many, such as {names[0]!r}"
        if n_actions is not None and n_actions > least:
            raise InvalidArgumentError(
                f"n_actions must be the {least:,} that have names in the log, got {n_actions:,}; "
                "name all of them, with log.with_action_names([...]) or --actions"
            )
    if n_actions == sums.n_actions - 1 and not sums.shown[0]:
        hint += "; are actions numbered from 1? Here the first is 0"
    count = least if n_actions is None else integer("n_actions", n_actions, low=least, hint=hint)
    tests = WeightTests(sums, count, level, names)
    change = None if tests.too_small else find_change(sums.changes, count, level, names)
    met = sums.returning.met
    if change is not None and met is not None:
        change = change.among(met.first_numbers())
    if change is not None:
        change = change.later(int(since)).in_range(opened.reward_range)
    return LogHealth(
        rounds=sums.rounds,
        n_actions=count,
        slate_size=sums.mass.slate_size,
        delta=level,
        findings=tuple(findings(tests, change, opened.reward_range)),
        tests=tests,
        change=change,
    )
