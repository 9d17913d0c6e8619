import numpy as np
import pytest

from policysieve.errors import InvalidArgumentError
from policysieve.naming import (
    as_names,
    check_same_actions,
    labels_of,
    looked_up,
    named,
    named_actions,
    named_parts,
    number_of,
)


def test_names_are_a_tuple_of_strings():
    assert as_names("actions", ["hats", np.str_("shoes")]) == ("hats", "shoes")
    assert all(type(name) is str for name in as_names("actions", np.array(["hats", "shoes"])))


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ("hats", "one string"),
        (["hats", ""], "entry 1"),
        (["hats", "\ud83d"], "surrogate pair in entry 1"),
        (["hats", 3], "str"),
        (["hats", "shoes", "hats"], "entries 0 and 2"),
        (7, "a sequence of names"),
    ],
)
def test_other_things_are_no_names(names, words):
    with pytest.raises(InvalidArgumentError, match=words):
        as_names("actions", names)


def test_an_unknown_name_is_told_with_what_was_meant():
    assert number_of("policy", "shoes", ("hats", "shoes")) == 1
    with pytest.raises(InvalidArgumentError, match="did you mean 'shoes'"):
        number_of("policy", "sheos", ("hats", "shoes"))
    with pytest.raises(InvalidArgumentError, match="no names are known"):
        number_of("policy", "shoes", None)
    with pytest.raises(InvalidArgumentError, match="1,000 names"):
        number_of("policy", "shoes", [str(i) for i in range(1000)])


def test_arrays_of_names_become_numbers_and_back():
    names = ("hats", "shoes", "coats")
    shown = np.array([["coats", "hats"], ["hats", "shoes"]], dtype=object)
    numbers = looked_up("actions", shown, names)
    assert numbers.tolist() == [[2, 0], [0, 1]]
    assert named(numbers, names).tolist() == shown.tolist()
    assert looked_up("actions", np.array([1, 0]), names).tolist() == [1, 0]
    with pytest.raises(InvalidArgumentError, match=r"actions \(row 1\) .* 'gloves'"):
        looked_up("actions", np.array([["coats", "hats"], ["gloves", "hats"]]), names)


def test_one_string_is_no_array_of_names():
    assert looked_up("actions", np.array("hats"), ("hats",)) == np.array("hats")


def test_actions_are_counted_or_named():
    assert named_actions(None, 3) == (None, 3)
    assert named_actions(["hats", "shoes"], None) == (("hats", "shoes"), 2)
    assert named_actions(["hats", "shoes"], np.int64(2)) == (("hats", "shoes"), 2)
    with pytest.raises(InvalidArgumentError, match="each of the 3 actions, got 2 names"):
        named_actions(["hats", "shoes"], 3)


def test_things_by_name_come_as_a_dict_or_with_names_beside_them():
    assert named_parts("models", {"a": 1, "b": 2}, "things", None) == ([1, 2], ("a", "b"))
    assert named_parts("models", (1, 2), "things", ["a", "b"]) == ([1, 2], ("a", "b"))
    assert named_parts("models", (1, 2), "things", None) == ([1, 2], None)
    with pytest.raises(InvalidArgumentError, match="names must be left out"):
        named_parts("models", {"a": 1}, "things", ["a"])


@pytest.mark.parametrize(
    ("ours", "theirs", "words"),
    [
        (("a", "b"), ("b", "a"), "'a' and 'b' for action 0"),
        (("a", "b"), ("a",), "2 and 1 names"),
    ],
)
def test_names_of_actions_must_be_the_same_in_the_same_order(ours, theirs, words):
    check_same_actions(ours, list(ours), of="x and y")
    check_same_actions(ours, None, of="x and y")
    check_same_actions(None, theirs, of="x and y")
    with pytest.raises(InvalidArgumentError, match=f"x and y must have the same names.*{words}"):
        check_same_actions(ours, theirs, of="x and y")


def test_a_set_has_no_order_for_names():
    with pytest.raises(InvalidArgumentError, match="must be in an order"):
        as_names("actions", {"hats", "shoes"})
    assert as_names("actions", {"hats": 1, "shoes": 2}.keys()) == ("hats", "shoes")


@pytest.mark.parametrize("name", ["a\x1b[31m", "a\nb", "\x00", "a\u2028", "\ufffe", "x" * 501])
def test_names_that_cannot_be_shown_in_a_line_are_refused(name):
    with pytest.raises(InvalidArgumentError, match="can be shown in one line"):
        as_names("names", ["old", name])


def test_numbers_among_names_stay_numbers():
    assert labels_of("actions", ["x", 0], "names").tolist() == ["x", 0]
    assert labels_of("actions", np.array(["x", "0"]), "names").dtype.kind == "U"
