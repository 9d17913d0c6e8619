"""A linear model of which labels are right, and how sure it is."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from functools import lru_cache
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import ThreadpoolController

from policysieve.classify.descent import Memory, descend
from policysieve.classify.likelihoods import Likelihood
from policysieve.errors import InvalidArgumentError

__all__ = ["FEW_LOGITS", "LabelModel", "check_features", "few_threads", "square_norms"]

Array = npt.NDArray[np.float64]
Block = tuple[Any, npt.NDArray[np.intp], Array]

_STRETCH = 1 << 18  # logits computed at once: they stay in the processor's cache
_LARGEST = 1e120  # feature, whose square still is a number
FEW_LOGITS = 1 << 18  # of all rounds: up to so many, fits are cheap and of double precision
_ROUNDING = {np.float64: 1e-11, np.float32: 1e-6}  # of the loss, generously
_MOST_STEPS = 30  # of a fit, which all may take that are not preceded by another
_STEPS = 3  # which all others take, and more while they gain
_CLOSE = 0.5  # twice the gain in log-likelihood that is not worth another step
_LARGE = 1_000_000  # weights of a model, from which on several threads are faster than one
_limiting = Lock()  # held by whoever has set the limit, which is one of the whole process


class LabelModel:
    """Logits W'x + b with Gaussian priors, fitted to answers; a diagonal Laplace posterior.

    The prior variance of weights is such that a typical logit x'w has variance `prior_variance`;
    that of intercepts is 1, around their mean at the last fit. Prior means are given to each fit
    (docs/maths.md, "Learning from right and wrong").

    Parameters
    ----------
    n_labels, n_features : int
    likelihood : Likelihood
    prior_variance : float
    """

    def __init__(
        self, *, n_labels: int, n_features: int, likelihood: Likelihood, prior_variance: float
    ) -> None:
        self.likelihood = likelihood
        self._prior_variance = prior_variance
        self._weights = np.zeros((n_features + 1, n_labels))  # the last row holds the intercepts
        self._intercept = 0.0
        self._precisions = np.ones((n_features + 1, 1))
        self._variances = np.zeros((n_features + 1, n_labels))
        self._scale = 1.0
        self._memory: tuple[Memory, ...] = ()  # of the last fits, in units of the scale

    def before(self, rows: Any) -> "LabelModel":
        """The same model with a prior for feature rows like these, before any answer."""
        model = copy(self)
        model._set_scale(square_norms(rows) / max(rows.shape[0], 1))
        model._variances = np.repeat(1 / model._precisions, self._weights.shape[1], axis=1)
        return model

    @property
    def n_weights(self) -> int:
        """How many there are, intercepts counted."""
        return int(self._weights.size)

    def logits(self, rows: Any) -> Array:
        """Logit of every label at feature rows, shape (n, K)."""
        with few_threads(self.n_weights):
            return np.asarray(rows @ self._weights[:-1] + self._weights[-1])

    def spreads(self, rows: Any) -> Array:
        """Standard deviation of these logits in the posterior."""
        squares = rows.multiply(rows).tocsr() if hasattr(rows, "multiply") else rows**2
        with few_threads(self.n_weights):
            return np.asarray(np.sqrt(squares @ self._variances[:-1] + self._variances[-1]))

    def fitted(
        self, blocks: Sequence[Block], typical: Any = 0.0, tightness: Any = 1.0
    ) -> "LabelModel":
        """The most probable model after these answers, searched for from this one.

        Each block has feature rows (n, d), the labels shown there (n, m) and the answers (n, m).
        Weights are `typical` before the answers, shape (d + 1, K) with the intercepts last;
        prior precisions of those of label k are multiplied by ``tightness[k]``.
        """
        with few_threads(self.n_weights):
            return self._fitted(blocks, typical, tightness)

    def _fitted(self, blocks: Sequence[Block], typical: Any, tightness: Any) -> "LabelModel":
        n_labels = self._weights.shape[1]
        n_rows = sum(len(shown) for _, shown, _ in blocks)
        model = copy(self)
        model._set_scale(sum(square_norms(rows) for rows, _, _ in blocks) / n_rows)

        # For features of mean square norm one, so that their unit does not matter and they fit
        # into numbers of single precision; intercepts from their last mean.
        # Single precision, where there is much to compute, takes less than half of the time.
        precision = np.float64 if n_rows * n_labels <= FEW_LOGITS else np.float32
        unit = np.ones((len(self._weights), 1))
        unit[:-1] = 1 / model._scale
        precisions = model._precisions * unit**2 * np.ones(n_labels)
        precisions[:-1] *= tightness
        stretches = [
            (
                (rows * unit[0, 0]).astype(precision),
                shown,
                answers.astype(precision),
            )
            for block in blocks
            for rows, shown, answers in _stretches(block, n_labels)
        ]
        start = self._weights / unit
        centre = np.broadcast_to(typical / unit, start.shape).copy()
        centre[-1] += self._intercept
        start -= centre
        logits = _Logits(stretches, centre)

        def objective(away: Array) -> tuple[float, Array]:
            loss = 0.5 * float((precisions * away**2).sum())
            gradient = precisions * away
            for x, z, labels, right in logits(away):
                loss += self.likelihood.loss(z, labels, right)
                gradient[:-1] += x.T @ z
                gradient[-1] += z.sum(axis=0)
            return loss, gradient

        def variances(away: Array) -> Array:
            information = np.zeros_like(away)
            for x, z, labels, right in logits(away):
                curvature = self.likelihood.curvatures(z, labels, right)
                squares = x.multiply(x) if hasattr(x, "multiply") else x**2
                information[:-1] += squares.T @ curvature
                information[-1] += curvature.sum(axis=0)
            return np.asarray(1 / (information + precisions))

        known = self._variances / unit**2 if self._memory else variances(start)
        found, model._memory = descend(
            objective,
            start,
            known,
            self._memory,
            steps=(_STEPS if self._memory else _MOST_STEPS, _MOST_STEPS),
            close=_CLOSE,
            rounding=_ROUNDING[precision],
        )
        model._variances = variances(found) * unit**2
        model._weights = (found + centre) * unit
        model._intercept += float(found[-1].mean())
        return model

    def _set_scale(self, mean_square_norm: float) -> None:
        """Weights' prior precisions, so that a typical logit has the prior variance."""
        self._scale = float(np.sqrt(mean_square_norm)) or 1.0
        self._precisions = self._precisions.copy()
        self._precisions[:-1] = self._scale**2 / self._prior_variance


class _Logits:
    """Logits of rounds, a stretch at a time, in memory that is used again.

    New memory for every stretch takes longer to get than logits take to compute.
    """

    def __init__(self, stretches: Sequence[Any], centre: Array) -> None:
        self._stretches = stretches
        self._centre = centre
        self._memory: Any = None

    def __call__(self, away: Array) -> Iterator[tuple[Any, Any, npt.NDArray[np.intp], Any]]:
        """Rows, logits (which may be overwritten), labels shown and answers of each stretch."""
        precision = self._stretches[0][0].dtype
        there = (away + self._centre).astype(precision)
        weights, intercepts = there[:-1], there[-1]
        if self._memory is None:
            longest = max(len(shown) for _, shown, _ in self._stretches)
            self._memory = np.empty((longest, len(intercepts)), dtype=precision)
        for x, shown, answers in self._stretches:
            z = self._memory[: len(shown)]
            if hasattr(x, "multiply"):
                z[:] = x @ weights
            else:
                np.matmul(x, weights, out=z)
            z += intercepts
            yield x, z, shown, answers


@contextmanager
def few_threads(n_weights: int) -> Iterator[None]:
    """One thread for products of matrices within, if the model has few weights.

    Threads that wait for each other make small products several times slower, even where nothing
    else runs. Whoever comes while the limit is set leaves it alone, so that it is lifted by the
    one who set it: if each restored what it found, one that came second and left last would leave
    the process with one thread.
    """
    if n_weights >= _LARGE or not _limiting.acquire(blocking=False):
        yield
        return
    try:
        with _blas().limit(limits=1):
            yield
    finally:
        _limiting.release()


@lru_cache(maxsize=1)
def _blas() -> Any:
    # Looks at every library loaded, which takes milliseconds.
    return ThreadpoolController().select(user_api="blas")


def check_features(rows: Any) -> None:
    """Refuse numbers whose squares would overflow."""
    values = rows.data if hasattr(rows, "tocsr") else rows
    largest = float(np.abs(values).max(initial=0.0))
    if largest > _LARGEST:
        raise InvalidArgumentError(
            f"X must hold numbers up to {_LARGEST:g} in size, got {largest:g}; if that stands for "
            "a missing value, fill it in first"
        )


def _stretches(block: Block, n_labels: int) -> Iterator[Block]:
    """A block in parts of few enough logits."""
    rows, shown, answers = block
    size = max(1, _STRETCH // n_labels)
    for start in range(0, len(shown), size):
        part = slice(start, start + size)
        yield rows[part], shown[part], answers[part]


def square_norms(rows: Any) -> float:
    """Sum of squares of all features, dense or sparse."""
    return float(rows.multiply(rows).sum() if hasattr(rows, "multiply") else (rows**2).sum())
