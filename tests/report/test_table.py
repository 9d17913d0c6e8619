from math import inf, nan

import numpy as np
import pytest

from policysieve.report import Table
from policysieve.report.table import (
    Beyond,
    column_texts,
    exact_text,
    flat_texts,
    is_number,
    sort_key,
    value_text,
)

DASH = "\N{EN DASH}"


def test_numbers_of_a_column_are_written_alike():
    table = Table("t", ["name", "x", "n"], [["a", 0.5, 1000], ["b", None, 7], ["c", 0.25, None]])
    assert table.texts == [("a", "0.5000", "1,000"), ("b", DASH, "7"), ("c", "0.2500", DASH)]


def test_columns_of_numbers():
    table = Table("t", ["name", "x", "verdict"], [["a", 0.5, "good"], ["b", None, None]])
    assert table.numeric == [False, True, False]


def test_no_rows():
    assert Table("t", ["a", "b"], []).texts == []


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "\N{EN DASH}"),
        (nan, "\N{EN DASH}"),
        (np.float64(nan), "\N{EN DASH}"),
        (True, "yes"),
        (np.bool_(False), "no"),
        (20_000, "20,000"),
        (np.int64(-3), "\N{MINUS SIGN}3"),
        (0.123456, "0.1235"),
        (0.0, "0"),
        (inf, "∞"),
        (-inf, "\N{MINUS SIGN}∞"),
        ("plain-text", "plain-text"),
    ],
)
def test_one_value(value, text):
    assert value_text(value) == text


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([0.5, 0.25, None], ["0.5000", "0.2500", "\N{EN DASH}"]),
        ([1.0, 0.25], ["1.0000", "0.2500"]),
        ([12.5, 0.25], ["12.500", "0.250"]),
        ([123456.7, 1.0], ["123,457", "1"]),
        ([0.0012, 0.0], ["0.001200", "0.000000"]),
        ([1e-9, 0.5e-9], ["1e\N{MINUS SIGN}09", "5e\N{MINUS SIGN}10"]),
        ([nan, inf, 1.0], ["\N{EN DASH}", "∞", "1.0000"]),
        ([1, 2000], ["1", "2,000"]),
        (["a", 0.5], ["a", "0.5000"]),
        ([], []),
    ],
)
def test_numbers_of_a_column_look_alike(values, texts):
    assert column_texts(values) == texts


@pytest.mark.parametrize(
    ("value", "key", "numeric"),
    [
        (3, "3", True),
        (np.float64(0.25), "0.25", True),
        (inf, "Infinity", True),
        (nan, "", True),
        (None, "", True),
        (True, "yes", False),
        ("b", "b", False),
    ],
)
def test_what_a_page_sorts_by(value, key, numeric):
    assert sort_key(value) == key
    assert is_number(value) is numeric


def test_numbers_that_were_not_enough():
    """Among others they change nothing of how those are shown, and are sorted as numbers."""
    assert column_texts([12, Beyond(10_000)]) == ["12", ">10,000"]
    assert column_texts([0.5, Beyond(10_000)]) == ["0.5000", ">10,000"]
    assert is_number(Beyond(3))
    assert sort_key(Beyond(10_000)) == "10000.0"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.123456789, "0.123456789"),
        (np.float64(0.1), "0.1"),
        (-20_000, "-20000"),
        (1e-12, "1e-12"),
        (True, "yes"),
        (None, "\N{EN DASH}"),
        ("a-b", "a-b"),
    ],
)
def test_exact_values(value, text):
    assert exact_text(value) == text


def test_settings_in_tables():
    tables = {"a": {"b": {"c": 1.5}}, "d": [{"e": 1}, {"e": [2, 3]}], "f": (), "g": None}
    assert list(flat_texts(tables)) == [
        ("a.b.c", "1.5"),
        ("d[0].e", "1"),
        ("d[1].e", "2, 3"),
        ("f", ""),
        ("g", "\N{EN DASH}"),
    ]
