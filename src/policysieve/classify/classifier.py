"""One label shown, right or wrong back."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from policysieve.arrays import plain_array
from policysieve.classify.exploring import LabelCounts, chances
from policysieve.classify.features import own_errors, refuse_odd, refuse_unknown_names
from policysieve.classify.labels import places_of
from policysieve.classify.learner import LabelLearner
from policysieve.classify.likelihoods import EXCLUSIVE
from policysieve.classify.likeness import Likeness
from policysieve.classify.model import Block, check_features
from policysieve.classify.search import Search
from policysieve.errors import InvalidArgumentError

__all__ = ["BanditClassifier"]

_RECENT = 1000  # of the rows since the last fit, by which it is seen how common labels are


class BanditClassifier(ClassifierMixin, LabelLearner):
    """A classifier that shows one label and learns whether it was right.

    A linear (softmax) model of the right label is fitted to every answer, wrong ones too: a wrong
    guess rules a label out. Labels are shown by the chance that they are the right ones, given how
    much is known about each, with a share of exploration that falls to `mixing`
    (docs/maths.md, "Learning from right and wrong" and "Showing labels").

    Parameters
    ----------
    classes : list of hashable labels, optional
        All labels there are. May be left out if `fit` comes first.
    prior_variance : float
        Of logits before any answer. Features should be of similar scale.
    mixing : float in (0, 1]
        Smallest share of exploration, a fifth of which shows all labels alike.
    random_state : seed, numpy Generator or None
        The same seed and the same calls give the same labels.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        In order if they are all strings or all numbers, else as they were given.
    n_features_in_ : int
    rounds, pending : int
        Rounds learnt from, and rounds that wait for an answer.

    Examples
    --------
    >>> import numpy as np
    >>> from policysieve import BanditClassifier
    >>> clf = BanditClassifier(classes=["no", "yes"], random_state=0)
    >>> rng = np.random.default_rng(0)
    >>> for _ in range(20):
    ...     X = rng.normal(size=(10, 1))
    ...     decisions = clf.ask(X)
    ...     clf.tell(decisions, decisions.labels == np.where(X[:, 0] > 0, "yes", "no"))
    >>> clf.predict([[-1.0], [1.0]]).tolist()
    ['no', 'yes']
    """

    _likelihood = EXCLUSIVE
    _single = True
    _size = 1

    def __init__(
        self,
        classes: Any = None,
        *,
        prior_variance: float = 20.0,
        mixing: float = 0.1,
        random_state: Any = None,
    ) -> None:
        self.classes = classes
        self.prior_variance = prior_variance
        self.mixing = mixing
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Begin anew from rows whose labels are known; `ask` and `tell` go on from there.

        Parameters
        ----------
        X : matrix of shape (n, n_features)
        y : array of shape (n,)
            The right labels, all among `classes` if those were given.

        Raises
        ------
        InvalidArgumentError
            If they do not fit; the classifier is then as it was before.
        """
        with self._anew() as then:
            rows, right = then._labelled_rows(X, y)
            classes = np.unique(right) if self.classes is None else self._given_classes()
            if len(classes) < 2:
                raise InvalidArgumentError(
                    f"y must have labels of 2 or more classes, got one class: {classes.tolist()}"
                )
            shown = places_of(right, classes, "y")[:, None]
            then._start(classes, rows, [(rows, shown, np.ones(shown.shape))])
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable label of each row."""
        best = self._logits(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def _given_classes(self) -> npt.NDArray[Any]:
        """In order where they have one: scorers of scikit-learn take this for granted."""
        classes = super()._given_classes()
        return classes if classes.dtype == object else np.sort(classes)

    def _likeness(self, blocks: Sequence[Block], n_labels: int) -> Likeness | None:
        return Likeness.of(blocks, n_labels)

    def _searched(
        self, block: Block, counts: LabelCounts, likeness: Likeness | None, fresh: Any
    ) -> Search:
        rows, labels, answers = block
        recent = fresh[-_RECENT:]
        z, spread = self._model.logits(recent), self._model.spreads(recent)
        rng = np.random.default_rng(len(labels))  # of its own: what is asked later is as before
        common = chances(z, spread, self._likelihood, rng).mean(axis=0)
        p = self._likelihood.probabilities(z)
        return Search.after(
            rows,
            labels[:, 0],
            answers[:, 0],
            counts.shown,
            counts.right,
            likeness,
            common,
            (p * (1 - p)).mean(axis=0),
        )

    def _labelled_rows(self, X: Any, y: Any) -> tuple[Any, npt.NDArray[Any]]:
        with own_errors():
            refuse_unknown_names(X)
            refuse_odd("X", X)
            plain_array("y", y, "an array of labels")
            rows, right = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
            if self.classes is None:
                check_classification_targets(right)
        check_features(rows)
        return rows, right
