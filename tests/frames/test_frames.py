"""Rows of tables are kept as they are, whatever they come in."""

import datetime
import decimal
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
    wide = sp.csr_matrix(([1.0], [2**32 + 5], [0, 1]), shape=(1, 2**33))
    with pytest.raises(ps.InvalidArgumentError, match="at most 2,147,483,647 columns, got 8,589"):
        ContextFrame.of(wide)
    with pytest.raises(ps.InvalidArgumentError, match="at most 64 bits"):
        ContextFrame.of(sp.csr_matrix(np.eye(2, dtype=np.longdouble)))


@pytest.mark.parametrize(
    "values",
    [
        ["a", None, "b"],
        ["a", np.nan, "b"],
        ["a", "b", "c"],
        [1, None, 3],
        [True, None, False],
        [1.5, None, 2.5],
        [datetime.date(2024, 1, 1), None, datetime.date(2024, 1, 2)],
    ],
)
def test_columns_of_objects_stay_what_they_are(values):
    table = pd.DataFrame({"a": pd.Series(values, dtype=object), "b": 1})
    found = ContextFrame.of(table).native()
    pd.testing.assert_frame_equal(found, table)
    assert list(map(repr, found["a"])) == list(map(repr, values))


AT_NOON = datetime.datetime(2024, 1, 1, 12)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([datetime.date(2024, 1, 1), AT_NOON], r"datetime\(2024, 1, 1, 12, 0\) in row 1"),
        ([AT_NOON.replace(tzinfo=datetime.UTC), AT_NOON], "in row 1 of column 'a'"),
        (["x", b"y"], "b'y' in row 1 of column 'a'"),
        ([1, 2**70], "1180591620717411303424 in row 1 of column 'a'"),
    ],
)
@pytest.mark.parametrize(
    "dress",
    [
        lambda values: [{"a": value} for value in values],
        lambda values: pd.DataFrame({"a": pd.Series(values, dtype=object)}),
    ],
    ids=["dicts", "pandas"],
)
def test_values_of_several_kinds_are_refused_and_not_changed(dress, values, message):
    with pytest.raises(ps.InvalidArgumentError, match=message):
        ContextFrame.of(dress(values))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pl.DataFrame({"c": pl.Series([1, "a"], dtype=pl.Object)}), "Python objects .* column 'c'"),
        (pd.DataFrame({"c": pd.arrays.SparseArray([0, 1])}), "in column 'c' .*Sparse"),
        (
            pd.DataFrame({"c": pd.Series([[1]], dtype=pd.ArrowDtype(pa.list_(pa.int64())))}),
            "list<item: int64> in column 'c'",
        ),
        (pd.DataFrame({"c": pd.cut([1, 2], 2)}), "categories that are text, .* in column 'c'"),
        (
            pa.table({"c": pa.DictionaryArray.from_arrays([0, 1], pa.array(["x", "x"]))}),
            "different categories",
        ),
    ],
)
def test_columns_that_could_not_be_handed_out_are_refused(table, message):
    with pytest.raises(ps.InvalidArgumentError, match=message):
        ContextFrame.of(table)


def test_an_index_takes_no_column_away():
    table = pd.DataFrame({"user": ["u", "v"], "age": [1, 2]})
    given = pa.Table.from_pandas(table.set_index("user"))
    assert list(ContextFrame.of(given).frame().columns) == ["age", "user"]
    assert list(ContextFrame.from_arrow(given).native().columns) == ["age", "user"]


SIZES = pd.CategoricalDtype(["small", "mid", "large", "huge"], ordered=True)


def categories(values, levels, *, ordered=False):
    return pd.DataFrame({"a": pd.Categorical(values, levels, ordered=ordered)})


def test_pieces_have_the_categories_of_the_whole():
    table = pd.DataFrame({"a": pd.Series(["mid", "small", None], dtype=SIZES), "b": [1, 2, 3]})
    frame = ContextFrame.of(table)
    for piece in (frame, frame[:0], frame[1:2], frame[[2, 0]], frame.plus(frame)[4:]):
        assert piece.native()["a"].dtype == SIZES


def test_rows_equal_others_if_their_categories_have_the_same_order():
    one = ContextFrame.of(categories(["x", "y"], ["x", "y"]))
    assert one.same_as(ContextFrame.of(categories(["x", "y"], ["z", "y", "x"])))
    one = ContextFrame.of(categories(["x", "y"], ["x", "y"], ordered=True))
    assert one.same_as(ContextFrame.of(categories(["x", "y"], ["x", "y"], ordered=True)))
    assert not one.same_as(ContextFrame.of(categories(["x", "y"], ["y", "x"], ordered=True)))


class TestLaterRows:
    """What candidates get of later rows: as earlier ones came, with the values that were given."""

    def like(self, earlier, later):
        return ContextFrame.of(later).like(ContextFrame.of(earlier).dtype).native()

    @pytest.mark.parametrize(
        ("earlier", "later"),
        [
            (pd.DataFrame({"a": pd.Series([None], dtype=object)}), categories(["x"], ["x", "y"])),
            (pd.DataFrame({"a": [{"x": 1}]}), pd.DataFrame({"a": [{"y": 2}]})),
            (
                pd.DataFrame({"a": np.array([0.5], np.float32)}),
                pd.DataFrame({"a": np.array([0.1])}),
            ),
            (
                pd.DataFrame({"a": [decimal.Decimal("1.1")]}),
                pd.DataFrame({"a": [decimal.Decimal("123.12345")]}),
            ),
            (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [1.5]})),
        ],
        ids=["nothing", "structs", "float32", "decimals", "whole numbers"],
    )
    def test_what_does_not_fit_comes_as_it_was_given(self, earlier, later):
        pd.testing.assert_frame_equal(self.like(earlier, later), later)

    def test_what_fits_comes_as_earlier_rows(self):
        float32 = pd.DataFrame({"a": np.array([0.5], np.float32)})
        assert self.like(float32, pd.DataFrame({"a": [0.25]}))["a"].dtype == np.float32
        assert self.like(float32, [{"a": None}])["a"].dtype == np.float32

    def test_text_gets_the_codes_of_earlier_categories(self):
        earlier = categories(["z", "x"], ["z", "y", "x"])
        found = self.like(earlier, pd.DataFrame({"a": ["x", "new", "y"]}))["a"]
        assert found.cat.categories.tolist() == ["z", "y", "x", "new"]
        assert found.cat.codes.tolist() == [2, 3, 1]
        found = self.like(earlier, categories(["x", "w"], ["w", "x"]))["a"]
        assert found.cat.categories.tolist() == ["z", "y", "x", "w"]
        assert self.like(earlier, pd.DataFrame({"a": [None]}))["a"].dtype == earlier["a"].dtype

    def test_categories_with_an_order_take_no_others(self):
        earlier = pd.DataFrame({"a": pd.Series(["mid"], dtype=SIZES)})
        assert self.like(earlier, [{"a": "huge"}])["a"].dtype == SIZES
        fewer = categories(["mid"], ["small", "mid"], ordered=True)
        assert self.like(earlier, fewer)["a"].dtype == SIZES
        with pytest.raises(ps.InvalidArgumentError, match=r"column 'a', .* order, got 'tiny'"):
            self.like(earlier, [{"a": "tiny"}])
        with pytest.raises(ps.InvalidArgumentError, match=r"one order .*'mid' < 'small' in"):
            self.like(earlier, categories(["mid"], ["mid", "small"], ordered=True))

    def test_keys_that_no_dict_has_are_missing_but_columns_of_frames_are_not(self):
        earlier = pd.DataFrame({"a": [1], "b": ["x"]})
        assert self.like(earlier, [{"a": 2}])["b"].isna().all()
        for wrong in ([{"a": 2, "c": 3}], pd.DataFrame({"a": [2]})):
            with pytest.raises(ps.InvalidArgumentError, match="must have the columns a, b"):
                self.like(earlier, wrong)


@pytest.mark.parametrize(
    ("one", "two", "message"),
    [
        ([2**60 + 1], [1.5], "1152921504606846977 in column 'a'"),
        ([1.5], [2**60 + 1], "1152921504606846977 in column 'a'"),
        (np.array([2**63 + 1], np.uint64), [-1], "9223372036854775809 in column 'a'"),
        (["x"], [b"y"], "binary in column 'a'"),
    ],
)
def test_rows_that_no_type_holds_together_are_refused(one, two, message):
    first, second = (pd.DataFrame({"a": values}) for values in (one, two))
    frame = ContextFrame.of(first)
    with pytest.raises(ps.InvalidArgumentError, match=message):
        frame.plus(ContextFrame.of(second))
    policies = ps.FunctionPolicies([lambda x: np.zeros(len(x), int)] * 2, n_actions=2)
    for tell in (False, True):
        learner = ps.Sieve(policies, ps.Problem(n_actions=2, epsilon=0.1, delta=0.1), rng=0)
        decisions = learner.ask(first)
        if tell:
            learner.tell(decisions, [0])
        with pytest.raises(ps.InvalidArgumentError, match=message):
            learner.ask(second)
        assert learner.pending == 1 - tell
        learner.ask(first)


def test_categories_of_nothing_are_of_any_kind():
    nothing = ContextFrame.of(pd.DataFrame({"a": pd.Categorical([None])}))
    for more in (["x"], [1]):
        frame = ContextFrame.of(pd.DataFrame({"a": pd.Categorical(more)}))
        assert frame.plus(nothing).native()["a"].dtype == pd.CategoricalDtype(more)
        assert nothing.like(frame.dtype).native()["a"].dtype == pd.CategoricalDtype(more)
        assert nothing.plus(frame).native()["a"].dtype == pd.CategoricalDtype(more)


def test_categories_that_no_type_holds_together_are_refused():
    one, two = (ContextFrame.of(categories([v], [v])) for v in (2**60 + 1, 1.5))
    with pytest.raises(ps.InvalidArgumentError, match="1152921504606846977 in column 'a'"):
        one.plus(two)


def test_categories_take_missing_values():
    frame = ContextFrame.of(categories(["x"], ["y", "x"]))
    longer = frame.plus(ContextFrame.of(pd.DataFrame({"a": pd.Series([None], dtype=object)})))
    assert longer.native()["a"].dtype == pd.CategoricalDtype(["y", "x"])
    assert longer.tolist() == [{"a": "x"}, {"a": None}]


def test_it_is_said_what_columns_hold():
    frame = ContextFrame.of(pd.DataFrame(ROWS).astype({"country": "category"}))
    assert str(frame.dtype) == (
        "rows with the columns age (numbers), country (categories), spend (numbers), "
        "since (times), pro (true or false)"
    )
