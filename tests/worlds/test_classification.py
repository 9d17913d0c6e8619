import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import policysieve as ps
from policysieve.errors import InvalidArgumentError
from policysieve.policies import LinearPolicies, PolicyTable
from policysieve.worlds import Classification, finite
from tests.contracts.world_contract import WorldContract, all_rewards
from tests.worlds.naive import naive_values


def dataset(n=60, k=7, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)), rng.integers(k, size=n)


class SparseLike:
    """A matrix with a shape and no length, as scipy's sparse matrices are."""

    shape = (60, 3)

    def __len__(self):
        raise TypeError("sparse matrix length is ambiguous")

    def tocsr(self):
        raise AssertionError("must not be touched")


class TestFeatures(WorldContract):
    kind = Classification

    @pytest.fixture
    def world(self):
        return Classification(*dataset(), n_actions=9)


class TestRows(WorldContract):
    kind = Classification

    @pytest.fixture
    def world(self):
        X, y = dataset()
        return Classification(X, y, contexts="rows")


def test_the_right_label_earns_one_and_every_other_nothing():
    X, y = dataset()
    world = Classification(X, y)
    draw = world.draw(500, 0)
    row_of = {tuple(features): row for row, features in enumerate(X)}
    rows = [row_of[tuple(context)] for context in draw.contexts]
    np.testing.assert_array_equal(all_rewards(world, draw), np.eye(7)[y[rows]])


def test_rows_are_drawn_uniformly_with_replacement():
    world = Classification(None, [0, 1, 2, 3], contexts="rows")
    counts = np.bincount(world.draw(40_000, 0).contexts, minlength=4)
    assert (abs(counts - 10_000) < 6 * np.sqrt(40_000 * 3 / 16)).all()


def test_values_are_exact_shares_of_right_answers():
    rng = np.random.default_rng(1)
    X, y = dataset(n=97)
    table = rng.integers(7, size=(97, 23))
    world = Classification(X, y, contexts="rows")
    values = world.values(PolicyTable(table, n_actions=7))
    assert values.tolist() == [float((table[:, p] == y).sum()) / 97 for p in range(23)]
    expected = naive_values(table[:, :, None], np.eye(7)[y])
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-12)


def test_values_of_policies_on_features():
    rng = np.random.default_rng(1)
    X, y = dataset()
    policies = LinearPolicies(rng.normal(size=(11, 7, 3)))
    expected = naive_values(policies.actions(X), np.eye(7)[y])
    values = Classification(X, y).values(policies)
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("block", [1, 8, 40, 10_000])
def test_values_do_not_depend_on_blocks_and_blocks_are_bounded(monkeypatch, block):
    X, y = dataset(n=97)
    policies = PolicyTable(np.random.default_rng(1).integers(7, size=(97, 23)), n_actions=7)
    world = Classification(X, y, contexts="rows")
    expected = world.values(policies)
    sizes = []
    original = policies.actions

    def actions(contexts, which=None):
        slates = original(contexts, which=which)
        sizes.append(slates.size)
        return slates

    monkeypatch.setattr(policies, "actions", actions)
    monkeypatch.setattr(finite, "_BLOCK", block)
    np.testing.assert_array_equal(world.values(policies), expected)
    assert sum(sizes) == 97 * 23
    assert max(sizes) <= block


def test_row_contexts_need_no_features():
    _, y = dataset()
    for X in (None, SparseLike(), ["some text"] * 60):
        world = Classification(X, y, contexts="rows")
        assert world.contexts.tolist() == list(range(60))
        assert world.n_contexts == 60


def test_text_and_whole_float_labels():
    world = Classification(["a", "b", "c"], np.array([0.0, 2.0, 1.0]))
    draw = world.draw(50, 0)
    truth = {"a": 0, "b": 2, "c": 1}
    assert draw.rewards([truth[x] for x in draw.contexts]).min() == 1
    assert world.n_actions == 3
    assert world.sparsity == 1


def test_the_dataset_is_not_tied_to_the_caller():
    X, y = dataset()
    world = Classification(X, y)
    before = all_rewards(world, world.draw(50, 0))
    y[:] = 0
    np.testing.assert_array_equal(all_rewards(world, world.draw(50, 0)), before)
    X[0, 0] = 1.0  # the caller's array stays writeable


@pytest.mark.parametrize(
    ("X", "y", "options", "message"),
    [
        (
            [[1.0], [2.0]],
            [0, np.nan],
            {},
            r"y must hold whole numbers 0, ..., K-1, got nan in row 1",
        ),
        ([[1.0], [2.0]], [0.5, 1], {}, "got 0.5 in row 0"),
        ([[1.0], [2.0]], [0, -1], {}, "got -1 in row 1"),
        ([[1.0], [2.0]], [0, 2**40], {}, "in row 1"),
        ([[1.0], [2.0]], [np.inf, 0], {}, "got inf in row 0"),
        ([[1.0], [2.0]], [b"a", b"b"], {}, "numpy.unique"),
        ([[1.0], [2.0]], np.array([0, 1], dtype=object), {}, "got dtype object"),
        ([[1.0], [2.0]], ["a", 3], {}, "names or numbers, not both, got 3 in row 1"),
        ([[1.0], [2.0]], ["a", np.nan], {}, "names or numbers, not both, got nan in row 1"),
        ([[1.0], [2.0]], ["a", "b"], {"actions": ["a", "c"]}, r"y \(row 1\) .* got 'b'"),
        ([[1.0], [2.0]], ["a", "b"], {"n_actions": 3}, "each of the 3 actions, got 2 names"),
        ([[1.0], [2.0]], [0, 2], {"actions": ["a", "c"]}, "n_actions must be .* >= 3, got 2"),
        ([[1.0], [2.0]], [True, False], {}, "got dtype bool"),
        ([[1.0], [2.0]], [[0], [1]], {}, r"y must have shape \(n,\).*Multilabel"),
        ([[1.0], [2.0]], 3, {}, r"y must have shape \(n,\)"),
        ([[1.0], [2.0]], [[0], [1, 2]], {}, "y must be a 1-d array"),
        (
            [[1.0], [2.0]],
            [0, 1, 2],
            {},
            "X must have one row for each of the 3 labelled rows, got 2",
        ),
        (np.empty((0, 2)), np.empty(0, dtype=int), {}, "at least one row"),
        ([[1.0], [np.nan]], [0, 1], {}, "X does not hold contexts.*row 1"),
        ([[1.0], [2.0, 3.0]], [0, 1], {}, "X does not hold contexts"),
        (3.0, [0, 1], {}, "X must have one row per labelled row, got float"),
        (np.float64(3), [0, 1], {}, "X must have one row per labelled row"),
        (None, [0, 1], {}, 'contexts="rows"'),
        (SparseLike(), [0] * 60, {}, r"X does not hold contexts.*toarray"),
        ([[1.0], [2.0]], [0, 5], {"n_actions": 5}, "n_actions must be .* >= 6, got 5; y holds"),
        ([[1.0], [2.0]], [0, 1], {"n_actions": 2.5}, "n_actions must be a whole number"),
        ([[1.0], [2.0]], [0, 1], {"contexts": "row"}, "must be one of features, rows, got 'row'"),
        (None, [0, 1, 2], {"contexts": None}, "must be one of features, rows, got None"),
    ],
)
def test_bad_datasets_are_refused(X, y, options, message):
    with pytest.raises(InvalidArgumentError, match=message):
        Classification(X, y, **options)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 20), min_size=1, max_size=30), st.integers(0, 2**32))
def test_values_agree_with_plain_loops(labels, seed):
    world = Classification(None, labels, n_actions=21, contexts="rows")
    table = np.random.default_rng(seed).integers(21, size=(len(labels), 4))
    table[:, 0] = labels
    values = world.values(PolicyTable(table, n_actions=21))
    assert values[0] == 1
    expected = naive_values(table[:, :, None], np.eye(21)[labels])
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-12)


def test_labels_may_be_names():
    features = [[0.0], [1.0], [2.0]]
    world = Classification(features, ["shoes", "hats", "shoes"])
    assert (world.actions, world.n_actions) == (("hats", "shoes"), 2)
    assert world.problem(epsilon=0.1, delta=0.1).actions == ("hats", "shoes")
    draw = world.draw(20, rng=0)
    right = np.where(draw.contexts[:, 0] == 1.0, "hats", "shoes")
    assert draw.rewards(right).all()
    assert draw.rewards((right == "shoes").astype(int)).all()
    with pytest.raises(InvalidArgumentError, match=r"actions \(row 0\).*did you mean 'hats'"):
        draw.rewards(["hat"] * 20)
    wider = Classification(features, np.array(["b", "a", "b"]), actions=["c", "b", "a"])
    assert wider.n_actions == 3
    assert Classification(features, [1, 0, 1], actions=["hats", "shoes"]).actions == world.actions


def test_policies_must_name_the_worlds_actions_alike():
    world = Classification([[0.0], [1.0]], ["shoes", "hats"])
    rules = {"shoes": lambda rows: ["shoes"] * len(rows), "hats": lambda rows: [0] * len(rows)}
    same = ps.FunctionPolicies(rules, actions=world.actions)
    assert world.values(same).tolist() == [0.5, 0.5]
    assert world.values(ps.FunctionPolicies([rules["hats"]], 2)).tolist() == [0.5]
    other = ps.FunctionPolicies(rules, actions=["shoes", "hats"])
    with pytest.raises(InvalidArgumentError, match="policies and world must have the same names"):
        world.values(other)
    learner = ps.Sieve(other, ps.Problem(n_actions=2, epsilon=0.1, delta=0.1))
    with pytest.raises(InvalidArgumentError, match="world and learner must have the same names"):
        ps.run(learner, world)
