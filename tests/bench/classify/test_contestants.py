"""Every contestant learns an easy task; each peer where it is installed."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

import policysieve as ps
from policysieve.bench.classify.contestants import CEILING, CONTESTANTS, TUNED, RewardedLogistic
from policysieve.bench.classify.measuring import ClassifySettings, play
from policysieve.bench.classify.peers import ContextualBandits, as_lines
from policysieve.bench.classify.tasks import CLASSIFY_TASKS, SplitRows

PACKAGES = {
    "vowpal": "vowpalwabbit",
    "contextualbandits": "contextualbandits",
    "mabwiser": "mabwiser",
    "river": "river",
}
PEERS = [name for name in CONTESTANTS if name.split("_")[0] in PACKAGES]


def corners(seed, n_classes=4):
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=400)
    X = np.eye(n_classes)[y] + 0.1 * rng.standard_normal((400, n_classes))
    return SplitRows(X[:300], y[:300], X[300:], y[300:], n_classes)


def final_accuracy(name, rows, options):
    settings = ClassifySettings(rounds=1500, batch=50)
    return play(CONTESTANTS[name], rows, 5, settings, options)["accuracy"][-1]


class TestRegistry:
    def test_only_the_ceiling_is_told(self):
        assert [name for name, entry in CONTESTANTS.items() if entry.is_told] == [CEILING]

    def test_tuned_for_every_task(self):
        assert set(TUNED) == set(CONTESTANTS) - {"policysieve", "policysieve_sparse"}
        for name in TUNED:
            assert set(CONTESTANTS[name].options) == set(CLASSIFY_TASKS), name


def test_ours_takes_sparse_rows():
    rows = corners(0)
    thin = rows._replace(
        X_train=sparse.csr_matrix(rows.X_train), X_test=sparse.csr_matrix(rows.X_test)
    )
    assert final_accuracy("policysieve_sparse", thin, {}) > 0.8
    assert not CONTESTANTS["policysieve_sparse"].dense


class TestPeers:
    @pytest.mark.parametrize("name", PEERS)
    def test_learns(self, name):
        pytest.importorskip(PACKAGES[name.split("_")[0]])
        for options in ({}, CONTESTANTS[name].options["digits"]):
            assert final_accuracy(name, corners(0), options) > 0.8

    @pytest.mark.parametrize("name", [name for name in PEERS if not CONTESTANTS[name].dense])
    def test_takes_sparse_rows(self, name):
        pytest.importorskip(PACKAGES[name.split("_")[0]])
        rows = corners(0)
        thin = rows._replace(
            X_train=sparse.csr_matrix(rows.X_train), X_test=sparse.csr_matrix(rows.X_test)
        )
        assert final_accuracy(name, thin, {}) > 0.8

    @pytest.mark.parametrize("name", PEERS)
    def test_missing(self, name, monkeypatch):
        package = PACKAGES[name.split("_")[0]]
        for module in [package, *(key for key in sys.modules if key.startswith(f"{package}."))]:
            monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(ps.MissingExtraError, match=r"policysieve\[peers\]"):
            CONTESTANTS[name].make(4, 0)


class TestVowpalWabbit:
    def test_lines_name_features_and_leave_zeros_out(self):
        rows = np.array([[0.5, 0.0, -2.0], [0.0, 0.0, 0.0]])
        assert as_lines(rows) == ["| f0:0.5 f2:-2", "| "]
        assert as_lines(sparse.csr_matrix(rows)) == as_lines(rows)


class TestContextualBandits:
    def test_fits_when_there_are_a_tenth_more_rounds_and_before_predicting(self, monkeypatch):
        pytest.importorskip("contextualbandits")
        contestant = ContextualBandits(4, 0, policy="AdaptiveGreedy", penalty=1.0)
        rows, sizes = corners(0), []
        fit = contestant._policy.fit
        monkeypatch.setattr(
            contestant._policy, "fit", lambda X, a, r: (sizes.append(len(X)), fit(X, a, r))
        )
        for n in (100, 5, 6, 5):
            X = rows.X_train[:n]
            labels = contestant.decide(X)
            contestant.learn(X, labels, (labels == rows.y_train[:n]).astype(float))
        contestant.predict(rows.X_test)
        contestant.predict(rows.X_test)
        assert sizes == [100, 111, 116]


class TestRewardedLogistic:
    X = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])

    def test_fits_what_was_right(self):
        contestant = RewardedLogistic(3, 0, penalty=0.01)
        contestant.learn(self.X, np.array([2, 1, 0, 0]), np.array([1.0, 1.0, 0.0, 0.0]))
        assert contestant.predict(self.X).tolist() == [2, 1, 2, 1]

    def test_before_anything_or_two_classes_were_right(self):
        contestant = RewardedLogistic(3, 0)
        assert contestant.predict(self.X).tolist() == [0] * 4
        contestant.learn(self.X, np.array([2, 1, 2, 0]), np.array([1.0, 0.0, 1.0, 0.0]))
        assert contestant.predict(self.X).tolist() == [2] * 4

    def test_guesses_are_uniform(self):
        labels = RewardedLogistic(3, 0).decide(np.zeros((3000, 2)))
        assert (np.abs(np.bincount(labels, minlength=3) - 1000) < 150).all()

    @pytest.mark.parametrize("join", [np.asarray, sparse.csr_matrix])
    def test_told_the_labels_it_is_the_supervised_fit(self, join):
        from sklearn.linear_model import LogisticRegression

        rows = corners(1)
        contestant = RewardedLogistic(4, 0, penalty=0.5)
        for part in (slice(0, 100), slice(100, 300)):
            labels = rows.y_train[part]
            contestant.learn(join(rows.X_train[part]), labels, np.ones(len(labels)))
        model = LogisticRegression(C=2.0).fit(rows.X_train, rows.y_train)
        np.testing.assert_array_equal(
            contestant.predict(join(rows.X_test)), model.predict(rows.X_test)
        )


class TestOurs:
    def test_asks_and_tells(self, monkeypatch):
        """By way of a stand-in, which remembers what it was told."""
        told = []

        class StandIn:
            def __init__(self, classes, random_state):
                self.classes, self.random_state = list(classes), random_state

            def ask(self, X):
                return SimpleNamespace(labels=np.full(len(X), self.random_state))

            def tell(self, decisions, rewards):
                told.append((decisions, rewards))

            def predict(self, X):
                return np.full(len(X), self.classes[-1])

        monkeypatch.setattr(ps, "BanditClassifier", StandIn, raising=False)
        contestant = CONTESTANTS["policysieve"].make(4, 3)
        X = np.zeros((5, 2))
        labels = contestant.decide(X)
        contestant.learn(X, labels, np.ones(5))
        assert labels.tolist() == [3] * 5
        ((decisions, rewards),) = told
        assert decisions.labels.tolist() == [3] * 5
        assert rewards.tolist() == [1] * 5
        assert contestant.predict(X).tolist() == [3] * 5

    @pytest.mark.skipif("BanditClassifier" not in ps.__all__, reason="needs BanditClassifier")
    def test_learns(self):
        assert final_accuracy("policysieve", corners(0), {}) > 0.9
