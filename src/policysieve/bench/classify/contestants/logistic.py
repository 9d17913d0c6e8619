"""Logistic regression on the rounds whose label was right."""

from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.errors import MissingExtraError

__all__ = ["RewardedLogistic"]

Labels = npt.NDArray[np.intp]


class RewardedLogistic:
    """Guess uniformly, and fit a logistic regression to what was right.

    A round that was wrong teaches it nothing. Shown the true label in every round, it is the
    supervised fit on as many rows.

    Parameters
    ----------
    n_classes : int
    seed : int
    penalty : float
        Weight of half the squared norm of the coefficients against the sum of the log losses.
    """

    def __init__(self, n_classes: int, seed: int, *, penalty: float = 1.0) -> None:
        try:
            from sklearn.linear_model import LogisticRegression
        except ImportError as error:
            raise MissingExtraError("RewardedLogistic", "scikit-learn", "sklearn") from error
        self._model = LogisticRegression(C=1 / penalty, max_iter=2000)
        self._rng = np.random.default_rng(seed)
        self._n_classes = n_classes
        self._rows: list[Any] = []
        self._labels: list[Labels] = []
        self._is_fitted = False

    def decide(self, X: Any) -> Labels:
        """Labels to show."""
        guesses: Labels = self._rng.integers(self._n_classes, size=X.shape[0])
        return guesses

    def learn(self, X: Any, labels: Labels, rewards: npt.NDArray[np.float64]) -> None:
        """Keep the rows whose label was right."""
        right = np.flatnonzero(rewards)
        if len(right):
            self._rows.append(X[right])
            self._labels.append(labels[right])
            self._is_fitted = False

    def predict(self, X: Any) -> Labels:
        """The most likely labels, by a fit to all that is known now."""
        from scipy import sparse

        if not self._rows:
            return np.zeros(X.shape[0], dtype=np.intp)
        labels = np.concatenate(self._labels)
        if (labels == labels[0]).all():
            return np.full(X.shape[0], labels[0])
        if not self._is_fitted:
            join = sparse.vstack if sparse.issparse(X) else np.concatenate
            self._model.fit(join(self._rows), labels)
            self._is_fitted = True
        found: Labels = self._model.predict(X)
        return found
