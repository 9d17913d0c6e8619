"""One label shown, right or wrong back."""

import doctest

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import policysieve as ps
from policysieve.classify import classifier
from policysieve.evidence.accuracy import accuracy_from, accuracy_gain
from tests.classify.tasks import answers_to, clusters, play
from tests.statistics import assert_at_most


@parametrize_with_checks([ps.BanditClassifier(random_state=0)])
def test_it_is_an_estimator(estimator, check):
    check(estimator)


def test_the_example_is_true():
    assert doctest.testmod(classifier).failed == 0


@pytest.mark.parametrize(
    "classes",
    [
        ["north", "east", "south", "west"],
        [10, 20, 5, 1],
        range(4),
        np.array(["n", "e", "s", "w"]),
        [("n", 1), ("e", 1), ("s", 2), ("w", 2)],
        ["n", 2, None, (3.5, "w")],
    ],
    ids=str,
)
def test_labels_of_any_hashable_kind(classes):
    rng = np.random.default_rng(0)
    X, y = clusters(rng, 200)
    right = np.empty(len(classes), dtype=object)
    for place, label in enumerate(classes):
        right[place] = label
    clf = ps.BanditClassifier(classes=classes, random_state=0)
    for start in range(0, 200, 20):
        decisions = clf.ask(X[start : start + 20])
        pairs = zip(decisions.labels.tolist(), right[y[start : start + 20]], strict=True)
        clf.tell(decisions, [shown == true for shown, true in pairs])
    plain = {type(label) for label in classes} in ({str}, {int}, {np.str_})
    assert clf.classes_.tolist() == (sorted(classes) if plain else list(classes))
    X, y = clusters(rng, 500)
    said = clf.predict(X).tolist()
    assert np.mean([label == true for label, true in zip(said, right[y], strict=True)]) > 0.85
    assert clf.fit(X, right[y]).predict(X).shape == (500,)


def test_scorers_that_take_sorted_classes_for_granted():
    """Whatever the order in which labels were named."""
    rng = np.random.default_rng(0)
    X, y = clusters(rng, 300)
    kept = y < 2
    names = np.array(["south", "north"])
    clf = ps.BanditClassifier(classes=names, random_state=0)
    scores = cross_val_score(clf, X[kept], names[y[kept]], scoring="roc_auc")
    assert scores.min() > 0.9
    clf.fit(X[kept], names[y[kept]])
    assert log_loss(names[y[kept]], clf.predict_proba(X[kept]), labels=sorted(names)) < 0.3


def test_it_learns_to_tell_clusters_apart():
    """Over 20 seeds 0.974 or more were right; guessing has 0.25."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        clf = ps.BanditClassifier(classes=range(4), random_state=seed)
        play(clf, *clusters(rng, 400), batch=20)
        assert clf.score(*clusters(rng, 2000)) > 0.93


def test_it_shows_what_it_has_learnt():
    rng = np.random.default_rng(0)
    clf = play(ps.BanditClassifier(classes=range(4), random_state=0), *clusters(rng, 600), batch=20)
    assert clf.log.rewards[-200:].mean() > 0.75
    assert clf.log.rewards[:20].mean() < 0.5


def test_wrong_answers_alone_teach_two_labels():
    """A wrong guess of two leaves one: over 20 seeds 0.969 or more were right."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, new = rng.normal(size=(300, 2)), rng.normal(size=(1000, 2))
        y, expected = (np.where(rows[:, 0] > 0, "yes", "no") for rows in (X, new))
        clf = ps.BanditClassifier(classes=["no", "yes"], random_state=seed)
        decisions = clf.ask(X)
        wrong = decisions.labels != y
        clf.discard(decisions[~wrong])
        clf.tell(decisions[wrong], np.zeros(wrong.sum()))
        assert clf.rounds == wrong.sum() > 100
        assert clf.score(new, expected) > 0.9


def test_shares_between_right_and_wrong():
    """Half an answer is worth half of each: what is half right is as likely as not."""
    X = np.ones((400, 1))
    clf = ps.BanditClassifier(classes=["no", "yes"], random_state=0)
    clf.tell(clf.ask(X), np.full(400, 0.5))
    np.testing.assert_allclose(clf.predict_proba([[1.0]]), 0.5, atol=0.01)


def test_labels_that_were_never_right_are_explored_first():
    """Three of forty labels are missing after many rounds: exploration is about them."""
    clf = ps.BanditClassifier(classes=range(40), random_state=0)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 3)), rng.integers(0, 37, 2000)
    clf.fit(X, y)
    shown = clf.ask(rng.normal(size=(4000, 3))).labels
    counts = np.bincount(shown, minlength=40)
    assert counts[37:].min() > 2 * np.median(counts[:37])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a", "b", "z"], "y has the label 'z', which is not among the 2 classes"),
        (["a", "b"], "inconsistent numbers of samples"),
        ([["a", "b"]] * 3, "y should be a 1d array"),
        (None, "requires y to be passed"),
    ],
)
def test_labels_that_fit_refuses(y, message):
    clf = ps.BanditClassifier(classes=["a", "b"], random_state=0)
    with pytest.raises(ps.InvalidArgumentError, match=message):
        clf.fit([[0.0], [1.0], [2.0]], y)
    assert not hasattr(clf, "classes_")


def test_classes_come_from_the_labelled_rows_if_they_were_not_named():
    X, y = clusters(np.random.default_rng(0), 100)
    clf = ps.BanditClassifier(random_state=0).fit(X, y + 5)
    assert clf.classes_.tolist() == [5, 6, 7, 8]
    with pytest.raises(ps.InvalidArgumentError, match=r"2 or more classes, got one class: \[5\]"):
        clf.fit(X, np.full(100, 5))
    assert clf.classes_.tolist() == [5, 6, 7, 8]
    with pytest.raises(ps.InvalidArgumentError, match="Unknown label type: continuous"):
        clf.fit(X, X[:, 0])


def test_it_is_as_good_as_logistic_regression_where_labels_are_known():
    rng = np.random.default_rng(0)
    X, y = clusters(rng, 300, n_labels=5, spread=0.9)
    new = clusters(rng, 2000, n_labels=5, spread=0.9)
    full = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y).score(*new)
    assert ps.BanditClassifier(random_state=0).fit(X, y).score(*new) > full - 0.02


class Always:
    """A model that says one label everywhere."""

    def __init__(self, label):
        self.label = label

    def predict(self, X):
        return np.full(X.shape[0], self.label)


def played(n):
    """A classifier after n rounds, and what it would have said in each."""
    X, y = clusters(np.random.default_rng(3), n)
    clf, said = ps.BanditClassifier(classes=range(4), random_state=0), []
    for start in range(0, n, 25):
        decisions = clf.ask(X[start : start + 25])
        said.append(clf.predict(X[start : start + 25]))
        clf.tell(decisions, answers_to(decisions, y[start : start + 25]))
    return clf, np.concatenate(said)[:, None]


def test_accuracy_of_what_it_would_have_said():
    clf, said = played(300)
    assert clf.accuracy(since=0) == accuracy_from(clf.log, said, 0.05)
    assert clf.accuracy(since=100, delta=0.2) == accuracy_from(clf.log[100:], said[100:], 0.2)
    late = clf.accuracy()  # from 128 = 2^7, the last power of two that leaves half of the rounds
    expected = accuracy_from(clf.log[128:], said[128:], 0.05 / (9 * 10))
    assert (late.value, late.lower, late.upper) == (expected.value, expected.lower, expected.upper)
    assert (late.rounds, late.delta) == (172, 0.05)
    assert 0 < late.lower < late.value < late.upper <= 1


def test_windows_begin_at_powers_of_two_and_never_move_back():
    X, y = clusters(np.random.default_rng(3), 140)
    clf, firsts = ps.BanditClassifier(classes=range(4), random_state=0), []
    for n in range(1, 141):
        decisions = clf.ask(X[n - 1 : n])
        clf.tell(decisions, answers_to(decisions, y[n - 1 : n]))
        firsts.append(n - clf.accuracy().rounds)
    assert firsts[:8] == [0, 1, 1, 2, 2, 2, 2, 4]
    assert firsts == sorted(firsts)
    assert set(firsts) == {0, 1, 2, 4, 8, 16, 32, 64}
    assert all(2 * first <= n for n, first in enumerate(firsts, start=1))


def test_levels_of_all_windows_add_up_to_delta(monkeypatch):
    """Each start has a level of its own, the first round too."""
    levels = {}

    def note(log, labels, level):
        levels.setdefault(int(log.contexts[0]), set()).add(level)
        return accuracy_from(log, labels, level)

    monkeypatch.setattr("policysieve.classify.answers.accuracy_from", note)
    X, y = clusters(np.random.default_rng(3), 64)
    clf = ps.BanditClassifier(classes=range(4), random_state=0)
    for n in range(64):
        decisions = clf.ask(X[n : n + 1])
        clf.tell(decisions, answers_to(decisions, y[n : n + 1]))
        clf.accuracy(delta=0.2)
    assert sorted(levels) == [0, 1, 2, 4, 8, 16, 32]
    assert all(len(found) == 1 for found in levels.values())
    total = sum(level for found in levels.values() for level in found)
    assert total == pytest.approx(0.2 * (1 - 1 / 8))  # 1/((k+1)(k+2)) for k = 0 to 6


def test_accuracy_of_another_model():
    clf, _ = played(400)
    new, y = clusters(np.random.default_rng(4), 300)
    model = LogisticRegression().fit(new, y)
    log = clf.log
    expected = accuracy_from(log, model.predict(log.contexts)[:, None], 0.05)
    assert clf.accuracy(model) == expected
    assert (
        expected.lower <= model.score(*clusters(np.random.default_rng(5), 4000)) <= expected.upper
    )
    later = accuracy_from(log[150:], model.predict(log.contexts[150:])[:, None], 0.1)
    assert clf.accuracy(model, since=150, delta=0.1) == later
    one_of_four = clf.accuracy(Always(2))
    assert one_of_four.lower <= 0.25 <= one_of_four.upper
    assert one_of_four.value < 0.5 < expected.value


def test_no_rounds_are_left():
    clf, _ = played(50)
    model = LogisticRegression().fit(*clusters(np.random.default_rng(4), 50))
    for found in (clf.accuracy(since=50), clf.accuracy(model, since=50)):
        assert np.isnan(found.value)
        assert (found.lower, found.upper, found.rounds) == (0, 1, 0)


def test_models_that_cannot_be_judged():
    clf, _ = played(50)
    with pytest.raises(
        ps.InvalidArgumentError, match=r"model\.predict has the label 9, .* 4 class"
    ):
        clf.accuracy(Always(9))

    class Pairs:
        def predict(self, X):
            return np.zeros((X.shape[0], 2), int)

    with pytest.raises(ps.InvalidArgumentError, match=r"labels of shape \(50,\), got \(50, 2\)"):
        clf.accuracy(Pairs())


def numbers_of(found):
    return found.value, found.lower, found.upper


def test_it_is_compared_with_what_runs_today():
    clf, said = played(1100)
    log = clf.log
    bad, good = Always(2), LogisticRegression().fit(*clusters(np.random.default_rng(4), 300))
    found = clf.compare(bad, since=100, delta=0.2)
    expected = accuracy_gain(log[100:], said[100:], np.full((1000, 1), 2), 0.2)
    assert numbers_of(found) == expected
    assert (found.first, found.second, found.rounds) == ("BanditClassifier", "Always", 1000)
    assert found.lower > 0
    assert "BanditClassifier is right more often than Always, by 0." in found.guarantee
    late = clf.compare(bad)  # from 512 = 2^9, as its accuracy
    expected = accuracy_gain(log[512:], said[512:], np.full((588, 1), 2), 0.05 / (11 * 12))
    assert (numbers_of(late), late.rounds) == (expected, 588)
    worse = clf.compare(good, bad)
    assert (worse.first, worse.second) == ("Always", "LogisticRegression")
    assert numbers_of(worse) == accuracy_gain(
        log, np.full((1100, 1), 2), good.predict(log.contexts)[:, None], 0.05
    )
    assert worse.upper < 0
    assert "Always is right less often than LogisticRegression, by 0." in worse.guarantee


def test_labels_of_one_that_changes():
    """What it named in each round counts, not what it would say today."""
    clf, said = played(300)
    changing = np.where(np.arange(300) < 150, 2, 3)
    assert clf.accuracy(changing) == accuracy_from(clf.log, changing[:, None], 0.05)
    found = clf.compare(changing.tolist(), since=100)
    assert numbers_of(found) == accuracy_gain(clf.log[100:], said[100:], changing[100:, None], 0.05)
    assert (found.first, found.second) == ("BanditClassifier", "the incumbent")
    back = clf.compare(Always(1), changing, since=100)
    assert back.first == "the model"
    with pytest.raises(ps.InvalidArgumentError, match=r"labels of shape \(300,\), got \(299,\)"):
        clf.compare(changing[1:])


class Memory:
    """A bandit's rival that remembers which label was right at each row, and guesses elsewhere."""

    def __init__(self, seed):
        self.rng, self.right = np.random.default_rng(seed), {}

    def predict(self, X):
        return np.array([self.right.get(row[0], self.rng.integers(3)) for row in np.asarray(X)])

    def learn(self, X, labels, right):
        self.right.update(
            (row[0], label) for row, label, r in zip(X, labels, right, strict=True) if r
        )


def test_no_false_claims_about_learners_where_there_is_nothing_to_learn():
    """Right labels are random, so that everyone is right in a third of the rounds at any time.

    Looks are many. The incumbent learns from the same answers: judged by what it named before them
    it is no better; judged as it is today it is, because it was fitted to them.
    """
    paths, n, delta = 60, 160, 0.4
    claims = claims_of_today = outside = 0
    for path in range(paths):
        rng = np.random.default_rng(path)
        clf, rival = ps.BanditClassifier(classes=range(3), random_state=path), Memory(path)
        named, wrong, wrong_today, misses = [], False, False, False
        for _ in range(n // 16):
            X = rng.normal(size=(16, 2))
            decisions = clf.ask(X)
            named += rival.predict(X).tolist()
            right = decisions.labels == rng.integers(3, size=16)
            clf.tell(decisions, right)
            rival.learn(X, decisions.labels, right)
            for since in (0, None):
                found = clf.compare(named, since=since, delta=delta)
                wrong |= found.lower > 0 or found.upper < 0
                found = clf.accuracy(since=since, delta=delta)
                misses |= not found.lower <= 1 / 3 <= found.upper
            found = clf.compare(rival, since=0, delta=delta)
            wrong_today |= found.lower > 0 or found.upper < 0
        claims += wrong
        claims_of_today += wrong_today
        outside += misses
    # Of both ways to count rounds each may fail with probability delta.
    assert_at_most(claims, paths, 2 * delta)
    assert_at_most(outside, paths, 2 * delta)
    assert claims < 10
    assert claims_of_today > 30


def test_it_cannot_judge_itself_by_rounds_it_was_fitted_to():
    clf, _ = played(50)
    for judge in (clf.accuracy, clf.compare):
        with pytest.raises(ps.InvalidArgumentError, match="must not be fitted to the rounds"):
            judge(clf)


def test_compared_before_any_answer():
    clf = ps.BanditClassifier(classes=range(4), random_state=0)
    clf.ask(np.zeros((3, 2)))
    found = clf.compare(Always(2))
    assert np.isnan(found.value)
    assert (found.lower, found.upper, found.rounds) == (-1, 1, 0)
    assert "lies between -1 and 1;" in found.guarantee


def test_what_cannot_be_compared():
    clf, _ = played(50)
    with pytest.raises(ps.InvalidArgumentError, match=r"incumbent must be a fitted classifier"):
        clf.compare(None)
    with pytest.raises(ps.InvalidArgumentError, match=r"model must be a fitted classifier"):
        clf.compare(Always(1), "best")
    with pytest.raises(ps.InvalidArgumentError, match=r"incumbent\.predict has the label 9"):
        clf.compare(Always(9))
    with pytest.raises(ps.InvalidArgumentError, match="since must be"):
        clf.compare(Always(1), since=51)
    with pytest.raises(ps.InvalidArgumentError, match="delta must be"):
        clf.compare(Always(1), delta=1)
