"""The rounds that capped scores are made of, as they were decided."""

from collections.abc import Callable
from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from policysieve.columns import Columns
from policysieve.kernels.capped_terms import add_terms
from policysieve.kernels.listing import list_items
from policysieve.log import Log
from policysieve.policies import Policies, Slates
from policysieve.policies.base import action_dtype

__all__ = ["Listing", "Model", "Past", "PastArrays"]

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.intp]
Listing = tuple[npt.NDArray[np.int64], npt.NDArray[Any], Array, npt.NDArray[np.float32]]
"""Where the lists of rounds begin, then items, their propensities and means."""

_LEAST = 1e-12  # propensity that counts as typical: stakes must not vanish
_SPARE = 2  # slates of so many times the survivors are kept before the others are dropped


class Model(NamedTuple):
    """What is expected of an item from the votes of policies; fixed before the rounds it is for.

    Attributes
    ----------
    voters : integer array of shape (n_voters,)
        Numbers of the policies.
    votes : float array of shape (n_voters,)
        They sum to one.
    edges, rates : float arrays of shapes (n_bins - 1,) and (n_bins,)
        The expected reward of an item with a share v of the votes is
        ``rates[searchsorted(edges, v)]``, and 0 without a vote.
    scale : float
        About how probable it is to be shown what a voter shows: some stakes are shares of it.
    """

    voters: Numbers
    votes: Array
    edges: Array
    rates: Array
    scale: float


class PastArrays(NamedTuple):
    """Rounds as kernels take them, which say what is what."""

    table: npt.NDArray[Any]
    rows: Numbers
    columns: Numbers
    actions: npt.NDArray[np.int32]
    rewards: Array
    offsets: npt.NDArray[np.int64]
    items: npt.NDArray[np.unsignedinteger[Any]]
    propensities: Array
    means: npt.NDArray[np.float32]
    n_actions: int


def _columns(answers: Slates, policies: Numbers) -> Slates:
    """Answers of some policies alone, with memory of their own."""
    return Slates(answers.table[answers.rows[:, None], policies[None, :]])


class Past:
    """Rounds with the survivors' slates, and for each item of these its propensity and mean.

    A value: `plus` returns a longer one.

    Parameters
    ----------
    policies : Policies
    n_bins : int
        Of the models.

    Attributes
    ----------
    tally : float array of shape (2, n_bins)
        Sums over all rounds so far of r/W and 1/W of what was shown, by its bin.
    """

    def __init__(self, policies: Policies, n_bins: int) -> None:
        m = policies.slate_size
        self._looked_up, self._n_actions = policies.looked_up, policies.n_actions
        self._slate_size, self._n_policies = m, policies.n_policies
        everyone = np.empty(0, np.intp) if self._looked_up else np.arange(policies.n_policies)
        self._kept = everyone  # policies whose slates are kept
        self._answers: Slates | None = None
        self._rounds = Columns(
            np.empty((0, m), np.int32), np.empty((0, m)), np.empty(0), np.empty(0)
        )
        self._offsets = Columns(np.zeros(1, np.int64))
        compact = np.empty(0, action_dtype(policies.n_actions))
        self._lists = Columns(compact, np.empty(0), np.empty(0, np.float32))
        self.tally = np.zeros((2, n_bins))

    def __len__(self) -> int:
        return len(self._rounds)

    @property
    def nbytes(self) -> int:
        """Memory that the rounds take."""
        arrays = [*self._rounds.arrays, *self._offsets.arrays, *self._lists.arrays]
        if self._answers is not None:
            arrays.append(self._answers.rows if self._looked_up else self._answers.table)
        return sum(array.nbytes for array in arrays)

    def plus(self, rounds: Log, answers: Slates, propensities: Array, model: Model) -> Self:
        """These, and rounds that came next.

        Parameters
        ----------
        rounds : Log
        answers : Slates
            Of all policies at the contexts.
        propensities : float array of shape (n, n_actions)
            With which every item could be shown, fixed before the rounds, as the model was.
        model : Model
        """
        n, m = rounds.actions.shape
        most = n * min(self._n_actions, m * len(model.voters))
        votes = answers.table, answers.rows, model.voters, model.votes
        longer = self._listed(list_items, votes, most, rounds, propensities, model)
        if self._looked_up and answers.available is not None:  # these are not in the class's table
            longer._looked_up, longer._kept = False, model.voters
            if self._answers is not None:
                longer._answers = _columns(self._answers, longer._kept)
        kept = answers if longer._looked_up else _columns(answers, longer._kept)
        longer._answers = kept if longer._answers is None else longer._answers.plus(kept)
        return longer

    def _listed(
        self,
        kernel: Callable[..., None],
        votes: tuple[npt.NDArray[Any], ...],
        most: int,
        rounds: Log,
        propensities: Array,
        model: Model,
    ) -> Self:
        """These, and rounds whose items a kernel lists by the votes, `most` at most; no answers."""
        n, tally = len(rounds), self.tally.copy()
        items = np.empty(most, self._lists.arrays[0].dtype)
        listing = np.empty(n + 1, np.int64), items, np.empty(most), np.empty(most, np.float32)
        costs = np.empty(n)
        told = rounds.actions, rounds.propensities, rounds.rewards
        kernel(*votes, propensities, *told, model.edges, model.rates, *listing, costs, tally)
        longer = self._appended(rounds, listing, costs, model.scale)
        longer.tally = tally
        return longer

    def _appended(self, rounds: Log, listing: Listing, costs: Array, scale: float) -> Self:
        """These, and rounds behind them with their lists, but without answers."""
        offsets, items, w, mean = listing
        longer, end = copy(self), offsets[-1]
        scales = np.full(len(costs), scale)
        longer._rounds = self._rounds.plus(rounds.actions, rounds.rewards, scales, costs)
        longer._lists = self._lists.plus(items[:end], w[:end], mean[:end])
        longer._offsets = self._offsets.plus(self._offsets.arrays[0][-1] + offsets[1:])
        return longer

    def kept_for(self, survivors: Numbers) -> Self:
        """The same without the slates of others, once these are most of what is kept."""
        if self._looked_up or len(self._kept) <= _SPARE * len(survivors):
            return self
        shorter = copy(self)
        if self._answers is not None:
            columns = np.searchsorted(self._kept, survivors)
            shorter._answers = Slates(np.ascontiguousarray(self._answers.table[:, columns]))
        shorter._kept = survivors
        return shorter

    def joined(self, policies: Policies, survivors: Numbers, answers: Slates | None) -> Self:
        """The same for a larger class, to whose survivors the last numbers of it are added.

        Without `answers`, their slates in these rounds, the rounds do not count for them, and what
        stands in the place of these must not be read. What only they would show was not listed: it
        is taken to be what could not be shown, of which the worst is assumed.
        """
        new = np.arange(self._n_policies, policies.n_policies)
        wider = copy(self)
        wider._n_policies = policies.n_policies
        wider._looked_up = self._looked_up and policies.looked_up
        if wider._looked_up:
            if self._answers is not None:
                wider._answers = policies.answers_at(self._answers.numbers)
        else:
            wider._kept = np.concatenate([survivors if self._looked_up else self._kept, new])
            wider._answers = self._with_columns(wider._kept[: -len(new)], len(new), answers)
        if answers is not None and len(self):
            wider._offsets, wider._lists = self._listing(answers)
        return wider

    def _with_columns(self, kept: Numbers, more: int, answers: Slates | None) -> Slates | None:
        """The slates of some policies, and behind them those of others, or nothing to be read."""
        if self._answers is None:
            return None
        table, rows = self._answers.table, self._answers.rows
        if self._looked_up:
            table = table[rows[:, None], kept[None, :]]
        new = np.zeros((len(rows), more, self._slate_size), table.dtype)
        if answers is not None:
            new[:] = answers.table[answers.rows]
        return Slates(np.concatenate([table, new], axis=1))

    def _listing(self, answers: Slates) -> tuple[Columns, Columns]:
        """Where the lists of rounds begin, and the lists, with all items of the answers."""
        (offsets,), n, k = self._offsets.arrays, len(self), self._n_actions
        items, w, means = self._lists.arrays
        rounds = np.repeat(np.arange(n), np.diff(offsets))
        keys = np.arange(n)[:, None, None] * k + answers.table[answers.rows].astype(np.int64)
        fresh = np.setdiff1d(keys, rounds * k + items)
        order = np.argsort(np.concatenate([rounds, fresh // k]), kind="stable")
        zeros = np.zeros(len(fresh))
        lists = (
            np.concatenate([old, added.astype(old.dtype)])[order]
            for old, added in ((items, fresh % k), (w, zeros), (means, zeros))
        )
        sizes = np.diff(offsets) + np.bincount(fresh // k, minlength=n)
        return Columns(np.concatenate([[0], np.cumsum(sizes)])), Columns(*lists)

    def last(self, count: int) -> Self:
        """The last rounds alone, and the tally of all."""
        start, rest = len(self) - count, copy(self)
        rest._answers = None
        if count and self._answers is not None:
            rest._answers = self._answers.take(slice(start, None))
        offsets = self._offsets.arrays[0][start:]
        rest._rounds = Columns(*(array[start:].copy() for array in self._rounds.arrays))
        rest._lists = Columns(*(array[offsets[0] :].copy() for array in self._lists.arrays))
        rest._offsets = Columns(offsets - offsets[0])
        return rest

    def with_rewards(self, start: int, end: int, rewards: Array, means: Array) -> Self:
        """Some of these rounds with other rewards, and one expected reward for each of them."""
        assert self._answers is not None
        rows = slice(start, end)
        part = copy(self)
        part._answers = self._answers.take(rows)
        actions, _, scales, costs = (array[rows] for array in self._rounds.arrays)
        part._rounds = Columns(actions, rewards, scales, costs)
        offsets = self._offsets.arrays[0][start : end + 1]
        items, w, _ = (array[offsets[0] : offsets[-1]] for array in self._lists.arrays)
        part._offsets = Columns(offsets - offsets[0])
        part._lists = Columns(items, w, np.repeat(means.astype(np.float32), np.diff(offsets)))
        return part

    def add_terms(
        self, totals: Array, leader: int, policies: Numbers, since: int, *rule: Any
    ) -> None:
        """Add what the later rounds say of policies and a leader, by a rule, as the kernel has it.

        The rule is the sparsity, fixed stakes and shares, epsilons, and the weight of the rounds.
        """
        given = (*self.arrays(policies, since), self.scales(since), self.column(leader))
        add_terms(*given, *rule, self.room, totals)

    @property
    def room(self) -> npt.NDArray[np.int64] | None:
        """Room for kernels to work in with slates; single items need none."""
        return None if self._slate_size == 1 else np.empty((2, self._slate_size), np.int64)

    def scales(self, since: int = 0) -> Array:
        """Scales of the models of the later rounds."""
        return self._rounds.arrays[2][since:]

    def cost(self, since: int) -> float:
        """Mean 1/W over the later rounds of an item that a voter shows, of those that can be shown.

        It is one at least.
        """
        actions, _, _, costs = self._rounds.arrays
        return float(max(costs[since:].mean() / actions.shape[1], 1.0))

    def typical_propensity(self, since: int) -> float | None:
        """Harmonic mean over all items that survivors show in the later rounds, if there are any.

        Items that cannot be shown are left out.
        """
        (offsets,), w = self._offsets.arrays, self._lists.arrays[1]
        later = w[offsets[since] :]
        later = later[later > 0]
        return max(float(len(later) / (1 / later).sum()), _LEAST) if len(later) else None

    def column(self, policy: int) -> int:
        """Where the slates of a survivor are."""
        return policy if self._looked_up else int(self._kept.searchsorted(policy))

    def arrays(self, policies: Numbers, since: int = 0) -> PastArrays:
        """What kernels take of the later rounds, for some of the survivors."""
        assert self._answers is not None
        columns = policies if self._looked_up else np.searchsorted(self._kept, policies)
        columns = np.ascontiguousarray(columns)  # or kernels are compiled once more
        actions, rewards, *_ = self._rounds.arrays
        (offsets,), (items, w, means) = self._offsets.arrays, self._lists.arrays
        return PastArrays(
            self._answers.table,
            self._answers.rows[since:],
            columns,
            actions[since:],
            rewards[since:],
            offsets[since:],
            items,
            w,
            means,
            self._n_actions,
        )
