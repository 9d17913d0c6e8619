"""How alike rows of the same label are, and what labels look like by their right answers.

The formulas are in docs/maths.md, "What labels look like".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from policysieve.classify.answers import stacked
from policysieve.classify.model import Block, square_norms

__all__ = ["Directions", "Likeness", "ratio"]

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.intp]

_OF_EACH = 8  # of the last right answers of a label, whose pairs are compared
_EXAMPLES = 800  # of all labels
_OF_A_LABEL = 5  # examples of one label, beside the first, that count
_BINS = 40  # of cosines
_RIDGE = np.array([0.1, 0.02])  # prior precisions of offset and slope
_NEWTON = 12  # steps
_TIGHT = 3.0  # how much surer typical weights are than others, before any right answer
_MANY = 10.0  # right answers at which it is half of that


@dataclass(frozen=True, eq=False)
class Likeness:
    """What right answers have in common.

    Attributes
    ----------
    centre : array of shape (d,)
        From which directions of rows are taken.
    offset, slope : float
        Of the log ratio of chances of a cosine between rows of the same label and of others.
    typical : array of shape (d + 1, K)
        Weights and intercepts by which logits are these log ratios for the mean direction of each
        label, and 0 for labels that were never right.
    tightness : array of shape (K,)
        How many times surer these weights are than others, while labels have few right answers.
    """

    centre: Array
    offset: float
    slope: float
    typical: Array
    tightness: Array

    @classmethod
    def of(cls, blocks: Sequence[Block], n_labels: int) -> Self | None:
        """From rounds in which one label was shown; None if they do not tell."""
        right = [np.flatnonzero(answers[:, 0] >= 0.5) for _, _, answers in blocks]
        labels = np.concatenate([b[1][hit, 0] for b, hit in zip(blocks, right, strict=True)])
        if not len(labels):
            return None
        n_rows = sum(rows.shape[0] for rows, _, _ in blocks)
        totals = [np.asarray(rows.sum(axis=0)).ravel() for rows, _, _ in blocks]
        centre = np.asarray(sum(totals) / n_rows)
        square = sum(square_norms(rows) for rows, _, _ in blocks) / n_rows - centre @ centre
        rows = stacked([b[0][hit] for b, hit in zip(blocks, right, strict=True)])
        examples = last_of_each(labels)
        pairs = Directions(rows[examples], centre)
        found = ratio(pairs.with_others(pairs), labels[examples])
        if found is None or not square > 0:
            return None
        offset, slope = found
        n_of = np.bincount(labels, minlength=n_labels)
        directions = Directions(rows, centre, np.float64)  # as those of sparse rows
        means = directions.sums(labels, n_labels) / np.maximum(n_of, 1)[:, None]
        weights = slope / np.sqrt(square) * means
        intercepts = offset * (n_of > 0) - weights @ centre
        tightness: Array = 1.0 + _TIGHT * _MANY / (_MANY + n_of.astype(np.float64))
        return cls(centre, offset, slope, np.vstack([weights.T, intercepts]), tightness)


def last_of_each(labels: Labels) -> npt.NDArray[np.intp]:
    """Places of the last few of each label, in order."""
    order = np.argsort(labels[::-1], kind="stable")
    back = labels[::-1][order]
    rank = np.arange(len(labels)) - np.searchsorted(back, back)
    return np.sort(len(labels) - 1 - order[rank < _OF_EACH])[-_EXAMPLES:]


class Directions:
    """Rows as seen from a centre, to be compared by their cosines.

    Dense rows have length one and the precision that is asked for. Sparse ones are kept as they
    are, because from a centre they would be dense; products with the centre and lengths are kept
    beside them.
    """

    def __init__(self, rows: Any, centre: Array, precision: Any = np.float32) -> None:
        self._sparse = hasattr(rows, "tocsr")
        if self._sparse:
            self._rows = rows
            self._centre = centre
            self._square = float(centre @ centre)
            self._shift = np.asarray(rows @ centre)
            squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
            squares = squares - 2 * self._shift + self._square
            self._length = np.sqrt(np.where(squares > 0, squares, np.inf))
        else:
            away = rows - centre
            lengths = np.sqrt(np.einsum("ij,ij->i", away, away))[:, None]
            self._rows = np.empty(away.shape, dtype=precision)
            np.divide(
                away, np.where(lengths > 0, lengths, 1.0), out=self._rows, casting="same_kind"
            )

    def sums(self, labels: Labels, n_labels: int) -> Array:
        """Sums of the directions by label, shape (K, d)."""
        n = len(labels)
        if not self._sparse:
            of = csr_array((np.ones(n), (labels, np.arange(n))), shape=(n_labels, n))
            return np.asarray(of @ self._rows, dtype=np.float64)
        of = csr_array((1 / self._length, (labels, np.arange(n))), shape=(n_labels, n))
        return np.asarray((of @ self._rows).toarray() - np.outer(of.sum(axis=1), self._centre))

    def cosines(self, rows: Any, centre: Array) -> Any:
        """Cosines of these with rows from the same centre, shape (number of these, n)."""
        if self._sparse:
            return self.with_others(Directions(csr_array(rows), centre))
        dense = rows.toarray() if hasattr(rows, "tocsr") else rows
        return self.with_others(Directions(dense, centre))

    def with_others(self, others: "Directions") -> Any:
        """Cosines of these with others of the same kind, a new array."""
        if not self._sparse:
            return self._rows @ others._rows.T
        products = (self._rows @ others._rows.T).toarray()
        products += self._square - self._shift[:, None] - others._shift
        products /= self._length[:, None] * others._length
        return products.astype(np.float32)


def ratio(cosines: Any, labels: Labels) -> tuple[float, float] | None:
    """How cosines of rows tell that they have the same label: offset and slope of the log ratio.

    A logistic regression on all pairs of rows, in which pairs of the same label weigh as much as
    others, labels alike (but for those with few examples), and pairs of labels too. None if there
    is nothing to compare, or if rows that are more alike are no more of the same label.
    """
    n_of = np.bincount(labels)
    if (n_of > 1).sum() < 2:
        return None
    same = labels[:, None] == labels
    own = np.minimum(n_of - 1, _OF_A_LABEL) / np.maximum(n_of * (n_of - 1), 1)
    weights = np.where(same, own[labels], 1 / (n_of[labels][:, None] * n_of[labels]))
    np.fill_diagonal(weights, 0.0)
    bins = np.clip(((cosines + 1) * (_BINS / 2)).astype(np.intp), 0, _BINS - 1)
    bins += _BINS * same
    other, alike = np.bincount(bins.ravel(), weights.ravel(), 2 * _BINS).reshape(2, _BINS)
    other *= alike.sum() / other.sum()
    middles = (np.arange(_BINS) + 0.5) * 2 / _BINS - 1
    inputs = np.column_stack([np.ones(_BINS), middles])
    found = np.zeros(2)
    for _ in range(_NEWTON):
        p = 1 / (1 + np.exp(-np.clip(inputs @ found, -30, 30)))
        gradient = inputs.T @ ((alike + other) * p - alike) + _RIDGE * found
        curvature = (inputs.T * ((alike + other) * p * (1 - p))) @ inputs + np.diag(_RIDGE)
        step = np.linalg.solve(curvature, gradient)
        found -= step * min(1.0, 3 / max(float(np.abs(step).max()), 1e-300))
    return (float(found[0]), float(found[1])) if found[1] > 0 else None
