"""Our own bandit classifier."""

from typing import Any

import numpy as np
import numpy.typing as npt

import policysieve

__all__ = ["PolicySieve"]

Labels = npt.NDArray[np.intp]


class PolicySieve:
    """`BanditClassifier` at its defaults.

    Parameters
    ----------
    n_classes : int
    seed : int
    """

    def __init__(self, n_classes: int, seed: int) -> None:
        self._classifier = policysieve.BanditClassifier(classes=range(n_classes), random_state=seed)
        self._decisions: Any = None

    def decide(self, X: Any) -> Labels:
        """Labels to show."""
        self._decisions = self._classifier.ask(X)
        return np.asarray(self._decisions.labels, dtype=np.intp)

    def learn(self, X: Any, labels: Labels, rewards: npt.NDArray[np.float64]) -> None:
        """Learn from the rows that were decided last."""
        self._classifier.tell(self._decisions, rewards)

    def predict(self, X: Any) -> Labels:
        """The labels it finds best."""
        return np.asarray(self._classifier.predict(X), dtype=np.intp)
