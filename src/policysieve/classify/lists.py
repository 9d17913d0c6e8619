"""A list of labels shown, which of them were right back."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_array, check_consistent_length

from policysieve.checks import integer
from policysieve.classify.exploring import best_labels
from policysieve.classify.features import refuse_odd
from policysieve.classify.learner import LabelLearner
from policysieve.classify.likelihoods import INDEPENDENT
from policysieve.classify.model import Block
from policysieve.errors import InvalidArgumentError

__all__ = ["BanditListClassifier"]


class BanditListClassifier(LabelLearner):
    """A classifier that shows a list of labels and learns which of them were right.

    Any number of labels may be right for a row, each with its own probability, a linear (logistic)
    model; answers tell about the labels shown. Labels are shown by the chance that they are among
    the best, with a share of exploration that falls to `mixing`
    (docs/maths.md, "Learning from right and wrong" and "Showing labels").

    Parameters
    ----------
    classes : list of hashable labels
        All labels there are.
    list_size : int
        How many different labels are shown at once.
    prior_variance, mixing, random_state
        As for `BanditClassifier`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        As they were given: columns of Y are in this order.
    n_features_in_ : int
    rounds, pending : int
        Rounds learnt from, and rounds that wait for an answer.

    Examples
    --------
    >>> from policysieve import BanditListClassifier
    >>> clf = BanditListClassifier(classes=["a", "b", "c"], list_size=2, random_state=0)
    >>> decisions = clf.ask([[0.5, 1.0], [0.1, 2.0]])
    >>> decisions.labels.shape, decisions.propensities.shape
    ((2, 2), (2, 2))
    >>> clf.tell(decisions, [[1, 0], [0, 0]])
    >>> clf.rounds
    2
    """

    _likelihood = INDEPENDENT
    _single = False

    def __init__(
        self,
        classes: Any = None,
        *,
        list_size: int = 2,
        prior_variance: float = 20.0,
        mixing: float = 0.1,
        random_state: Any = None,
    ) -> None:
        self.classes = classes
        self.list_size = list_size
        self.prior_variance = prior_variance
        self.mixing = mixing
        self.random_state = random_state

    def fit(self, X: Any, Y: Any) -> Self:
        """Begin anew from rows all of whose labels are known; `ask` and `tell` go on from there.

        Parameters
        ----------
        X : matrix of shape (n, n_features)
        Y : array of shape (n, n_classes)
            1 where a label is right, 0 where it is not.

        Raises
        ------
        InvalidArgumentError
            If they do not fit; the classifier is then as it was before.
        """
        with self._anew() as then:
            rows, classes = then._rows(X, reset=True), self._given_classes()
            right = _indicators(Y, rows, len(classes))
            shown = np.tile(np.arange(len(classes)), (len(right), 1))
            then._start(classes, rows, [(rows, shown, right)])
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable labels of each row, best first, shape (n, list_size)."""
        z = self._logits(X)
        return np.asarray(self.classes_[best_labels(z, self._size)])

    def score(self, X: Any, Y: Any) -> float:
        """Share of the predicted labels that are right; Y as for `fit`."""
        z = self._logits(X)
        said = best_labels(z, self._size)
        right = _indicators(Y, X, len(self.classes_))
        return float(np.take_along_axis(right, said, axis=1).mean())

    def _start(self, classes: npt.NDArray[Any], rows: Any, labelled: Sequence[Block] = ()) -> None:
        self._size = integer("list_size", self.list_size, low=1, high=len(classes))
        super()._start(classes, rows, labelled)


def _indicators(Y: Any, rows: Any, n_labels: int) -> npt.NDArray[np.float64]:
    """Which labels are right, shape (n, n_labels)."""
    refuse_odd("Y", Y)
    try:
        right = check_array(Y, dtype=np.float64)
        check_consistent_length(rows, right)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidArgumentError(
            f"Y must hold 0 and 1 for each of the {n_labels} classes ({error})"
        ) from error
    if right.shape[1] != n_labels or not np.isin(right, (0, 1)).all():
        raise InvalidArgumentError(
            f"Y must hold 0 and 1 for each of the {n_labels} classes, got shape {right.shape} with "
            f"values from {right.min():g} to {right.max():g}"
        )
    return np.asarray(right)
