"""What to show while learning: labels by the chance that they are best."""

import numpy as np
import numpy.typing as npt

from policysieve.classify.model import Array

__all__ = ["best_labels", "draw_labels", "inclusion", "mixing_after", "seldom", "unknown"]

# Draws are made from the posterior with its spread times these factors. The first is what `predict`
# would say, so that its accuracy can be estimated well; the others hedge, because labels starve
# where all are small, and many features make the whole posterior wander.
_STRENGTHS = (0.0, *np.linspace(0.3, 1.2, 7))
_IN_VAIN = 8.0  # times K: showings of a label that was never right which count as one right answer
_PATIENCE = 2.0  # right answers per label at which half of the rounds explore
_EVEN = 0.2  # share of exploration that is the same for all labels


def mixing_after(right: float, n_labels: int, smallest: float) -> float:
    """Share of exploration after so many right answers: 2K/(2K + right), or the smallest."""
    return max(smallest, _PATIENCE * n_labels / (_PATIENCE * n_labels + right))


def unknown(shown: Array, right: Array) -> Array:
    """How little is known of each label, from how often it was shown and right: 1 for nothing.

    1/(1 + right + shown/(8K)): before a label has been right a few times no model knows it, but
    one that was shown over and over in vain is rare.
    """
    return np.asarray(1 / (1 + right + shown / (_IN_VAIN * len(right))))


def seldom(unknown: Array, size: int) -> Array:
    """Probability with which exploration shows each label, by its unknown-ness to the fourth power.

    Uniform exploration would find the last labels only by the way. A fifth is the same for all
    labels. Probabilities are at most 1 and add up to `size`.
    """
    weights = unknown**4
    shares, full = np.zeros(len(weights)), np.zeros(len(weights), dtype=np.bool_)
    while not full.all():
        free = weights * ~full
        shares = np.where(full, 1.0, (size - full.sum()) * free / free.sum())
        if (shares <= 1).all():
            break
        full |= shares >= 1
    return np.asarray(_EVEN * size / len(weights) + (1 - _EVEN) * shares)


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
    explore: Array,
    *,
    size: int,
    mixing: float,
    rng: np.random.Generator,
) -> Array:
    """Probability with which each label is shown, shape (n, K), rows summing to `size`.

    Probability matching (Thompson sampling): how often a label is among the best in draws from the
    posterior of several strengths; and the share `mixing` of exploration. The draws are made before
    the labels, so these are the propensities whatever the draws were
    (docs/maths.md, "Showing labels").
    """
    rows = np.arange(len(z))[:, None]
    q = np.zeros(z.shape)
    for strength in _STRENGTHS:
        drawn = z + strength * spread * rng.standard_normal(z.shape) if strength else z
        q[rows, best_labels(drawn, size)] += 1 / len(_STRENGTHS)
    q *= 1 - mixing
    q += mixing * explore
    return q


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
