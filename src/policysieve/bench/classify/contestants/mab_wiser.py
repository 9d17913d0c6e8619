"""MABWiser's linear contextual bandits."""

from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.errors import MissingExtraError

__all__ = ["MabWiser"]

Labels = npt.NDArray[np.intp]


class MabWiser:
    """LinUCB or LinTS: a ridge regression of the reward for each label.

    Labels are random until each was shown, because it would try new ones in turn, a batch each.

    Parameters
    ----------
    n_classes : int
    seed : int
    policy : {"LinUCB", "LinTS"}
    alpha, l2_lambda : float
        Exploration and penalty.
    """

    def __init__(
        self,
        n_classes: int,
        seed: int,
        *,
        policy: str,
        alpha: float = 0.1,
        l2_lambda: float = 1.0,
    ) -> None:
        try:
            from mabwiser.mab import MAB, LearningPolicy
        except ImportError as error:
            raise MissingExtraError("MabWiser", "mabwiser", "peers") from error
        learning = getattr(LearningPolicy, policy)(alpha=alpha, l2_lambda=l2_lambda)
        self._bandit = MAB(arms=list(range(n_classes)), learning_policy=learning, seed=seed)
        self._rng = np.random.default_rng(seed)
        self._n_classes = n_classes
        self._shown: set[int] = set()

    def decide(self, X: Any) -> Labels:
        """Labels by its policy; at first, random ones."""
        if len(self._shown) < self._n_classes:
            return self._rng.integers(self._n_classes, size=len(X))
        return np.atleast_1d(self._bandit.predict(_with_constant(X))).astype(np.intp)

    def learn(self, X: Any, labels: Labels, rewards: npt.NDArray[np.float64]) -> None:
        """Add the rounds to the regressions."""
        add = self._bandit.partial_fit if self._shown else self._bandit.fit
        add(labels.tolist(), rewards.tolist(), _with_constant(X))
        self._shown.update(labels.tolist())

    def predict(self, X: Any) -> Labels:
        """The labels of the largest expected rewards, without exploration."""
        models = self._bandit._imp.arm_to_model  # its public predictions explore
        weights = np.stack([models[label].beta for label in range(self._n_classes)])
        return np.asarray(np.argmax(_with_constant(X) @ weights.T, axis=1), dtype=np.intp)


def _with_constant(X: Any) -> npt.NDArray[np.float64]:
    return np.column_stack([X, np.ones(len(X))])
