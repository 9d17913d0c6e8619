"""What to show while learning: labels by the chance that they are best, and by what is unknown."""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from policysieve.classify.likelihoods import Likelihood
from policysieve.classify.search import Search

__all__ = ["LabelCounts", "best_labels", "chances", "draw_labels", "inclusion", "shares"]

Array = npt.NDArray[np.float64]

# Half of what is not exploration shows the best label, of those that were right before if others
# are searched for: its answers tell known labels apart, and its accuracy can be estimated well. The
# rest hedges, by draws from the posterior with its spread times these factors: labels starve where
# all are small, and many features make the whole posterior wander.
_GREEDY = 0.5
_STRENGTHS = (0.3, 0.6, 0.9, 1.2)
_DRAWS = ((0.0, _GREEDY), *((c, (1 - _GREEDY) / len(_STRENGTHS)) for c in _STRENGTHS))
_EVEN = 0.2  # share of exploration that is the same for all labels
_UNKNOWN = 4  # power of what is unknown of labels in exploration
_NEVER = 1e-200  # weight of labels that are ruled out
_FLOOR = 1e-9  # probabilities are at least this before exploration weighs them

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


def shares(weights: Array, size: int) -> Array:
    """Probabilities that add up to `size` in each row, in proportion to weights but at most 1."""
    found, full = np.zeros(weights.shape), np.zeros(weights.shape, dtype=np.bool_)
    for _ in range(size):
        free = np.where(full, 0.0, weights)
        left = size - full.sum(axis=1, keepdims=True)
        found = np.where(
            full, 1.0, left * free / np.maximum(free.sum(axis=1, keepdims=True), 1e-300)
        )
        if (found <= 1).all():
            break
        full |= found >= 1
    return np.minimum(found, 1.0)


def best_labels(z: Array, size: int) -> npt.NDArray[np.intp]:
    """The labels with the largest logits, best first, shape (n, size)."""
    if size == 1:
        return np.asarray(z.argmax(axis=1)[:, None])
    found = np.argpartition(-z, size - 1, axis=1)[:, :size]
    order = np.argsort(-np.take_along_axis(z, found, axis=1), axis=1, kind="stable")
    return np.take_along_axis(found, order, axis=1)


def chances(z: Array, spread: Array, likelihood: Likelihood, rng: np.random.Generator) -> Array:
    """Probability that each label is right, in the mean over what the weights may be."""
    found = np.zeros(z.shape)
    for drawn, part in _draws(z, spread, rng):
        found += part * likelihood.probabilities(drawn)
    return found


def _draws(z: Array, spread: Array, rng: np.random.Generator) -> Iterator[tuple[Array, float]]:
    """Logits as they are and drawn from the posterior, to be overwritten, and their parts."""
    for strength, part in _DRAWS:
        drawn = z.copy()
        if strength:
            drawn = rng.standard_normal(z.shape)
            drawn *= strength * spread
            drawn += z
        yield drawn, part


def inclusion(
    z: Array,
    spread: Array,
    counts: LabelCounts,
    likelihood: Likelihood,
    *,
    size: int,
    smallest: float,
    rng: np.random.Generator,
    search: Search | None = None,
    rows: Any = None,
) -> Array:
    """Probability with which each label is shown, shape (n, K), rows summing to `size`.

    Half of the rounds show the best labels, the others match probabilities (Thompson sampling): how
    often a label is among the best in draws from the posterior of several strengths. A share of
    exploration, at least `smallest` and more where unknown labels may be right, shows those, and a
    fifth of it all labels alike. With a `search`, the best are among labels that were right before,
    the share of exploration follows what finding another is worth, and labels are not shown where
    they were tried in vain at similar `rows`. The draws are made before the labels, so these are
    the propensities whatever the draws were (docs/maths.md, "Showing labels" and "Looking for
    labels").
    """
    places, known = np.arange(len(z))[:, None], counts.right > 0
    among = np.where(known, 0.0, -np.inf) if search is not None and known.any() else None
    matching, probable = np.zeros(z.shape), np.full(z.shape, _FLOOR)
    for drawn, part in _draws(z, spread, rng):
        best = best_labels(drawn if among is None else drawn + among, size)
        matching[places, best] += part
        drawn = likelihood.probabilities(drawn)
        drawn *= part
        probable += drawn
    unknown = counts.unknown**_UNKNOWN
    weights = unknown * np.sqrt(probable)
    if search is None:
        missing = (probable * unknown).sum(axis=1, keepdims=True)
        missing /= probable.sum(axis=1, keepdims=True)
        everywhere = max(smallest, counts.mixing)
        mixing = everywhere + (1 - everywhere) * counts.search * np.sqrt(missing)
    else:
        weights = np.maximum(weights * search.open_to(rows, z.shape[1]), _NEVER)
        mixing = np.maximum(search.share(z, counts.right), smallest)
    explore = _EVEN * size / z.shape[1] + (1 - _EVEN) * shares(weights, size)
    return np.asarray((1 - mixing) * matching + mixing * explore)


def draw_labels(q: Array, size: int, rng: np.random.Generator) -> npt.NDArray[np.int32]:
    """Lists of `size` different labels that hold label a with probability q_a, shape (n, size).

    Systematic sampling: the cumulative sums of q pass u, u + 1, ..., at the labels shown.
    """
    # Rounding must neither lose the last label nor find one more.
    start = np.clip(rng.random((len(q), 1)), 1e-12, 1 - 1e-12)
    ends = np.minimum(np.cumsum(q, axis=1), size)
    ends[:, -1] = size
    numbers = np.floor(np.column_stack([-start, ends - start]))
    return np.nonzero(np.diff(numbers, axis=1))[1].reshape(len(q), size).astype(np.int32)
