"""Bandits of other packages as rankers: lists of their best labels, each answer a round of its own.

None of them knows lists, so each label that was shown is learnt from as if it had been shown alone.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.bench.classify.peers import as_lines
from policysieve.errors import MissingExtraError

__all__ = ["ContextualBanditsLists", "VowpalLists"]

_GROWTH = 1.1  # of the rounds between fits

Array = npt.NDArray[np.float64]
Lists = npt.NDArray[np.intp]


class ContextualBanditsLists:
    """One of its online policies, whose best labels are shown.

    Policies that fit to all rounds do so when there are a tenth more.

    Parameters
    ----------
    n_labels, size, seed : int
    policy : str
        Name of the policy.
    penalty : float or None
        Of a logistic regression for each label; None for policies that bring their regression.
    **options
        Of the policy.
    """

    def __init__(
        self,
        n_labels: int,
        size: int,
        seed: int,
        *,
        policy: str,
        penalty: float | None = None,
        **options: Any,
    ) -> None:
        try:
            from contextualbandits import online
        except ImportError as error:
            raise MissingExtraError(
                "ContextualBanditsLists", "contextualbandits", "peers"
            ) from error
        options |= {"nchoices": n_labels, "random_state": seed + 1, "njobs": 1}  # zero is refused
        if penalty is not None:
            from sklearn.linear_model import LogisticRegression

            base = LogisticRegression(C=1 / penalty, solver="liblinear", random_state=seed)
            options["base_algorithm"] = base
        self._policy = getattr(online, policy)(**options)
        self._adds = policy == "LinUCB"
        self._rng = np.random.default_rng(seed)
        self._n_labels, self._size = n_labels, size
        self._rounds: list[tuple[Array, Lists, Array]] = []
        self._n_rounds = self._n_fitted = 0

    def decide(self, X: Array) -> Lists:
        """Its best labels, as it explores; at first, random ones."""
        if not self._n_fitted:
            return self._rng.random((len(X), self._n_labels)).argsort(axis=1)[:, : self._size]
        return np.asarray(self._policy.topN(X, self._size), dtype=np.intp)

    def learn(self, X: Array, shown: Lists, rewards: Array) -> None:
        """Add the rounds, one for each label, and fit when there are enough new ones."""
        rows = np.repeat(X, self._size, axis=0)
        self._n_rounds += len(X)
        if self._adds:
            self._policy.partial_fit(rows, shown.ravel(), rewards.ravel())
            self._n_fitted = self._n_rounds
            return
        self._rounds.append((rows, shown.ravel(), rewards.ravel()))
        if self._n_rounds >= _GROWTH * self._n_fitted:
            self._fit()

    def predict(self, X: Array) -> Lists:
        """The labels of the largest expected rewards, without exploration."""
        if self._n_fitted < self._n_rounds:
            self._fit()
        if self._adds:
            scores = self._policy.predict(X, exploit=True, output_all_scores=True)["scores"]
        else:
            scores = self._policy._oracles.decision_function(X)  # its rankings explore
        return np.argsort(-np.asarray(scores), axis=1, kind="stable")[:, : self._size]

    def _fit(self) -> None:
        self._policy.fit(*(np.concatenate(part) for part in zip(*self._rounds, strict=True)))
        self._n_fitted = self._n_rounds


class VowpalLists:
    """Its SquareCB, which has a chance for each label: lists are drawn by these.

    Parameters
    ----------
    n_labels, size, seed : int
    options : str
        Of the explorer, as on its command line.
    """

    def __init__(
        self,
        n_labels: int,
        size: int,
        seed: int,
        *,
        options: str = "--gamma_scale 100 --learning_rate 0.5",
    ) -> None:
        try:
            import vowpalwabbit
        except ImportError as error:
            raise MissingExtraError("VowpalLists", "vowpalwabbit", "peers") from error
        self._machine = vowpalwabbit.Workspace(
            f"--cb_explore {n_labels} --squarecb {options} --bit_precision 24 "
            f"--random_seed {seed} --quiet"
        )
        self._rng = np.random.default_rng(seed)
        self._size = size
        self._lines: list[str] = []
        self._shares: Array = np.empty((0, n_labels))

    def decide(self, X: Array) -> Lists:
        """Different labels drawn one after the other in proportion to its chances."""
        self._lines = as_lines(X)
        self._shares = self._chances(self._lines)
        # The largest of ln(p) + Gumbel noise are a draw without replacement.
        keys = np.log(np.maximum(self._shares, 1e-12)) + self._rng.gumbel(size=self._shares.shape)
        return np.argsort(-keys, axis=1)[:, : self._size]

    def learn(self, X: Array, shown: Lists, rewards: Array) -> None:
        """Learn from the rows that were decided last, one label at a time."""
        shares = np.take_along_axis(self._shares, shown, axis=1)
        columns = (self._lines, shown.tolist(), rewards.tolist(), shares.tolist())
        for line, labels, answers, chances in zip(*columns, strict=True):
            for label, reward, share in zip(labels, answers, chances, strict=True):
                self._machine.learn(f"{label + 1}:{-reward}:{share} {line}")

    def predict(self, X: Array) -> Lists:
        """The labels with the largest chances."""
        chances = self._chances(as_lines(X))
        return np.argsort(-chances, axis=1, kind="stable")[:, : self._size]

    def _chances(self, lines: list[str]) -> Array:
        return np.array([self._machine.predict(line) for line in lines])
