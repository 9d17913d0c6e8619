"""Rounds in columns: what they hold, and the same rounds seen in another way."""

from collections.abc import Mapping, Sequence
from functools import partial
from sys import getsizeof
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from policysieve.arrays import shown
from policysieve.availability import Available
from policysieve.checks import as_rewards, integer
from policysieve.columns import Columns
from policysieve.errors import InvalidArgumentError
from policysieve.frames import Contexts, read_only
from policysieve.log.beside import NOTHING, Beside
from policysieve.log.distributions import Distributions
from policysieve.log.named import Names, in_numbers, renumbering, spread
from policysieve.naming import as_names, number_of
from policysieve.scaling import Range, usual_range

__all__ = ["Columnar"]


class Columnar:
    """The columns of a `Log`, which are read-only, and logs that share them."""

    _columns: Columns
    _distributions: Distributions | None = None  # few logs have them: no room in the others
    _action_names: Names = None
    _beside: Beside = NOTHING
    _reward_range: Range = None

    @classmethod
    def trusted(
        cls,
        contexts: Contexts,
        actions: npt.NDArray[np.int32],
        propensities: npt.NDArray[np.float64],
        rewards: npt.NDArray[np.float64],
        *,
        distributions: Distributions | None = None,
        action_names: Names = None,
        beside: Beside = NOTHING,
        reward_range: Range = None,
    ) -> Self:
        """A log around columns that were checked before; nothing is copied."""
        log = object.__new__(cls)
        if beside:
            log._beside = beside
        if action_names is not None:
            log._action_names = action_names
        if reward_range is not None:
            log._reward_range = reward_range
        if distributions is not None:
            log._distributions = distributions
        log._hold(Columns(contexts, actions, propensities, rewards))
        return log

    @property
    def contexts(self) -> Any:
        """Contexts, shape (n, ...), read-only: an array, or a `ContextFrame`."""
        return self._columns.arrays[0]

    @property
    def actions(self) -> npt.NDArray[np.int32]:
        """Shown items, shape (n, m), read-only."""
        return self._columns.arrays[1]

    @property
    def propensities(self) -> npt.NDArray[np.float64]:
        """Probability with which each shown item is shown, shape (n, m), read-only."""
        return self._columns.arrays[2]

    @property
    def rewards(self) -> npt.NDArray[np.float64]:
        """Rewards of the shown items, shape (n, m), read-only."""
        return self._columns.arrays[3]

    @property
    def distributions(self) -> Distributions | None:
        """Propensities of all actions that could be shown; None if the log does not have them."""
        return self._distributions

    @property
    def action_names(self) -> Names:
        """What the numbers of the actions stand for; None if nothing is known of that."""
        return self._action_names

    @property
    def available(self) -> Available | None:
        """The actions that could be shown; None if nothing is known of that."""
        return self._beside.available

    @property
    def units(self) -> npt.NDArray[np.object_] | None:
        """The user or session of each round, shape (n,); None if they are not named."""
        return self._beside.units

    @property
    def outcomes(self) -> dict[str, npt.NDArray[np.float64]]:
        """Other rewards of the shown items by their names, shape (n, m); NaN if not known."""
        return self._beside.outcomes

    @property
    def beside(self) -> Beside:
        """What rounds have beside contexts, actions, propensities and rewards."""
        return self._beside

    @property
    def reward_range(self) -> Range:
        """Least and largest reward that an item can have; None for 0 and 1."""
        return self._reward_range

    def rewarded(self) -> npt.NDArray[np.intp]:
        """Numbers of the rounds that earned anything above 0."""
        rewards = self.rewards
        single = rewards.shape[1] == 1
        return np.flatnonzero(rewards[:, 0] > 0 if single else (rewards > 0).any(axis=1))

    @property
    def has_distributions(self) -> bool:
        """Whether the propensities of all actions are known."""
        return self._distributions is not None

    @property
    def has_units(self) -> bool:
        """Whether the user or session of each round is named."""
        return self.units is not None

    @property
    def nbytes(self) -> int:
        """Memory that the rounds take, as far as they are not shared with another log."""
        size = sum(array.nbytes for array in self._columns.arrays) + self._beside.nbytes
        if self.contexts.dtype.kind == "O":
            size += sum(map(getsizeof, self.contexts.reshape(-1)))
        if self._distributions is not None:
            size += self._distributions.nbytes
        return size

    @property
    def slate_size(self) -> int:
        """Number of items shown each round."""
        return int(self._columns.arrays[1].shape[1])

    def copy(self) -> Self:
        """A log with memory of its own."""
        twin = self.trusted(
            *(array.copy() for array in self._columns.arrays),
            action_names=self._action_names,
            beside=self._beside.copy(),
            reward_range=self._reward_range,
        )
        if self._distributions is not None:
            twin._distributions = Distributions.concatenate([self._distributions])
        return twin

    def without_contexts(self) -> Self:
        """The same rounds with a number in place of each context, for those who need none."""
        _, *others = self._columns.arrays
        return self.trusted(
            np.zeros(len(self), np.int8),
            *others,
            distributions=self.distributions,
            action_names=self._action_names,
            beside=self._beside,
            reward_range=self._reward_range,
        )

    def without_distributions(self) -> Self:
        """The same rounds with the propensities of what was shown alone; memory is shared."""
        return self.trusted(
            *self._columns.arrays,
            action_names=self._action_names,
            beside=self._beside,
            reward_range=self._reward_range,
        )

    def with_action_names(self, names: Sequence[str]) -> Self:
        """The same rounds with actions numbered in the order of `names`.

        Numbers of a log without names stand for these names from then on.

        Raises
        ------
        InvalidArgumentError
            If a round shows, or could have shown, an action without its name among them.
        """
        wanted = as_names("names", names)
        if self._action_names is None:
            in_numbers(self.actions, None, wanted)
            if self._distributions is not None:
                self._distributions.check_actions(len(wanted))
            log = self[:]
            log._action_names = wanted
            return log
        _check_known(self, wanted)
        return self._in_terms_of(wanted)

    def with_reward_range(self, reward_range: Any) -> Self:
        """The same rounds, whose rewards are said to lie in another range, as they are.

        Raises
        ------
        InvalidArgumentError
            If a reward is outside.
        """
        known, log = usual_range(reward_range), self[:]
        as_rewards(log.rewards, len(log), log.slate_size, None, known)
        log._reward_range = known
        return log

    def without_units(self) -> Self:
        """The same rounds without the names of users or sessions: all of them count."""
        log = self[:]
        log._beside = Beside(self.available, None, self.outcomes)
        return log

    def with_outcomes(self, outcomes: Mapping[str, npt.NDArray[np.float64]]) -> Self:
        """The same rounds with these outcomes in place of what there was; they are not checked."""
        log = self[:]
        log._beside = self._beside.with_outcomes(outcomes)
        return log

    def since(self, start: int) -> Self:
        """The rounds from number `start` on, counted from 0; at least one.

        Raises
        ------
        InvalidArgumentError
            If there is no such round.
        """
        return self[integer("since", start, low=0, high=max(0, len(self) - 1)) :]

    def __len__(self) -> int:
        return len(self._columns.arrays[0])

    def __getitem__(self, rows: slice) -> Self:
        if not isinstance(rows, slice):
            raise InvalidArgumentError(
                f"a log is indexed by a slice, such as log[100:200], got {shown(rows)}"
            )
        part = self.trusted(
            *[array[rows] for array in self._columns.arrays],
            action_names=self._action_names,
            beside=self._beside[rows],
            reward_range=self._reward_range,
        )
        if self._distributions is not None:
            part._distributions = self._distributions[rows]
        return part

    def _in_terms_of(self, names: Names) -> Self:
        """The same rounds with actions in the order of names that have all of theirs."""
        if names is None or names == self._action_names:
            return self
        if self._action_names is None:  # there are no rounds
            return self.trusted(
                *self._columns.arrays,
                action_names=names,
                beside=self._beside,
                reward_range=self._reward_range,
            )
        contexts, actions, propensities, rewards = self._columns.arrays
        numbers = renumbering(self._action_names, names)
        lists = None if self._distributions is None else spread(self._distributions, numbers)
        return self.trusted(
            contexts,
            numbers[actions],
            propensities,
            rewards,
            distributions=lists,
            action_names=names,
            beside=self._beside.renumbered(numbers, len(names)),
            reward_range=self._reward_range,
        )

    def _hold(self, columns: Columns) -> None:
        for array in columns.arrays:
            read_only(array)
        self._columns = columns


def _check_known(log: Columnar, names: Sequence[str]) -> None:
    """Raise unless every action that rounds show, or could have shown, is one of some names."""
    mine = log.action_names or ()
    unknown = renumbering(mine, names) < 0
    if not unknown.any():
        return
    refuse_unknown = partial(number_of, names=names)
    for row in np.flatnonzero(unknown[log.actions].any(axis=1))[:1]:
        items = log.actions[row]
        refuse_unknown(f"actions (row {row})", mine[items[unknown[items]][0]])
    lists = log.distributions
    if lists is not None:
        for entry in np.flatnonzero(unknown[lists.actions])[:1]:
            refuse_unknown(f"distributions (row {lists.rows[entry]})", mine[lists.actions[entry]])
