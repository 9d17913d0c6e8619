"""What both classifiers share: ask for labels, tell which were right, and how good they are."""

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import validate_data

from policysieve.arrays import plain_array, shown
from policysieve.checks import as_rewards, as_rng, integer, number, refuse_rows
from policysieve.classify.answers import AnsweredRounds, Rows, Say
from policysieve.classify.exploring import LabelCounts, best_labels, draw_labels, inclusion
from policysieve.classify.features import own_errors, refuse_odd, refuse_unknown_names
from policysieve.classify.labels import LabelDecisions, as_labels, places_of
from policysieve.classify.likelihoods import Likelihood
from policysieve.classify.likeness import Likeness
from policysieve.classify.model import (
    Array,
    Block,
    LabelModel,
    check_features,
    few_threads,
)
from policysieve.classify.search import Search
from policysieve.errors import DecisionsError, InvalidArgumentError
from policysieve.evidence import Accuracy, Comparison
from policysieve.exploration import Decisions
from policysieve.exploration.asking import Asking, busy, changing, living
from policysieve.exploration.settled import Part
from policysieve.log import Log

__all__ = ["LabelLearner"]

_GROWTH = 1.05, 1.1  # of the rounds between two fits, cheap ones and others
_STREAM = 4  # of random numbers
_STARTING: Any = threading.RLock()  # no classifier has a lock of its own before its first rows
if hasattr(os, "register_at_fork"):  # a child need not wait for a thread that only its parent has
    os.register_at_fork(after_in_child=_STARTING._at_fork_reinit)


class LabelLearner(Asking, BaseEstimator):
    """A classifier that learns from answers to what it showed.

    Subclasses have the parameters `classes`, `prior_variance`, `mixing` and `random_state`, a
    `_likelihood` and a `_size`, the number of labels shown at once, fixed when it begins.
    """

    _likelihood: Likelihood
    _single: bool  # one label is shown, as an array of shape (n,)
    _size: int

    classes: Any
    prior_variance: float
    mixing: float
    random_state: Any
    classes_: npt.NDArray[Any]

    def ask(self, X: Any) -> LabelDecisions:
        """Decide which labels to show for feature rows, and with which propensities.

        Parameters
        ----------
        X : matrix of shape (n, n_features)
            Dense or sparse, any number of rows.

        Raises
        ------
        InvalidArgumentError
            If X is not like earlier rows; nothing is changed.
        """
        if not self.__sklearn_is_fitted__():
            with self._anew() as then:
                if not self.__sklearn_is_fitted__():  # no other thread was quicker
                    then._start(then._given_classes(), then._rows(X, reset=True))
        rows = self._rows(X)
        smallest = number("mixing", self.mixing, above=0, below=1, closed=True)
        return self._labelled_decisions(self._decide(rows, smallest))

    def tell(self, decisions: LabelDecisions, rewards: Any) -> None:
        """Report which of the labels shown were right.

        Parameters
        ----------
        decisions : LabelDecisions
            A batch that `ask` returned, or a part of one. Each round is told once; rounds are
            learnt from in the order of `ask`, each once all earlier ones are settled.
        rewards : array of the shape of ``decisions.labels``
            1 or True for right, 0 or False for wrong; numbers between count as a share.

        Raises
        ------
        DecisionsError, InvalidArgumentError
            The classifier is then as it was before.
        """
        self._check_decisions(decisions)
        checked = as_rewards(rewards, len(decisions), self._size, None)
        self._tell_checked(decisions.decisions, checked)

    def discard(self, decisions: LabelDecisions) -> None:
        """Give up on answers that will never come.

        Only for reasons that have nothing to do with whether they were right.
        """
        self._check_decisions(decisions)
        self._tell_checked(decisions.decisions, None)

    def open_decisions(self, *, older_than: Any = None) -> LabelDecisions:
        """Labels that wait for their answers, in order; ``.ages`` says for how long.

        Parameters
        ----------
        older_than : seconds or timedelta, optional
            Only those that have waited for at least so long.
        """
        self._check_started()
        waiting = self._open() if older_than is None else self._waiting_for(older_than)
        return self._labelled_decisions(waiting)

    def expire(self, *, older_than: Any) -> LabelDecisions:
        """Settle labels that have waited too long as wrong, and return them.

        Parameters
        ----------
        older_than : seconds or timedelta
            How long a label may wait; 0 settles all.
        """
        self._check_started()
        return self._labelled_decisions(self._expire(older_than))

    def accuracy(
        self, model: Any = None, *, since: int | None = None, delta: float = 0.05
    ) -> Accuracy:
        """How often labels are right, from the answers so far; limits hold at any time.

        Parameters
        ----------
        model : classifier with predict, or labels, optional
            Whose accuracy is asked for: that of any model that was not fitted to the rounds that
            count. For one that changes, the labels that it named in each round before the answer
            was known, in the order of the rounds. By default what this classifier would have said
            in each round when it was asked, averaged over the rounds: it has learnt since.
        since : int, optional
            First round that counts, fixed without looking at the answers. By default the first
            for a model; for this classifier the last power of two that leaves half of the rounds.
        delta : float
            Probability with which the limits fail.

        Notes
        -----
        docs/maths.md, "Accuracy from the log".
        """
        answers, level = self._judging(since, delta)
        say = None if model is None else self._sayer("model", model, answers.rounds)
        return answers.accuracy(say, since=since, delta=level)

    def compare(
        self,
        incumbent: Any,
        model: Any = None,
        *,
        since: int | None = None,
        delta: float = 0.05,
    ) -> Comparison:
        """Is it right more often than another classifier? Limits on the difference, at any time.

        Parameters
        ----------
        incumbent : classifier with predict, or labels
            Any that was not fitted to the rounds that count, such as the one that runs today. For
            one that changes, the labels that it named in each round before the answer was known.
        model : classifier with predict, or labels, optional
            Which one is compared with it, by default this classifier as it was in each round.
        since, delta
            As for `accuracy`: the rounds that count, and the probability with which the limits
            fail.

        Returns
        -------
        Comparison
            Of shares of right labels. If ``lower`` is above 0, it is proved to be better.

        Notes
        -----
        docs/maths.md, "Better than another classifier". The limits hold for one incumbent: of
        several that are named beforehand, each has its part of delta.
        """
        answers, level = self._judging(since, delta)
        say = None if model is None else self._sayer("model", model, answers.rounds)
        other = self._sayer("incumbent", incumbent, answers.rounds)
        first = type(self).__name__ if model is None else _called("model", model)
        second = _called("incumbent", incumbent)
        return answers.compare(first, say, second, other, since=since, delta=level)

    @property
    def log(self) -> Log:
        """The rounds learnt from, actions as places in ``classes_``.

        Contexts are feature rows, or the numbers of the rounds where features are sparse.
        """
        self._check_started()
        answers = self._answers
        if not answers.rounds:
            return Log.empty(contexts=np.empty(0, np.int64), slate_size=self._size)
        rows, log, _ = answers.together()
        contexts = np.arange(len(log)) if hasattr(rows, "tocsr") else rows
        return Log.trusted(contexts, log.actions, log.propensities, log.rewards)

    @property
    def rounds(self) -> int:
        """How many rounds were learnt from."""
        return self._answers.rounds if self.__sklearn_is_fitted__() else 0

    @property
    def pending(self) -> int:
        """How many rounds were asked for and are not settled yet."""
        return self._n_pending() if self.__sklearn_is_fitted__() else 0

    def predict_proba(self, X: Any) -> Array:
        """Probability that each label is right, shape (n, n_classes), as ``classes_`` has them."""
        return self._likelihood.probabilities(self._logits(X))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _start(self, classes: npt.NDArray[Any], rows: Any, labelled: Sequence[Block] = ()) -> None:
        """Begin anew, with labelled rows if there are any."""
        model = LabelModel(
            n_labels=len(classes),
            n_features=rows.shape[1],
            likelihood=self._likelihood,
            prior_variance=number(
                "prior_variance", self.prior_variance, above=0, below=float("inf")
            ),
        ).before(rows)
        number("mixing", self.mixing, above=0, below=1, closed=True)
        rng = as_rng(self.random_state, name="random_state", stream=_STREAM)
        if labelled:
            with few_threads(model.n_weights):
                model = _fitted(model, labelled, self._likeness(labelled, len(classes)))
        self.classes_, self._model, self._rng = classes, model, rng
        self._labelled = [(block[0].copy(), *block[1:]) for block in labelled]
        self._counts = LabelCounts(len(classes))
        for _, labels, answers in labelled:
            self._counts = self._counts.with_answers(labels, answers, np.ones(answers.shape))
        self._answers = AnsweredRounds()
        self._search: Search | None = None
        self._fit_at, self._fitted_rounds = self._next_fit(0), 0
        self._open_ledger()

    def _check_decisions(self, decisions: Any) -> None:
        if not isinstance(decisions, LabelDecisions):
            raise DecisionsError(
                f"decisions must be a batch returned by ask, got {type(decisions).__name__}"
            )
        self._check_started()

    @changing
    def _decide(self, rows: Any, smallest: float) -> Decisions:
        """Draw labels and write them down."""
        rng, size = self._generator(), self._size
        try:
            with few_threads(self._model.n_weights):
                z, spread = self._model.logits(rows), self._model.spreads(rows)
                q = inclusion(
                    z,
                    spread,
                    self._counts,
                    self._likelihood,
                    size=size,
                    smallest=smallest,
                    rng=rng,
                    search=self._search,
                    rows=rows,
                )
            actions = draw_labels(q, size, rng)
            first = self._ledger.issued
            return self._ledger.issue(
                np.arange(first, first + len(actions)),
                actions,
                np.take_along_axis(q, actions.astype(np.intp), axis=1),
                kept=Rows(rows.copy(), best_labels(z, size)),
            )
        except BaseException:
            self._rewind()  # the next ask does if this is interrupted, too
            raise

    def _labelled_decisions(self, issued: Decisions) -> LabelDecisions:
        labels, propensities = self.classes_[issued.actions], issued.propensities
        if self._single:
            labels, propensities = labels[:, 0], propensities[:, 0]
        return LabelDecisions(labels, propensities, issued)

    def _fold(self, part: Part) -> None:
        """Add answered rounds, and fit when it is time."""
        log, rows = part.rounds, part.kept
        counts = self._counts.with_answers(log.actions, log.rewards, log.propensities)
        answers = self._answers.plus(rows, log)
        if answers.rounds >= self._fit_at:
            features, told, _ = answers.together()
            block = (features, told.actions.astype(np.intp), told.rewards)
            blocks = [*self._labelled, block]
            with few_threads(self._model.n_weights):
                likeness = self._likeness(blocks, len(self.classes_))
                model = _fitted(self._model, blocks, likeness)
                fresh = features[self._fitted_rounds :]  # on which nothing was fitted so far
                self._search = self._searched(block, counts, likeness, fresh)
            self._model, self._fit_at = model, self._next_fit(answers.rounds)
            self._fitted_rounds = answers.rounds
        self._answers, self._counts = answers, counts

    def _likeness(self, blocks: Sequence[Block], n_labels: int) -> Likeness | None:
        """What labels look like, if one label is right."""
        return None

    def _searched(
        self, block: Block, counts: LabelCounts, likeness: Likeness | None, fresh: Any
    ) -> Search | None:
        """Where labels that were never right are looked for, if one label is right.

        The model is still that from before the `fresh` rows.
        """
        return None

    def _next_fit(self, rounds: int) -> int:
        """Rounds at which there are a twentieth or a tenth more rows, labelled ones too."""
        labelled = sum(len(shown) for _, shown, _ in self._labelled)
        rows = rounds + labelled
        growth = _GROWTH[0] if self._model.is_cheap(rows) else _GROWTH[1]
        return max(rounds + 1, int(rows * growth) - labelled)

    @contextmanager
    def _anew(self) -> Iterator[Self]:
        """A copy to begin anew with, which takes this one's place if nothing fails."""
        if _STARTING._is_owned() or (self._lock is not None and self._lock._is_owned()):
            raise busy(self)
        with _STARTING, self._lock or nullcontext():
            then = object.__new__(type(self))
            then.__dict__.update(self.__dict__)
            yield then
            self.__dict__.update(then.__dict__)
            living.add(self)

    def _rows(self, X: Any, *, reset: bool = False) -> Any:
        """Checked feature rows, an array or a CSR matrix of floats."""
        with own_errors():
            refuse_unknown_names(X)
            refuse_odd("X", X)
            rows = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=np.float64)
        check_features(rows)
        return rows

    def _logits(self, X: Any) -> Array:
        self._check_started()
        return self._model.logits(self._rows(X))

    def _check_started(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet: it has not been asked "
                "anything; call ask or fit first"
            )

    def _judging(self, since: int | None, delta: float) -> tuple[AnsweredRounds, float]:
        """The rounds that judge, and delta as a float, once the arguments were checked."""
        level = number("delta", delta, above=0, below=1)
        self._check_started()
        answers = self._answers
        if since is not None:
            integer("since", since, low=0, high=answers.rounds)
        return answers, level

    def _sayer(self, name: str, model: Any, rounds: int) -> Say:
        """What a model says at rows, or said in all rounds, of which the last ones count."""
        if model is self:
            raise InvalidArgumentError(
                f"{name} must not be fitted to the rounds that count, and this classifier is; what "
                "it said before each answer is judged where model is left out"
            )
        if hasattr(model, "predict"):
            return lambda rows: self._places(
                name, f"{name}.predict", model.predict(rows), rows.shape[0]
            )
        if model is None or isinstance(model, str):
            raise InvalidArgumentError(
                f"{name} must be a fitted classifier, an object with predict, or the labels that "
                f"it named in each round, got {shown(model)}"
            )
        said = self._places(name, name, model, rounds)
        return lambda rows: said[rounds - rows.shape[0] :]

    def _places(self, name: str, what: str, labels: Any, rounds: int) -> npt.NDArray[np.intp]:
        """Labels as numbers, shape (n, m), those of a round different."""
        said = plain_array(what, labels, "labels")
        shape = (rounds,) if self._single else (rounds, self._size)
        if said.shape != shape:
            raise InvalidArgumentError(
                f"{name} must predict labels of shape {shape}, got {said.shape}"
            )
        found = places_of(said, self.classes_, what).reshape(len(said), -1)
        if self._size > 1:
            ordered = np.sort(found, axis=1)
            refuse_rows(
                (ordered[:, 1:] == ordered[:, :-1]).any(axis=1),
                f"{what} must name different labels in a list",
                lambda row: shown(said[row]),
            )
        return found

    def _given_classes(self) -> npt.NDArray[Any]:
        if self.classes is None:
            raise InvalidArgumentError(
                "classes must name all labels before the first ask, for instance "
                f"{type(self).__name__}(classes=['refund', 'delivery'])"
            )
        return as_labels(self.classes)


def _called(name: str, model: Any) -> str:
    """What a comparison calls a model, or labels that one named."""
    return type(model).__name__ if hasattr(model, "predict") else f"the {name}"


def _fitted(model: LabelModel, blocks: Sequence[Block], likeness: Likeness | None) -> LabelModel:
    if likeness is None:
        return model.fitted(blocks)
    return model.fitted(blocks, likeness.typical, likeness.tightness)
