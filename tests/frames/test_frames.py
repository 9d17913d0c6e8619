"""Rows of tables are kept as they are, whatever they come in."""

import pickle
from copy import deepcopy

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import policysieve as ps
from policysieve.frames import ContextFrame, is_tabular
from tests.frames.tables import DRESSES, ROWS

dressed = pytest.mark.parametrize("dress", DRESSES.values(), ids=DRESSES)


def same_table(one, two):
    if isinstance(one, pd.DataFrame):
        if isinstance(two["country"].dtype, pd.ArrowDtype):  # pandas calls two dtypes by its name
            two = two.astype({"country": "string"})
        pd.testing.assert_frame_equal(one, two.reset_index(drop=True))
    elif isinstance(one, pa.Table):
        assert one.to_pylist() == two.to_pylist()
    else:
        assert one.equals(two) if isinstance(one, pl.DataFrame) else one == two


@dressed
def test_candidates_get_the_kind_of_table_that_was_given(dress):
    table = dress(ROWS)
    frame = ContextFrame.of(table)
    assert len(frame) == 4
    same_table(frame.native(), table)


@dressed
def test_missing_values_stay_missing(dress):
    rows = ContextFrame.of(dress(ROWS)).tolist()
    assert [row["age"] for row in rows] == [31, None, 64, 18]
    assert [row["country"] for row in rows] == ["DE", "FR", None, "DE"]
    assert [row["spend"] for row in rows] == [1.5, None, 0.25, 9.0]


@dressed
@pytest.mark.parametrize(
    "rows", [slice(1, 3), slice(None, None, -2), [3, 0, 0], np.array([True, False, True, False])]
)
def test_parts_are_those_of_the_rows(dress, rows):
    frame = ContextFrame.of(dress(ROWS))
    whole = frame.tolist()
    assert frame[rows].tolist() == [whole[i] for i in np.arange(4)[rows]]


@dressed
def test_values_are_copied_and_pickled_with_what_they_were_made_of(dress):
    frame = ContextFrame.of(dress(ROWS))
    assert deepcopy(frame) is frame.copy() is frame
    twin = pickle.loads(pickle.dumps(frame.plus(frame)))
    assert twin.same_as(frame.plus(frame))
    same_table(twin[:4].native(), dress(ROWS))


@given(st.lists(st.integers(0, 5), max_size=30))
def test_growing_keeps_all_rows_in_few_parts(sizes):
    frame, rows = ContextFrame.of(ROWS), list(ROWS)
    for size in sizes:
        more = [ROWS[i % 4] for i in range(size)]
        frame = frame.plus(ContextFrame.of(ROWS)[[i % 4 for i in range(size)]])
        rows += more
    assert frame.tolist() == ContextFrame.of(rows).tolist()
    assert len(frame._parts) <= 1 + np.log2(len(frame))


def test_columns_in_another_order_are_put_in_order_by_name():
    table = pd.DataFrame(ROWS)
    frame = ContextFrame.of(table).plus(ContextFrame.of(table[table.columns[::-1]]))
    assert frame[4:].tolist() == frame[:4].tolist()
    assert frame.dtype.names == tuple(table.columns)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.drop(columns="age"), "got no 'age' in country"),
        (
            lambda table: table.assign(zip="1"),
            r"got also 'zip' .*pass contexts\[\['age', 'country'",
        ),
        (lambda table: table.assign(country=1), "int64 in column 'country', which held"),
    ],
)
def test_other_columns_are_named(change, message):
    table = pd.DataFrame(ROWS)
    frame = ContextFrame.of(table)
    with pytest.raises(ps.InvalidArgumentError, match=message):
        frame.plus(ContextFrame.of(change(table)))


@pytest.mark.parametrize("more", [[1.5, None], [None, None], pd.array([1, None], "Int64")])
def test_a_column_takes_numbers_of_another_kind_and_missing_ones(more):
    whole = ContextFrame.of(pd.DataFrame({"a": pd.array([1, 2], "Int8")}))
    longer = whole.plus(ContextFrame.of(pd.DataFrame({"a": more})))
    assert [row["a"] for row in longer.tolist()] == [
        1,
        2,
        *ContextFrame.of([{"a": None if value is pd.NA else value} for value in more])
        .table["a"]
        .to_pylist(),
    ]
    longer.native()


def test_categories_join_those_of_other_rows_and_strings():
    first, second = (pd.DataFrame({"a": pd.Categorical(v)}) for v in (["x"], ["y"]))
    joined = ContextFrame.of(first).plus(ContextFrame.of(second)).native()
    assert joined["a"].dtype == pd.CategoricalDtype(["x", "y"])
    plain = ContextFrame.of(first).plus(ContextFrame.of(pd.DataFrame({"a": ["z"]}))).native()
    assert plain["a"].tolist() == ["x", "z"]


def test_more_categories_than_a_byte_counts():
    frames = [pd.DataFrame({"a": pd.Categorical([f"c{i}"])}) for i in range(300)]
    assert len(ContextFrame.concatenate([ContextFrame.of(f) for f in frames]).native()) == 300


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pd.DataFrame({"o": [1, None, "a"]}), r"'a' in row 2 of column 'o'.*astype\(str\)"),
        ([{"a": 1}, {"a": "x"}], "'x' in row 1 of column 'a'"),
        ([{"a": 1}, 3], "got 3 in row 1"),
        ([{}], "at least one column"),
        (pd.DataFrame(index=[1, 2]), "at least one column"),
        (pd.DataFrame(np.eye(2)), r"names are strings, got 0; pass contexts.to_numpy\(\)"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "different columns"),
        ({"a": [1, 2]}, r"pandas.DataFrame\(contexts\)"),
        (pl.DataFrame(ROWS).lazy(), r"contexts.collect\(\)"),
        (sp.csr_matrix([[1.0, np.nan]]), "NaN or infinity in row 0"),
    ],
)
def test_bad_tables_are_refused_with_what_mends_them(table, message):
    functions = ps.FunctionPolicies([lambda x: np.zeros(len(x), int)], n_actions=2)
    with pytest.raises(ps.InvalidArgumentError, match=message):
        functions.actions(table)


def test_keys_that_some_dicts_do_not_have_are_missing():
    frame = ContextFrame.of([{"a": 1}, {"b": "x"}])
    assert frame.tolist() == [{"a": 1, "b": None}, {"a": None, "b": "x"}]
    assert ContextFrame.of({"a": 1, "b": "x"}).tolist() == [{"a": 1, "b": "x"}]


def test_arrays_and_strings_are_no_tables():
    others = [np.eye(2), [1, 2], ["a"], "text", 3, None, pd.Series(["a"]), pl.Series(["a"]), []]
    assert not any(is_tabular(value) for value in others)


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_array, sp.coo_matrix])
def test_sparse_rows_stay_sparse(kind):
    dense = np.where(np.random.default_rng(0).random((6, 9)) < 0.3, 2.5, 0)
    frame = ContextFrame.of(kind(dense))
    assert (frame.native().toarray() == dense).all()
    assert (frame[[4, 1]].plus(frame[:1]).native().toarray() == dense[[4, 1, 0]]).all()
    assert frame.native().format == "csr"
    assert [row.toarray()[0].tolist() for row in frame] == dense.tolist()
    assert len(frame[:0].native().toarray()) == 0
    with pytest.raises(ps.InvalidArgumentError, match="sparse rows of 9 numbers"):
        frame.plus(ContextFrame.of(kind(np.eye(3))))
    with pytest.raises(ps.InvalidArgumentError, match="sparse rows of 9 numbers"):
        frame.plus(ContextFrame.of(ROWS))
