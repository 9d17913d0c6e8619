"""The tasks of the comparison of bandit classifiers: rows to play, rows held out, and labels."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from policysieve.bench.texts import reduced_rows, word_rows
from policysieve.worlds import load_dataset

__all__ = ["CLASSIFY_TASKS", "ClassifyTask", "PlayedRows", "Rows", "SplitRows"]

_CLUSTER_FEATURES, _CLUSTER_NOISE = 20, 0.8
_CLUSTER_TRAINING_ROWS, _CLUSTER_TEST_ROWS = 20_000, 3_000
_TRAINING_ROWS = {
    "digits": 1_197,
    "letter": 15_000,
    "r52": 6_532,
    "20newsgroups": 15_000,
    "kr-vs-k": 22_000,
    "icd-10-cm": 28_000,
    "soc-2010": 23_000,
    "hs-2022": 5_000,
    "texas-housing": 5_700,
}
_TEXT_FEATURES = {  # of the dense representation
    "r52": 200,
    "20newsgroups": 200,
    "icd-10-cm": 100,
    "soc-2010": 100,
    "hs-2022": 200,
}
_TOPIC_TRAINING_ROWS, _TOPIC_TEST_ROWS, _TOPIC_FEATURES = 12_000, 2_500, 100
_VOCABULARY, _WORDS, _LEAST_WORDS, _NOISE = 1_500, 12, 3, 0.2

Rows = Any  # a dense array or a sparse matrix of shape (n, n_features)
Labels = npt.NDArray[np.intp]


class PlayedRows(Protocol):
    """Training rows to draw rounds from, rows held out, and what is right there."""

    @property
    def X_train(self) -> Rows:  # noqa: N802
        """Matrix of shape (rows, n_features)."""

    @property
    def X_test(self) -> Rows:  # noqa: N802
        """The same of the rows held out."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """What a contestant is made for, before its seed."""

    def told(self, drawn: Labels) -> Labels:
        """Labels that are shown for training rows to whoever is told what is right."""

    def rewards(self, drawn: Labels, shown: Labels) -> npt.NDArray[np.float64]:
        """1 where labels shown at training rows are right, else 0."""

    def accuracy(self, said: Labels) -> float:
        """Share of right labels among those said of the rows held out."""


class SplitRows(NamedTuple):
    """Training rows to draw rounds from, rows held out, and their labels from 0.

    Attributes
    ----------
    X_train, X_test : array or sparse matrix of shape (rows, n_features)
    y_train, y_test : integer array of shape (rows,)
    n_classes : int
    """

    X_train: Rows
    y_train: Labels
    X_test: Rows
    y_test: Labels
    n_classes: int

    @property
    def sizes(self) -> tuple[int, ...]:
        """Contestants are made for a number of classes."""
        return (self.n_classes,)

    def told(self, drawn: Labels) -> Labels:
        """The right labels of training rows."""
        return self.y_train[drawn]

    def rewards(self, drawn: Labels, shown: Labels) -> npt.NDArray[np.float64]:
        """1 where labels shown at training rows are right, else 0."""
        return np.asarray(shown == self.y_train[drawn], dtype=np.float64)

    def accuracy(self, said: Labels) -> float:
        """Share of the rows held out whose label was said."""
        return float(np.mean(said == self.y_test))


@dataclass(frozen=True)
class ClassifyTask:
    """Labelled rows to learn from by guessing.

    Attributes
    ----------
    name, summary : str
    build : callable
        From a seed, and whether rows have to be dense, to the rows. Each seed has another split,
        and made-up rows are new.
    has_texts : bool
        Whether rows are sparse if they need not be dense.
    """

    name: str
    summary: str
    build: Callable[[int, bool], PlayedRows]
    has_texts: bool = False


def _clusters(seed: int, dense: bool, *, n_classes: int = 100) -> SplitRows:
    """Clusters of normal noise around normal centres, features scaled to variance one."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((n_classes, _CLUSTER_FEATURES))
    n_rows = _CLUSTER_TRAINING_ROWS + _CLUSTER_TEST_ROWS
    labels = rng.permutation(np.arange(n_rows) % n_classes)
    rows = centres[labels] + _CLUSTER_NOISE * rng.standard_normal((n_rows, _CLUSTER_FEATURES))
    return _split(_standard(rows, _CLUSTER_TRAINING_ROWS), labels, _CLUSTER_TRAINING_ROWS)


def _digits(seed: int, dense: bool) -> SplitRows:
    """Grey levels from 0 to 1."""
    data, order = _shuffled("digits", seed)
    return _split(data.X[order] / 16, data.y[order], _TRAINING_ROWS["digits"])


def _scaled(seed: int, dense: bool, *, name: str) -> SplitRows:
    """Features scaled to variance one."""
    data, order = _shuffled(name, seed)
    n_train = _TRAINING_ROWS[name]
    return _split(_standard(data.X[order], n_train), data.y[order], n_train)


def _texts(seed: int, dense: bool, *, name: str) -> SplitRows:
    """Weighted word counts, fitted on the training rows; dense ones in 100 or 200 dimensions."""
    data, order = _shuffled(name, seed)
    texts, n_train = data.X[order], _TRAINING_ROWS[name]
    return _text_rows(texts, data.y[order], n_train, _TEXT_FEATURES[name] if dense else None)


def _topics(seed: int, dense: bool, *, n_classes: int, skew: float = 0.0) -> SplitRows:
    """Made-up short texts, as of customers with one of many wishes; dense in 100 dimensions.

    A fifth of the words is of any text, the others are of the topics of its class, a random
    mixture of two of as many topics as there are classes. Classes have equal shares, or shares in
    proportion to rank**-skew, and then their numbers are in random order: who breaks ties by number
    would try the largest first.
    """
    rng = np.random.default_rng(seed)
    background = rng.dirichlet(np.full(_VOCABULARY, 0.3))
    topics = rng.dirichlet(np.full(_VOCABULARY, 0.02), size=n_classes)
    n_rows = _TOPIC_TRAINING_ROWS + _TOPIC_TEST_ROWS
    chances = np.arange(1, n_classes + 1) ** -skew
    counts = np.floor(np.cumsum(chances) / chances.sum() * n_rows + 0.5)
    labels = rng.permutation(np.searchsorted(counts, np.arange(n_rows), side="right"))
    mixtures = np.empty((n_classes, _VOCABULARY))
    for label in range(n_classes):
        pair, share = rng.choice(n_classes, size=2, replace=False), rng.random()
        mixtures[label] = share * topics[pair[0]] + (1 - share) * topics[pair[1]]
    ends = np.cumsum((1 - _NOISE) * mixtures + _NOISE * background, axis=1)
    lengths = _LEAST_WORDS + rng.poisson(_WORDS - _LEAST_WORDS, size=n_rows)
    texts = np.empty(n_rows, dtype=object)
    for i, (label, length) in enumerate(zip(labels, lengths, strict=True)):
        words = np.searchsorted(ends[label], rng.random(length) * ends[label, -1], side="right")
        texts[i] = " ".join(f"word{word}" for word in words)
    if skew:
        labels = rng.permutation(n_classes)[labels]
    return _text_rows(texts, labels, _TOPIC_TRAINING_ROWS, _TOPIC_FEATURES if dense else None)


def _text_rows(
    texts: npt.NDArray[Any], labels: npt.NDArray[Any], n_train: int, n_features: int | None
) -> SplitRows:
    """Weighted word counts, or so many dense features of them."""
    rows = word_rows(texts, n_train)
    if n_features is not None:
        size = min(n_features, rows.shape[1] - 1)
        rows = reduced_rows(rows, n_train, size)
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        rows *= np.sqrt(size)  # variance one on average, like the features of others
    return _split(rows, labels, n_train)


def _shuffled(name: str, seed: int) -> tuple[Any, npt.NDArray[np.intp]]:
    data = load_dataset(name)
    return data, np.random.default_rng(seed).permutation(data.n_rows)


def _standard(rows: npt.NDArray[np.float64], n_train: int) -> npt.NDArray[np.float64]:
    """Mean zero and variance one in the training rows."""
    train = rows[:n_train]
    scaled: npt.NDArray[np.float64] = (rows - train.mean(axis=0)) / train.std(axis=0)
    return scaled


def _split(rows: Rows, labels: npt.NDArray[Any], n_train: int) -> SplitRows:
    labels = labels.astype(np.intp)
    return SplitRows(
        rows[:n_train], labels[:n_train], rows[n_train:], labels[n_train:], int(labels.max()) + 1
    )


CLASSIFY_TASKS = {
    "digits": ClassifyTask("digits", "handwritten digits, 10 classes", _digits),
    "clusters": ClassifyTask("clusters", "Gaussian clusters, 100 classes", _clusters),
    "clusters300": ClassifyTask(
        "clusters300", "Gaussian clusters, 300 classes", partial(_clusters, n_classes=300)
    ),
    "letter": ClassifyTask(
        "letter", "letters in many fonts, 26 classes", partial(_scaled, name="letter")
    ),
    "kr-vs-k": ClassifyTask(
        "kr-vs-k", "chess endgames, 18 classes", partial(_scaled, name="kr-vs-k")
    ),
    "texas-housing": ClassifyTask(
        "texas-housing",
        "housing markets, 46 places of Texas",
        partial(_scaled, name="texas-housing"),
    ),
    "r52": ClassifyTask(
        "r52", "news stories, 52 subjects", partial(_texts, name="r52"), has_texts=True
    ),
    "20newsgroups": ClassifyTask(
        "20newsgroups",
        "messages to 20 newsgroups",
        partial(_texts, name="20newsgroups"),
        has_texts=True,
    ),
    "icd-10-cm": ClassifyTask(
        "icd-10-cm",
        "diagnoses, 214 sections of a catalogue",
        partial(_texts, name="icd-10-cm"),
        has_texts=True,
    ),
    "soc-2010": ClassifyTask(
        "soc-2010",
        "job titles, 90 groups of occupations",
        partial(_texts, name="soc-2010"),
        has_texts=True,
    ),
    "hs-2022": ClassifyTask(
        "hs-2022",
        "goods, 70 chapters of a tariff",
        partial(_texts, name="hs-2022"),
        has_texts=True,
    ),
    "topics77": ClassifyTask(
        "topics77",
        "made-up texts, 77 classes of equal size",
        partial(_topics, n_classes=77),
        has_texts=True,
    ),
    "topics150": ClassifyTask(
        "topics150",
        "made-up texts, 150 classes of equal size",
        partial(_topics, n_classes=150),
        has_texts=True,
    ),
    "topics100": ClassifyTask(
        "topics100",
        "made-up texts, 100 classes of very different sizes",
        partial(_topics, n_classes=100, skew=1.0),
        has_texts=True,
    ),
}
"""Every task by its name."""
