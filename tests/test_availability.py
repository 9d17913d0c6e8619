import re

import numpy as np
import pytest

from policysieve.availability import Available
from policysieve.errors import InvalidArgumentError

NAMES = ["hats", "shoes", "socks"]


def test_masks_and_lists_of_numbers_and_names_say_the_same():
    mask = np.array([[True, False, True], [True, True, False]])
    by_mask = Available.of(mask, 2, 3)
    assert by_mask == Available.of([[0, 2], [1, 0]], 2, 3)
    assert by_mask == Available.of([["hats", "socks"], ("shoes", "hats")], 2, 3, names=NAMES)
    assert by_mask == Available.of(mask.tolist(), 2, 3)
    assert (by_mask.dense() == mask).all()
    assert by_mask.lists() == [[0, 2], [0, 1]]
    assert by_mask.counts.tolist() == [2, 2]


@pytest.mark.parametrize("n_actions", [1, 7, 8, 9, 200])
def test_bits_are_those_of_the_mask(n_actions):
    rng = np.random.default_rng(n_actions)
    mask = rng.random((20, n_actions)) < 0.7
    mask[:, 0] = True
    available = Available.of(mask, 20, n_actions)
    actions = rng.integers(0, n_actions, (20, 3))
    assert (available.has(actions) == np.take_along_axis(mask, actions, axis=1)).all()
    assert (available[3:7].dense() == mask[3:7]).all()
    wide = available.wide(n_actions + 9)
    assert (wide.dense()[:, :n_actions] == mask).all()
    assert not wide.dense()[:, n_actions:].any()
    order = rng.permutation(n_actions)
    assert (available.renumbered(order, n_actions).dense()[:, order] == mask).all()


def test_the_number_of_actions_is_what_is_listed_if_it_is_not_given():
    assert Available.of([[4], [0, 1]], 2, None).n_actions == 5
    assert Available.of(np.ones((2, 3), bool), 2, None).n_actions == 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.ones((2, 4), bool), "shape (2, 3), got (2, 4)"),
        (np.ones((2, 3)), "mask.astype(bool)"),
        ([[0]], "a list for each of the 2 rounds, got 1"),
        ([[0], [3]], "actions in [0, 2]"),
        ([[0], [-1]], "actions in [0, 2]"),
        ([["hats"], ["hat"]], "did you mean 'hats'?"),
        (["hats", "socks"], "write [...] around it"),
        ([[0], [0.5]], "got [0.5] in row 1"),
        ([[0], []], "at least 1 action to show, got 0 in row 1"),
        (Available.packed(np.ones((3, 3), bool)), "2 rounds, got 3"),
        (Available.packed(np.ones((2, 4), bool)), "at most 3 actions, got 4"),
        (7, "booleans of shape"),
    ],
)
def test_anything_else_is_refused(given, message):
    with pytest.raises(InvalidArgumentError, match=re.escape(message)):
        Available.of(given, 2, 3, names=NAMES)


def test_a_slate_needs_as_many_actions_as_it_shows():
    with pytest.raises(InvalidArgumentError, match="at least 2 actions to show, got 1 in row 1"):
        Available.of([[0, 1], [2]], 2, 3, slate_size=2)


def test_a_word_that_is_no_action_has_its_row_once():
    with pytest.raises(InvalidArgumentError, match=r"^available \(row 1\) must be one of .*'hat'"):
        Available.of([["hats"], ["shoes", "hat"]], 2, 2, names=("hats", "shoes"))


def test_a_data_frame_of_booleans_goes_by_its_columns():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"shoes": [True, False], "hats": [False, True]})
    found = Available.of(frame, 2, 2, names=("hats", "shoes"))
    assert found.lists() == [[1], [0]]
    for names in (None, ("hats", "socks")):
        with pytest.raises(InvalidArgumentError, match=r"write available=frame.to_numpy\(\)"):
            Available.of(frame, 2, 2, names=names)
