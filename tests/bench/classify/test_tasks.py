"""Tasks of the comparison of bandit classifiers."""

import numpy as np
import pytest
from scipy import sparse

from policysieve.bench.classify import tasks
from policysieve.bench.classify.tasks import CLASSIFY_TASKS
from policysieve.worlds import Dataset
from tests.datasets import needs_dataset


def test_names_are_the_keys():
    assert all(task.name == name and task.summary for name, task in CLASSIFY_TASKS.items())


@pytest.fixture(scope="module")
def rows():
    return CLASSIFY_TASKS["clusters"].build(3, False)


class TestClusters:
    def test_sizes_and_scale(self, rows):
        assert rows.X_train.shape == (20_000, 20)
        assert rows.X_test.shape == (3_000, 20)
        assert rows.n_classes == 100
        np.testing.assert_allclose(rows.X_train.mean(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(rows.X_train.std(axis=0), 1)

    def test_classes_have_equal_shares(self, rows):
        counts = np.bincount(np.concatenate([rows.y_train, rows.y_test]))
        assert (counts == 230).all()

    def test_noise_is_four_fifths_of_the_spread_of_centres(self, rows):
        """Variance within clusters against all: 0.64 to 1.64, up to the draw of 100 centres."""
        within = np.mean(
            [rows.X_train[rows.y_train == label].var(axis=0) for label in range(100)], axis=0
        )
        assert within.mean() == pytest.approx(0.64 / 1.64, abs=0.04)

    def test_new_for_each_seed_and_the_same_again(self, rows):
        np.testing.assert_array_equal(CLASSIFY_TASKS["clusters"].build(3, True).X_test, rows.X_test)
        assert (CLASSIFY_TASKS["clusters"].build(4, False).X_test != rows.X_test).all()


class TestTopics:
    """With fewer texts than are compared."""

    @pytest.fixture(autouse=True)
    def few(self, monkeypatch):
        monkeypatch.setattr(tasks, "_TOPIC_TRAINING_ROWS", 1_400)
        monkeypatch.setattr(tasks, "_TOPIC_TEST_ROWS", 140)

    def test_sparse_and_dense_rows(self):
        counts, dense = (CLASSIFY_TASKS["topics77"].build(3, kind) for kind in (False, True))
        assert sparse.issparse(counts.X_train)
        assert (dense.X_train.shape, dense.X_test.shape) == ((1_400, 100), (140, 100))
        np.testing.assert_array_equal(dense.y_train, counts.y_train)
        np.testing.assert_allclose((dense.X_train**2).mean(), 1)

    def test_equal_and_different_sizes(self):
        for name, most, least in (("topics77", 20, 20), ("topics100", 297, 3)):
            rows = CLASSIFY_TASKS[name].build(3, False)
            sizes = np.bincount(np.concatenate([rows.y_train, rows.y_test]))
            assert len(sizes) == rows.n_classes
            assert (sizes.max(), sizes.min()) == (most, least)

    def test_numbers_of_classes_do_not_tell_their_sizes(self):
        rows = CLASSIFY_TASKS["topics100"].build(3, False)
        sizes = np.bincount(rows.y_train, minlength=100)
        assert abs(np.corrcoef(np.arange(100), sizes)[0, 1]) < 0.3

    def test_new_for_each_seed_and_the_same_again(self):
        one, again, other = (CLASSIFY_TASKS["topics150"].build(seed, True) for seed in (3, 3, 4))
        np.testing.assert_array_equal(one.X_test, again.X_test)
        assert one.n_classes == 150
        assert (one.y_train != other.y_train).any()

    def test_texts_tell_their_class(self):
        """The class whose mean of training rows is nearest, of 77, is right for most."""
        rows = CLASSIFY_TASKS["topics77"].build(3, True)
        means = np.array([rows.X_train[rows.y_train == label].mean(axis=0) for label in range(77)])
        nearest = (rows.X_test @ means.T - (means**2).sum(axis=1) / 2).argmax(axis=1)
        assert 0.5 < (nearest == rows.y_test).mean() < 1


@pytest.mark.parametrize(
    ("name", "n_train", "n_test", "n_features", "n_classes"),
    [
        ("digits", 1197, 600, 64, 10),
        ("letter", 15_000, 5_000, 16, 26),
        ("kr-vs-k", 22_000, 6_056, 138, 18),
        ("texas-housing", 5_700, 1_426, 18, 46),
    ],
)
def test_data_sets_are_split_anew_by_each_seed(name, n_train, n_test, n_features, n_classes):
    data = needs_dataset(name)
    one, two = (CLASSIFY_TASKS[name].build(seed, False) for seed in (0, 1))
    assert one.X_train.shape == (n_train, n_features)
    assert one.X_test.shape == (n_test, n_features)
    assert one.n_classes == n_classes
    both = np.concatenate([one.y_train, one.y_test])
    np.testing.assert_array_equal(np.bincount(both), np.bincount(data.y))
    assert (one.y_test != two.y_test).any()
    assert np.abs(one.X_train).max() < 30
    assert not CLASSIFY_TASKS[name].has_texts


@pytest.mark.parametrize(
    ("name", "n_train", "n_test", "n_features", "n_classes"),
    [
        ("icd-10-cm", 28_000, 7_447, 100, 214),
        ("20newsgroups", 15_000, 3_821, 200, 20),
        ("soc-2010", 23_000, 5_921, 100, 90),
        ("hs-2022", 5_000, 1_223, 200, 70),
    ],
)
def test_real_texts(name, n_train, n_test, n_features, n_classes, monkeypatch):
    """Sizes, with the slow parts left out: no words, and as many dimensions of zeros."""
    data = needs_dataset(name)
    asked = []

    def words(texts, n):
        asked.append(n)
        assert len(texts) == data.n_rows
        return sparse.csr_matrix((len(texts), 500))

    monkeypatch.setattr(tasks, "word_rows", words)
    monkeypatch.setattr(tasks, "reduced_rows", lambda rows, n, size: np.zeros((len(data.y), size)))
    rows = CLASSIFY_TASKS[name].build(0, True)
    assert (rows.X_train.shape, rows.X_test.shape) == ((n_train, n_features), (n_test, n_features))
    assert rows.n_classes == n_classes
    assert sparse.issparse(CLASSIFY_TASKS[name].build(0, False).X_test)
    assert asked == [n_train, n_train]
    assert CLASSIFY_TASKS[name].has_texts


class TestText:
    @pytest.fixture
    def texts(self, monkeypatch):
        """Stories of two subjects in place of the news; the same words come in many of them."""
        rng = np.random.default_rng(0)
        y = rng.integers(2, size=400)
        words = rng.integers(60, size=(400, 4))
        X = np.array(
            [
                " ".join(f"word{60 * label + w}" for w in row)
                for label, row in zip(y, words, strict=True)
            ],
            dtype=object,
        )
        data = Dataset("r52", X, y, ("a", "b"), "", "", "")
        monkeypatch.setattr(tasks, "load_dataset", lambda name: data)
        monkeypatch.setitem(tasks._TRAINING_ROWS, "r52", 300)
        return data

    def test_sparse_and_dense_rows(self, texts):
        counts = CLASSIFY_TASKS["r52"].build(0, False)
        assert sparse.issparse(counts.X_train)
        assert (counts.X_train.shape, counts.X_test.shape) == ((300, 120), (100, 120))
        dense = CLASSIFY_TASKS["r52"].build(0, True)
        assert (dense.X_train.shape, dense.X_test.shape) == ((300, 119), (100, 119))
        np.testing.assert_array_equal(dense.y_test, counts.y_test)
        np.testing.assert_allclose((dense.X_train**2).mean(), 1)

    def test_fitted_on_the_training_rows_alone(self, texts):
        before = CLASSIFY_TASKS["r52"].build(0, False)
        held_out = np.random.default_rng(0).permutation(400)[300:]
        texts.X[held_out[5:]] = "unheard of"
        after = CLASSIFY_TASKS["r52"].build(0, False)
        assert (after.X_train != before.X_train).nnz == 0
        assert (after.X_test[:5] != before.X_test[:5]).nnz == 0
        assert after.X_test[5:].nnz == 0
