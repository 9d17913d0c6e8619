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

from policysieve.classify.likelihoods import Likelihood
from policysieve.errors import InvalidArgumentError

__all__ = ["LabelModel", "check_features", "few_threads"]

Array = npt.NDArray[np.float64]
Block = tuple[Any, npt.NDArray[np.intp], Array]

_STRETCH = 1 << 18  # logits computed at once: they stay in the processor's cache
_LARGEST = 1e120  # feature, whose square still is a number
_ITERATIONS = 30  # per fit; the next one starts where this one stopped
_LARGE = 1_000_000  # weights of a model, from which on several threads are faster than one
_limiting = Lock()  # held by whoever has set the limit, which is one of the whole process


class LabelModel:
    """Logits W'x + b with Gaussian priors, fitted to answers; a diagonal Laplace posterior.

    The prior variance of weights is such that a typical logit x'w has variance `prior_variance`;
    that of intercepts is 1, around their mean at the last fit
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

    def before(self, rows: Any) -> "LabelModel":
        """The same model with a prior for feature rows like these, before any answer."""
        model = copy(self)
        model._set_scale(_square_norms(rows) / max(rows.shape[0], 1))
        model._variances = np.repeat(1 / model._precisions, self._weights.shape[1], axis=1)
        return model

    def logits(self, rows: Any) -> Array:
        """Logit of every label at feature rows, shape (n, K)."""
        with few_threads(self._weights.size):
            return np.asarray(rows @ self._weights[:-1] + self._weights[-1])

    def spreads(self, rows: Any) -> Array:
        """Standard deviation of these logits in the posterior."""
        squares = rows.multiply(rows).tocsr() if hasattr(rows, "multiply") else rows**2
        with few_threads(self._weights.size):
            return np.asarray(np.sqrt(squares @ self._variances[:-1] + self._variances[-1]))

    def fitted(self, blocks: Sequence[Block]) -> "LabelModel":
        """The most probable model after these answers, searched for from this one.

        Each block has feature rows (n, d), the labels shown there (n, m) and the answers (n, m).
        """
        with few_threads(self._weights.size):
            return self._fitted(blocks)

    def _fitted(self, blocks: Sequence[Block]) -> "LabelModel":
        from scipy.optimize import minimize

        n_labels = self._weights.shape[1]
        stretches = [part for block in blocks for part in _stretches(block, n_labels)]
        model = copy(self)
        n_rows = sum(len(shown) for _, shown, _ in blocks)
        model._set_scale(sum(_square_norms(rows) for rows, _, _ in blocks) / n_rows)

        # In units of the prior's standard deviation, so that the unit of features does not matter.
        unit = 1 / np.sqrt(model._precisions)
        start = self._weights.copy()
        start[-1] -= self._intercept

        def objective(flat: Array) -> tuple[float, Array]:
            away = flat.reshape(self._weights.shape)
            weights = away * unit
            weights[-1] += self._intercept
            gradient = np.zeros_like(weights)
            loss = 0.5 * float((away**2).sum())
            for x, labels, right in stretches:
                z = np.asarray(x @ weights[:-1])
                z += weights[-1]
                loss += self.likelihood.loss(z, labels, right)
                gradient[:-1] += x.T @ z
                gradient[-1] += z.sum(axis=0)
            gradient *= unit
            gradient += away
            return loss, gradient.ravel()

        found = minimize(
            objective,
            (start / unit).ravel(),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": _ITERATIONS},
        )
        model._weights = found.x.reshape(self._weights.shape) * unit
        model._weights[-1] += self._intercept
        information = np.zeros_like(self._weights)
        for x, labels, right in stretches:
            curvature = self.likelihood.curvatures(model.logits(x), labels, right)
            squares = x.multiply(x) if hasattr(x, "multiply") else x**2
            information[:-1] += squares.T @ curvature
            information[-1] += curvature.sum(axis=0)
        model._intercept = float(model._weights[-1].mean())
        model._variances = 1 / (information + model._precisions)
        return model

    def _set_scale(self, mean_square_norm: float) -> None:
        """Weights' prior precisions, so that a typical logit has the prior variance."""
        self._precisions = self._precisions.copy()
        self._precisions[:-1] = (mean_square_norm or 1.0) / self._prior_variance


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


def _square_norms(rows: Any) -> float:
    """Sum of squares of all features, dense or sparse."""
    return float(rows.multiply(rows).sum() if hasattr(rows, "multiply") else (rows**2).sum())
