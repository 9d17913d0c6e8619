"""A log served as if it were live, by rejection."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from policysieve.availability import Available
from policysieve.checks import number, refuse_rows
from policysieve.errors import InvalidArgumentError, UnknownValueError
from policysieve.log import AnyLog, Log, load_for, open_log
from policysieve.worlds.base import Draw, RewardsOf, World

if TYPE_CHECKING:
    from policysieve.policies import Policies

__all__ = ["Replay"]

_SLACK = 1 + 1e-9  # rounding allowed in propensities
_USUAL: Any = "1, or None where rewards have a range"


class Replay(World):
    """Rows of a log in their order; a round counts only if the logged action is asked for.

    A row with logged action a and propensity b is accepted when a is shown and a coin of
    probability floor / b comes up; otherwise its rewards are NaN. Whatever is shown, a row is then
    accepted with probability `floor`, so accepted rounds are distributed like live ones.

    That needs an honest `floor`: every available action, at every context, must have had at least
    this probability of being logged. The log alone can show that it is too large, not that it is
    right.

    The world moves on through the log: `draw` hands out the next rows, fewer at the end and none
    when it is exhausted, and `rewind` starts over.

    Parameters
    ----------
    log : Log, LogFile, path or paths
        Rounds of single actions (slate_size 1) with their propensities. Rows appended later are
        not served. What was available in them is what can be shown.
    n_actions : int
        Number K of actions. May be left out where they are named.
    sparsity : float, optional
        Bound on the rewards of all actions of one round; a log shows only one of them, so this is
        taken on trust. By default 1, and not known if the log's rewards have another range.
    floor : float, optional
        Smallest probability with which any action was logged. The smallest propensity in the log
        by default, or 1/K if that is smaller.
    actions : sequence of str, optional
        Names of the actions, in the order of their numbers; by default those of the log.

    Raises
    ------
    InvalidArgumentError
        If the log is empty, has slates, has actions or rewards that do not fit, or contradicts
        `floor`.
    FileNotFoundError, FileFormatError
        As `LogFile` has it, and if a reward is missing.
    """

    def __init__(
        self,
        log: AnyLog,
        *,
        n_actions: int | None = None,
        sparsity: float | None = _USUAL,
        floor: float | None = None,
        actions: Sequence[str] | None = None,
    ) -> None:
        opened = open_log(log)
        if actions is None:
            actions = opened.action_names
        log = load_for(opened, actions)
        if log.slate_size != 1:
            raise InvalidArgumentError(
                f"log must have slates of one action, got slate_size={log.slate_size}; rejection "
                "needs the joint probability of a slate, and a log has only those of its items"
            )
        if not len(log):
            raise InvalidArgumentError("log must have at least one row, got none")
        self.reward_range = log.reward_range
        if sparsity is _USUAL:
            sparsity = 1.0 if log.reward_range is None else None
        super().__init__(n_actions=n_actions, slate_size=1, sparsity=sparsity, actions=actions)
        self._log = log[:]  # keeps its length when the log grows
        logged, rewards = self._log.actions[:, 0], self._log.rewards[:, 0]
        refuse_rows(
            logged >= self.n_actions,
            f"actions of the log must lie in [0, {self.n_actions - 1}]",
            lambda row: logged[row],
        )
        available = self._log.available
        if available is not None:
            available = Available.of(available, len(self._log), self.n_actions)
            refuse_rows(
                ~available.has(self._log.actions).all(axis=1),
                "actions of the log must be among those that were available",
                lambda row: logged[row],
            )
        if self.sparsity is not None:
            refuse_rows(
                rewards > self.sparsity * _SLACK,
                f"rewards of the log must be at most the sparsity {self.sparsity:g}",
                lambda row: f"{rewards[row]:g}",
            )
        smallest = float(self._log.propensities.min())
        if floor is None:
            self.floor = min(smallest, 1 / self.n_actions)
        else:
            self.floor = number(
                "floor",
                floor,
                above=0,
                below=min(smallest, 1 / self.n_actions) * _SLACK,
                closed=True,
                hint=f"the smallest propensity in the log is {smallest:g}, and the least likely of "
                f"{self.n_actions} actions has at most 1/{self.n_actions}",
            )
        self._run = 0  # how often the log was rewound: older draws no longer count
        self._used = 0
        self._accepted = 0

    @property
    def rows_used(self) -> int:
        """How many rows were handed out since the start or the last `rewind`."""
        return self._used

    @property
    def rows_accepted(self) -> int:
        """How many of them were accepted: their logged reward was told. Each counts once."""
        return self._accepted

    @property
    def rows_left(self) -> int:
        """How many rows are still to come."""
        return len(self._log) - self._used

    def rewind(self) -> None:
        """Start over at the first row; counts go back to 0."""
        self._run += 1
        self._used = self._accepted = 0

    def _draw(self, n: int, rng: np.random.Generator) -> Draw:
        part = self._log[self._used : self._used + n]
        self._used += len(part)
        coin = rng.random((len(part), 1)) * part.propensities < self.floor
        return Draw(
            part.contexts,
            self._rewards_of(part, coin),
            n_actions=self.n_actions,
            slate_size=1,
            actions=self.actions,
            available=None if part.available is None else part.available.wide(self.n_actions),
        )

    def _rewards_of(self, part: Log, coin: npt.NDArray[np.bool_]) -> RewardsOf:
        run = self._run
        told = np.zeros_like(coin)

        def rewards_of(actions: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
            accepted = (actions == part.actions) & coin
            if run == self._run:
                self._accepted += int((accepted & ~told).sum())
            np.logical_or(told, accepted, out=told)
            return np.where(accepted, part.rewards, np.nan)

        return rewards_of

    def _values(self, policies: "Policies") -> NoReturn:
        raise UnknownValueError(
            "a replayed log cannot know the value of a policy; estimate it from the log with "
            "importance weights, or use a world that knows all rewards"
        )
