"""Pools of classifiers of different kinds and qualities, to choose among."""

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.arrays import plain_array, real_numbers
from policysieve.checks import as_rng, integer
from policysieve.errors import InvalidArgumentError, MissingExtraError

__all__ = ["SubsetModel", "make_pool"]

_Kind = tuple[str, Callable[[np.random.Generator], Any]]

_KNOW_PROBABILITIES = ("logistic", "kNN", "decision tree", "extra trees", "naive Bayes", "LDA")


class SubsetModel:
    """A fitted classifier that looks at some of the features only.

    Its name tells it from the others of its pool. It has ``predict_proba`` or ``decision_function``
    if the classifier inside has.
    """

    def __init__(
        self, model: Any, columns: npt.NDArray[np.intp], description: str, name: str
    ) -> None:
        self.model = model
        self.columns = columns
        self.description = description
        self.name = name
        self.classes_ = model.classes_

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Most likely class of each row of X."""
        return np.asarray(self.model.predict(X[:, self.columns]))

    def __getattr__(self, name: str) -> Any:
        if name not in ("predict_proba", "decision_function"):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        method = getattr(self.model, name)
        return lambda rows: np.asarray(method(rows[:, self.columns]))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.description})"


class SubsetRanker(SubsetModel):
    """A `SubsetModel` for several labels per row: one classifier for each label."""

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Label with the largest probability for each row of X."""
        return np.asarray(self.classes_[np.argmax(self.predict_proba(X), axis=1)])


def make_pool(
    X: npt.NDArray[Any],
    y: npt.NDArray[Any],
    n: int,
    seed: Any = 0,
    *,
    track: Callable[[Iterable[int]], Iterable[int]] = iter,
) -> list[SubsetModel]:
    """Train n classifiers that differ in kind, training rows and features.

    The same call trains the same classifiers, with exactly the same predictions. They are not kept
    in a file, which would be a pickle, and pickles run code when they are loaded: keep what they
    say, as a `PolicyTable`.

    Parameters
    ----------
    X, y
        Training data: features (rows, features), and whole-number labels (rows,) or for several
        labels per row zeros and ones (rows, labels).
    n : int
        How many classifiers.
    seed : seed or numpy Generator
    track : callable
        Wraps the loop over classifiers, for instance to show progress.

    Returns
    -------
    list of SubsetModel
        With ``predict``, a ``name`` and a one-line ``description``, from poor to good in no order.
        For several labels per row ``predict_proba`` scores every label and ``predict`` names the
        first.
    """
    n = integer("n", n, low=1)
    rng = as_rng(seed, name="seed")
    features, labels = _checked_training_data(X, y)
    kinds = _kinds()
    train_one = _classifier
    if labels.ndim == 2:
        kinds = [kind for kind in kinds if kind[0] in _KNOW_PROBABILITIES]
        train_one = _ranker
    pool = []
    for index in track(range(n)):
        of_kind, kind = divmod(index, len(kinds))
        pool.append(train_one(features, labels, kinds[kind], of_kind + 1, rng))
    return pool


def _checked_training_data(
    X: Any,
    y: Any,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[Any]]:
    numbers = real_numbers(
        "X",
        X,
        "a dense array of numbers (turn texts into features first, for instance by "
        "TfidfVectorizer and TruncatedSVD)",
    )
    features = np.ascontiguousarray(numbers)
    labels = plain_array("y", y, "an array of labels")
    if features.ndim != 2 or labels.shape[:1] != (len(features),) or labels.ndim > 2:
        raise InvalidArgumentError(
            "X and y must have shapes (rows, features) and (rows,) or (rows, labels), got "
            f"{features.shape} and {labels.shape}"
        )
    if not np.isfinite(features).all():
        raise InvalidArgumentError("X must hold finite numbers, got NaN or infinity")
    if labels.dtype.kind not in "biuf":
        raise InvalidArgumentError(
            f"y must hold whole-number labels, got dtype {labels.dtype}; number them by "
            "numpy.unique(y, return_inverse=True)[1]"
        )
    if labels.ndim == 1 and len(np.unique(labels)) < 2:
        raise InvalidArgumentError(f"y must hold at least two classes, got {np.unique(labels)}")
    if labels.ndim == 2 and (labels.shape[1] < 2 or not np.isin(labels, (0, 1)).all()):
        raise InvalidArgumentError(
            "y must hold zeros and ones for at least two labels when it has two dimensions, got "
            f"shape {labels.shape} and values in [{labels.min()}, {labels.max()}]"
        )
    return features, labels


def _classifier(
    features: npt.NDArray[np.float64],
    labels: npt.NDArray[Any],
    kind: _Kind,
    number: int,
    rng: np.random.Generator,
) -> SubsetModel:
    """Fit one classifier on random rows and features."""
    size = _random_size(len(features), len(np.unique(labels)), rng)
    rows = _rows_of_two_classes(labels, rng.permutation(len(features)), size)
    columns = _random_columns(features.shape[1], rng)
    name, make = kind
    model = _fitted(make(rng), features[np.ix_(rows, columns)], labels[rows])
    description = f"{name}, {len(rows)} rows, {len(columns)} features"
    return SubsetModel(model, columns, description, f"{name} {number}")


def _ranker(
    features: npt.NDArray[np.float64],
    labels: npt.NDArray[Any],
    kind: _Kind,
    number: int,
    rng: np.random.Generator,
) -> SubsetModel:
    """Fit one classifier for each label on random rows and features."""
    from sklearn.multiclass import OneVsRestClassifier

    size = _random_size(len(features), labels.shape[1], rng)
    rows = rng.permutation(len(features))[:size]
    columns = _random_columns(features.shape[1], rng)
    name, make = kind
    per_label = OneVsRestClassifier(make(rng))
    model = _fitted(per_label, features[np.ix_(rows, columns)], labels[rows])
    description = f"{name} per label, {len(rows)} rows, {len(columns)} features"
    return SubsetRanker(model, columns, description, f"{name} {number}")


def _fitted(model: Any, features: npt.NDArray[np.float64], labels: npt.NDArray[Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # poor fits are part of a varied pool
        return model.fit(features, labels)


def _random_size(n_rows: int, n_classes: int, rng: np.random.Generator) -> int:
    smallest = min(n_rows, max(10, 2 * n_classes))
    return round(float(np.exp(rng.uniform(np.log(smallest), np.log(n_rows)))))


def _random_columns(n_features: int, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    width = max(1, round(n_features * rng.uniform(0.15, 1.0)))
    return np.sort(rng.permutation(n_features)[:width])


def _rows_of_two_classes(
    labels: npt.NDArray[Any], order: npt.NDArray[np.intp], size: int
) -> npt.NDArray[np.intp]:
    """The first `size` rows in the given order, or more until they hold two classes."""
    while size < len(order) and len(np.unique(labels[order[:size]])) < 2:
        size += 1
    return order[:size]


def _kinds() -> list[_Kind]:
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
