"""Bandits of other packages, behind the three methods of a contestant."""

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.errors import MissingExtraError

__all__ = [
    "ContextualBandits",
    "MabWiser",
    "RiverLinUcb",
    "RiverLogistic",
    "VowpalWabbit",
    "as_lines",
]

_GROWTH = 1.1  # of the rounds between fits of contextualbandits
_CONSTANT = -1  # name of a feature that is always one, for river

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
        arms = [self._policy.pull(self._arms, context=row) for row in _as_dicts(X, constant=True)]
        return np.array(arms, dtype=np.intp)

    def learn(self, X: Any, labels: Labels, rewards: npt.NDArray[np.float64]) -> None:
        """Add the rounds to the regressions."""
        columns = (_as_dicts(X, constant=True), labels.tolist(), rewards.tolist())
        for row, label, reward in zip(*columns, strict=True):
            self._policy.update(label, row, reward)

    def predict(self, X: Any) -> Labels:
        """The labels of the largest expected rewards, without exploration."""
        models = [self._policy._bayes_lin_regs[label] for label in self._arms]
        best = [
            np.argmax([model.predict_one(row) for model in models])
            for row in _as_dicts(X, constant=True)
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
        for row, label, reward in zip(_as_dicts(X), labels, rewards > 0, strict=True):
            self._models[label].learn_one(row, bool(reward))

    def predict(self, X: Any) -> Labels:
        """The labels that are most likely right; among equals a random one."""
        chances = np.array(
            [[model.predict_proba_one(row)[True] for model in self._models] for row in _as_dicts(X)]
        ).reshape(X.shape[0], len(self._models))
        found: Labels = np.argmax(chances + 1e-9 * self._rng.random(chances.shape), axis=1)
        return found


def _as_dicts(X: Any, *, constant: bool = False) -> list[dict[int, float]]:
    from scipy import sparse

    rows = sparse.csr_matrix(X)
    more = {_CONSTANT: 1.0} if constant else {}
    names, values, ends = rows.indices.tolist(), rows.data.tolist(), rows.indptr
    return [dict(zip(names[a:b], values[a:b], strict=True)) | more for a, b in pairwise(ends)]


class VowpalWabbit:
    """One of its explorers, with lines of named features; costs are minus rewards.

    Parameters
    ----------
    n_classes : int
    seed : int
    options : str
        Explorer, reduction and learning rate, as on its command line.
    """

    def __init__(
        self,
        n_classes: int,
        seed: int,
        *,
        options: str = "--epsilon 0.1 --cb_type dm",
    ) -> None:
        try:
            import vowpalwabbit
        except ImportError as error:
            raise MissingExtraError("VowpalWabbit", "vowpalwabbit", "peers") from error
        self._machine = vowpalwabbit.Workspace(
            f"--cb_explore {n_classes} {options} --bit_precision 24 --random_seed {seed} --quiet"
        )
        self._rng = np.random.default_rng(seed)
        self._lines: list[str] = []
        self._shares: list[float] = []

    def decide(self, X: Any) -> Labels:
        """Labels drawn from its probabilities."""
        self._lines, self._shares = as_lines(X), []
        labels = np.empty(X.shape[0], dtype=np.intp)
        for i, line in enumerate(self._lines):
            chances = np.asarray(self._machine.predict(line))
            labels[i] = self._rng.choice(len(chances), p=chances / chances.sum())
            self._shares.append(chances[labels[i]])
        return labels

    def learn(self, X: Any, labels: Labels, rewards: npt.NDArray[np.float64]) -> None:
        """Learn from the rows that were decided last."""
        columns = (self._lines, self._shares, labels, rewards)
        for line, share, label, reward in zip(*columns, strict=True):
            self._machine.learn(f"{label + 1}:{-reward}:{share} {line}")

    def predict(self, X: Any) -> Labels:
        """The labels it finds most probable."""
        best = [np.argmax(self._machine.predict(line)) for line in as_lines(X)]
        return np.array(best, dtype=np.intp)


def as_lines(X: Any) -> list[str]:
    """Rows as Vowpal Wabbit reads them, without a label."""
    from scipy import sparse

    rows = sparse.csr_matrix(X)
    words = [f"f{i}:{value:.6g}" for i, value in zip(rows.indices, rows.data, strict=True)]
    ends = rows.indptr
    return ["| " + " ".join(words[a:b]) for a, b in pairwise(ends)]
