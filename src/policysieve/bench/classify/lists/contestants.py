"""Who is compared: list classifiers of ours and of others behind the same three methods."""

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

import policysieve
from policysieve.bench.classify.contestants import CEILING, OURS, Entry
from policysieve.bench.classify.lists.peers import ContextualBanditsLists, VowpalLists
from policysieve.errors import MissingExtraError

__all__ = ["LIST_CONTESTANTS", "PolicySieveLists", "SeparateLogistic"]

Array = npt.NDArray[np.float64]
Lists = npt.NDArray[np.intp]


class PolicySieveLists:
    """`BanditListClassifier` at its defaults.

    Parameters
    ----------
    n_labels, size, seed : int
    """

    def __init__(self, n_labels: int, size: int, seed: int) -> None:
        self._classifier = policysieve.BanditListClassifier(
            classes=range(n_labels), list_size=size, random_state=seed
        )
        self._decisions: Any = None

    def decide(self, X: Array) -> Lists:
        """Labels to show."""
        self._decisions = self._classifier.ask(X)
        return np.asarray(self._decisions.labels, dtype=np.intp)

    def learn(self, X: Array, shown: Lists, rewards: Array) -> None:
        """Learn from the rows that were decided last."""
        self._classifier.tell(self._decisions, rewards)

    def predict(self, X: Array) -> Lists:
        """The labels it finds best."""
        return np.asarray(self._classifier.predict(X), dtype=np.intp)


class SeparateLogistic:
    """Show random lists, and fit a logistic regression for each label to its own answers.

    Shown all labels in every round, it is the supervised fit on as many rows. A label without a
    right answer has its share of right answers everywhere.

    Parameters
    ----------
    n_labels, size, seed : int
    penalty : float
        Weight of half the squared norm of the coefficients against the sum of the log losses.
    """

    def __init__(self, n_labels: int, size: int, seed: int, *, penalty: float = 1.0) -> None:
        try:
            from sklearn.linear_model import LogisticRegression
        except ImportError as error:
            raise MissingExtraError("SeparateLogistic", "scikit-learn", "sklearn") from error
        self._new = partial(LogisticRegression, C=1 / penalty, max_iter=200)
        self._rng = np.random.default_rng(seed)
        self._n_labels, self._size = n_labels, size
        self._rounds: list[tuple[Array, Lists, Array]] = []
        self._weights: Array | None = None

    def decide(self, X: Array) -> Lists:
        """Random labels."""
        return self._rng.random((len(X), self._n_labels)).argsort(axis=1)[:, : self._size]

    def learn(self, X: Array, shown: Lists, rewards: Array) -> None:
        """Keep the answers."""
        self._rounds.append((X, shown, rewards))
        self._weights = None

    def predict(self, X: Array) -> Lists:
        """The most likely labels, by a fit to all that is known now."""
        if self._weights is None:
            self._weights = self._fitted()
        logits = X @ self._weights[:-1] + self._weights[-1]
        return np.argsort(-logits, axis=1, kind="stable")[:, : self._size]

    def _fitted(self) -> Array:
        rows, shown, rewards = (np.concatenate(part) for part in zip(*self._rounds, strict=True))
        weights = np.zeros((rows.shape[1] + 1, self._n_labels))
        for label in range(self._n_labels):
            where, place = np.nonzero(shown == label)
            right = rewards[where, place] > 0
            if right.any() and not right.all():
                fit = self._new().fit(rows[where], right)
                weights[:-1, label], weights[-1, label] = fit.coef_[0], fit.intercept_[0]
            else:
                share = (right.sum() + 0.5) / (len(right) + self._n_labels)
                weights[-1, label] = np.log(share / (1 - min(share, 0.999)))
        return weights


TUNED: dict[str, dict[str, dict[str, Any]]] = {
    "contextualbandits_linucb": {
        "tags40": {"alpha": 3.0, "lambda_": 30.0},
        "tags100": {"alpha": 3.0, "lambda_": 10.0},
        "tags160": {"alpha": 3.0, "lambda_": 30.0},
    },
    "contextualbandits_logistic": {
        task: {"penalty": 3.0, "explore_prob": 0.3} for task in ("tags40", "tags100", "tags160")
    },
    "vowpal_squarecb": {
        "tags40": {"options": "--gamma_scale 10 --learning_rate 8"},
        "tags100": {"options": "--gamma_scale 100 --learning_rate 8"},
        "tags160": {"options": "--gamma_scale 1000 --learning_rate 32"},
    },
}
"""Options by contestant and task.

Of those tried on a seed that is not compared, they have the largest share of right labels on
held-out rows in the mean over 500, 1,000 and 2,000 rounds. The logistic regressions were tuned on
tags100 alone.
"""

LIST_CONTESTANTS = {
    OURS: Entry(PolicySieveLists),
    "uniform_logistic": Entry(SeparateLogistic),
    "contextualbandits_linucb": Entry(
        partial(ContextualBanditsLists, policy="LinUCB"), TUNED["contextualbandits_linucb"]
    ),
    "contextualbandits_logistic": Entry(
        partial(ContextualBanditsLists, policy="EpsilonGreedy", penalty=1.0),
        TUNED["contextualbandits_logistic"],
    ),
    "vowpal_squarecb": Entry(VowpalLists, TUNED["vowpal_squarecb"]),
    CEILING: Entry(SeparateLogistic, is_told=True),
}
"""Everyone by name."""
