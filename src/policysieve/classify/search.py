"""Where labels that were hardly ever right need not be looked for: where they were tried in vain.

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


@dataclass(frozen=True, eq=False)
class Search:
    """What was tried in vain.

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
    """

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

    @classmethod
    def after(
        cls,
        rows: Any,
        labels: Labels,
        answers: Array,
        shown: Array,
        right: Array,
        likeness: Likeness | None,
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
        """
        tried = np.flatnonzero((answers < 0.5) & (right < _FAMILIAR)[labels])[-_TRIES:]
        if likeness is None or not len(tried):
            return cls()
        tried = tried[np.argsort(labels[tried], kind="stable")]
        distinct, starts = np.unique(labels[tried], return_index=True)
        # A label's share of the rows, of which all that is known is that it was shown in vain.
        rare = -np.log(len(right) - 1 + shown[labels[tried]])
        return cls(
            centre=likeness.centre,
            tries=Directions(rows[tried], likeness.centre),
            starts=starts,
            labels=distinct,
            offsets=(likeness.offset + rare).astype(np.float32),
            slope=likeness.slope,
        )
