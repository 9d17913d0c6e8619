import numpy as np
import pytest

from policysieve.errors import InvalidArgumentError
from policysieve.naming import as_names, looked_up, named, number_of


def test_names_are_a_tuple_of_strings():
    assert as_names("actions", ["hats", np.str_("shoes")]) == ("hats", "shoes")
    assert all(type(name) is str for name in as_names("actions", np.array(["hats", "shoes"])))


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ("hats", "one string"),
        (["hats", ""], "entry 1"),
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
