"""What to show while learning: labels by the chance that they are best."""

import numpy as np
import numpy.typing as npt

from policysieve.classify.counts import Array, LabelCounts
from policysieve.classify.likelihoods import Likelihood

__all__ = ["best_labels", "draw_labels", "inclusion", "shares"]

# Draws are made from the posterior with its spread times these factors. The first is what `predict`
# would say, so that its accuracy can be estimated well; the others hedge, because labels starve
# where all are small, and many features make the whole posterior wander.
_STRENGTHS = (0.0, *np.linspace(0.3, 1.2, 7))
_EVEN = 0.2  # share of exploration that is the same for all labels
_FLOOR = 1e-9  # probabilities are at least this before exploration weighs them


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


def inclusion(
    z: Array,
    spread: Array,
    counts: LabelCounts,
    likelihood: Likelihood,
    *,
    size: int,
    smallest: float,
    rng: np.random.Generator,
) -> Array:
    """Probability with which each label is shown, shape (n, K), rows summing to `size`.

    Probability matching (Thompson sampling): how often a label is among the best in draws from the
    posterior of several strengths. A share of exploration, at least `smallest` and more where
    unknown labels may be right, shows those, and a fifth of it all labels alike. The draws are made
    before the labels, so these are the propensities whatever the draws were
    (docs/maths.md, "Showing labels").
    """
    rows = np.arange(len(z))[:, None]
    matching, probable = np.zeros(z.shape), np.full(z.shape, _FLOOR)
    for strength in _STRENGTHS:
        drawn = z + strength * spread * rng.standard_normal(z.shape) if strength else z.copy()
        matching[rows, best_labels(drawn, size)] += 1 / len(_STRENGTHS)
        probable += likelihood.probabilities(drawn) / len(_STRENGTHS)
    unknown = counts.unknown**4
    missing = (probable * unknown).sum(axis=1, keepdims=True) / probable.sum(axis=1, keepdims=True)
    everywhere = max(smallest, counts.mixing)
    mixing = everywhere + (1 - everywhere) * counts.search * np.sqrt(missing)
    explore = _EVEN * size / z.shape[1] + (1 - _EVEN) * shares(unknown * np.sqrt(probable), size)
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
