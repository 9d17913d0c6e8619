"""Full distributions: what they may be given as, and that they are a value."""

import copy
import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import policysieve as ps
from policysieve.log import Distributions
from policysieve.log.distributions import faults, in_order, stacked
from policysieve.log.fitting import agreeing, disagreements

few = settings(deadline=None, max_examples=60)


@st.composite
def dense_rows(draw):
    """Propensities of all actions, with at least one positive in each round."""
    n, k = draw(st.integers(0, 7)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    every = rng.random((n, k)) * (rng.random((n, k)) < 0.5)
    every[np.arange(n), rng.integers(0, k, n)] = 0.5
    return every


def mappings(dense):
    return [{int(j): float(row[j]) for j in np.flatnonzero(row)} for row in dense]


def some(n=5, k=4, seed=0):
    rng = np.random.default_rng(seed)
    return Distributions.of(rng.dirichlet(np.ones(k), n), n)


def test_lists_lie_one_behind_the_other():
    made = Distributions.of([{7: 0.75, 3: 0.25}, [(0, 1)]], 2)
    assert made.offsets.tolist() == [0, 2, 3]
    assert made.actions.tolist() == [3, 7, 0]
    assert made.propensities.tolist() == [0.25, 0.75, 1.0]
    assert (made.lengths.tolist(), made.rows.tolist()) == ([2, 1], [0, 0, 1])
    dtypes = [array.dtype for array in (made.offsets, made.actions, made.propensities)]
    assert dtypes == [np.int64, np.int32, np.float64]
    assert list(made) == [[(3, 0.25), (7, 0.75)], [(0, 1.0)]]
    assert repr(made) == "Distributions(2 rounds, 3 actions listed)"


@given(dense_rows())
@few
def test_all_ways_of_giving_them_are_the_same(dense):
    n, k = dense.shape
    made = Distributions.of(dense, n)
    np.testing.assert_array_equal(made.dense(k), dense)
    backwards = [list(one.items())[::-1] for one in mappings(dense)]
    for other in (mappings(dense), backwards, np.array(mappings(dense) + [0], dtype=object)[:-1]):
        assert Distributions.of(other, n) == made
    assert Distributions.of(made, n) is made
    assert Distributions(made.offsets, made.actions, made.propensities) == made


@given(dense_rows(), st.data())
@few
def test_rounds_are_taken_as_from_an_array(dense, data):
    n, k = dense.shape
    made = Distributions.of(dense, n)
    ends = st.one_of(st.none(), st.integers(-n - 2, n + 2))
    steps = st.sampled_from([None, 1, 2, -1, -3])
    part = slice(data.draw(ends), data.draw(ends), data.draw(steps))
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), dtype=bool)
    numbers = np.array(
        data.draw(st.lists(st.integers(0, max(n - 1, 0)), max_size=5 if n else 0)), int
    )
    for rows in (part, mask, numbers):
        np.testing.assert_array_equal(made[rows].dense(k), dense[rows])
        assert made[rows].offsets[0] == 0


@given(dense_rows(), st.lists(st.integers(0, 7), max_size=3))
@few
def test_parts_make_the_whole(dense, cuts):
    n = len(dense)
    made = Distributions.of(dense, n)
    edges = [0, *sorted(min(cut, n) for cut in cuts), n]
    parts = [made[a:b] for a, b in pairwise(edges)]
    longer = made[:0]
    for part in parts:
        longer = longer.plus(part)
    assert longer == Distributions.concatenate(parts) == made


def test_longer_ones_leave_shorter_ones_alone():
    first = some(3)
    second = first.plus(some(2, seed=1))
    third, other = second.plus(some(1, seed=2)), second.plus(some(1, seed=3))
    assert [len(one) for one in (first, second, third, other)] == [3, 5, 6, 6]
    assert third[:5] == other[:5] == second
    assert (third[5:], other[5:]) == (some(1, seed=2), some(1, seed=3))
    assert second[:3] == first


def test_adding_is_amortised():
    made, moves = some(1), 0
    for _ in range(600):
        before = made.propensities.__array_interface__["data"][0]
        made = made.plus(some(1))
        moves += made.propensities.__array_interface__["data"][0] != before
    assert len(made) == 601
    assert moves < 15


def test_are_a_value():
    made = some()
    for array in (made.offsets, made.actions, made.propensities):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    assert copy.deepcopy(made) is made
    part = made.plus(some(300))[1:3]
    travelled = pickle.loads(pickle.dumps(part))
    assert travelled == part
    assert not travelled.propensities.flags.writeable
    assert len(pickle.dumps(part)) < 1000
    assert made != some(seed=1)
    assert made != some(4)
    assert made != "distributions"
    with pytest.raises(TypeError):
        hash(made)


def test_arrays_that_are_given_stay_as_they_are():
    offsets, actions, propensities = np.array([0, 2]), np.array([1, 0]), np.array([0.25, 0.75])
    made = Distributions(offsets, actions, propensities)
    propensities[:], actions[:], offsets[:] = 1, 5, 0
    assert list(made) == [[(0, 0.75), (1, 0.25)]]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (None, "one for each of the 2 rounds, got NoneType"),
        (3, "one for each of the 2 rounds, got int"),
        ([{0: 1}], "one for each of the 2 rounds, got 1"),
        (np.ones((3, 2)), "one for each of the 2 rounds, got 3"),
        (np.ones(2), r"shape \(n_rounds, n_actions\), got shape \(2,\)"),
        (np.array([["a"], ["b"]]), "must be an array of propensities, got dtype <U1"),
        ([{0: 1}, 5], "row 1: a round must have a mapping .* got 5; .* numpy array"),
        ([{0: 1}, [0.5, 0.5]], "row 1: a round must have a mapping"),
        ([{0: 1}, "ab"], "row 1: a round must have a mapping"),
        ([{0: 1}, [(0, 1, 2)]], "row 1: a round must have a mapping"),
        ([{0: 1}, {0: "half"}], "row 1: a round must have a mapping"),
        ([{0: 1}, {0: 10**400}], "row 1: a round must have a mapping"),
        ([{0: 1}, {0.5: 1}], r"row 1: an action must be a whole number in \[0, .* got 0.5"),
        ([{0: 1}, {True: 1}], "row 1: an action must be a whole number"),
        ([{0: 1}, {-1: 1}], "row 1: an action must be a whole number in .* got -1"),
        ([{0: 1}, {2**31: 1}], "row 1: an action must be a whole number in .* got 2147483648"),
        ([{0: 1}, {2**70: 1}], "row 1: an action must be a whole number"),
        ([{0: 1}, {}], "row 1: the distribution is empty"),
        (np.array([[0.5, 0.5], [0, 0]]), "row 1: the distribution is empty"),
        ([{0: 1}, [(4, 0.5), (3, 0.1), (4, 0.4)]], "row 1: .* different, got 4 twice"),
        ([{0: 1}, {0: 0.0, 1: 1}], r"row 1: .* in \(0, 1\], got 0; leave out actions"),
        (np.array([[1, 0], [1.5, -0.5]]), r"row 1: .* in \(0, 1\], got 1.5"),
        (np.array([[0, np.nan], [0, np.nan]]), r"row 0: .* got nan.* \(2 such rows: 0, 1\)"),
    ],
)
def test_what_is_refused(values, message):
    with pytest.raises(ps.InvalidArgumentError, match=message):
        Distributions.of(values, 2)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (([0, 1], [0], ["a"]), "propensities must be an array of numbers, got dtype <U1"),
        (([0, 1], [0.5], [1]), "actions must be whole numbers, got dtype float64"),
        (([0.0, 1.0], [0], [1]), "offsets must be whole numbers"),
        (([0, 2], [0], [1]), "offsets must be numbers in order, from 0 to the 1 actions"),
        (([1, 1], [0], [1]), "offsets must be numbers in order"),
        (([], [], []), "offsets must be numbers in order"),
        (([[0, 1]], [0], [1]), "offsets must be numbers in order"),
        (([0, 2, 1, 2], [0, 1], [0.5, 0.5]), "offsets must be numbers in order"),
        (([0, 1], [0], [0.5, 0.5]), r"equally long arrays .* got shapes \(1,\) and \(2,\)"),
        (([0, 1], [[0]], [[1]]), "of one dimension"),
        (([0, 1], [2**40], [1]), "row 0: an action .* from 0 to 2147483646, got 1099511627776"),
        (([0, 1], [-3], [1]), "row 0: an action .* got -3"),
    ],
)
def test_arrays_that_are_refused(arrays, message):
    with pytest.raises(ps.InvalidArgumentError, match=message):
        Distributions(*arrays)


def test_rows_that_are_not_there():
    for rows in (9, [0, 9], np.ones(9, dtype=bool), "a", 0.5):
        with pytest.raises(ps.InvalidArgumentError, match="a slice, a mask or row numbers below 5"):
            some()[rows]
    assert list(some()[3]) == list(some()[[3]])


def test_dense_needs_room():
    with pytest.raises(ps.InvalidArgumentError, match=r"n_actions must be .* >= 8, got 5"):
        Distributions.of([{7: 1}], 1).dense(5)
    assert Distributions.of([], 0).dense(3).shape == (0, 3)


@given(
    st.lists(
        st.lists(
            st.tuples(st.integers(-3, 5), st.floats(-0.5, 1.5) | st.sampled_from([np.nan, np.inf])),
            max_size=4,
        ),
        min_size=1,
        max_size=5,
    ),
    st.integers(0, 99),
)
@few
def test_faults_are_those_that_one_would_find_by_hand(lists, seed):
    rng = np.random.default_rng(seed)
    shown = rng.permuted(np.tile(np.arange(-1, 5), (len(lists), 1)), axis=1)[:, :2]
    chances = rng.choice([0.25, 1.0, np.nan, np.inf], shown.shape)
    for row, pairs in enumerate(lists):  # some fit
        for item, action in enumerate(shown[row]):
            if action in dict(pairs) and rng.random() < 0.7:
                chances[row, item] = dict(pairs)[action]
    ordered = in_order(stacked(lists))
    found = faults(ordered, 4) + disagreements(ordered, shown, chances)
    bad = np.any([mask for mask, _ in found], axis=0)
    for row, pairs in enumerate(lists):
        listed = dict(pairs)
        fine = (
            len(listed) == len(pairs) > 0
            and all(0 <= action <= 4 for action in listed)
            and all(0 < w <= 1 for w in listed.values())
            and abs(sum(listed.values()) - 2) <= 2e-3
            and all(
                action in listed and abs(listed[action] - w) <= 1e-6 * w
                for action, w in zip(shown[row], chances[row], strict=True)
            )
        )
        assert bad[row] == (not fine)
        assert all(reason(row) for mask, reason in found if mask[row])


def test_the_propensity_of_what_was_shown_is_kept_to_the_last_digit():
    lists = Distributions.of([{1: 0.333, 2: 0.667}, {0: 0.5, 3: 0.5}], 2)
    exact = np.array([[0.333 * (1 + 1e-7)], [0.5]])
    fitted = agreeing(lists, np.array([[1], [3]]), exact)
    assert list(fitted) == [[(1, exact[0, 0]), (2, 0.667)], [(0, 0.5), (3, 0.5)]]
    assert lists.propensities[0] == 0.333
