"""What a fit minimises: minus the logarithm of the posterior of the weights."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from policysieve.classify.likelihoods import Likelihood

__all__ = ["Block", "Posterior", "features_of"]

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.floating]  # of either precision
Labels = npt.NDArray[np.intp]
Block = tuple[Any, Labels, Array]

_STRETCH = 1 << 18  # logits computed at once: they stay in the processor's cache
_SPARSE_STRETCH = 0.25  # times the features: each stretch of sparse rows has a gradient of them all


class Posterior:
    """A function of the weights less their prior means, and its second derivative.

    Parameters
    ----------
    blocks : sequence of Block
        Feature rows (n, d), the labels shown there (n, m) and the answers (n, m).
    features : integer array of shape (d',)
        Those that count, as `features_of` has them: no row has any other.
    factor : float
        By which features are multiplied.
    means : array of shape (d' + 1, K)
        Of the weights before the answers; the last row is that of the intercepts.
    precisions : array of shape (K,)
        Of the weights of each label before the answers; those of intercepts are 1.
    likelihood : Likelihood
    precision : type
        Of numbers, double or single, in which logits are computed.
    """

    def __init__(
        self,
        blocks: Sequence[Block],
        features: Labels,
        *,
        factor: float,
        means: Array,
        precisions: Array,
        likelihood: Likelihood,
        precision: Any,
    ) -> None:
        self._means = means.astype(precision)
        self._precisions = precisions.astype(precision)
        self._likelihood = likelihood
        self._precision = precision
        self._stretches = [
            stretch
            for rows, shown, answers in blocks
            for stretch in _stretches(
                _with_ones(rows, features, factor, precision),
                shown,
                answers.astype(precision),
                means.shape[1],
            )
        ]
        longest = max(len(shown) for _, shown, _ in self._stretches)
        # New memory for every stretch takes longer to get than logits take to compute.
        self._logits: Any = np.empty((longest, means.shape[1]), dtype=precision)
        self._at: Any = None  # where it was computed last,
        self._own: list[Any] = []  # and the chances there of the labels shown

    def __call__(self, away: Numbers) -> tuple[float, Numbers]:
        """Its value and its gradient."""
        gradient = self._precisions * away
        gradient[-1] = away[-1]
        loss = 0.5 * float(np.einsum("ij,ij->i", gradient, away).sum(dtype=np.float64))
        own = []
        for (x, shown, answers), z in zip(self._stretches, self._each(away), strict=True):
            lost, chances = self._likelihood.loss(z, shown, answers)
            loss += lost
            own.append(chances)
            gradient += x.T @ z
        self._at, self._own = away, own
        return loss, gradient

    def variances(self, away: Numbers) -> Numbers:
        """One over the second derivative in each weight, others held fixed."""
        if self._at is not away:
            self(away)
        weights = away + self._means
        information = np.repeat(self._precisions[None], len(away), axis=0)
        information[-1] = 1
        for (x, shown, answers), own in zip(self._stretches, self._own, strict=True):
            of_all = self._likelihood.tells_of_all(answers)
            if of_all.any():
                some = np.flatnonzero(of_all)
                there = x[some]
                h = self._likelihood.curvatures(there @ weights, shown[some], answers[some])
                information += _squares(there).T @ h
            rest = np.flatnonzero(~of_all)
            _add_shown(information, _squares(x[rest]), shown[rest], (own * (1 - own))[rest])
        return np.asarray(1 / information)

    def _each(self, away: Numbers) -> Iterator[Any]:
        """The logits of each stretch, which may be overwritten."""
        weights = away + self._means
        for x, shown, _ in self._stretches:
            if hasattr(x, "tocsr"):
                yield x @ weights
            else:
                yield np.matmul(x, weights, out=self._logits[: len(shown)])


def features_of(blocks: Sequence[Block]) -> Labels:
    """Numbers of the features that any of the rows has; all of them if some rows are dense."""
    matrices = [rows for rows, _, _ in blocks]
    if not all(hasattr(rows, "tocsr") for rows in matrices):
        return np.arange(matrices[0].shape[1])
    there = np.zeros(matrices[0].shape[1], dtype=np.bool_)
    for rows in matrices:
        there[rows.indices] = True
    return np.flatnonzero(there)


def _with_ones(rows: Any, features: Labels, factor: float, precision: Any) -> Any:
    """Rows of some features times a factor, with a last column of ones, for the intercepts."""
    n, width = rows.shape[0], len(features) + 1
    if not hasattr(rows, "tocsr"):
        x: Any = np.empty((n, width), dtype=precision)
        np.multiply(rows, factor, out=x[:, :-1], casting="same_kind")
        x[:, -1] = 1
        return x
    places = np.full(rows.shape[1], -1)
    places[features] = np.arange(len(features))
    ends = rows.indptr + np.arange(n + 1, dtype=rows.indptr.dtype)
    last = np.zeros(ends[-1], dtype=np.bool_)
    last[ends[1:] - 1] = True
    values, columns = np.ones(len(last), dtype=precision), np.full(len(last), width - 1)
    values[~last], columns[~last] = rows.data * factor, places[rows.indices]
    x = csr_array((values, columns, ends), shape=(n, width))
    x.sum_duplicates()  # or squares of parts would be summed
    return x


def _stretches(x: Any, shown: Labels, answers: Any, n_labels: int) -> Iterator[Any]:
    """Rounds in parts of few enough logits."""
    size = max(1, _STRETCH // n_labels)
    if hasattr(x, "tocsr"):
        size = max(size, int(_SPARSE_STRETCH * x.shape[1]))
    for start in range(0, len(shown), size):
        part = slice(start, start + size)
        yield x[part], shown[part], answers[part]


def _squares(x: Any) -> Any:
    """Of every feature."""
    return csr_array((x.data**2, x.indices, x.indptr), x.shape) if hasattr(x, "tocsr") else x**2


def _add_shown(information: Numbers, squares: Any, shown: Labels, h: Any) -> None:
    """Add squares times h to the column of each label shown, in place."""
    n, m = shown.shape
    ends = np.arange(0, n * m + 1, m)
    of = csr_array((h.ravel(), shown.ravel(), ends), shape=(n, information.shape[1]))
    if hasattr(squares, "tocsr"):
        found = (squares.T @ of).tocoo()
        information[found.row, found.col] += found.data
    else:
        information += (of.T.tocsr() @ squares).T
