"""Rewarded rounds, and what the policy class would have shown there."""

from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.checks import as_rewards, first_rows, refuse_rows
from policysieve.columns import Columns
from policysieve.errors import InvalidArgumentError
from policysieve.log import AnyLog, Log, in_unit, load_for
from policysieve.policies import (
    Answers,
    ContextAnswers,
    Policies,
    PolicyClass,
    Slates,
    check_class,
)
from policysieve.policies.policy_class import names_of_actions
from policysieve.problem import Problem

__all__ = [
    "Events",
    "check_comparable",
    "check_log_fits",
    "check_rewards",
    "load_unit",
    "rewarded_events",
]

Array = npt.NDArray[np.float64]


class Events:
    """The rewarded rounds among `n_rounds`, in order; others add nothing to any policy. A value.

    Parameters
    ----------
    n_rounds : int
        All rounds, rewarded or not.
    rounds : integer array of shape (n,)
        Which of them were rewarded, counted from 0.
    answers : Answers
        What the class says there.
    actions, propensities, rewards : arrays of shape (n, m)
        What was shown, with which probability, and what it earned.
    n_actions : int
    """

    __slots__ = (
        "_columns",
        "actions",
        "answers",
        "n_actions",
        "n_rounds",
        "propensities",
        "rewards",
        "rounds",
    )

    def __init__(
        self,
        *,
        n_rounds: int,
        rounds: npt.NDArray[np.int64],
        answers: Answers,
        actions: npt.NDArray[np.int32],
        propensities: Array,
        rewards: Array,
        n_actions: int,
    ) -> None:
        columns = Columns(rounds, actions, propensities, rewards)
        self.__setstate__((n_rounds, n_actions, answers, columns))

    def __len__(self) -> int:
        return len(self.rounds)

    @property
    def gains(self) -> Array:
        """Importance-weighted rewards r/W, shape (n, m)."""
        return np.asarray(self.rewards / self.propensities)

    @property
    def table(self) -> npt.NDArray[Any]:
        """The slates of a list at event i are ``table[rows[i]]``, shape (n_policies, m)."""
        assert isinstance(self.answers, Slates)
        return self.answers.table

    @property
    def rows(self) -> npt.NDArray[np.intp]:
        """Where in the table each event has its slates, shape (n,)."""
        assert isinstance(self.answers, Slates)
        return self.answers.rows

    @property
    def contexts(self) -> npt.NDArray[Any]:
        """Contexts of the events, for a class that cannot be listed."""
        assert isinstance(self.answers, ContextAnswers)
        return self.answers.contexts

    def sent(self) -> "Events":
        """The same for another process that has the class: without the table of all contexts."""
        assert isinstance(self.answers, Slates)
        return self._answered(self.answers.sent())

    def received(self, policies: Policies) -> "Events":
        """What was sent, with the table of the class."""
        assert isinstance(self.answers, Slates)
        return self._answered(self.answers.received(policies))

    def _answered(self, answers: Slates) -> "Events":
        same = object.__new__(Events)
        same.__setstate__((self.n_rounds, self.n_actions, answers, self._columns))
        return same

    def plus(self, later: "Events") -> "Events":
        """These, and those of the rounds that came next; amortised constant time for each."""
        answers, columns = self.answers, self._columns
        if len(later):
            answers = answers.plus(later.answers)
            rounds, *others = later._columns.arrays
            columns = columns.plus(self.n_rounds + rounds, *others)
        longer = object.__new__(Events)
        longer.__setstate__((self.n_rounds + later.n_rounds, self.n_actions, answers, columns))
        return longer

    def since(self, n_events: int, n_rounds: int) -> "Events":
        """The events behind the first so many events and rounds."""
        rounds, actions, propensities, rewards = (a[n_events:] for a in self._columns.arrays)
        return Events(
            n_rounds=self.n_rounds - n_rounds,
            rounds=rounds - n_rounds,
            answers=self.answers.take(slice(n_events, None)) if n_events else self.answers,
            actions=actions,
            propensities=propensities,
            rewards=rewards,
            n_actions=self.n_actions,
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> "Events":
        return self  # a value

    def __getstate__(self) -> tuple[Any, ...]:
        return self.n_rounds, self.n_actions, self.answers, self._columns

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.n_rounds, self.n_actions, self.answers, self._columns = state
        self.rounds, self.actions, self.propensities, self.rewards = self._columns.arrays


def rewarded_events(log: Log, policies: PolicyClass, answers: Answers | None = None) -> Events:
    """Pick out the rewarded rounds, and what the class says there.

    Without the `answers` at all rounds, the log is checked, and the class asked about the rewarded
    ones.
    """
    rounds = log.rewarded()
    if answers is None:
        check_log_fits(log, policies)
        allowed = log.available
        there = policies.answers(log.contexts[rounds], None if allowed is None else allowed[rounds])
    else:
        there = answers.take(rounds)
    return Events(
        n_rounds=len(log),
        rounds=rounds,
        answers=there,
        actions=log.actions[rounds],
        propensities=log.propensities[rounds],
        rewards=log.rewards[rounds],
        n_actions=policies.n_actions,
    )


def check_comparable(policies: Any, problem: Problem) -> None:
    """Raise unless these are at least two numbered policies for the problem."""
    check_class(policies)
    if not isinstance(policies, Policies):
        raise InvalidArgumentError(
            f"policies must be numbered, got {type(policies).__name__}; for a class that "
            "cannot be listed there are select and policysieve.evidence.ImplicitEvidence"
        )
    if policies.n_policies < 2:
        raise InvalidArgumentError("evidence compares policies: give at least two, got one")
    policies.check_fits(problem)


def load_unit(log: AnyLog, policies: PolicyClass, problem: Problem) -> Log:
    """A whole log for policies and a problem, as it counts inside: with rewards in [0, 1].

    Raises
    ------
    InvalidArgumentError
        If the rewards have another range, or those of a round exceed the sparsity.
    """
    loaded = load_for(log, names_of_actions(policies, problem), problem.scale.range)
    check_rewards(loaded, problem)
    return in_unit(loaded, problem.scale)


def check_rewards(log: Log, problem: Problem) -> None:
    """Raise unless the rewards of a log are such as the problem declares."""
    q = problem
    as_rewards(log.rewards, len(log), log.slate_size, q.sparsity, q.reward_range)


def check_log_fits(log: Log, policies: PolicyClass) -> None:
    """Raise unless a log has the slates and actions of the policies."""
    if log.slate_size != policies.slate_size:
        raise InvalidArgumentError(
            f"log and policies must agree on the slate size, got {log.slate_size} and "
            f"{policies.slate_size}"
        )
    actions = log.actions
    if actions.size and actions.max() >= policies.n_actions:
        bad = (actions >= policies.n_actions).any(axis=1)
        row = int(np.flatnonzero(bad)[0])
        from_one = actions.max() == policies.n_actions and actions.min() > 0
        hint = "; are actions numbered from 1? Here the first is 0" if from_one else ""
        raise InvalidArgumentError(
            f"actions of the log must lie in [0, {policies.n_actions - 1}], got "
            f"{actions[row].tolist()} in row {row}{first_rows(bad)}{hint}"
        )
    available = policies.check_available(log.available, len(log))
    if available is not None:
        refuse_rows(
            ~available.has(actions).all(axis=1),
            "actions of the log must be among those that were available",
            lambda row: actions[row].tolist(),
            hint="run policysieve check on the log to see more",
        )
