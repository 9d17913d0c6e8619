import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from policysieve.errors import InvalidArgumentError
from policysieve.policies import PolicyTable
from policysieve.worlds import Multilabel
from tests.contracts.world_contract import WorldContract, all_rewards, arithmetic_policies
from tests.worlds.naive import naive_values


def dataset(n=50, k=8, fractional=False, seed=0):
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, k)) < 0.3).astype(float)
    Y[:3] = 0  # rows without labels
    if fractional:
        Y *= rng.random((n, k))
    return rng.normal(size=(n, 3)), Y


class TestLabels(WorldContract):
    kind = Multilabel

    @pytest.fixture
    def world(self):
        return Multilabel(*dataset(), slate_size=3)


class TestCappedRelevances(WorldContract):
    kind = Multilabel

    @pytest.fixture
    def world(self):
        return Multilabel(*dataset(fractional=True), slate_size=2, sparsity=0.7)


class TestSingleItemsOnRows(WorldContract):
    kind = Multilabel

    @pytest.fixture
    def world(self):
        _, Y = dataset()
        return Multilabel(None, scipy.sparse.csr_matrix(Y), slate_size=1, contexts="rows")


class TestWholeCatalogue(WorldContract):
    kind = Multilabel

    @pytest.fixture
    def world(self):
        return Multilabel(*dataset(fractional=True), slate_size=8)


def test_rewards_are_relevances():
    _, Y = dataset(fractional=True)
    world = Multilabel(None, Y, slate_size=3, contexts="rows")
    draw = world.draw(400, 0)
    np.testing.assert_array_equal(all_rewards(world, draw), Y[draw.contexts])
    assert world.sparsity == pytest.approx(Y.sum(axis=1).max())


def test_rows_above_the_sparsity_are_capped_and_others_left_alone():
    Y = np.array([[1, 1, 1, 1], [1, 0, 0.5, 0], [0, 0, 0, 0], [1, 1, 0, 0]])
    world = Multilabel(None, Y, slate_size=2, sparsity=2, contexts="rows")
    rewards = np.empty_like(Y)
    draw = world.draw(200, 0)
    rewards[draw.contexts] = all_rewards(world, draw)
    np.testing.assert_array_equal(rewards, [[0.5] * 4, [1, 0, 0.5, 0], [0] * 4, [1, 1, 0, 0]])
    assert world.sparsity == 2


@pytest.mark.parametrize("sparsity", [None, 1.0, 0.3])
@pytest.mark.parametrize("slate_size", [1, 3])
def test_values_agree_with_plain_loops(sparsity, slate_size):
    X, Y = dataset(fractional=True)
    world = Multilabel(X, Y, slate_size=slate_size, sparsity=sparsity)
    policies = arithmetic_policies(8, slate_size, n_policies=9)
    rewards = [
        [y * min(1.0, sparsity / sum(row)) if sparsity and sum(row) else y for y in row]
        for row in Y.tolist()
    ]
    expected = naive_values(policies.actions(X), rewards)
    np.testing.assert_allclose(world.values(policies), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["csr_matrix", "csr_array", "coo_array", "csc_matrix"])
def test_sparse_labels_are_the_same_world(kind):
    _, Y = dataset(fractional=True)
    dense = Multilabel(None, Y, slate_size=3, contexts="rows")
    sparse = Multilabel(None, getattr(scipy.sparse, kind)(Y), slate_size=3, contexts="rows")
    draws = dense.draw(300, 0), sparse.draw(300, 0)
    np.testing.assert_array_equal(all_rewards(dense, draws[0]), all_rewards(sparse, draws[1]))
    assert dense.sparsity == sparse.sparsity


def test_entries_of_a_sparse_matrix_that_are_given_twice_add_up():
    Y = scipy.sparse.csr_matrix(([0.25, 0.5, 0.0], [2, 2, 1], [0, 2, 3]), shape=(2, 3))
    world = Multilabel(None, Y, slate_size=1, contexts="rows")
    assert world.values(PolicyTable([[2], [1]], n_actions=3)).tolist() == [0.375]
    assert Y.nnz == 3  # the caller's matrix is left alone


def test_true_and_false_are_labels():
    world = Multilabel(None, [[True, False], [True, True]], slate_size=2, contexts="rows")
    assert world.sparsity == 2


@pytest.mark.parametrize(
    ("Y", "options", "message"),
    [
        ([[0, 1], [np.nan, 0]], {}, "got nan for label 0 in row 1"),
        ([[0, 1], [0, 1.5]], {}, r"relevances in \[0, 1\], got 1.5 for label 1 in row 1; rescale"),
        ([[0, 1], [0, -1]], {}, "got -1 for label 1 in row 1"),
        ([[0, 0], [0, 0]], {}, "at least one positive relevance, got only zeros"),
        ([0, 1], {}, r"Y must have shape \(n, K\).* got \(2,\)"),
        (np.empty((2, 0)), {}, r"Y must have shape \(n, K\)"),
        (np.empty((0, 2)), {}, "at least one row"),
        ([[0], [0, 1]], {}, "Y must be an array of shape"),
        (np.array([["a", "b"], ["c", "d"]]), {}, "Y must hold numbers"),
        ([["a", "b"], ["c", 1]], {}, "names in all rows or in none, got 1 in row 1"),
        ([["a"], ["b"]], {"actions": ["a", "c"]}, r"Y \(row 1\) must be one of 'a', 'c', got 'b'"),
        ([[0, 1], [1, 0]], {"actions": ["a"]}, "each of the 2 actions, got 1 names"),
        ([[0, 1], [1, 0], [1, 1]], {}, "X must have one row for each of the 3 labelled rows"),
        ([[0, 1], [1, 0]], {"slate_size": 3}, r"slate_size must be a whole number in \[1, 2\]"),
        ([[0, 1], [1, 0]], {"slate_size": 0}, "slate_size must be"),
        ([[0, 1], [1, 0]], {"sparsity": 0}, "0 < sparsity <= 2, got 0"),
        ([[0, 1], [1, 0]], {"sparsity": 2.5}, "0 < sparsity <= 2, got 2.5"),
        ([[0, 1], [1, 0]], {"sparsity": np.nan}, "sparsity must be"),
        ([[0, 1], [1, 0]], {"sparsity": "2"}, "sparsity must be"),
        ([[0, 1], [1, 0]], {"contexts": "numbers"}, "contexts must be"),
    ],
)
def test_bad_datasets_are_refused(Y, options, message):
    with pytest.raises(InvalidArgumentError, match=message):
        Multilabel([[1.0], [2.0]], Y, **{"slate_size": 1, **options})


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    hnp.arrays(float, (5, 4), elements=st.floats(0, 1)).filter(
        lambda Y: Y.sum(axis=1).max() >= 1e-100
    ),
    st.integers(1, 4),
    st.none() | st.floats(0.01, 4),
)
def test_every_round_is_a_row_scaled_to_at_most_the_sparsity(Y, slate_size, sparsity):
    world = Multilabel(None, Y, slate_size=slate_size, sparsity=sparsity, contexts="rows")
    draw = world.draw(20, 0)
    full = all_rewards(world, draw)
    assert (full.sum(axis=1) <= world.sparsity + 1e-9).all()
    for x, rewards in zip(draw.contexts, full, strict=True):
        total = Y[x].sum()
        scale = 1.0 if total <= world.sparsity else world.sparsity / total
        np.testing.assert_allclose(rewards, Y[x] * scale, rtol=1e-12, atol=1e-300)


def test_rows_may_have_names_of_labels():
    world = Multilabel(None, [{"hats", "bags"}, [], ["shoes"]], slate_size=2, contexts="rows")
    assert world.actions == ("bags", "hats", "shoes")
    assert world.sparsity == 2
    draw = world.draw(30, rng=0)
    rewards = draw.rewards([["bags", "shoes"]] * 30)
    assert rewards.tolist() == [[float(row == 0), float(row == 2)] for row in draw.contexts]
    named = Multilabel(None, [[1, 0], [0, 1]], 1, contexts="rows", actions=["b", "a"])
    assert named.problem(epsilon=0.1, delta=0.1).actions == ("b", "a")
