"""How often labels were shown and right, and what follows for exploration."""

from typing import Self

import numpy as np
import numpy.typing as npt

__all__ = ["LabelCounts"]

Array = npt.NDArray[np.float64]

_IN_VAIN = 8.0  # times K: showings of a label that tell as much about it as a right answer does
_PATIENCE = 2.0  # right answers per label that matters at which half of the rounds explore
_BELIEF = 0.3  # agreeing pairs that the belief that all labels matter is worth
_LEAST_EVEN = 0.1  # at least this share of the labels is taken to matter
_ENOUGH = 10.0  # right answers per label at which finding new labels is worth as much as any other


class LabelCounts:
    """Showings and right answers by label; a new object when answers are added.

    The formulas are in docs/maths.md, "Showing labels".

    Parameters
    ----------
    n_labels : int

    Attributes
    ----------
    shown, right : array of shape (K,)
        Right answers may be shares.
    """

    def __init__(self, n_labels: int) -> None:
        self.shown = np.zeros(n_labels)
        self.right = np.zeros(n_labels)
        self._weights = np.zeros(n_labels)  # sum of r/q: rounds in which the label is right
        self._squares = 0.0  # sum of (r/q)² over all labels

    def with_answers(
        self, shown: npt.NDArray[np.integer], answers: Array, propensities: Array
    ) -> Self:
        """Counts with more labels shown, answers and propensities, arrays of shape (n, m)."""

        def total(weights: Array) -> Array:
            return np.asarray(
                np.bincount(shown.ravel(), weights.ravel(), len(self.right)), dtype=np.float64
            )

        new = type(self)(len(self.right))
        new.shown = self.shown + total(np.ones(shown.shape))
        new.right = self.right + total(answers)
        weights = answers / propensities
        new._weights = self._weights + total(weights)
        new._squares = self._squares + float((weights**2).sum())
        return new

    def pairs(self) -> tuple[float, float]:
        """Pairs of right answers, and those of the same label, weighted by 1/propensity.

        Their ratio is the effective number of labels K_e, those that matter: one over the chance
        that two rounds have the same right label.
        """
        if not self._squares:
            return 0.0, 0.0
        # So many answers of equal weight would be worth as much, and so many of them have the label
        # of one on average: both are at least 1, but for rounding.
        right = max(float(self._weights.sum()) ** 2 / self._squares, 1.0)
        alike = max(float((self._weights**2).sum()) / self._squares, 1.0)
        return right * (right - 1) / 2, right * (alike - 1) / 2

    @property
    def unknown(self) -> Array:
        """How little is known of each label, 1 for nothing: 1/(1 + right K_e/K + shown/(8K)).

        Before a label has been right a few times no model knows it, but one that was shown over
        and over in vain is rare. K_e is at first as if few labels mattered, which are shown again;
        at least K/10.
        """
        k = len(self.right)
        pairs, agreeing = self.pairs()
        evenness = min(max(pairs / (1 + agreeing) / k, _LEAST_EVEN), 1.0)
        return np.asarray(1 / (1 + self.right * evenness + self.shown / (_IN_VAIN * k)))

    @property
    def mixing(self) -> float:
        """Share of exploration in every round: 2 K_e/(2 K_e + right), K_e at first K."""
        k = len(self.right)
        pairs, agreeing = self.pairs()
        matter = _PATIENCE * min((_BELIEF * k + pairs) / (_BELIEF + agreeing), k)
        return float(matter / (matter + self.right.sum()))

    @property
    def search(self) -> float:
        """How much more to explore where an unknown label may be right: right/(10 K + right)."""
        right = self.right.sum()
        return float(right / (_ENOUGH * len(self.right) + right))
