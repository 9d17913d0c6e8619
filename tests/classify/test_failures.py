"""Both classifiers when something goes wrong: a clear error, and all is as it was."""

import copy
import threading
import time

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import policysieve as ps
from policysieve.classify import learner
from policysieve.classify.answers import AnsweredRounds
from policysieve.classify.exploring import LabelCounts
from policysieve.classify.model import LabelModel
from tests.classify.learners import NEW, assert_same, make, started, task


def test_nothing_is_known_before_the_first_ask(size):
    clf = make(size)
    assert (clf.rounds, clf.pending) == (0, 0)
    decisions = started(size).ask(NEW[size])
    calls = [
        lambda: clf.predict(NEW[size]),
        lambda: clf.predict_proba(NEW[size]),
        lambda: clf.score(NEW[size], task(size, 40)[1]),
        lambda: clf.accuracy(),
        lambda: clf.compare(clf),
        lambda: clf.log,
        lambda: clf.tell(decisions, np.zeros(decisions.labels.shape)),
        lambda: clf.discard(decisions),
    ]
    for call in calls:
        with pytest.raises(NotFittedError, match="call ask or fit first"):
            call()


@pytest.mark.parametrize(
    "fail",
    [
        lambda clf, d, r: clf.tell(d, np.where(np.arange(r.size).reshape(r.shape) == 3, np.nan, r)),
        lambda clf, d, r: clf.tell(d, r[:-1]),
        lambda clf, d, r: clf.tell(d, np.column_stack([r, r])),
        lambda clf, d, r: clf.tell(d, r + 1.5),
        lambda clf, d, r: clf.tell(d, r - 0.5),
        lambda clf, d, r: clf.tell(d, ["right"] * len(r)),
        lambda clf, d, r: clf.tell(d, None),
        lambda clf, d, r: clf.tell(d.decisions, r),
        lambda clf, d, r: clf.tell(d.labels, r),
        lambda clf, d, r: clf.tell(clone(clf).ask(np.ones((len(d), clf.n_features_in_))), r),
        lambda clf, d, r: clf.tell(d[[0, 1, 0]], r[[0, 1, 0]]),
        lambda clf, d, r: clf.discard(d.decisions),
        lambda clf, d, r: clf.ask(np.full((2, clf.n_features_in_), np.nan)),
        lambda clf, d, r: clf.ask(np.ones((2, clf.n_features_in_ + 1))),
        lambda clf, d, r: clf.fit(np.ones((2, 1)), [np.nan, 1]),
        lambda clf, d, r: clf.accuracy(delta=0),
        lambda clf, d, r: clf.accuracy(since=-1),
        lambda clf, d, r: clf.accuracy(since=121),
        lambda clf, d, r: clf.compare(None),
    ],
    ids=[
        *("nan", "short", "wide", "above", "below", "words", "none", "inner", "labels"),
        *("foreign", "twice", "discard", "nan rows", "features", "fit", "delta", "since", "later"),
        "no incumbent",
    ],
)
def test_what_fails_changes_nothing(size, fail):
    clf, twin = started(size), started(size)
    decisions, same = clf.ask(NEW[size]), twin.ask(NEW[size])
    rewards = np.zeros(decisions.labels.shape)
    with pytest.raises((ps.InvalidArgumentError, ps.DecisionsError)):
        fail(clf, decisions, rewards)
    assert clf.pending == 40
    clf.tell(decisions, rewards)
    twin.tell(same, rewards)
    assert_same(clf, twin, size)


def test_rounds_are_told_once(size):
    clf, twin = started(size), started(size)
    for one in (clf, twin):
        decisions = one.ask(NEW[size])
        part = decisions[10:30]
        one.tell(part, np.zeros(part.labels.shape))
        if one is clf:
            for again in (part, decisions, decisions[29:31]):
                with pytest.raises(ps.DecisionsError, match="told or given up before"):
                    clf.tell(again, np.ones(again.labels.shape))
                with pytest.raises(ps.DecisionsError, match="told or given up before"):
                    clf.discard(again)
        one.tell(decisions[:10], np.ones((10, size)))
        one.discard(decisions[30:])
    assert_same(clf, twin, size)


@pytest.mark.parametrize("kind", [MemoryError, KeyboardInterrupt])
@pytest.mark.parametrize(
    ("owner", "step"),
    [(LabelModel, "fitted"), (LabelCounts, "with_answers"), (AnsweredRounds, "plus")],
    ids=["fit", "count", "add"],
)
def test_what_fails_while_learning_can_be_told_again(size, owner, step, kind, monkeypatch):
    clf, twin = started(size), started(size)
    decisions, same = clf.ask(NEW[size]), twin.ask(NEW[size])
    rewards = np.ones(decisions.labels.shape)

    def fail(*given):
        raise kind

    with monkeypatch.context() as patch:
        patch.setattr(owner, step, fail)
        with pytest.raises(kind):
            clf.tell(decisions, rewards)
        assert (clf.rounds, clf.pending) == (120, 40)
    clf.tell(decisions, rewards)
    twin.tell(same, rewards)
    assert_same(clf, twin, size)


def test_an_ask_that_fails_leaves_no_rounds_to_wait_for(size, monkeypatch):
    clf = started(size)

    def fail(*given):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(learner, "best_labels", fail)
        with pytest.raises(MemoryError):
            clf.ask(NEW[size])
    assert (clf.rounds, clf.pending) == (120, 0)
    decisions = clf.ask(NEW[size])
    clf.tell(decisions, np.ones(decisions.labels.shape))
    assert (clf.rounds, clf.pending) == (160, 0)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.empty((0, 2)), "0 sample"),
        (np.ones(2), "Expected 2D array"),
        (np.ones((2, 2, 2)), "dim 3"),
        (np.empty((3, 0)), "0 feature"),
        ([[1.0, np.nan]], "contains NaN"),
        ([[1.0, np.inf]], "contains infinity"),
        ([["red", "green"]], "must be a matrix of numbers, got <U"),
        ([[1.0, 2.0], [1.0]], "got ragged rows"),
        (sparse.csr_array([[1.0, np.nan]]), "contains NaN"),
    ],
)
def test_rows_that_are_refused_leave_it_unasked(size, X, message):
    clf = make(size)
    before = dict(clf.__dict__)
    with pytest.raises(ps.InvalidArgumentError, match=message):
        clf.ask(X)
    assert clf.__dict__ == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mixing": 0}, "mixing must be .*0 < mixing <= 1, got 0"),
        ({"mixing": 1.1}, "mixing must be .*got 1.1"),
        ({"mixing": np.nan}, "mixing must be .*got nan"),
        ({"mixing": "much"}, "mixing must be .*got 'much'"),
        ({"prior_variance": 0}, "prior_variance must be .*got 0"),
        ({"prior_variance": np.inf}, "prior_variance must be .*got inf"),
        ({"prior_variance": None}, "prior_variance must be .*got None"),
        ({"classes": None}, "classes must name all labels before the first ask"),
        ({"classes": "abc"}, "classes must be a list of labels"),
        ({"classes": ["a", "a", "b"]}, "classes must be 2 or more different labels"),
        ({"random_state": -1}, "random_state must be a whole number"),
    ],
    ids=str,
)
def test_parameters_out_of_range_are_named_when_it_begins(size, options, message):
    clf = make(size, **options)
    before = dict(clf.__dict__)
    with pytest.raises(ps.InvalidArgumentError, match=message):
        clf.ask(NEW[size])
    assert clf.__dict__ == before


def test_mixing_can_be_changed_on_the_way(size):
    clf = started(size, 400)
    clf.set_params(mixing=2.0)
    with pytest.raises(ps.InvalidArgumentError, match="mixing must be"):
        clf.ask(NEW[size])
    clf.set_params(mixing=1.0)
    shown = clf.ask(np.ones((3, clf.n_features_in_))).propensities.max()
    assert shown < (0.75 if size == 1 else 1)
    assert clf.pending == 3


def test_a_copy_is_another_learner(size):
    clf = started(size)
    twin = copy.deepcopy(clf)
    clf.ask(NEW[size][:1])
    twin.ask(NEW[size])
    clf.ask(NEW[size])
    theirs = twin.ask(NEW[size])
    with pytest.raises(ps.DecisionsError, match="not issued by this learner"):
        clf.tell(theirs, np.ones(theirs.labels.shape))


@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_features_that_would_overflow_are_refused(size, as_rows):
    new, old = make(size), started(size)
    huge = as_rows(np.where(np.arange(NEW[size].size).reshape(NEW[size].shape), NEW[size], -1e200))
    for clf, call in ((new, new.ask), (old, old.ask), (old, old.predict)):
        before = dict(clf.__dict__)
        with pytest.raises(ps.InvalidArgumentError, match=r"X must hold numbers up to .* 1e\+200"):
            call(huge)
        assert clf.__dict__ == before


def test_labelled_rows_that_would_overflow_are_refused(size):
    X, labels = np.full((4, 3), 1e200), np.arange(4) % len(make(size).classes)
    clf = make(size)
    y = np.array(clf.classes)[labels] if size == 1 else np.eye(len(clf.classes))[labels]
    with pytest.raises(ps.InvalidArgumentError, match="X must hold numbers up to"):
        clf.fit(X, y)


def test_a_fit_that_fails_takes_nothing_from_other_threads(size):
    """While one thread tries to fit what does not fit, another asks and tells."""
    clf = started(size)
    rows, over = NEW[size], threading.Event()
    few = np.zeros(3) if size == 1 else np.zeros((3, 4))

    def misfit():
        while not over.is_set():
            with pytest.raises(ValueError, match=r"inconsistent|labels|shape"):
                clf.fit(rows, few)
            time.sleep(1e-3)  # locks are not fair

    thread = threading.Thread(target=misfit)
    thread.start()
    try:
        for k in range(30):
            decisions = clf.ask(rows[:2])
            clf.tell(decisions, np.ones(decisions.labels.shape))
            assert (clf.rounds, clf.pending) == (122 + 2 * k, 0)
    finally:
        over.set()
        thread.join()
