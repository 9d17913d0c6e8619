from types import SimpleNamespace

import numpy as np
import pytest

import policysieve as ps
from policysieve.policies.pair import PolicyPair
from tests.contracts.policies_contract import PoliciesContract


class OnADevice:
    """As a tensor that has to be fetched first."""

    def __array__(self, *args, **kwargs):
        raise TypeError("on a device")


class SpeechlessError(Exception):
    def __str__(self):
        raise RuntimeError("nothing to say")


def raises(error):
    raise error


def double(x):
    return (2 * x).astype(int) % 5


def zero(x):
    return np.zeros(len(x), dtype=int)


def pair(x):
    return np.stack([x % 5, (x + 2) % 5], axis=1)


class TestPolicyTable(PoliciesContract):
    kind = ps.PolicyTable

    @pytest.fixture(params=[1, 3])
    def policies(self, request):
        keys = np.random.default_rng(0).random((8, 6, 9))
        return ps.PolicyTable(keys.argsort(axis=-1)[..., : request.param], n_actions=9)

    @pytest.fixture
    def contexts(self):
        return np.array([3, 0, 7, 3, 1])

    def test_values(self):
        table = ps.PolicyTable([[0, 1, 2], [2, 1, 0]], n_actions=3)
        assert table.actions([1, 0])[..., 0].tolist() == [[2, 1, 0], [0, 1, 2]]
        assert (table.n_contexts, table.n_policies, table.slate_size) == (2, 3, 1)

    def test_rows_are_contiguous_and_compact(self):
        table = ps.PolicyTable(np.asfortranarray(np.zeros((4, 300), int)), n_actions=256).table
        assert table.dtype == np.uint8
        assert table.flags.c_contiguous
        assert ps.PolicyTable([[0]], n_actions=257).table.dtype == np.uint16
        assert ps.PolicyTable([[0]], n_actions=65_536).table.dtype == np.uint16
        assert ps.PolicyTable([[0]], n_actions=65_537).table.dtype == np.uint32

    def test_stays_on_disk(self, tmp_path):
        first = ps.PolicyTable([[0, 1], [1, 1]], n_actions=4)
        first.save(tmp_path / "table.npy")
        second = ps.PolicyTable.load(tmp_path / "table.npy", n_actions=4)
        base = second.table
        while base is not None and not isinstance(base, np.memmap):
            base = base.base
        assert isinstance(base, np.memmap)
        np.testing.assert_array_equal(first.table, second.table)

    def test_bad_files(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="no policy table"):
            ps.PolicyTable.load(tmp_path / "none.npy", n_actions=2)
        ps.PolicyTable(np.zeros((50, 50), int), n_actions=2).save(tmp_path / "table.npy")
        whole = (tmp_path / "table.npy").read_bytes()
        for broken in (whole[:1000], whole[:5], b"", b"hello"):
            (tmp_path / "broken.npy").write_bytes(broken)
            with pytest.raises(ps.FileFormatError, match=r"broken\.npy"):
                ps.PolicyTable.load(tmp_path / "broken.npy", n_actions=2)
        np.savez(tmp_path / "archive.npz", a=np.zeros(3))
        with pytest.raises(ps.FileFormatError, match="archive"):
            ps.PolicyTable.load(tmp_path / "archive.npz", n_actions=2)

    @pytest.mark.parametrize(
        ("actions", "message"),
        [
            ([[0, 1], [1]], "one action of each policy for each context"),
            ([[0, 3]], r"got 3 for policy 1 at context 0"),
            ([[0, -1]], r"got -1 for policy 1"),
            ([[0.5, 1.0]], "whole numbers"),
            ([[[0, 0]]], r"different actions, got \[0, 0\] for policy 0 at context 0"),
            ([0, 1], "shape"),
            (np.zeros((0, 4), int), "at least one row"),
            (np.zeros((4, 0), int), "at least one policy"),
            (np.zeros((1, 2, 4), int), "slate_size"),
        ],
    )
    def test_bad_tables(self, actions, message):
        with pytest.raises(ps.InvalidArgumentError, match=message):
            ps.PolicyTable(actions, n_actions=3)

    @pytest.mark.parametrize("contexts", [[2], [-1], [0.0], [[0]], ["a"]])
    def test_bad_contexts(self, contexts):
        with pytest.raises(ps.InvalidArgumentError, match="row numbers"):
            ps.PolicyTable([[0, 1], [1, 0]], n_actions=2).actions(contexts)


class TestLinearPolicies(PoliciesContract):
    kind = ps.LinearPolicies

    @pytest.fixture(params=[1, 3])
    def policies(self, request):
        weights = np.random.default_rng(0).normal(size=(6, 9, 4))
        return ps.LinearPolicies(weights, slate_size=request.param)

    @pytest.fixture
    def contexts(self):
        return np.random.default_rng(1).normal(size=(5, 4))

    def test_shows_the_best_scores_first(self, policies, contexts):
        for i, x in enumerate(contexts):
            for p, weights in enumerate(policies.weights):
                scores = [float(np.dot(row, x)) for row in weights]
                best = sorted(range(9), key=lambda a: -scores[a])[: policies.slate_size]
                assert policies.actions(contexts)[i, p].tolist() == best

    def test_blocks_do_not_change_the_answer(self, policies, contexts, monkeypatch):
        whole = policies.actions(contexts)
        monkeypatch.setattr("policysieve.policies.linear._SCORE_BUDGET", 20)
        np.testing.assert_array_equal(policies.actions(contexts), whole)

    def test_ties_go_to_the_lower_action(self):
        flat = ps.LinearPolicies(np.zeros((1, 4, 2)), slate_size=2)
        assert flat.actions([[1.0, 2.0]]).tolist() == [[[0, 1]]]

    def test_one_row_is_one_context(self, policies, contexts):
        np.testing.assert_array_equal(
            policies.actions(contexts[0])[0], policies.actions(contexts)[0]
        )

    @pytest.mark.parametrize(
        ("weights", "message"),
        [
            (np.zeros((2, 3)), "shape"),
            (np.zeros((0, 3, 2)), "at least one policy"),
            (np.full((2, 3, 2), np.nan), "policy 0"),
            ("weights", "numbers"),
        ],
    )
    def test_bad_weights(self, weights, message):
        with pytest.raises(ps.InvalidArgumentError, match=message):
            ps.LinearPolicies(weights)

    @pytest.mark.parametrize("contexts", [[[1.0]], [[np.nan] * 4], [["a"] * 4], [[[1.0]]]])
    def test_bad_contexts(self, policies, contexts):
        with pytest.raises(ps.InvalidArgumentError, match="contexts"):
            policies.actions(contexts)


class TestFunctionPolicies(PoliciesContract):
    kind = ps.FunctionPolicies

    @pytest.fixture
    def policies(self):
        return ps.FunctionPolicies([double, zero], n_actions=5)

    @pytest.fixture
    def contexts(self):
        return np.arange(6)

    def test_one_by_one_equals_vectorised(self, contexts):
        rules = [lambda x: (3 * x) % 5, lambda x: 4]
        single = ps.FunctionPolicies(rules, n_actions=5, vectorized=False)
        many = ps.FunctionPolicies(
            [lambda x: (3 * x) % 5, lambda x: np.full(len(x), 4)], n_actions=5
        )
        np.testing.assert_array_equal(single.actions(contexts), many.actions(contexts))

    def test_strings_as_contexts(self):
        lengths = ps.FunctionPolicies([len, lambda text: 0], n_actions=9, vectorized=False)
        assert lengths.actions(["a", "word"])[..., 0].tolist() == [[1, 0], [4, 0]]

    def test_slates(self, contexts):
        slates = ps.FunctionPolicies([pair], n_actions=5, slate_size=2).actions(contexts)
        assert slates[3, 0].tolist() == [3, 0]

    @pytest.mark.parametrize(
        ("function", "message"),
        [
            (lambda x: 1 / 0, "policy 1 raised ZeroDivisionError"),
            (lambda x: x + 5, r"policy 1 returned action 5, which is not in \[0, 4\]"),
            (lambda x: x - 1, "policy 1 returned action -1"),
            (lambda x: 0, "policy 1 must return actions of shape"),
            (lambda x: x / 3, "policy 1 must return whole numbers"),
            (lambda x: [b"a"] * len(x), "policy 1 must return whole numbers"),
            (lambda x: [[1], [1, 2]], "policy 1 returned no actions: .* ragged rows"),
            (lambda x: OnADevice(), "policy 1 returned no actions: .*TypeError: on a device"),
            (lambda x: [np.inf] * len(x), "policy 1 returned action inf"),
            (lambda x: [-1e300] * len(x), r"policy 1 returned action about -10\^300"),
            (lambda x: np.ma.masked_array(x, x >= 0), "policy 1 returned no actions: .* masked"),
            (
                lambda x: raises(SpeechlessError),
                "policy 1 raised SpeechlessError, whose text raises Runt",
            ),
        ],
    )
    def test_a_bad_policy_is_named(self, function, message):
        policies = ps.FunctionPolicies([zero, function], n_actions=5)
        with pytest.raises(ps.PolicyFailureError, match=message) as caught:
            policies.actions(np.arange(3))
        assert caught.value.policy == 1

    def test_repeated_items(self):
        same = ps.FunctionPolicies([lambda x: np.stack([x, x], 1)], n_actions=5, slate_size=2)
        with pytest.raises(ps.PolicyFailureError, match="policy 0 returned the slate"):
            same.actions(np.arange(2))

    def test_bad_classes(self):
        with pytest.raises(ps.InvalidArgumentError, match="at least one policy"):
            ps.FunctionPolicies([], n_actions=2)
        with pytest.raises(ps.InvalidArgumentError, match="number 1 is 3"):
            ps.FunctionPolicies([zero, 3], n_actions=2)
        with pytest.raises(ps.InvalidArgumentError, match="n_actions"):
            ps.FunctionPolicies([zero], n_actions=0)
        with pytest.raises(ps.InvalidArgumentError, match="slate_size"):
            ps.FunctionPolicies([zero], n_actions=2, slate_size=3)

    def test_functions_get_sparse_contexts_as_they_are(self):
        from scipy.sparse import csr_array, csr_matrix

        rules = ps.FunctionPolicies([lambda x: x.toarray()[:, 1].astype(int)], n_actions=2)
        assert rules.actions(csr_matrix(np.eye(3)))[:, 0, 0].tolist() == [0, 1, 0]
        assert rules.actions(csr_array(np.eye(3)))[:, 0, 0].tolist() == [0, 1, 0]
        with pytest.raises(ps.InvalidArgumentError, match="toarray"):
            ps.LinearPolicies(np.ones((2, 2, 3))).actions(csr_matrix(np.eye(3)))


class TestEstimatorPolicies(PoliciesContract):
    kind = ps.EstimatorPolicies

    @pytest.fixture(params=[1, 2])
    def policies(self, request, data):
        from sklearn.linear_model import LogisticRegression, RidgeClassifier
        from sklearn.naive_bayes import GaussianNB

        features, labels = data
        models = [LogisticRegression(), GaussianNB(), RidgeClassifier()]
        for model in models:
            model.fit(features, labels)
        models.append(RidgeClassifier().fit(features[labels < 2], labels[labels < 2]))
        return ps.EstimatorPolicies(models, n_actions=5, slate_size=request.param)

    @pytest.fixture
    def data(self):
        rng = np.random.default_rng(0)
        labels = np.repeat(np.arange(4), 20)
        return rng.normal(size=(80, 3)) + 2 * labels[:, None], labels

    @pytest.fixture
    def contexts(self, data):
        return data[0][::17]

    def test_agrees_with_the_models(self, policies, contexts):
        actions = policies.actions(contexts)
        for p, model in enumerate(policies.models):
            if policies.slate_size == 1:
                np.testing.assert_array_equal(actions[:, p, 0], model.predict(contexts))
            else:
                np.testing.assert_array_equal(actions[:, p, 0], model.predict(contexts))
                assert (actions[:, p, 1] != actions[:, p, 0]).all()

    def test_unseen_classes_come_last(self, data):
        from sklearn.naive_bayes import GaussianNB

        features, labels = data
        model = GaussianNB().fit(features[labels == 3], labels[labels == 3])
        slates = ps.EstimatorPolicies([model], n_actions=5, slate_size=3).actions(features[:1])
        assert slates.tolist() == [[[3, 0, 1]]]

    def test_float_labels_work(self, data, contexts):
        from sklearn.naive_bayes import GaussianNB

        model = GaussianNB().fit(data[0], data[1].astype(float))
        assert ps.EstimatorPolicies([model], n_actions=5).actions(contexts).dtype == np.uint8

    def test_bad_models(self, data, contexts):
        from sklearn.naive_bayes import GaussianNB
        from sklearn.svm import OneClassSVM

        with pytest.raises(ps.InvalidArgumentError, match="a sequence of models, got one Gauss"):
            ps.EstimatorPolicies(GaussianNB(), n_actions=5)
        with pytest.raises(ps.InvalidArgumentError, match=r"pass x\[None, :\]"):
            ps.EstimatorPolicies([GaussianNB()], n_actions=5).actions(contexts[0])
        with pytest.raises(ps.InvalidArgumentError, match="model 0 is a object"):
            ps.EstimatorPolicies([object()], n_actions=5)
        with pytest.raises(ps.InvalidArgumentError, match="predict_proba or decision_function"):
            ps.EstimatorPolicies([OneClassSVM()], n_actions=5, slate_size=2)
        with pytest.raises(ps.PolicyFailureError, match="policy 0 raised NotFittedError"):
            ps.EstimatorPolicies([GaussianNB()], n_actions=5).actions(contexts)
        fitted = GaussianNB().fit(data[0], data[1] + 10)
        for size in (1, 2):
            with pytest.raises(ps.InvalidArgumentError, match="model 0 has 10; fit it on names"):
                ps.EstimatorPolicies([fitted], n_actions=5, slate_size=size)
        secret = SimpleNamespace(predict=fitted.predict)  # which does not tell its classes
        with pytest.raises(ps.PolicyFailureError, match="policy 0 returned action 1"):
            ps.EstimatorPolicies([secret], n_actions=5).actions(contexts)
        secret.predict_proba, secret.classes_ = fitted.predict_proba, list(fitted.classes_)
        with pytest.raises(ps.PolicyFailureError, match="classes outside"):
            ps.EstimatorPolicies([secret], n_actions=5, slate_size=2).actions(contexts)
        names = GaussianNB().fit(data[0], np.array(list("abcd"))[data[1]])
        with pytest.raises(ps.InvalidArgumentError, match=r"actions=\['a', 'b', 'c', 'd'\]"):
            ps.EstimatorPolicies([names], n_actions=5)


class TestFingerprint:
    def test_numbers_tell_policies_apart(self):
        table = np.random.default_rng(0).integers(0, 5, (6, 4))
        one = ps.PolicyTable(table, n_actions=5)
        assert one.fingerprint() == ps.PolicyTable(table.copy(), n_actions=5).fingerprint()
        table[5, 3] = (table[5, 3] + 1) % 5
        assert one.fingerprint() != ps.PolicyTable(table, n_actions=5).fingerprint()
        weights = np.ones((4, 5, 2))
        two = ps.LinearPolicies(weights.copy())
        assert two.fingerprint() == ps.LinearPolicies(weights).fingerprint()
        weights[0, 0, 0] += 1e-12
        assert two.fingerprint() != ps.LinearPolicies(weights).fingerprint()

    def test_large_tables_are_hashed_in_blocks(self, monkeypatch, tmp_path):
        policies = ps.PolicyTable(np.arange(60).reshape(20, 3) % 7, n_actions=7)
        whole = policies.fingerprint()
        policies.save(tmp_path / "table.npy")
        monkeypatch.setattr("policysieve.policies.policy_class._HASH_BYTES", 10)
        assert ps.PolicyTable.load(tmp_path / "table.npy", 7).fingerprint() == whole

    def test_functions_have_kind_and_size_only(self):
        one, two = (
            ps.FunctionPolicies([lambda x: x, lambda x, k=k: x * k], n_actions=5) for k in (0, 1)
        )
        assert one.fingerprint() == two.fingerprint() == repr(one)


class TestPolicyPair(PoliciesContract):
    kind = PolicyPair

    @pytest.fixture(params=[ps.PolicyTable, ps.FunctionPolicies])
    def policies(self, request):
        if request.param is ps.FunctionPolicies:
            return PolicyPair(ps.FunctionPolicies([zero, double, zero], 5), (1, 2))
        return PolicyPair(ps.PolicyTable(np.arange(24).reshape(8, 3) % 5, n_actions=5), (2, 0))

    @pytest.fixture
    def contexts(self):
        return np.array([3, 0, 7, 3, 1])

    def test_it_has_the_two_and_their_names(self):
        table = ps.PolicyTable([[0, 1, 2, 0]], n_actions=3, names=["a", "b", "c", "d"])
        pair = PolicyPair(table, (3, 1))
        assert pair.actions([0])[0, :, 0].tolist() == [0, 1]
        assert pair.names == ("d", "b")
        assert PolicyPair(table, (3, 0)).same_as(0, np.array([1])).tolist() == [True]
        assert pair.same_as(0, np.array([1])).tolist() == [False]
