import numpy as np
import pytest

import policysieve as ps
from policysieve.worlds import make_pool
from policysieve.worlds.datasets import load_dataset

N_TRAINED = 18  # two of each kind


@pytest.fixture(scope="module")
def digits():
    data = load_dataset("digits")
    return data.X[:300], data.y[:300], data.X[300:500]


@pytest.fixture(scope="module")
def labels():
    """Three labels that features tell with some noise, and one that nobody has."""
    rng = np.random.default_rng(1)
    features = rng.normal(size=(240, 6))
    told = features[:, :3] + 0.3 * rng.normal(size=(240, 3)) > 0.5
    return features, np.column_stack([told, np.zeros(240)]).astype(np.uint8)


def scores(model):
    return getattr(model, "predict_proba", None) or getattr(model, "decision_function", None)


def answers(pool, features):
    """Everything a pool says about some rows."""
    said = []
    for model in pool:
        method = scores(model)
        said.append((model.description, model.predict(features).tolist()))
        said.append(None if method is None else method(features).tolist())
    return said


class TestPool:
    def test_differs_in_kind_and_quality(self, digits):
        X, y, _ = digits
        pool = make_pool(X[:200], y[:200], N_TRAINED, 0)
        assert len({model.description.split(",")[0] for model in pool}) == 9
        right = [(model.predict(X[200:]) == y[200:]).mean() for model in pool]
        assert min(right) < 0.5 < 0.8 < max(right)

    def test_seeds(self, digits):
        X, y, rest = digits
        assert answers(make_pool(X, y, 5, 1), rest) != answers(make_pool(X, y, 5, 2), rest)

    def test_slates_are_the_classes_with_the_largest_scores(self, digits):
        X, y, rest = digits
        pool = [model for model in make_pool(X, y, N_TRAINED, 0) if scores(model) is not None]
        assert len(pool) >= 16
        slates = ps.EstimatorPolicies(pool, n_actions=10, slate_size=3).actions(rest)
        for index, model in enumerate(pool):
            if len(model.classes_) == 10:
                known = scores(model)(rest)
                shown = np.take_along_axis(known, slates[:, index], axis=1)
                assert np.array_equal(shown, np.sort(known, axis=1)[:, :-4:-1])

    def test_a_model_without_scores_has_none(self):
        class Constant:
            classes_ = np.arange(2)

            def predict(self, X):
                return np.zeros(len(X))

        model = ps.worlds.pools.SubsetModel(Constant(), np.array([0]), "constant", "constant 1")
        assert not hasattr(model, "predict_proba")
        assert not hasattr(model, "decision_function")
        assert not hasattr(model, "anything")
        assert model.predict(np.ones((2, 3))).tolist() == [0, 0]

    @pytest.mark.parametrize(
        ("X", "y", "message"),
        [
            ([[1.0], [2.0]], [0, 1, 2], "X and y must have shapes"),
            ([1.0, 2.0], [0, 1], "X and y must have shapes"),
            ([[1.0], [np.nan]], [0, 1], "X must hold finite numbers"),
            (np.array(["some", "text"], dtype=object), [0, 1], "turn texts into features first"),
            ([[1.0], [2.0]], ["a", "b"], "number them by"),
            ([[1.0], [2.0]], [1, 1], "at least two classes"),
            ([[1.0], [2.0]], [[0], [1]], "at least two labels"),
            ([[1.0], [2.0]], [[0, 2], [1, 0]], "zeros and ones"),
        ],
    )
    def test_bad_training_data(self, X, y, message):
        with pytest.raises(ps.InvalidArgumentError, match=message):
            make_pool(X, y, 3)

    def test_a_bad_seed_is_called_a_seed(self):
        with pytest.raises(ps.InvalidArgumentError, match=r"^seed must be a whole number"):
            make_pool([[1.0], [2.0]], [0, 1], 3, -1)


class TestAgain:
    def test_the_same_call_trains_the_same_pool(self, digits):
        X, y, rest = digits
        first = make_pool(X, y, N_TRAINED, 4)
        again = make_pool(np.asfortranarray(X), list(y), N_TRAINED, np.int64(4))
        assert answers(first, rest) == answers(again, rest)

    def test_nothing_is_kept_in_a_file_or_unpickled(self, digits, tmp_path, monkeypatch):
        """Pools were pickles in the cache once, which run code when they are read."""
        X, y, _ = digits
        monkeypatch.setenv("POLICYSIEVE_CACHE", str(tmp_path / "cache"))
        for name in ("load", "loads"):
            monkeypatch.setattr(f"pickle.{name}", lambda *_: pytest.fail("a pickle was read"))
        trained = []
        for _ in range(2):
            make_pool(X, y, 4, 0, track=lambda loop: (trained.append(one) or one for one in loop))
        assert trained == [0, 1, 2, 3] * 2
        assert not (tmp_path / "cache").exists()


class TestSeveralLabels:
    def test_slates_of_the_likeliest_labels(self, labels):
        X, y = labels
        pool = make_pool(X[:120], y[:120], 12, 0)
        slates = ps.EstimatorPolicies(pool, n_actions=4, slate_size=2).actions(X[120:])
        assert slates.shape == (120, 12, 2)
        for index, model in enumerate(pool):
            chances = model.predict_proba(X[120:])
            shown = np.take_along_axis(chances, slates[:, index], axis=1)
            assert np.array_equal(shown, np.sort(chances, axis=1)[:, :-3:-1])

    def test_one_action_is_the_likeliest_label(self, labels):
        X, y = labels
        pool = make_pool(X[:120], y[:120], 6, 0)
        actions = ps.EstimatorPolicies(pool, n_actions=4).actions(X[120:])
        chances = np.stack([model.predict_proba(X[120:]) for model in pool], axis=1)
        assert np.array_equal(actions[:, :, 0], chances.argmax(axis=2))

    def test_learns(self, labels):
        X, y = labels
        pool = make_pool(X[:120], y[:120], 12, 0)
        policies = ps.EstimatorPolicies(pool, n_actions=4, slate_size=2)
        world = ps.worlds.Multilabel(X[120:], y[120:], slate_size=2)
        by_chance = y[120:].mean() * 2
        assert world.values(policies).max() > 1.5 * by_chance

    def test_a_label_that_no_row_has_comes_last(self, labels):
        X, y = labels
        for model in make_pool(X, y, 12, 0):
            assert (model.predict_proba(X)[:, 3] == 0).all()

    def test_the_same_call_trains_the_same_pool(self, labels):
        X, y = labels
        assert answers(make_pool(X, y, 6, 2), X) == answers(make_pool(X, y, 6, 2), X)
