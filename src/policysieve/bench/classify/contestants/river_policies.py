"""River's LinUCB, and epsilon-greedy exploration with its logistic regressions."""

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.errors import MissingExtraError

__all__ = ["RiverLinUcb", "RiverLogistic"]

_CONSTANT = -1  # name of a feature that is always one

Labels = npt.NDArray[np.intp]


class RiverLinUcb:
    """Its disjoint LinUCB: a Bayesian linear regression of the reward for each label.

    Parameters
    ----------
    n_classes : int
    seed : int
    alpha, beta : float
        Precision of the prior and of the noise.
    """

    def __init__(self, n_classes: int, seed: int, *, alpha: float = 1.0, beta: float = 1.0) -> None:
        try:
            from river import bandit
        except ImportError as error:
            raise MissingExtraError("RiverLinUcb", "river", "peers") from error
        self._policy = bandit.LinUCBDisjoint(alpha=alpha, beta=beta, seed=seed)
        self._arms = list(range(n_classes))

    def decide(self, X: Any) -> Labels:
        """Labels of the largest upper bounds."""
        arms = [self._policy.pull(self._arms, context=row) for row in _rows(X, constant=True)]
        return np.array(arms, dtype=np.intp)

    def learn(self, X: Any, labels: Labels, rewards: npt.NDArray[np.float64]) -> None:
        """Add the rounds to the regressions."""
        columns = (_rows(X, constant=True), labels.tolist(), rewards.tolist())
        for row, label, reward in zip(*columns, strict=True):
            self._policy.update(label, row, reward)

    def predict(self, X: Any) -> Labels:
        """The labels of the largest expected rewards, without exploration."""
        models = [self._policy._bayes_lin_regs[label] for label in self._arms]
        best = [
            np.argmax([model.predict_one(row) for model in models])
            for row in _rows(X, constant=True)
        ]
        return np.array(best, dtype=np.intp)


class RiverLogistic:
    """Epsilon-greedy over one of its logistic regressions for each label, on the label's rounds.

    Parameters
    ----------
    n_classes : int
    seed : int
    epsilon : float
        Share of random labels.
    rate, intercept_rate : float
        Learning rates.
    """

    def __init__(
        self,
        n_classes: int,
        seed: int,
        *,
        epsilon: float = 0.1,
        rate: float = 0.1,
        intercept_rate: float = 0.1,
    ) -> None:
        try:
            from river import linear_model, optim
        except ImportError as error:
            raise MissingExtraError("RiverLogistic", "river", "peers") from error
        self._models = [
            linear_model.LogisticRegression(optim.SGD(rate), intercept_lr=intercept_rate)
            for _ in range(n_classes)
        ]
        self._epsilon = epsilon
        self._rng = np.random.default_rng(seed)

    def decide(self, X: Any) -> Labels:
        """The best labels, or now and then random ones."""
        explores = self._rng.random(X.shape[0]) < self._epsilon
        chosen: Labels = self._rng.integers(len(self._models), size=X.shape[0])
        chosen[~explores] = self.predict(X[~explores])
        return chosen

    def learn(self, X: Any, labels: Labels, rewards: npt.NDArray[np.float64]) -> None:
        """One step of the shown label's regression for each round."""
        for row, label, reward in zip(_rows(X), labels, rewards > 0, strict=True):
            self._models[label].learn_one(row, bool(reward))

    def predict(self, X: Any) -> Labels:
        """The labels that are most likely right; among equals a random one."""
        chances = np.array(
            [[model.predict_proba_one(row)[True] for model in self._models] for row in _rows(X)]
        ).reshape(X.shape[0], len(self._models))
        found: Labels = np.argmax(chances + 1e-9 * self._rng.random(chances.shape), axis=1)
        return found


def _rows(X: Any, *, constant: bool = False) -> list[dict[int, float]]:
    from scipy import sparse

    rows = sparse.csr_matrix(X)
    more = {_CONSTANT: 1.0} if constant else {}
    names, values, ends = rows.indices.tolist(), rows.data.tolist(), rows.indptr
    return [dict(zip(names[a:b], values[a:b], strict=True)) | more for a, b in pairwise(ends)]
