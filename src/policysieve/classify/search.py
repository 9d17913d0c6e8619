"""How much labels that were never right are looked for, and where not: where they were tried.

That is learnt from the rounds so far (docs/maths.md, "Looking for labels").
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from policysieve.classify.likeness import Directions, Likeness

__all__ = ["Search"]

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.intp]

_TRIES = 8192  # of the last ones in vain
_FAMILIAR = 3  # right answers after which the model knows a label well enough by itself
_SUREST = 4.0  # log odds that two rows have the same label
_FIND = 2.0  # right answers for its share of the rows that finding a label is worth
_BEFORE = 3.0  # right answers that a label is taken to have had before the first
_LEAST, _MOST = 0.02, 16.0  # times which odds count that a label is unknown
_FLOOR = 1e-9  # of probabilities that are divided by, and of odds
_TINY = 1e-200  # of what a showing teaches


@dataclass(frozen=True, eq=False)
class Search:
    """What was tried in vain, and what the model says of recent rows.

    Attributes
    ----------
    common, unsure : array of shape (K,)
        Means over recent rows of the probability that each label is right, averaged over what the
        weights may be, and of p (1 - p), by the weights as they are.
    centre : array of shape (d,)
        From which directions of rows are taken.
    tries : Directions, or None
        Those of the rows where labels were wrong, in the order of the labels.
    starts, labels : integer arrays
        Where the tries of each label begin, and the labels.
    offsets, slope : array of shape (n_tries,), float
        A row and a try have the same label with log odds offset + slope * cosine.
    """

    common: Array
    unsure: Array
    centre: Any = None
    tries: Any = None
    starts: Any = None
    labels: Any = None
    offsets: Any = None
    slope: float = 0.0

    def open_to(self, rows: Any, n_labels: int) -> Array:
        """Chance that each label was not ruled out by tries at similar rows, shape (n, K)."""
        found = np.ones((rows.shape[0], n_labels))
        if self.tries is not None and rows.shape[0]:
            odds = self.tries.cosines(rows, self.centre)
            odds *= np.float32(self.slope)
            odds += self.offsets[:, None]
            np.exp(np.minimum(odds, _SUREST, out=odds), out=odds)
            odds += 1
            with np.errstate(over="ignore"):  # ruled out for good
                found[:, self.labels] = 1 / np.multiply.reduceat(odds, self.starts, axis=0).T
        return found

    def share(self, z: Array, right: Array) -> Array:
        """Share of rounds in which unknown labels are looked for, by logits at rows, shape (n, 1).

        What two showings teach is compared: that of the best known label, which teaches the more
        the fewer right answers it had and the more rows it may be right in or not, and that of an
        unknown label, which is seldom found, but then has its share of the rows.
        """
        known = right > 0
        if known.all() or not known.any():
            return np.full((len(z), 1), float(not known.any()))
        missing = ~known
        powers = np.exp(z - z.max(axis=1, keepdims=True))
        odds = powers[:, missing].sum(axis=1) / np.maximum(powers[:, known].sum(axis=1), _FLOOR)
        find = _FIND * self.common[missing].sum() / missing.sum() ** 2
        show = self.unsure[known] / (_BEFORE + right[known])
        worth = find / np.maximum(show, _TINY)
        odds *= np.clip(worth, _LEAST, _MOST)[z[:, known].argmax(axis=1)]
        return np.asarray(1 / (1 + np.maximum(odds, _FLOOR) ** -2.0))[:, None]

    @classmethod
    def after(
        cls,
        rows: Any,
        labels: Labels,
        answers: Array,
        shown: Array,
        right: Array,
        likeness: Likeness | None,
        common: Array,
        unsure: Array,
    ) -> Self:
        """What was tried in rounds, in order.

        Parameters
        ----------
        rows : matrix of shape (n, d)
        labels, answers : array of shape (n,)
            The labels shown and whether they were right.
        shown, right : array of shape (K,)
            How often each label was shown and right, labelled rows counted.
        likeness : Likeness, or None
            How alike rows of the same label are, if that is known.
        common, unsure : array of shape (K,)
            As the attributes.
        """
        tried = np.flatnonzero((answers < 0.5) & (right < _FAMILIAR)[labels])[-_TRIES:]
        if likeness is None or not len(tried):
            return cls(common, unsure)
        tried = tried[np.argsort(labels[tried], kind="stable")]
        distinct, starts = np.unique(labels[tried], return_index=True)
        # A label's share of the rows, of which all that is known is that it was shown in vain.
        rare = -np.log(len(right) - 1 + shown[labels[tried]])
        return cls(
            common,
            unsure,
            centre=likeness.centre,
            tries=Directions(rows[tried], likeness.centre),
            starts=starts,
            labels=distinct,
            offsets=(likeness.offset + rare).astype(np.float32),
            slope=likeness.slope,
        )
