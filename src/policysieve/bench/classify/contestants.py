"""Who is compared: bandit classifiers of ours and of others behind the same three methods."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

import policysieve
from policysieve.bench.classify.peers import (
    ContextualBandits,
    MabWiser,
    RiverLinUcb,
    RiverLogistic,
    VowpalWabbit,
)
from policysieve.errors import MissingExtraError

__all__ = [
    "CEILING",
    "CONTESTANTS",
    "OURS",
    "Contestant",
    "Entry",
    "PolicySieve",
    "RewardedLogistic",
]

Labels = npt.NDArray[np.intp]


class Contestant(Protocol):
    """Shows labels, hears which were right, and names the best labels when asked.

    Labels have shape (n,), or (n, m) if it shows lists of m.
    """

    def decide(self, X: Any) -> Labels:
        """Labels to show."""

    def learn(self, X: Any, labels: Labels, rewards: npt.NDArray[np.float64]) -> None:
        """Hear which labels were right; the rows and labels are those decided last."""

    def predict(self, X: Any) -> Labels:
        """The labels that it finds best."""


@dataclass(frozen=True)
class Entry:
    """How a contestant is made.

    Attributes
    ----------
    make : callable
        From the number of classes, the size of lists if it shows some, a seed and options to a
        contestant.
    options : mapping
        Options by task, tuned on seeds that are not compared; for other tasks its defaults.
    dense : bool
        Whether it needs dense rows of few features.
    is_told : bool
        Whether it is told what is right in place of its own labels.
    only_texts : bool
        Whether it plays only where sparse rows differ from dense ones.
    """

    make: Callable[..., Contestant]
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    dense: bool = False
    is_told: bool = False
    only_texts: bool = False


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


OURS, CEILING = "policysieve", "supervised"
"""Our own contestant, and the one that is told every label."""

TUNED: dict[str, dict[str, dict[str, Any]]] = {
    "uniform_logistic": {
        "digits": {"penalty": 0.03},
        "clusters": {"penalty": 0.03},
        "letter": {"penalty": 0.3},
        "r52": {"penalty": 0.003},
    },
    "vowpal_epsilon": {
        "digits": {"options": "--epsilon 0.2 --cb_type dm --learning_rate 0.5"},
        "clusters": {"options": "--epsilon 0.02 --cb_type dm --learning_rate 0.5"},
        "letter": {"options": "--epsilon 0.5 --cb_type dm --learning_rate 0.5"},
        "r52": {"options": "--epsilon 0.2 --cb_type dm --learning_rate 0.5"},
    },
    "vowpal_squarecb": {
        "digits": {"options": "--squarecb --gamma_scale 10 --learning_rate 8"},
        "clusters": {"options": "--squarecb --gamma_scale 1000 --learning_rate 8"},
        "letter": {"options": "--squarecb --gamma_scale 10 --learning_rate 8"},
        "r52": {"options": "--squarecb --gamma_scale 10 --learning_rate 32"},
    },
    "vowpal_cover": {
        "digits": {"options": "--cover 4 --cb_type dr --learning_rate 0.1"},
        "clusters": {"options": "--cover 16 --cb_type mtr --learning_rate 0.1"},
        "letter": {
            "options": "--cover 4 --psi 0.01 --nounif --cb_type dr --learning_rate 0.5",
        },
        "r52": {"options": "--cover 4 --psi 0.01 --nounif --cb_type dr --learning_rate 0.5"},
    },
    "contextualbandits_logistic": {
        "digits": {"policy": "EpsilonGreedy", "penalty": 1.0, "explore_prob": 0.2},
        "clusters": {"policy": "AdaptiveGreedy", "penalty": 1.0, "smoothing": [1, 10]},
        "letter": {"policy": "EpsilonGreedy", "penalty": 1.0, "explore_prob": 0.2},
        "r52": {"policy": "BootstrappedUCB", "penalty": 0.1, "percentile": 80, "nsamples": 5},
    },
    "contextualbandits_linucb": {
        "digits": {"alpha": 1.0, "lambda_": 1.0},
        "clusters": {"alpha": 1.0, "lambda_": 10.0},
        "letter": {"alpha": 1.0, "lambda_": 10.0},
        "r52": {"alpha": 0.1, "lambda_": 10.0},
        "20newsgroups": {"alpha": 1.0, "lambda_": 10.0},
        "icd-10-cm": {"alpha": 0.3, "lambda_": 10.0},
        "kr-vs-k": {"alpha": 0.3, "lambda_": 10.0},
        "soc-2010": {"alpha": 0.1, "lambda_": 10.0},
        "hs-2022": {"alpha": 0.3, "lambda_": 1.0},
        "texas-housing": {"alpha": 0.1, "lambda_": 1.0},
    },
    "mabwiser_linucb": {
        "digits": {"alpha": 1.0, "l2_lambda": 1.0},
        "clusters": {"alpha": 1.0, "l2_lambda": 1.0},
        "letter": {"alpha": 1.0, "l2_lambda": 1.0},
        "r52": {"alpha": 1.0, "l2_lambda": 10.0},
        "20newsgroups": {"alpha": 1.0, "l2_lambda": 10.0},
        "icd-10-cm": {"alpha": 0.1, "l2_lambda": 10.0},
        "kr-vs-k": {"alpha": 0.3, "l2_lambda": 10.0},
        "soc-2010": {"alpha": 0.1, "l2_lambda": 10.0},
        "hs-2022": {"alpha": 0.3, "l2_lambda": 1.0},
        "texas-housing": {"alpha": 0.1, "l2_lambda": 10.0},
    },
    "mabwiser_lints": {
        "digits": {"alpha": 1.0, "l2_lambda": 1.0},
        "clusters": {"alpha": 0.3, "l2_lambda": 1.0},
        "letter": {"alpha": 1.0, "l2_lambda": 1.0},
        "r52": {"alpha": 0.1, "l2_lambda": 10.0},
    },
    "river_linucb": {
        "digits": {"alpha": 1.0, "beta": 1.0},
        "clusters": {"alpha": 1.0, "beta": 1.0},
        "letter": {"alpha": 1.0, "beta": 1.0},
        "r52": {"alpha": 1.0, "beta": 1.0},
    },
    "river_logistic": {
        "digits": {"epsilon": 0.3, "rate": 0.3, "intercept_rate": 0.01},
        "clusters": {"epsilon": 0.1, "rate": 0.3, "intercept_rate": 0.3},
        "letter": {"epsilon": 0.3, "rate": 0.1, "intercept_rate": 0.1},
        "r52": {"epsilon": 0.3, "rate": 3.0, "intercept_rate": 0.01},
    },
    "supervised": {
        "digits": {"penalty": 0.3},
        "clusters": {"penalty": 3.0},
        "letter": {"penalty": 0.3},
        "r52": {"penalty": 0.003},
    },
}
"""Options by contestant and task.

Of those tried on seeds that are not compared, they have the largest accuracy on held-out rows in
the mean over checkpoints, most of them on one seed and up to 10,000 rounds. On made-up texts all
have those of the news stories, on 300 clusters those of 100, but for the LinUCB that was the best
on texts with as many classes. On the six tasks that only check, the two LinUCBs of
contextualbandits and MABWiser were tuned; the others have those of the news stories on texts, and
those of the letters on endgames and housing.
"""

_TOPICS = ("topics77", "topics150", "topics100")
for _options in TUNED.values():
    _options["clusters300"] = _options["clusters"]
    for _task in ("kr-vs-k", "texas-housing"):
        _options.setdefault(_task, _options["letter"])
    _options.update(dict.fromkeys(_TOPICS, _options["r52"]))
    for _task in ("20newsgroups", "icd-10-cm", "soc-2010", "hs-2022"):
        _options.setdefault(_task, _options["r52"])
for _task in (*_TOPICS, "clusters300"):
    TUNED["contextualbandits_linucb"][_task] = {"alpha": 0.3, "lambda_": 10.0}

CONTESTANTS = {
    OURS: Entry(PolicySieve, dense=True),
    f"{OURS}_sparse": Entry(PolicySieve, only_texts=True),
    "uniform_logistic": Entry(RewardedLogistic, TUNED["uniform_logistic"]),
    "vowpal_epsilon": Entry(VowpalWabbit, TUNED["vowpal_epsilon"]),
    "vowpal_squarecb": Entry(VowpalWabbit, TUNED["vowpal_squarecb"]),
    "vowpal_cover": Entry(VowpalWabbit, TUNED["vowpal_cover"]),
    "contextualbandits_logistic": Entry(
        partial(ContextualBandits, policy="EpsilonGreedy", penalty=1.0),
        TUNED["contextualbandits_logistic"],
    ),
    "contextualbandits_linucb": Entry(
        partial(ContextualBandits, policy="LinUCB"), TUNED["contextualbandits_linucb"], dense=True
    ),
    "mabwiser_linucb": Entry(
        partial(MabWiser, policy="LinUCB"), TUNED["mabwiser_linucb"], dense=True
    ),
    "mabwiser_lints": Entry(partial(MabWiser, policy="LinTS"), TUNED["mabwiser_lints"], dense=True),
    "river_linucb": Entry(RiverLinUcb, TUNED["river_linucb"], dense=True),
    "river_logistic": Entry(RiverLogistic, TUNED["river_logistic"]),
    CEILING: Entry(RewardedLogistic, TUNED[CEILING], is_told=True),
}
"""Everyone by name."""
