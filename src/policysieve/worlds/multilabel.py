"""A dataset with several right answers per row, or graded ones."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.arrays import plain_array, shown
from policysieve.checks import number
from policysieve.errors import InvalidArgumentError
from policysieve.naming import as_names, number_of
from policysieve.worlds.base import RewardsOf
from policysieve.worlds.finite import FiniteWorld, dataset_contexts

__all__ = ["Multilabel"]


class Multilabel(FiniteWorld):
    """Rows of a dataset, drawn uniformly with replacement; reward = relevance of each shown item.

    Parameters
    ----------
    X : array of shape (n, ...)
        Feature rows. With ``contexts="rows"`` anything with a length, such as a sparse matrix, or
        None.
    Y : array or scipy sparse matrix of shape (n, K), or list of collections of names
        Relevance of each label in [0, 1]: zeros and ones, or graded. A row may have none. Or the
        names of the labels of each row.
    slate_size : int
        Number m of labels shown each round.
    sparsity : float, optional
        Bound on the rewards of one row; the largest row sum of `Y` by default. Rows that sum to
        more are capped: scaled down so that they sum to it.
    contexts : {"features", "rows"}
        Whether a learner sees feature rows, or row numbers as a `PolicyTable` takes them.
    actions : sequence of str, optional
        Names of the labels, in the order of their numbers; those in `Y`, sorted, by default.

    Examples
    --------
    >>> world = Multilabel(None, [[1, 1, 0], [0, 0, 0.5]], slate_size=2, contexts="rows")
    >>> world.sparsity
    2.0
    >>> Multilabel(None, [["hats", "shoes"], ["bags"]], slate_size=2, contexts="rows").actions
    ('bags', 'hats', 'shoes')
    """

    def __init__(
        self,
        X: Any,
        Y: Any,
        slate_size: int,
        *,
        sparsity: float | None = None,
        contexts: str = "features",
        actions: Sequence[str] | None = None,
    ) -> None:
        if _has_names(Y):
            Y, actions = _relevance_of_names(Y, actions)
        shape, row, column, relevance = _checked_relevance(Y)
        rows = dataset_contexts(X, shape[0], contexts)
        totals = np.bincount(row, weights=relevance, minlength=shape[0])
        largest = float(totals.max())
        if largest <= 0:
            raise InvalidArgumentError(
                "Y must hold at least one positive relevance, got only zeros"
            )
        cap = (
            largest
            if sparsity is None
            else number("sparsity", sparsity, above=0, below=shape[1], closed=True)
        )
        # A row sum may exceed K by rounding only.
        super().__init__(
            rows,
            n_actions=shape[1],
            slate_size=slate_size,
            sparsity=min(cap, float(shape[1])),
            actions=actions,
        )
        # Relevances in the order of (row, column), found again by one number for the pair.
        scale = cap / np.maximum(totals, cap)
        self._keys = row * np.int64(self.n_actions) + column
        self._relevance = relevance * scale[row]
        self._starts = np.searchsorted(row, np.arange(shape[0] + 1))

    def _expected_rewards(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
        rewards = np.zeros((len(rows), self.n_actions))
        sizes = self._starts[rows + 1] - self._starts[rows]
        behind = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        entries = np.repeat(self._starts[rows], sizes) + behind
        columns = self._keys[entries] % self.n_actions
        rewards[np.repeat(np.arange(len(rows)), sizes), columns] = self._relevance[entries]
        return rewards

    def _rewards_of(self, rows: npt.NDArray[np.intp], rng: np.random.Generator) -> RewardsOf:
        first_keys = rows.astype(np.int64)[:, None] * self.n_actions

        def rewards_of(actions: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
            keys = first_keys + actions
            place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
            return np.where(self._keys[place] == keys, self._relevance[place], 0.0)

        return rewards_of


def _has_names(relevance: Any) -> bool:
    """Whether rows are collections of names."""
    return isinstance(relevance, Sequence) and any(
        isinstance(label, str)
        for row in relevance
        if isinstance(row, Collection) and not isinstance(row, str)
        for label in row
    )


def _relevance_of_names(
    rows: Sequence[Collection[str]], actions: Sequence[str] | None
) -> tuple[npt.NDArray[np.float64], tuple[str, ...]]:
    """Relevance 1 of each label that a row names, and the names of all labels."""
    if actions is None:
        actions = sorted({label for row in rows for label in row if isinstance(label, str)})
    names = as_names("actions", actions)
    known = {name: number for number, name in enumerate(names)}
    relevance = np.zeros((len(rows), len(names)))
    for i, row in enumerate(rows):
        for label in row:
            if not isinstance(label, str):
                raise InvalidArgumentError(
                    f"Y must hold names in all rows or in none, got {shown(label)} in row {i}"
                )
            number = known.get(label)
            if number is None:
                number = number_of(f"Y (row {i})", label, names)
            relevance[i, number] = 1.0
    return relevance, names


def _checked_relevance(
    relevance: Any,
) -> tuple[tuple[int, int], npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Shape of Y and its positive entries: rows, columns, values, ordered by row and column."""
    if hasattr(relevance, "tocsr"):
        sparse = relevance.tocsr().copy()
        sparse.sum_duplicates()
        sparse = sparse.tocoo()
        shape, row, column = sparse.shape, sparse.row, sparse.col
        values = np.asarray(sparse.data)
    else:
        dense = plain_array("Y", relevance, "an array of shape (n, K)")
        shape = dense.shape
        if dense.ndim == 2:
            row, column = np.nonzero(dense)  # NaN counts as not zero, so it is caught below
            values = dense[row, column]
    if len(shape) != 2 or shape[1] < 1:
        raise InvalidArgumentError(
            f"Y must have shape (n, K), one relevance per row and label, got {shape}"
        )
    if values.dtype.kind not in "biuf":
        raise InvalidArgumentError(f"Y must hold numbers in [0, 1], got dtype {values.dtype}")
    bad = ~((values >= 0) & (values <= 1))
    if bad.any():
        first = int(np.flatnonzero(bad)[0])
        raise InvalidArgumentError(
            f"Y must hold relevances in [0, 1], got {values[first]} for label {column[first]} in "
            f"row {row[first]}; rescale them first"
        )
    keep = values > 0
    return (
        (int(shape[0]), int(shape[1])),
        row[keep].astype(np.int64),
        column[keep].astype(np.int64),
        values[keep].astype(np.float64),
    )
