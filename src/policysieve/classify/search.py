"""Where to look for labels that were never right: at rows that fit no known one, and not twice.

Both are learnt from the rounds so far (docs/maths.md, "Looking for labels").
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

__all__ = ["RECENT", "Rounds", "Search"]

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.intp]

_TRIES = 8192  # of the last ones in vain
_FAMILIAR = 3  # right answers after which the model knows a label well enough by itself
_EXAMPLES = 600  # of the last right answers, whose pairs are compared
_OF_A_LABEL = 5  # examples of one label, beside the first, that count
_BINS = 40  # of cosines
_RIDGE = np.array([0.1, 0.02])  # prior precisions of offset and slope
_SUREST = 4.0  # log odds that two rows have the same label
_HEAVIEST = 20.0  # importance weight of a right answer
RECENT = 400  # rows by which the model's opinion of what is missing is judged
_COVERED = (0.001, 0.98)  # limits of the share of rows with a known label
_LEAST = 1e-6  # that a row's label is unknown, or known
_NEWTON = 12  # steps


class Rounds(NamedTuple):
    """One label shown in each round, arrays of shape (n,), and which labels were known before."""

    labels: Labels
    answers: Array
    propensities: Array
    known: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Search:
    """What was tried in vain, and how much of the rows has labels that are still unknown.

    Attributes
    ----------
    centre : array of shape (d,)
        From which directions of rows are taken.
    tries : Directions, or None
        Those of the rows where labels were wrong, in the order of the labels.
    starts, labels : integer arrays
        Where the tries of each label begin, and the labels.
    offsets, slope : array of shape (n_tries,), float
        A row and a try have the same label with log odds offset + slope * cosine.
    surprise : float
        To be added to the log odds of the model that a row's label is unknown.
    """

    centre: Any = None
    tries: Any = None
    starts: Any = None
    labels: Any = None
    offsets: Any = None
    slope: float = 0.0
    surprise: float = 0.0

    def open_to(self, rows: Any, n_labels: int) -> Array:
        """Chance that each label was not ruled out by tries at similar rows, shape (n, K)."""
        found = np.ones((rows.shape[0], n_labels))
        if self.tries is not None and rows.shape[0]:
            odds = self.tries.cosines(rows, self.centre)
            odds *= np.float32(self.slope)
            odds += self.offsets
            np.exp(np.minimum(odds, _SUREST, out=odds), out=odds)
            odds += 1
            with np.errstate(over="ignore"):  # ruled out for good
                found[:, self.labels] = 1 / np.multiply.reduceat(odds, self.starts, axis=1)
        return found

    def missing(self, share: Array) -> Array:
        """Chance that a row's label is unknown, where the model says `share`."""
        odds = np.clip(share, _LEAST, 1 - _LEAST)
        odds = odds / (1 - odds) * np.exp(self.surprise)
        return np.asarray(odds / (1 + odds))

    @classmethod
    def after(cls, rows: Any, rounds: Rounds, shown: Array, right: Array, missing: Array) -> Self:
        """What is known after rounds, in order.

        Parameters
        ----------
        rows : matrix of shape (n, d)
        rounds : Rounds
        shown, right : array of shape (K,)
            How often each label was shown and right, labelled rows counted.
        missing : array of shape (m,)
            What the model said of the last rows before it was fitted to them.
        """
        surprise = surprise_at(missing, 1 - covered(rounds, right))
        nothing = cls(surprise=surprise)
        hit = rounds.answers >= 0.5
        tried = np.flatnonzero(~hit & (right < _FAMILIAR)[rounds.labels])[-_TRIES:]
        if not len(tried):
            return nothing
        centre = np.asarray(rows.mean(axis=0)).ravel()
        examples = np.flatnonzero(hit)[-_EXAMPLES:]
        pairs = Directions(rows[examples], centre)
        alike = likeness(pairs.with_others(pairs), rounds.labels[examples])
        if alike is None:
            return nothing
        tried = tried[np.argsort(rounds.labels[tried], kind="stable")]
        labels, starts = np.unique(rounds.labels[tried], return_index=True)
        # A label's share of the rows, of which all that is known is that it was shown in vain.
        rare = -np.log(len(right) - 1 + shown[rounds.labels[tried]])
        return cls(
            centre=centre,
            tries=Directions(rows[tried], centre),
            starts=starts,
            labels=labels,
            offsets=(alike[0] + rare).astype(np.float32),
            slope=alike[1],
            surprise=surprise,
        )


class Directions:
    """Rows as seen from a centre, to be compared by their cosines.

    Dense rows have length one and single precision. Sparse ones are kept as they are, because
    from a centre they would be dense; products with the centre and lengths are kept beside them.
    """

    def __init__(self, rows: Any, centre: Array) -> None:
        self._sparse = hasattr(rows, "tocsr")
        if self._sparse:
            self._rows = rows
            self._square = float(centre @ centre)
            self._shift = np.asarray(rows @ centre)
            squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
            squares = squares - 2 * self._shift + self._square
            self._length = np.sqrt(np.where(squares > 0, squares, np.inf))
        else:
            away = rows - centre
            lengths = np.linalg.norm(away, axis=1, keepdims=True)
            self._rows = (away / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)

    def cosines(self, rows: Any, centre: Array) -> Any:
        """Cosines of rows with these from the same centre, shape (n, number of these)."""
        if self._sparse:
            return Directions(csr_array(rows), centre).with_others(self)
        dense = rows.toarray() if hasattr(rows, "tocsr") else rows
        return Directions(dense, centre).with_others(self)

    def with_others(self, others: "Directions") -> Any:
        """Cosines of these with others of the same kind, a new array."""
        if not self._sparse:
            return self._rows @ others._rows.T
        products = (self._rows @ others._rows.T).toarray()
        products += self._square - self._shift[:, None] - others._shift
        products /= self._length[:, None] * others._length
        return products.astype(np.float32)


def likeness(cosines: Any, labels: Labels) -> tuple[float, float] | None:
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
    alike = np.bincount(bins[same], weights[same], _BINS)
    other = np.bincount(bins[~same], weights[~same], _BINS)
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


def covered(rounds: Rounds, right: Array) -> float:
    """Estimated share of the later half of the rows whose label had been right before.

    Right answers over their propensities, the largest cut off, so that it is rather too small.
    """
    n = len(rounds.labels)
    first = np.full(len(right), n)
    hits = np.flatnonzero(rounds.answers > 0)
    np.minimum.at(first, rounds.labels[hits], hits)
    first[rounds.known] = -1
    later = slice(n // 2, n)
    known = first[rounds.labels[later]] < np.arange(n)[later]
    weights = np.minimum(rounds.answers[later] / rounds.propensities[later], _HEAVIEST)
    return float(np.clip((weights * known).mean(), *_COVERED))


def surprise_at(missing: Array, share: float) -> float:
    """What to add to log odds of shares so that they have the given mean, by bisection."""
    odds = np.clip(missing, _LEAST, 1 - _LEAST)
    odds = odds / (1 - odds)
    low, high = -15.0, 15.0
    for _ in range(40):
        middle = (low + high) / 2
        more = odds * np.exp(middle)
        low, high = (middle, high) if (more / (1 + more)).mean() < share else (low, middle)
    return (low + high) / 2
