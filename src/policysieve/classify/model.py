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
from policysieve.classify.posterior import Block, Posterior, features_of
from policysieve.errors import InvalidArgumentError

__all__ = ["FEW_LOGITS", "Block", "LabelModel", "check_features", "few_threads", "square_norms"]

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.intp]

_LARGEST = 1e120  # feature, whose square still is a number
FEW_LOGITS = 1 << 18  # or weights: up to so many, fits are cheap and of double precision
_ROUNDING = {np.float64: 1e-11, np.float32: 1e-6}  # of the loss, generously
_MOST_STEPS = 30  # of a fit, which all may take that are not preceded by another
_STEPS = 3  # which all others take, and more while they gain
_REMEMBERED = 3, 8  # steps of earlier fits, where there are many weights, and where there are few
_FEW_WEIGHTS = 1 << 18  # up to so many: of more, steps cost as much as the rounds do
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
        # Of the last fits, in units of the scale, and which rows of the weights they found.
        self._memory: tuple[Labels, Memory | None] = np.empty(0, dtype=np.intp), None

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

    def is_cheap(self, n_rows: int) -> bool:
        """Whether a fit to so many rows is: it has few logits, and few weights."""
        return max(n_rows, len(self._weights)) * self._weights.shape[1] <= FEW_LOGITS

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
        # Weights of features that no row has stay as they are before the answers.
        features = features_of(blocks)
        some = np.append(features, len(self._weights) - 1)
        # Single precision, where there is much to compute, takes less than half of the time.
        precision = np.float64 if self.is_cheap(n_rows) else np.float32
        unit = np.full((len(some), 1), 1 / model._scale)
        unit[-1] = 1
        held = np.ones(n_labels) * tightness
        means = np.broadcast_to(typical, self._weights.shape)
        centre = means[some]
        centre /= unit
        centre[-1] += self._intercept
        start = self._weights[some]
        start /= unit
        start -= centre
        start = start.astype(precision)
        posterior = Posterior(
            blocks,
            features,
            factor=1 / model._scale,
            means=centre,
            precisions=held / self._prior_variance,
            likelihood=self.likelihood,
            precision=precision,
        )
        memory = self._remembered(some, precision)
        known = self._variances[some] / unit**2 if memory.order else posterior.variances(start)
        found = descend(
            posterior,
            start,
            known.astype(precision),
            memory,
            steps=(_STEPS if memory.order else _MOST_STEPS, _MOST_STEPS),
            close=_CLOSE,
            rounding=_ROUNDING[precision],
        )
        model._memory = some, memory
        model._variances = np.empty(means.shape)
        model._variances[:] = 1 / (model._precisions[0] * held)
        model._variances[some] = posterior.variances(found) * unit**2
        centre += found
        centre *= unit
        model._weights = means.copy()
        model._weights[some] = centre
        model._intercept += float(found[-1].mean())
        return model

    def _remembered(self, some: Labels, precision: Any) -> Memory:
        """Steps of the last fits, in the rows of weights that count now: new ones had no part."""
        before, memory = self._memory
        if memory is None or not np.isin(before, some).all():
            n_steps = _REMEMBERED[self.n_weights <= _FEW_WEIGHTS]
            return Memory(len(some) * self._weights.shape[1], n_steps, precision)
        there, n_labels = np.isin(some, before), self._weights.shape[1]

        def widened(steps: Any) -> Any:
            if there.all():
                return steps.astype(precision)
            wide = np.zeros((len(steps), len(some), n_labels), dtype=precision)
            wide[:, there] = steps.reshape(len(steps), -1, n_labels)
            return wide.reshape(len(steps), -1)

        return memory.changed(widened)

    def _set_scale(self, mean_square_norm: float) -> None:
        """Weights' prior precisions, so that a typical logit has the prior variance."""
        self._scale = float(np.sqrt(mean_square_norm)) or 1.0
        self._precisions = self._precisions.copy()
        self._precisions[:-1] = self._scale**2 / self._prior_variance


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


def square_norms(rows: Any) -> float:
    """Sum of squares of all features, dense or sparse."""
    return float(rows.multiply(rows).sum() if hasattr(rows, "multiply") else np.vdot(rows, rows))
