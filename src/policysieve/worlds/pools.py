"""Pools of classifiers of different kinds and qualities, to choose among."""

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.checks import as_rng, integer
from policysieve.errors import InvalidArgumentError, MissingExtraError

__all__ = ["SubsetModel", "make_pool"]


class SubsetModel:
    """A fitted classifier that looks at some of the features only."""

    def __init__(self, model: Any, columns: npt.NDArray[np.intp], description: str) -> None:
        self.model = model
        self.columns = columns
        self.description = description
        self.classes_ = model.classes_

    def predict(self, X: Any) -> npt.NDArray[Any]:  # noqa: N803
        """Most likely class of each row of X."""
        return np.asarray(self.model.predict(X[:, self.columns]))

    def __repr__(self) -> str:
        return f"SubsetModel({self.description})"


def make_pool(
    X: npt.NDArray[Any],  # noqa: N803
    y: npt.NDArray[Any],
    n: int,
    seed: Any = 0,
    *,
    track: Callable[[Iterable[int]], Iterable[int]] = iter,
) -> list[SubsetModel]:
    """Train n classifiers that differ in kind, training rows and features.

    Parameters
    ----------
    X, y
        Training data: features (rows, features) and whole-number labels.
    n : int
        How many classifiers.
    seed : seed or numpy Generator
    track : callable
        Wraps the loop over classifiers, for instance to show progress.

    Returns
    -------
    list of SubsetModel
        With ``predict`` and a one-line ``description``, from poor to good in no order.
    """
    n = integer("n", n, low=1)
    rng = as_rng(seed)
    features, labels = np.asarray(X, dtype=np.float64), np.asarray(y)
    if features.ndim != 2 or labels.shape != (len(features),) or len(features) < 2:
        raise InvalidArgumentError(
            "X and y must have shapes (rows, features) and (rows,), got "
            f"{features.shape} and {labels.shape}"
        )
    kinds = _kinds()
    smallest = min(len(features), max(10, 2 * len(np.unique(labels))))
    pool = []
    for index in track(range(n)):
        name, make = kinds[index % len(kinds)]
        size = round(float(np.exp(rng.uniform(np.log(smallest), np.log(len(features))))))
        rows = _rows_of_two_classes(labels, rng.permutation(len(features)), size)
        width = max(1, round(features.shape[1] * rng.uniform(0.15, 1.0)))
        columns = np.sort(rng.permutation(features.shape[1])[:width])
        model = make(rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # poor fits are part of a varied pool
            model.fit(features[np.ix_(rows, columns)], labels[rows])
        pool.append(SubsetModel(model, columns, f"{name}, {len(rows)} rows, {width} features"))
    return pool


def _rows_of_two_classes(
    labels: npt.NDArray[Any], order: npt.NDArray[np.intp], size: int
) -> npt.NDArray[np.intp]:
    """The first `size` rows in the given order, or more until they hold two classes."""
    while size < len(order) and len(np.unique(labels[order[:size]])) < 2:
        size += 1
    return order[:size]


def _kinds() -> list[tuple[str, Callable[[np.random.Generator], Any]]]:
    try:
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
        from sklearn.ensemble import ExtraTreesClassifier
        from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier
        from sklearn.naive_bayes import GaussianNB
        from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
        from sklearn.tree import DecisionTreeClassifier
    except ImportError as error:
        raise MissingExtraError("make_pool", "scikit-learn", "sklearn") from error

    def state(rng: np.random.Generator) -> int:
        return int(rng.integers(2**31))

    def logistic(rng: np.random.Generator) -> Any:
        strength = float(10 ** rng.uniform(-3, 1))
        return make_pipeline(StandardScaler(), LogisticRegression(C=strength, max_iter=30))

    return [
        ("logistic", logistic),
        ("kNN", lambda rng: KNeighborsClassifier(int(rng.integers(1, 8)))),
        (
            "decision tree",
            lambda rng: DecisionTreeClassifier(
                max_depth=int(rng.integers(2, 12)), random_state=state(rng)
            ),
        ),
        (
            "extra trees",
            lambda rng: ExtraTreesClassifier(
                int(rng.integers(2, 12)),
                max_depth=int(rng.integers(3, 12)),
                random_state=state(rng),
            ),
        ),
        ("naive Bayes", lambda rng: GaussianNB(var_smoothing=float(10 ** rng.uniform(-6, -0.5)))),
        ("ridge", lambda rng: RidgeClassifier(alpha=float(10 ** rng.uniform(-2, 4)))),
        ("nearest centroid", lambda _rng: NearestCentroid()),
        (
            "perceptron",
            lambda rng: Perceptron(
                max_iter=int(rng.integers(1, 6)), tol=None, random_state=state(rng)
            ),
        ),
        (
            "LDA",
            lambda rng: LinearDiscriminantAnalysis(
                solver="lsqr", shrinkage=float(rng.uniform(0.05, 0.95))
            ),
        ),
    ]
