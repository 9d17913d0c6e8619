"""The tasks of the comparison of list classifiers: made-up texts with several tags each."""

from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from policysieve.bench.classify.tasks import ClassifyTask
from policysieve.bench.texts import reduced_rows

__all__ = ["LIST_TASKS", "TaggedRows"]

_TRAINING_ROWS, _TEST_ROWS, _FEATURES = 8_000, 1_500, 50
_VOCABULARY, _WORDS, _LEAST_WORDS, _NOISE = 800, 20, 8, 0.25
_FRIENDS, _TOGETHER = 4, 0.5  # tags of a group, and how often the next tag is of the same

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.intp]


class TaggedRows(NamedTuple):
    """Training rows to draw rounds from, rows held out, and which tags are right there.

    Attributes
    ----------
    X_train, X_test : array of shape (rows, n_features)
    Y_train, Y_test : array of shape (rows, n_labels)
        1 where a tag is right, else 0.
    list_size : int
    """

    X_train: Array
    Y_train: Array
    X_test: Array
    Y_test: Array
    list_size: int

    @property
    def sizes(self) -> tuple[int, ...]:
        """Contestants are made for a number of labels and a size of lists."""
        return self.Y_train.shape[1], self.list_size

    def told(self, drawn: Labels) -> Labels:
        """All labels, whatever the rows."""
        return np.tile(np.arange(self.Y_train.shape[1]), (len(drawn), 1))

    def rewards(self, drawn: Labels, shown: Labels) -> Array:
        """1 where labels shown at training rows are right, else 0."""
        return np.take_along_axis(self.Y_train[drawn], shown, axis=1)

    def accuracy(self, said: Labels) -> float:
        """Share of right labels in the lists said of the rows held out."""
        return float(np.take_along_axis(self.Y_test, said, axis=1).mean())


def made_up_tags(
    seed: int, dense: bool, *, n_labels: int, tags_drawn: float, skew: float, list_size: int
) -> TaggedRows:
    """Made-up texts as of articles with tags, in 50 dimensions.

    A row has one tag and a Poisson number of others; if one is drawn again, it has fewer. Tags are
    drawn in proportion to rank**-skew, and half of the others from the four of the group of the
    first one, so that they go together. Three quarters of
    the words are of the row's tags, each with its own words, the others of any text. Rows say which
    words there are, weighted by how rare they are.
    """
    rng = np.random.default_rng(seed)
    n_rows = _TRAINING_ROWS + _TEST_ROWS
    background = rng.dirichlet(np.full(_VOCABULARY, 0.3))
    words_of = rng.dirichlet(np.full(_VOCABULARY, 0.02), size=n_labels)
    shares = rng.permutation(np.arange(1, n_labels + 1) ** -skew)
    shares /= shares.sum()
    groups = rng.permutation(n_labels) // _FRIENDS
    right = np.zeros((n_rows, n_labels))
    first = rng.choice(n_labels, size=n_rows, p=shares)
    right[np.arange(n_rows), first] = 1
    others = rng.poisson(tags_drawn - 1, size=n_rows)
    for row in range(n_rows):
        friends = shares * (groups == groups[first[row]])
        together = rng.binomial(others[row], _TOGETHER)
        for chances, count in (
            (friends / friends.sum(), together),
            (shares, others[row] - together),
        ):
            right[row, rng.choice(n_labels, size=count, p=chances)] = 1
    mixtures = (1 - _NOISE) * (right @ words_of) / right.sum(axis=1, keepdims=True)
    ends = np.cumsum(mixtures + _NOISE * background, axis=1)
    lengths = _LEAST_WORDS + rng.poisson(_WORDS - _LEAST_WORDS, size=n_rows)
    counts = np.zeros((n_rows, _VOCABULARY))
    for row in range(n_rows):
        drawn = np.searchsorted(ends[row], rng.random(lengths[row]) * ends[row, -1])
        counts[row, np.minimum(drawn, _VOCABULARY - 1)] = 1
    known = counts[:_TRAINING_ROWS].sum(axis=0)
    weighted = counts * np.log((1 + _TRAINING_ROWS) / (1 + known))
    weighted /= np.maximum(np.linalg.norm(weighted, axis=1, keepdims=True), 1e-12)
    rows = reduced_rows(weighted, _TRAINING_ROWS, _FEATURES)
    rows *= np.sqrt(_FEATURES) / np.linalg.norm(rows[:_TRAINING_ROWS], axis=1).mean()
    train, test = slice(None, _TRAINING_ROWS), slice(_TRAINING_ROWS, None)
    return TaggedRows(rows[train], right[train], rows[test], right[test], list_size)


def _task(name: str, summary: str, **made: float) -> ClassifyTask:
    return ClassifyTask(name, summary, partial(made_up_tags, **made))  # type: ignore[arg-type]


LIST_TASKS = {
    "tags40": _task(
        "tags40",
        "40 tags, all equally common, 3 per text, lists of 5",
        n_labels=40,
        tags_drawn=3.5,
        skew=0.0,
        list_size=5,
    ),
    "tags100": _task(
        "tags100",
        "100 tags, a few of them common, 2.4 per text, lists of 3",
        n_labels=100,
        tags_drawn=3.2,
        skew=1.0,
        list_size=3,
    ),
    "tags160": _task(
        "tags160",
        "160 tags, some of them common, 2.4 per text, lists of 5",
        n_labels=160,
        tags_drawn=3.0,
        skew=0.6,
        list_size=5,
    ),
}
"""Every task by its name."""
