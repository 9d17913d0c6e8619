"""Logs from data frames, and data frames from logs."""

from importlib import util

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import policysieve as ps
from policysieve.errors import InvalidArgumentError, MissingExtraError

COLUMNS = {
    "age": [31, None, 40],
    "country": ["DE", "FR", None],
    "item": ["shoes", "hats", "shoes"],
    "p": [0.5, 0.25, 1.0],
    "hit": [True, False, False],
    "more": [1, 2, 3],
}
NAMES = {"action": "item", "propensity": "p", "reward": "hit"}
OWN = {"action": "action", "propensity": "propensity", "reward": "reward"}
KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


def out_of(log, kind):
    return {"pandas": log.to_pandas, "polars": log.to_polars, "pyarrow": log.to_arrow}[kind]()


@pytest.fixture(params=list(KINDS))
def kind(request):
    return request.param


def some_frame(kind, **change):
    return KINDS[kind]({**COLUMNS, **change})


class TestFrom:
    def test_a_frame_is_a_log(self, kind):
        log = ps.Log.from_frame(some_frame(kind), context=["age", "country"], **NAMES)
        assert log.action_names == ("hats", "shoes")
        assert log.actions.tolist() == [[1], [0], [1]]
        assert log.rewards.tolist() == [[1], [0], [0]]
        assert log.propensities.tolist() == [[0.5], [0.25], [1]]
        assert log.contexts.dtype.names == ("age", "country")
        assert type(log.contexts.native()) is type(some_frame(kind))

    def test_one_column_is_an_array(self, kind):
        log = ps.Log.from_frame(some_frame(kind), context="more", **NAMES)
        assert (log.contexts.tolist(), log.contexts.dtype) == ([1, 2, 3], np.int64)

    def test_names_and_numbers_of_actions(self, kind):
        frame = some_frame(kind, item=[2, 0, 1])
        assert ps.Log.from_frame(frame, context="more", **NAMES).action_names is None
        named = ps.Log.from_frame(frame, context="more", actions=("a", "b", "c"), **NAMES)
        assert named.action_names == ("a", "b", "c")
        declared = ps.Log.from_frame(
            some_frame(kind), context="more", actions=("shoes", "bags", "hats"), **NAMES
        )
        assert declared.actions.ravel().tolist() == [0, 2, 0]

    def test_rows_of_slates(self, kind):
        frame = KINDS[kind](
            {
                "s": ["q", "q", "r", "r"],
                "c": [1, 1, 2, 2],
                "item": ["b", "a", "a", "c"],
                "k": [2, 1, 1, 2],
                "p": [0.5] * 4,
                "hit": [0, 1, 0, 0],
            }
        )
        log = ps.Log.from_frame(frame, context="c", slate="s", position="k", **NAMES)
        assert (log.actions.tolist(), log.rewards.tolist()) == (
            [[0, 1], [0, 2]],
            [[1, 0], [0, 0]],
        )
        assert log.contexts.tolist() == [1, 2]
        unplaced = ps.Log.from_frame(frame, context="c", slate="s", **NAMES)
        assert unplaced.actions.tolist() == [[1, 0], [0, 2]]

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"p": [0.5, 0.0, 1]}, r"row 1: a propensity must lie in \(0, 1\], got 0"),
            ({"p": [0.5, None, 1]}, "row 1: column p, the propensity, is null"),
            ({"hit": [1, 0, 2]}, r"row 2: the reward 2 is outside \[0, 1\]"),
            ({"hit": [1.0, None, 0.0]}, "row 1: the reward is missing; "),
            ({"hit": ["1", "0", "0"]}, "column hit, the reward, must hold numbers or whole"),
            ({"item": ["shoes", None, "hats"]}, "row 1: column item, the action, is null"),
            ({"item": [0.0, 1.5, 2.0]}, "row 1: column item must be a whole number, got 1.5"),
        ],
    )
    def test_what_is_refused(self, kind, change, message):
        with pytest.raises(InvalidArgumentError, match=f"frame.*{message}"):
            ps.Log.from_frame(some_frame(kind, **change), context=["age"], **NAMES)

    @pytest.mark.parametrize(
        "change",
        [
            {"item": pa.array([2**60 + 1, 0, 1])},
            {"more": pa.array([{"a": 1}] * 3), "s": pa.array([1, 1, 2])},
        ],
    )
    def test_what_arrow_cannot_read(self, change):
        context = ["more"] if "more" in change else "more"
        slate = "s" if "s" in change else None
        with pytest.raises(InvalidArgumentError, match="frame"):
            ps.Log.from_frame(
                some_frame("pyarrow", **change), context=context, slate=slate, **NAMES
            )

    def test_columns_that_are_not_there(self, kind):
        with pytest.raises(InvalidArgumentError, match="must have a column 'agee', got age, coun"):
            ps.Log.from_frame(some_frame(kind), context=["agee"], **NAMES)

    @pytest.mark.parametrize("frame", [None, 7, [1, 2], {"a": 1}, pl.LazyFrame(COLUMNS)])
    def test_other_things(self, frame):
        with pytest.raises(InvalidArgumentError, match="frame must be a pandas, polars or pyarrow"):
            ps.Log.from_frame(frame, context=["age"], **NAMES)

    def test_an_index_does_not_matter(self):
        frame = some_frame("pandas").set_index(pd.Index([7, 7, 3]))
        log = ps.Log.from_frame(frame, context=["age"], **NAMES)
        assert list(log.contexts.native().index) == [0, 1, 2]


class TestTo:
    def test_and_back(self, kind):
        log = ps.Log.from_frame(some_frame(kind), context=["age", "country"], **NAMES)
        frame = out_of(log, kind)
        assert type(frame) is type(some_frame(kind))
        assert ps.Log.from_frame(frame, context=["age", "country"], **OWN) == log

    def test_types_of_pandas_stay(self):
        frame = pd.DataFrame({**COLUMNS, "country": pd.Categorical(COLUMNS["country"])})
        frame = frame.astype({"age": "Int64"})
        out = ps.Log.from_frame(frame, context=["age", "country"], **NAMES).to_pandas()
        assert out[["age", "country"]].dtypes.equals(frame[["age", "country"]].dtypes)

    @pytest.mark.parametrize(
        ("contexts", "names"),
        [
            ([4, 5], ["context"]),
            (["a", "b"], ["context"]),
            ([[1.0, 2.0], [3.0, 4.0]], ["x0", "x1"]),
        ],
    )
    def test_slates_and_arrays(self, kind, contexts, names):
        log = ps.Log(
            contexts=contexts,
            actions=[[0, 2], [1, 0]],
            propensities=np.full((2, 2), 0.5),
            rewards=[[0, 1], [0, 0]],
        )
        both = {key: [f"{key}_0", f"{key}_1"] for key in OWN}
        frame = out_of(log, kind)
        found = list(getattr(frame, "column_names", getattr(frame, "columns", None)))
        assert found == [*names, *(name for pair in both.values() for name in pair)]
        again = ps.Log.from_frame(frame, context=names[0] if len(names) == 1 else names, **both)
        assert again.actions.tolist() == log.actions.tolist()
        assert again.rewards.tolist() == log.rewards.tolist()

    def test_a_context_that_is_called_like_an_item(self):
        contexts = pd.DataFrame({"action": [1]})
        log = ps.Log(contexts=contexts, actions=[0], propensities=[1], rewards=[0])
        with pytest.raises(InvalidArgumentError, match="must not be called 'action'"):
            log.to_pandas()

    def test_a_library_that_is_not_there(self, monkeypatch):
        log = ps.Log(contexts=[1], actions=[0], propensities=[1], rewards=[0])
        monkeypatch.setattr("policysieve.log.exchanging.find_spec", lambda _name: None)
        with pytest.raises(MissingExtraError, match=r"to_polars\(\) needs polars.*pip install pol"):
            log.to_polars()
        assert util.find_spec("polars")


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("available", ["hats shoes"] * 3, r"such as frame\['extra'\].str.split\(\)"),
        ("unit", [7.0, np.nan, 8.0], "needs a name of its own"),
        ("unit", ["anna", None, "bert"], "row 1: .* needs a name of its own"),
    ],
)
def test_columns_beside_that_do_not_fit_come_with_what_to_do(column, values, message):
    frame = some_frame("pandas", extra=values)
    with pytest.raises(InvalidArgumentError, match=message):
        ps.Log.from_frame(frame, context="more", **NAMES, **{column: "extra"})
