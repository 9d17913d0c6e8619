"""What a bandit classifier lacks: labels that it has not found, right answers, or a better model.

Its guesses are followed, and a logistic regression is fitted to what they revealed and to more.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.bench.classify.contestants import Entry
from policysieve.bench.classify.measuring import drawn_rows
from policysieve.bench.classify.tasks import SplitRows

__all__ = ["PARTS", "follow", "means"]

PARTS = ("found", "covered", "exploring", "right", "accuracy", "refitted", "known", "told")
"""What is counted, all of them shares.

``found`` of the classes were guessed right at least once; ``covered`` of the rows held out are of
these. ``exploring`` of the rounds showed another label than `predict` would have said then.
``right`` of the guesses were. The others are accuracies on the rows held out: ``accuracy`` of the
contestant, and those of scikit-learn's logistic regression on the rounds whose guess was right
(``refitted``), on those whose class had been found by the end, with their true labels (``known``),
and on all of them (``told``). So ``told - known`` is what classes that were not found cost,
``known - refitted`` what it costs that right answers are few, and ``refitted - accuracy`` what the
model costs.
"""

Labels = npt.NDArray[np.intp]


def follow(
    entry: Entry,
    rows: SplitRows,
    seed: int,
    *,
    stops: Sequence[int],
    batch: int,
    options: Mapping[str, Any],
) -> list[dict[str, float]]:
    """Play as in the comparison, and take the accuracy apart after each number of rounds.

    Only for contestants whose `predict` changes nothing, because it is called before every batch.
    """
    draws = drawn_rows(rows, seed, stops[-1])
    y = rows.y_train[draws]
    contestant = entry.make(*rows.sizes, seed, **options)
    shown = np.empty(len(draws), dtype=np.intp)
    explored = np.ones(len(draws), dtype=np.bool_)  # in the first batch there is no best label yet
    found, done = [], 0
    for stop in stops:
        while done < stop:
            now = slice(done, min(stop, done + batch))
            X = rows.X_train[draws[now]]
            best = contestant.predict(X) if done else None
            shown[now] = contestant.decide(X)
            if best is not None:
                explored[now] = shown[now] != best
            contestant.learn(X, shown[now], rows.rewards(draws[now], shown[now]))
            done = now.stop
        accuracy = rows.accuracy(contestant.predict(rows.X_test))
        so_far = draws[:stop], shown[:stop], explored[:stop]
        found.append(_parts(rows, *so_far, y[:stop], accuracy))
    return found


def means(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The mean of each part over runs."""
    return {part: float(np.mean([run[part] for run in runs])) for part in PARTS}


def _parts(
    rows: SplitRows,
    draws: Labels,
    shown: Labels,
    explored: npt.NDArray[np.bool_],
    y: Labels,
    accuracy: float,
) -> dict[str, float]:
    right = shown == y
    classes = np.unique(y[right])

    def fitted(to: npt.NDArray[np.bool_]) -> float:
        return _fitted(rows, draws[to], y[to])

    return {
        "found": len(classes) / rows.n_classes,
        "covered": float(np.isin(rows.y_test, classes).mean()),
        "exploring": float(explored.mean()),
        "right": float(right.mean()),
        "accuracy": accuracy,
        "refitted": fitted(right),
        "known": fitted(np.isin(y, classes)),
        "told": fitted(np.ones(len(y), dtype=np.bool_)),
    }


def _fitted(rows: SplitRows, draws: Labels, y: Labels) -> float:
    """Accuracy of a logistic regression on these training rows."""
    from sklearn.linear_model import LogisticRegression

    if len(np.unique(y)) < 2:
        return rows.accuracy(np.full(len(rows.y_test), y[0] if len(y) else -1))
    model = LogisticRegression(max_iter=300).fit(rows.X_train[draws], y)
    return rows.accuracy(model.predict(rows.X_test))
