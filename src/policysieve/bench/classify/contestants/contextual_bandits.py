"""The contextualbandits package: a binary classifier or ridge regression for each label."""

from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.errors import MissingExtraError

__all__ = ["ContextualBandits"]

_GROWTH = 1.1  # of the rounds between fits

Labels = npt.NDArray[np.intp]


class ContextualBandits:
    """One of its online policies; where these fit to all rounds, when there are a tenth more.

    Parameters
    ----------
    n_classes : int
    seed : int
    policy : str
        Name of the policy.
    penalty : float or None
        Of a logistic regression for each label; None for policies that bring their regression.
    **options
        Of the policy.
    """

    def __init__(
        self,
        n_classes: int,
        seed: int,
        *,
        policy: str,
        penalty: float | None = None,
        **options: Any,
    ) -> None:
        try:
            from contextualbandits import online
        except ImportError as error:
            raise MissingExtraError("ContextualBandits", "contextualbandits", "peers") from error
        threads = "njobs_arms" if policy.startswith("Bootstrapped") else "njobs"
        options |= {"nchoices": n_classes, "random_state": seed + 1, threads: 1}  # zero is refused
        if penalty is not None:
            from sklearn.linear_model import LogisticRegression

            base = LogisticRegression(C=1 / penalty, solver="liblinear", random_state=seed)
            options["base_algorithm"] = base
        self._policy = getattr(online, policy)(**options)
        self._adds = policy in ("LinUCB", "LinTS")
        self._rng = np.random.default_rng(seed)
        self._n_classes = n_classes
        self._rounds: list[tuple[Any, Labels, npt.NDArray[np.float64]]] = []
        self._n_rounds = self._n_fitted = 0

    def decide(self, X: Any) -> Labels:
        """Labels by its policy; at first, random ones."""
        if not self._n_fitted:
            guesses: Labels = self._rng.integers(self._n_classes, size=X.shape[0])
            return guesses
        return np.asarray(self._policy.predict(X), dtype=np.intp)

    def learn(self, X: Any, labels: Labels, rewards: npt.NDArray[np.float64]) -> None:
        """Add the rounds, and fit when there are enough new ones."""
        self._n_rounds += len(labels)
        if self._adds:
            self._policy.partial_fit(X, labels, rewards)
            self._n_fitted = self._n_rounds
            return
        self._rounds.append((X, labels, rewards))
        if self._n_rounds >= _GROWTH * self._n_fitted:
            self._fit()

    def predict(self, X: Any) -> Labels:
        """The labels of the largest expected rewards, without exploration."""
        if self._n_fitted < self._n_rounds:
            self._fit()
        return np.asarray(self._policy.predict(X, exploit=True), dtype=np.intp)

    def _fit(self) -> None:
        from scipy import sparse

        rows, labels, rewards = zip(*self._rounds, strict=True)
        join = sparse.vstack if sparse.issparse(rows[0]) else np.concatenate
        self._policy.fit(join(rows), np.concatenate(labels), np.concatenate(rewards))
        self._n_fitted = self._n_rounds
