"""What holds for both classifiers: ask, tell, and what happens when something goes wrong."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import policysieve as ps
from policysieve.classify.model import LabelModel
from tests.classify.tasks import answers_to, clusters, play, tags

LABELS = {1: ["north", "east", "south", "west"], 2: list("abcdef")}
NEW = {1: clusters(np.random.default_rng(99), 40)[0], 2: tags(np.random.default_rng(99), 40)[0]}


@pytest.fixture(params=[1, 2], ids=["one", "lists"])
def size(request):
    return request.param


def make(size, **options):
    options = {"classes": LABELS[size], "random_state": 0} | options
    if size == 1:
        return ps.BanditClassifier(**options)
    return ps.BanditListClassifier(**{"list_size": 2} | options)


def task(size, n=120, seed=1):
    """Feature rows, and the right label or the indicators of right labels."""
    rng = np.random.default_rng(seed)
    if size == 2:
        return tags(rng, n)
    X, y = clusters(rng, n)
    return X, np.array(LABELS[1])[y]


def started(size, n=120, batch=40):
    return play(make(size), *task(size, n), batch=batch)


def assert_same(one, two, size):
    """The same now, and the same labels from here on."""
    assert (one.rounds, one.pending) == (two.rounds, two.pending)
    assert one.log == two.log
    np.testing.assert_array_equal(one.predict_proba(NEW[size]), two.predict_proba(NEW[size]))
    one, two = copy.deepcopy(one), copy.deepcopy(two)
    X, right = task(size, 60, seed=2)
    for clf in (one, two):
        play(clf, X, right, batch=30)
    assert one.log == two.log
    np.testing.assert_array_equal(one.predict_proba(NEW[size]), two.predict_proba(NEW[size]))


def test_nothing_is_known_before_the_first_ask(size):
    clf = make(size)
    assert (clf.rounds, clf.pending) == (0, 0)
    decisions = started(size).ask(NEW[size])
    calls = [
        lambda: clf.predict(NEW[size]),
        lambda: clf.predict_proba(NEW[size]),
        lambda: clf.score(NEW[size], task(size, 40)[1]),
        lambda: clf.accuracy(),
        lambda: clf.log,
        lambda: clf.tell(decisions, np.zeros(decisions.labels.shape)),
        lambda: clf.discard(decisions),
    ]
    for call in calls:
        with pytest.raises(NotFittedError, match="call ask or fit first"):
            call()


def test_before_the_first_answer(size):
    clf = make(size)
    clf.ask(NEW[size])
    assert (clf.rounds, clf.pending, len(clf.log)) == (0, 40, 0)
    accuracy = clf.accuracy()
    assert np.isnan(accuracy.value)
    assert (accuracy.lower, accuracy.upper, accuracy.rounds) == (0, 1, 0)


def test_the_log_holds_what_was_asked_and_answered(size):
    X, right = task(size)
    clf, shown, propensities, rewards = make(size), [], [], []
    for start in range(0, 120, 30):
        decisions = clf.ask(X[start : start + 30])
        answers = answers_to(decisions, right[start : start + 30])
        clf.tell(decisions, answers)
        shown.append(decisions.labels)
        propensities.append(decisions.propensities)
        rewards.append(answers)
    log = clf.log
    np.testing.assert_array_equal(log.contexts, X)
    for mine, theirs in (
        (clf.classes_[log.actions], shown),
        (log.propensities, propensities),
        (log.rewards, rewards),
    ):
        np.testing.assert_array_equal(mine, np.concatenate(theirs).reshape(120, size))
    assert clf.classes_.tolist() == LABELS[size]
    again = ps.Log(  # which checks everything
        contexts=log.contexts,
        actions=log.actions,
        propensities=log.propensities,
        rewards=log.rewards,
    )
    assert again == log


def test_the_same_seed_and_calls_give_the_same_bits(size):
    assert_same(started(size), started(size), size)
    other = play(make(size, random_state=1), *task(size), batch=40)
    assert other.log != started(size).log


def test_a_classifier_and_its_user_may_have_the_same_seed(size):
    for seed in range(3):
        clf = make(size, classes=["a", "b", "c", "d"], random_state=seed, mixing=1.0)
        decisions = clf.ask(np.ones((4000, 1)))
        same = np.random.default_rng(seed).random(4000)
        correlation = np.corrcoef(same, decisions.decisions.actions[:, 0])[0, 1]
        assert abs(correlation) < 6 / np.sqrt(4000)


@pytest.mark.parametrize("batch", [1, 7, 1000])
def test_batches_of_any_size(size, batch):
    X, right = task(size, 100)
    clf = play(make(size), X, right, batch=batch)
    assert (clf.rounds, clf.pending) == (100, 0)
    np.testing.assert_array_equal(clf.log.contexts, X)


def test_answers_in_any_order_are_learnt_from_in_the_order_of_ask(size):
    X, right = task(size, 90)
    late, prompt = make(size), make(size)
    batches = {}
    for clf in (late, prompt):
        batches[clf] = [clf.ask(X[start : start + 30]) for start in (0, 30, 60)]
    for start, decisions in zip((0, 30, 60), batches[prompt], strict=True):
        prompt.tell(decisions, answers_to(decisions, right[start : start + 30]))
    first, second, third = batches[late]
    even = np.arange(30) % 2 == 0

    def tell(decisions, rows, start):
        part = decisions[rows]
        late.tell(part, answers_to(part, right[start : start + 30][rows]))

    tell(third, slice(None), 60)
    tell(second, ~even, 30)
    assert (late.rounds, late.pending) == (0, 45)
    tell(first, [4, 0, 1, 2], 0)
    assert (late.rounds, late.pending) == (3, 41)  # row 3 is waited for
    tell(first, [3, *range(29, 4, -1)], 0)
    assert (late.rounds, late.pending) == (30, 15)
    tell(second, even, 30)
    assert (late.rounds, late.pending) == (90, 0)
    assert late.log == prompt.log


def test_discarded_rounds_are_not_learnt_from(size):
    X, right = task(size, 40)
    clf = make(size)
    decisions = clf.ask(X)
    kept = np.arange(40) % 4 != 0
    clf.tell(decisions[kept], answers_to(decisions[kept], right[kept]))
    assert clf.rounds == 0
    clf.discard(decisions[~kept])
    assert (clf.rounds, clf.pending) == (30, 0)
    np.testing.assert_array_equal(clf.log.contexts, X[kept])
    before = clf.predict_proba(NEW[size])
    clf.discard(clf.ask(X))
    assert (clf.rounds, clf.pending) == (30, 0)
    np.testing.assert_array_equal(clf.predict_proba(NEW[size]), before)


def test_an_empty_part_of_a_batch_changes_nothing(size):
    clf, twin = make(size), make(size)
    for one in (clf, twin):
        one.ask(NEW[size])
    decisions = clf.ask(NEW[size])
    twin.ask(NEW[size])
    clf.tell(decisions[:0], np.empty((0, size)))
    assert_same(clf, twin, size)


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
    ],
    ids=[
        *("nan", "short", "wide", "above", "below", "words", "none", "inner", "labels"),
        *("foreign", "twice", "discard", "nan rows", "features", "fit", "delta", "since", "later"),
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
def test_a_fit_that_fails_can_be_told_again(size, kind, monkeypatch):
    clf, twin = started(size), started(size)
    decisions, same = clf.ask(NEW[size]), twin.ask(NEW[size])
    rewards = np.ones(decisions.labels.shape)

    def fail(self, blocks):
        raise kind

    with monkeypatch.context() as patch:
        patch.setattr(LabelModel, "fitted", fail)
        with pytest.raises(kind):
            clf.tell(decisions, rewards)
        assert (clf.rounds, clf.pending) == (120, 40)
    clf.tell(decisions, rewards)
    twin.tell(same, rewards)
    assert_same(clf, twin, size)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.empty((0, 2)), "0 sample"),
        (np.ones(2), "Expected 2D array"),
        (np.ones((2, 2, 2)), "dim 3"),
        (np.empty((3, 0)), "0 feature"),
        ([[1.0, np.nan]], "contains NaN"),
        ([[1.0, np.inf]], "contains infinity"),
        ([["red", "green"]], "convert string"),
        ([[1.0, 2.0], [1.0]], "inhomogeneous"),
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
        ({"random_state": -1}, "whole number"),
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


@pytest.mark.parametrize(
    "form", [sparse.csr_matrix, sparse.csr_array, sparse.csc_array, sparse.coo_array, list]
)
def test_the_form_of_rows_does_not_matter(size, form):
    X, right = task(size)
    X = X * (np.random.default_rng(3).random(X.shape) < 0.7)
    dense, other = make(size), make(size)
    for start in range(0, 120, 40):
        part = slice(start, start + 40)
        for clf, rows in ((dense, X[part]), (other, form(X[part]))):
            decisions = clf.ask(rows)
            clf.tell(decisions, answers_to(decisions, right[part]))
    np.testing.assert_array_equal(dense.log.actions, other.log.actions)
    for rows in (NEW[size], form(NEW[size])):
        expected = dense.predict_proba(NEW[size])
        np.testing.assert_allclose(other.predict_proba(rows), expected, atol=1e-8)


def test_dense_and_sparse_rows_may_come_in_turn(size):
    X, right = task(size, 160)
    both, dense = make(size), make(size)
    for turn, start in enumerate(range(0, 160, 40)):
        part = slice(start, start + 40)
        for clf in (both, dense):
            rows = sparse.csr_matrix(X[part]) if clf is both and turn % 2 else X[part]
            decisions = clf.ask(rows)
            clf.tell(decisions, answers_to(decisions, right[part]))
    assert both.rounds == 160
    assert both.log.contexts.tolist() == list(range(160))
    expected = dense.predict_proba(NEW[size])
    np.testing.assert_allclose(both.predict_proba(NEW[size]), expected, atol=1e-8)


def test_rows_may_be_changed_after_they_were_given(size):
    X, right = task(size)
    clf, twin = make(size), make(size)
    labelled = X[:20].copy()
    Y = right[:20]
    clf.fit(labelled, Y)
    twin.fit(X[:20], Y)
    labelled[:] = 0.0
    for one, given in ((clf, X.copy()), (twin, X)):
        decisions = one.ask(given)
        if one is clf:
            given[:] = 0.0
        one.tell(decisions, answers_to(decisions, right))
    assert_same(clf, twin, size)


def test_it_begins_anew_with_fit(size):
    X, right = task(size)
    clf, twin = started(size), make(size)
    old = clf.ask(NEW[size])
    for one in (clf, twin):
        assert one.fit(X, right) is one
    assert (clf.rounds, clf.pending) == (0, 0)
    with pytest.raises(ps.DecisionsError, match="not issued by this learner"):
        clf.tell(old, np.ones(old.labels.shape))
    assert_same(clf, twin, size)
    assert play(clf, X, right).rounds == 120


def test_labelled_rows_are_worth_more_than_none(size):
    X, right = task(size, 200)
    test = task(size, 1000, seed=7)
    guessing = 0.25 if size == 1 else test[1].mean()
    fitted = make(size).fit(X, right).score(*test)
    assert fitted > guessing + 0.25
    assert play(make(size).fit(X, right), *task(size, 100, seed=8)).score(*test) > guessing + 0.25


def test_clones_and_parameters(size):
    clf = started(size)
    other = clone(clf)
    assert other.get_params() == clf.get_params()
    assert other.rounds == 0
    assert other.set_params(mixing=0.5).mixing == 0.5
    assert clf.mixing == 0.1
    assert_same(play(clone(clf), *task(size), batch=40), clf, size)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda clf: pickle.loads(pickle.dumps(clf))])
def test_copies_go_on_with_the_same_bits(size, copied):
    clf = started(size)
    decisions = clf.ask(NEW[size])
    twin = copied(clf)
    for one in (clf, twin):
        one.tell(decisions, np.ones(decisions.labels.shape))
    assert_same(clf, twin, size)


def test_a_copy_is_another_learner(size):
    clf = started(size)
    twin = copy.deepcopy(clf)
    clf.ask(NEW[size][:1])
    twin.ask(NEW[size])
    clf.ask(NEW[size])
    theirs = twin.ask(NEW[size])
    with pytest.raises(ps.DecisionsError, match="copy"):
        clf.tell(theirs, np.ones(theirs.labels.shape))


def test_probabilities_of_labels(size):
    clf = started(size, 200)
    p = clf.predict_proba(NEW[size])
    assert p.shape == (40, len(clf.classes_))
    assert ((p >= 0) & (p <= 1)).all()
    said = clf.predict(NEW[size]).reshape(40, size)
    order = np.argsort(-p, axis=1)[:, :size]
    np.testing.assert_array_equal(said, clf.classes_[order])


def test_propensities_are_kept_to(size):
    """Each label is shown about as often as its propensity says: E 1/W over showings is one."""
    clf = started(size, 200)
    X = np.repeat(NEW[size][:1], 4000, axis=0)
    decisions = clf.ask(X)
    labels = decisions.labels.reshape(4000, size)
    weights = 1 / decisions.propensities.reshape(4000, size)
    for label in clf.classes_:
        y = np.where(labels == label, weights, 0).sum(axis=1)
        assert abs(y.mean() - 1) < 6 * y.std() / np.sqrt(4000) + 1e-12
