"""Whether the world of a learner has changed, without going over its whole log each time."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from policysieve.evidence.change import Change
from policysieve.evidence.change_bets import find_change
from policysieve.evidence.change_sums import ChangeSums
from policysieve.evidence.groups import context_groups
from policysieve.log import Log
from policysieve.log.returning import chosen_rounds
from policysieve.problem import Problem

__all__ = ["Watch"]


class _Seen(NamedTuple):
    """What was found when one last looked.

    Attributes
    ----------
    since : int
        The first round of the log that counts.
    sums : ChangeSums
        Of the rounds from there on.
    looks : int
        The first boundaries after which nothing had changed.
    """

    since: int
    sums: ChangeSums
    looks: int


class Watch:
    """What a learner remembers of the last time that its alarm was asked for.

    It makes the next time quick, and changes nothing else. Several threads may ask at once. A copy
    begins anew.
    """

    def __init__(self) -> None:
        self._seen: _Seen | None = None

    def alarm(
        self,
        log: Log,
        since: int,
        problem: Problem,
        names: Sequence[str] | None,
        first: npt.NDArray[np.int64] | None = None,
    ) -> Change | None:
        """The change that the rounds from `since` on prove, or None.

        The log is the same as before, or longer. Where units come back, `first` are the places of
        their first rounds, which count alone.
        """
        if first is not None:
            return _of_units(log, since, first, problem, names)
        seen = self._seen
        if seen is None or seen.since != since or seen.since + seen.sums.rounds > len(log):
            seen = _Seen(since, ChangeSums(problem.slate_size), 0)
        sums = deepcopy(seen.sums)
        for rounds in log[since + sums.rounds :].rounds():
            sums.add(rounds.in_unit(), context_groups(rounds.contexts))
        change = find_change(sums, problem.n_actions, problem.delta, names, looked=seen.looks)
        looks = len(sums.boundaries) - 1 if change is None else seen.looks
        self._seen = _Seen(since, sums, looks)
        if change is None:
            return None
        change = change.in_range(log.reward_range)
        return change.later(since) if since else change

    def __reduce__(self) -> tuple[type["Watch"], tuple[()]]:
        return Watch, ()  # the log has it all


def _of_units(
    log: Log,
    since: int,
    numbers: npt.NDArray[np.int64],
    problem: Problem,
    names: Sequence[str] | None,
) -> Change | None:
    """The same where only some of these rounds count."""
    sums = ChangeSums(problem.slate_size)
    for rounds in chosen_rounds(log, numbers).rounds():
        sums.add(rounds.in_unit(), context_groups(rounds.contexts))
    change = find_change(sums, problem.n_actions, problem.delta, names)
    if change is None:
        return None
    return replace(change.in_range(log.reward_range).among(numbers), start=since)
