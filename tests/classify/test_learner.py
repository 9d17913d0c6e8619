"""What holds for both classifiers: ask, tell, and go on."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import policysieve as ps
from policysieve.classify.labels import places_of
from policysieve.evidence.accuracy import accuracy_from
from tests.classify.learners import LABELS, NEW, assert_same, make, started, task
from tests.classify.tasks import answers_to, play
from tests.statistics import assert_binomial


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
    assert clf.classes_.tolist() == sorted(LABELS[size])
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


def test_sparse_rows_with_new_words_in_every_batch_are_learnt_from_as_dense_ones(size):
    """Of which most are in few rows, and some in none."""
    rng = np.random.default_rng(4)
    words = 40 * (n := np.arange(300)[:, None] // 50) + rng.geometric(0.05, size=(300, 8)) - 1
    X = np.zeros((300, 400))
    np.put_along_axis(X, np.minimum(words, 399), rng.random(words.shape) + 1, axis=1)
    topics = (n[:, 0] + words[:, 0]) % len(LABELS[size])
    right = np.array(LABELS[1])[topics] if size == 1 else np.eye(len(LABELS[2]))[topics]
    dense, other = make(size), make(size)
    for start in range(0, 300, 50):
        part = slice(start, start + 50)
        for clf, rows in ((dense, X[part]), (other, sparse.csr_array(X[part]))):
            decisions = clf.ask(rows)
            clf.tell(decisions, answers_to(decisions, right[part]))
        assert 0 < (seen := X[: part.stop].any(axis=0).sum()) < 400
        assert len(other._model._memory[0]) == seen + 1  # no weights of other words were fitted
    np.testing.assert_array_equal(dense.log.actions, other.log.actions)
    new = np.eye(400)[::7] + X[:58]
    expected = dense.predict_proba(new)
    np.testing.assert_allclose(other.predict_proba(sparse.csr_array(new)), expected, atol=1e-8)
    spreads = dense._model.spreads(new)
    np.testing.assert_allclose(other._model.spreads(sparse.csr_array(new)), spreads, rtol=1e-8)


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


def test_labelled_rows_are_not_forgotten(size):
    X, right = task(size, 200)
    clf = make(size).fit(X, right)
    before = clf.predict_proba(NEW[size])
    decisions = clf.ask(X[:5])
    clf.tell(decisions, answers_to(decisions, right[:5]))
    np.testing.assert_allclose(clf.predict_proba(NEW[size]), before, atol=0.1)


def test_accuracy_counts_what_was_said_in_the_rounds_that_were_told(size):
    X, right = task(size, 80)
    clf = started(size)
    said = clf.predict(X).reshape(80, size)
    decisions = clf.ask(X)
    kept = np.arange(80) % 3 != 0
    order = np.flatnonzero(kept)[::-1]
    clf.discard(decisions[~kept])
    clf.tell(decisions[order], answers_to(decisions[order], right[order]))
    numbers = places_of(said[kept], clf.classes_, "said")
    assert clf.accuracy(since=120) == accuracy_from(clf.log[120:], numbers, 0.05)


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


def test_probabilities_of_labels(size):
    clf = started(size, 200)
    p = clf.predict_proba(NEW[size])
    assert p.shape == (40, len(clf.classes_))
    assert ((p >= 0) & (p <= 1)).all()
    said = clf.predict(NEW[size]).reshape(40, size)
    order = np.argsort(-p, axis=1)[:, :size]
    np.testing.assert_array_equal(said, clf.classes_[order])


class SameDraws:
    """Draws of logits that are the same in every row, and labels that are drawn for each."""

    def __init__(self, seed):
        self._normal, self._uniform = np.random.default_rng(seed).spawn(2)
        self.bit_generator = self._uniform.bit_generator

    def standard_normal(self, shape):
        return np.tile(self._normal.standard_normal(shape[1]), (shape[0], 1))

    def random(self, shape):
        return self._uniform.random(shape)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("told", [0, 40, 400])
def test_propensities_are_kept_to(size, told, seed):
    """Whatever logits were drawn, each label is shown as often as its propensity says."""
    n = 20_000
    clf = make(size)
    clf.discard(clf.ask(NEW[size]))
    play(clf, *task(size, told))
    assert clf.rounds == told
    clf._rng = SameDraws(seed)
    decisions = clf.ask(np.repeat(NEW[size][:1], n, axis=0))
    labels, propensities = decisions.labels.ravel(), decisions.propensities.ravel()
    total = 0.0
    for label in clf.classes_:
        own = propensities[labels == label]
        np.testing.assert_allclose(own, own[0], rtol=1e-9)
        assert_binomial(len(own), n, own[0])
        total += own[0]
    assert total == pytest.approx(size)  # so none is left out
