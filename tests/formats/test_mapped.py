"""Tables of others: a map says which columns hold what."""

import json
from datetime import UTC, date, datetime
from typing import ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from policysieve.errors import FileFormatError, InvalidArgumentError
from policysieve.formats import convert, open_contexts
from policysieve.log import Log, LogFile
from tests.formats.rounds import read, write_rows

COLUMNS = {
    "context": ["age", "country"],
    "action": "item",
    "propensity": "p",
    "reward": "clicked",
    "id": "user",
    "time": "ts",
}
ROWS = [
    {
        "ts": "2024-05-01T12:00:00Z",
        "user": "u1",
        "age": 31,
        "country": "DE",
        "item": "shoes",
        "p": 0.5,
        "clicked": True,
        "junk": 7,
    },
    {
        "ts": "2024-05-01T12:00:01.5Z",
        "user": None,
        "age": None,
        "country": "FR",
        "item": "hats",
        "p": 0.25,
        "clicked": False,
        "junk": 8,
    },
    {
        "ts": None,
        "user": "u3",
        "age": 52,
        "country": None,
        "item": "shoes",
        "p": 1.0,
        "clicked": None,
        "junk": None,
    },
]


@pytest.fixture(params=["csv", "jsonl", "parquet"])
def log_path(request, tmp_path):
    return tmp_path / f"web.{request.param}"


class TestTables:
    def test_are_read_as_they_are(self, log_path):
        write_rows(log_path, ROWS)
        log = LogFile(log_path, columns=COLUMNS)
        assert (len(log), log.slate_size, log.action_names) == (3, 1, ("hats", "shoes"))
        (got,) = log.rounds()
        assert got.contexts.tolist() == [
            {"age": 31, "country": "DE"},
            {"age": None, "country": "FR"},
            {"age": 52, "country": None},
        ]
        assert got.actions.tolist() == [[1], [0], [1]]
        assert got.propensities.tolist() == [[0.5], [0.25], [1.0]]
        np.testing.assert_array_equal(got.rewards, [[1], [0], [np.nan]])
        assert got.ids.tolist() == ["u1", "", "u3"]
        np.testing.assert_array_equal(got.times, [1714564800, 1714564801.5, np.nan])

    def test_one_column_of_numbers_is_an_array(self, log_path):
        write_rows(log_path, [{**row, "age": 1} for row in ROWS])
        got = read(log_path, columns={**COLUMNS, "context": "age"})
        assert (got.contexts.tolist(), got.contexts.dtype.kind) == ([1, 1, 1], "i")

    def test_contexts_alone(self, log_path):
        write_rows(log_path, [{key: row[key] for key in ("age", "country")} for row in ROWS])
        (got,) = open_contexts(log_path, columns={"context": ["country", "age"], "action": "item"})
        assert got.contexts.dtype.names == ("country", "age")
        assert got.actions.shape == (3, 0)

    def test_slates_in_one_row(self, log_path):
        wide = [{"c": 1, "a": "x", "b": "y", "p": 0.5, "q": 0.5, "r": True, "s": False}] * 2
        write_rows(log_path, wide)
        columns = {"context": "c", "action": ["b", "a"], "propensity": ["q", "p"]}
        got = read(log_path, columns={**columns, "reward": ["s", "r"]})
        assert got.actions.tolist() == [[1, 0]] * 2
        assert got.rewards.tolist() == [[0, 1]] * 2

    def test_several_files_may_have_other_columns_besides(self, log_path):
        other = log_path.with_stem("other")
        write_rows(log_path, ROWS[:2])
        write_rows(other, [{"new": 1, **ROWS[2], "age": 52}, {"new": 1, **ROWS[0]}])
        log = LogFile([log_path, other], columns=COLUMNS, missing_reward=0)
        assert Log.load(log).contexts.tolist()[2:] == [
            {"age": 52, "country": None},
            {"age": 31, "country": "DE"},
        ]

    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            ({"p": 0}, r"a propensity must lie in \(0, 1\], got 0"),
            ({"p": None}, "p"),
            ({"item": None}, "item|action"),
            ({"clicked": 7.0}, r"the reward 7 is outside \[0, 1\]"),
        ],
    )
    def test_the_first_wrong_row_is_named(self, log_path, change, reason):
        rows = [{**row, "clicked": 1.0} for row in ROWS]
        write_rows(log_path, [*rows[:2], {**rows[2], **change}])
        where = {".csv": "line 4", ".jsonl": "line 3", ".parquet": "row 3"}[log_path.suffix]
        with pytest.raises(FileFormatError, match=f"{log_path.name}, {where}: .*({reason})"):
            list(LogFile(log_path, columns=COLUMNS).rounds())
        done = convert(log_path, log_path.with_name("out.csv"), columns=COLUMNS, skip_bad=True)
        assert (done.rounds, done.skipped) == (2, 1)

    def test_a_column_that_is_not_there(self, log_path):
        write_rows(log_path, [{"itms": 1, "other": 1}])
        with pytest.raises(FileFormatError, match=r"no (column|key) 'age', which the map"):
            LogFile(log_path, columns=COLUMNS)
        if log_path.suffix != ".jsonl":
            with pytest.raises(FileFormatError, match=r"'item', .*; did you mean 'itms'"):
                LogFile(log_path, columns={**COLUMNS, "context": "other", "action": "item"})

    def test_limits_hold(self, log_path):
        write_rows(log_path, ROWS)
        log = LogFile(log_path, columns=COLUMNS, missing_reward=0, max_bytes=40_000)
        with pytest.raises(FileFormatError, match="raise the limit"):
            Log.load(LogFile(log_path, columns=COLUMNS, missing_reward=0, max_bytes=20))
        assert len(Log.load(log)) == 3


class TestOthers:
    def test_maps_are_for_tables(self, tmp_path):
        (tmp_path / "a.vw").write_text("1:0.0:0.5 | c=1\n")
        with pytest.raises(InvalidArgumentError, match="for vw, which is no table; a map of"):
            LogFile(tmp_path / "a.vw", columns=COLUMNS)

    def test_the_columns_of_open_bandit_pipeline_may_be_mapped(self, tmp_path):
        text = "item_id,position,click,propensity_score,f\n3,1,1,0.5,9\n"
        (tmp_path / "a.csv").write_text(text)
        names = {"action": "item_id", "propensity": "propensity_score", "reward": "click"}
        got = read(tmp_path / "a.csv", columns={"context": "f", **names})
        assert (got.contexts.tolist(), got.actions.tolist()) == ([9], [[3]])

    def test_an_open_log_has_its_map(self, tmp_path):
        write_rows(tmp_path / "a.csv", ROWS)
        with pytest.raises(InvalidArgumentError, match="columns says how files are read"):
            convert(
                LogFile(tmp_path / "a.csv", columns=COLUMNS), tmp_path / "b.csv", columns=COLUMNS
            )

    @pytest.mark.parametrize("separator", [";", "\t"])
    def test_semicolons_and_tabs(self, tmp_path, separator):
        path = write_rows(tmp_path / "web.csv", ROWS, separator=separator)
        assert len(LogFile(path, columns=COLUMNS)) == 3
        text = "context,action,propensity,reward\n7,0,0.5,1\n".replace(",", separator)
        (tmp_path / "own.csv").write_text(text)
        assert read(tmp_path / "own.csv").contexts.tolist() == [7]
        (tmp_path / "own.csv").write_text(text.replace("0.5", "0,5"))
        with pytest.raises(FileFormatError, match="got '0,5'; write it with a point"):
            LogFile(tmp_path / "own.csv")

    def test_a_missing_key_is_a_missing_value(self, tmp_path):
        rows = [ROWS[0], {key: ROWS[0][key] for key in ("age", "item", "p")}]
        got = read(write_rows(tmp_path / "a.jsonl", rows), columns=COLUMNS)
        assert got.contexts.tolist()[1] == {"age": 31, "country": None}
        np.testing.assert_array_equal(got.rewards, [[1], [np.nan]])


MOMENT = datetime(2024, 5, 1, 12, 30)


class TestContexts:
    @pytest.mark.parametrize(
        ("cells", "values"),
        [
            (["1", "-2", ""], [1, -2, None]),
            (["1", "2.5", "NaN"], [1.0, 2.5, None]),
            (["true", "FALSE", ""], [True, False, None]),
            (["true", "1"], ["true", "1"]),
            (["2024-05-01", "2024-05-02"], [date(2024, 5, 1), date(2024, 5, 2)]),
            (["2024-05-01T12:30", "2024-05-01"], [MOMENT, datetime(2024, 5, 1)]),
            (["2024-05-01 12:30:00+00:00", ""], [MOMENT.replace(tzinfo=UTC), None]),
            (["2024-05-01", "2024-13-01"], ["2024-05-01", "2024-13-01"]),
            (["nan", "two"], ["nan", "two"]),
            (["inf", "1"], [np.inf, 1.0]),
            (["", ""], [None, None]),
        ],
    )
    def test_what_columns_of_text_hold(self, tmp_path, cells, values):
        rows = "".join(f'"{cell}",0,0.5,1,7\n' for cell in cells)
        (tmp_path / "a.csv").write_text(f"context:c,action,propensity,reward,context:d\n{rows}")
        got = read(tmp_path / "a.csv").contexts.tolist()
        assert got == [{"c": value, "d": 7} for value in values]
        assert [type(row["c"]) for row in got] == [type(value) for value in values]

    @pytest.mark.parametrize(
        ("values", "expected"),
        [
            ([1, 2.5, None], [1.0, 2.5, None]),
            ([True, None], [True, None]),
            (["1", "x"], ["1", "x"]),
            (["2024-05-01", None], [date(2024, 5, 1), None]),
            (["2024-05-01", "x"], ["2024-05-01", "x"]),
        ],
    )
    def test_what_objects_hold(self, tmp_path, values, expected):
        row = {"actions": [0], "propensities": [0.5], "rewards": [1]}
        lines = [json.dumps({**row, "context": {"c": value, "d": 1}}) for value in values]
        lines.append(json.dumps({**row, "context": {"d": 2, "e": "new"}}))
        (tmp_path / "a.jsonl").write_text("\n".join(lines))
        got = read(tmp_path / "a.jsonl").contexts.tolist()
        assert [one["c"] for one in got] == [*expected, None]
        assert [one["e"] for one in got] == [None] * len(values) + ["new"]

    @pytest.mark.parametrize(
        ("value", "reason"),
        [
            ("x", "c must be a number as in the rounds before, got 'x'"),
            (True, "c must be a number as in the rounds before, got True"),
            ([1], r"c must be a number, a string, true, false or null, got \[1\]"),
            (2**70, r"c must be finite and below 2\*\*63"),
        ],
    )
    def test_objects_of_another_kind(self, tmp_path, value, reason):
        row = {"actions": [0], "propensities": [0.5], "rewards": [1]}
        lines = [json.dumps({**row, "context": {"c": one}}) for one in (1, value)]
        (tmp_path / "a.jsonl").write_text("\n".join(lines))
        with pytest.raises(FileFormatError, match=f"line 2: {reason}"):
            list(LogFile(tmp_path / "a.jsonl").rounds())

    def test_objects_among_values(self, tmp_path):
        row = {"actions": [0], "propensities": [0.5], "rewards": [1]}
        lines = [json.dumps({**row, "context": one}) for one in ({"c": 1}, 7)]
        (tmp_path / "a.jsonl").write_text("\n".join(lines))
        with pytest.raises(FileFormatError, match="line 2: context must be an object"):
            list(LogFile(tmp_path / "a.jsonl").rounds())
        (tmp_path / "a.jsonl").write_text("\n".join(lines[::-1]))
        with pytest.raises(FileFormatError, match="line 2: context must be a number, a string"):
            list(LogFile(tmp_path / "a.jsonl").rounds())

    @pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
    def test_tables_come_back(self, tmp_path, suffix):
        frame = pa.table(
            {
                "n": [1, None],
                "x": [0.5, None],
                "t": [None, "a,\n"],
                "b": [True, None],
                "d": [date(2024, 5, 1), None],
                "when": pa.array([MOMENT, None], pa.timestamp("us")),
                "utc": pa.array([MOMENT, None], pa.timestamp("us", tz="UTC")),
            }
        )
        log = Log(contexts=frame, actions=[0, 1], propensities=[1, 1], rewards=[0, 1])
        convert(log, tmp_path / f"log.{suffix}")
        again = Log.load(tmp_path / f"log.{suffix}")
        assert again.contexts.tolist() == log.contexts.tolist()
        assert again.contexts.table.schema.equals(log.contexts.table.schema)

    def test_what_text_does_not_hold_of_tables(self, tmp_path):
        items = {"actions": [0, 1], "propensities": [1, 1], "rewards": [0, 1]}
        small = Log(contexts=pa.table({"n": pa.array([1, 2], pa.int8())}), **items)
        assert convert(small, tmp_path / "a.csv").not_held == ("the type of column n, int8",)
        lists = Log(contexts=pa.table({"n": [[1], [2]]}), **items)
        with pytest.raises(InvalidArgumentError, match=r"column n .* write parquet"):
            convert(lists, tmp_path / "b.csv")
        with pytest.raises(InvalidArgumentError, match="these are rows with the columns n"):
            convert(small, tmp_path / "a.vw")


class TestTimes:
    @pytest.mark.parametrize(
        ("cell", "time"),
        [
            ("1714564800", 1714564800.0),
            ("1714564800123", 1714564800.123),
            ("2024-05-01 12:00:00", 1714564800.0),
            ("2024-05-01T14:00:00+02:00", 1714564800.0),
            ("2024-05-01", 1714521600.0),
        ],
    )
    def test_seconds_milliseconds_and_dates(self, tmp_path, cell, time):
        text = f"time,context,action,propensity,reward\n{cell},1,0,1,TRUE\n"
        (tmp_path / "a.csv").write_text(text)
        got = read(tmp_path / "a.csv")
        assert (got.times.tolist(), got.rewards.tolist()) == ([time], [[1.0]])

    def test_parquet(self, tmp_path):
        rows = {"c": [1], "a": [0], "p": [1.0], "r": [True], "t": [date(2024, 5, 1)]}
        pq.write_table(pa.table(rows), tmp_path / "a.parquet")
        columns = {"context": "c", "action": "a", "propensity": "p", "reward": "r", "time": "t"}
        assert read(tmp_path / "a.parquet", columns=columns).times.tolist() == [1714521600.0]
        pq.write_table(pa.table({**rows, "t": ["noon"]}), tmp_path / "a.parquet")
        with pytest.raises(FileFormatError, match=r"row 1: column t must be seconds .* 'noon'"):
            read(tmp_path / "a.parquet", columns=columns)
        pq.write_table(pa.table({**rows, "p": ["half"]}), tmp_path / "a.parquet")
        with pytest.raises(FileFormatError, match="column p, the propensity, must hold numbers"):
            read(tmp_path / "a.parquet", columns=columns)


class TestNumbersThatDoNotFit:
    COLUMNS: ClassVar = {"context": "u", "action": "item", "propensity": "p", "reward": "r"}
    ROWS: ClassVar = {"u": [1, 2], "item": [0, 1], "p": [0.5, 0.5], "r": [0, 1], "t": [1, 2]}

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"item": [1.0, np.nan]}, "row 2: column item must be a whole .* got nan"),
            ({"item": [1.0, np.inf]}, "row 2: column item must be a whole .* got inf"),
            ({"item": [1, 2**60 + 1]}, "row 2: an action .* 1152921504606846977; if .* as text"),
            ({"item": pa.array([1, 2**64 - 1], pa.uint64())}, "row 2: column item.* 18446744073"),
            ({"u": pa.array([1, 2**63 + 5], pa.uint64())}, r"row 2: column u.* below 2\*\*63"),
            ({"t": [1, 1714564800000000001]}, "row 2: a time must be .* nanoseconds, divide it"),
        ],
    )
    def test_they_are_named_with_what_to_do(self, tmp_path, change, message):
        table = pa.table({**self.ROWS, **change})
        pq.write_table(table, tmp_path / "log.parquet")
        with pytest.raises(FileFormatError, match=message):
            Log.load(LogFile(tmp_path / "log.parquet", columns={**self.COLUMNS, "time": "t"}))
        if "t" not in change:
            with pytest.raises(InvalidArgumentError, match=message.replace("row 2", "row 1")):
                Log.from_frame(table, **self.COLUMNS)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"action": [1.0, np.nan]}, "row 2: column action must be a whole number, got nan"),
            ({"action": pa.array([0, 2**64 - 1], pa.uint64())}, "row 2: column action must be"),
            ({"context": pa.array([1, 2**63 + 5], pa.uint64())}, "row 2: column context, the"),
        ],
    )
    def test_also_in_columns_of_our_own(self, tmp_path, change, message):
        plain = {"context": [1, 2], "action": [0, 1], "propensity": [0.5, 0.5], "reward": [0, 1]}
        pq.write_table(pa.table({**plain, **change}), tmp_path / "log.parquet")
        with pytest.raises(FileFormatError, match=message):
            Log.load(tmp_path / "log.parquet")

    def test_a_number_beyond_all_bits_is_refused(self):
        frame = pd.DataFrame({"u": [2**70], "item": ["x"], "p": [0.5], "r": [0]})
        with pytest.raises(InvalidArgumentError, match="values of one kind"):
            Log.from_frame(frame, **self.COLUMNS)

    def test_the_first_wrong_row_of_a_frame_is_named(self):
        frame = pd.DataFrame({"u": 1, "item": ["x"] * 12, "p": 0.5, "r": 0})
        frame.loc[4, "p"] = 7
        frame.loc[10, "item"] = None
        with pytest.raises(InvalidArgumentError, match="row 4: a propensity must lie"):
            Log.from_frame(frame, **self.COLUMNS)


class TestKeysOfJson:
    @pytest.mark.parametrize("key", ["context", "action", "propensity", "reward", "id", "time"])
    def test_one_that_no_line_has_is_an_error(self, tmp_path, key):
        path = write_rows(tmp_path / "log.jsonl", ROWS)
        name = COLUMNS[key]
        wrong = ["countr", "age"] if key == "context" else f"{name}s"
        meant = "country" if key == "context" else name
        with pytest.raises(FileFormatError, match=rf"has no key .*; did you mean '{meant}'\?"):
            LogFile(path, columns={**COLUMNS, key: wrong})

    def test_one_that_some_lines_have_is_missing_in_others(self, tmp_path):
        rows = [{**ROWS[0], "fresh": 1}, ROWS[1]]
        write_rows(tmp_path / "log.jsonl", rows)
        log = LogFile(tmp_path / "log.jsonl", columns={**COLUMNS, "context": ["fresh"]})
        assert Log.load(log).contexts.tolist() == [{"fresh": 1}, {"fresh": None}]


class TestCellsOfTables:
    COLUMNS: ClassVar = {"context": ["a"], "action": "item", "propensity": "p", "reward": "r"}

    def read(self, path, cells):
        path.write_text("a,item,p,r\n" + "".join(f"{cell},x,0.5,1\n" for cell in cells))
        log = Log.load(LogFile(path, columns=self.COLUMNS))
        return [row["a"] for row in log.contexts.tolist()], str(log.contexts.dtype.schema[0].type)

    @pytest.mark.parametrize(
        ("cells", "type"),
        [
            (["nan", "true", "false"], "string"),
            (["nan", "2024-01-01"], "string"),
            (["nan", "some"], "string"),
            (["nan", "1"], "int64"),
            (["inf", "1.5"], "double"),
            (["inf", "true"], "string"),
            (["1", str(-(2**63))], "int64"),
            (["0001-01-01T00:00:00+05:00", "2024-05-01T00:00:00+05:00"], "string"),
        ],
    )
    def test_the_order_of_rows_does_not_decide_the_type(self, tmp_path, cells, type):
        values, kind = self.read(tmp_path / "a.csv", cells)
        back, same = self.read(tmp_path / "a.csv", cells[::-1])
        assert (kind, same) == (type, type)
        assert values == back[::-1]
        assert type != "string" or values == cells

    def test_an_offset_beyond_the_years_is_text_in_json(self, tmp_path):
        rows = [{"a": "0001-01-01T00:00:00+05:00", "item": "x", "p": 1.0, "r": 0}]
        write_rows(tmp_path / "a.jsonl", rows)
        log = Log.load(LogFile(tmp_path / "a.jsonl", columns=self.COLUMNS))
        assert log.contexts.tolist() == [{"a": rows[0]["a"]}]


class TestWhatTextHolds:
    def a_log(self, column):
        return Log(
            contexts=pa.table({"a": column}), actions=[0, 1], propensities=[1, 1], rewards=[0, 1]
        )

    @pytest.mark.parametrize(
        ("values", "suffix", "message"),
        [
            (pa.array([1.5, np.inf]), "jsonl", "column a .* an infinite number, which JSON"),
            (pa.array([1, 2**64 - 1], pa.uint64()), "jsonl", "column a .* 18446744073709551615"),
            (pa.array([1, 2**64 - 1], pa.uint64()), "csv", "column a .* 18446744073709551615"),
        ],
    )
    def test_what_could_not_be_read_again_is_not_written(self, tmp_path, values, suffix, message):
        with pytest.raises(InvalidArgumentError, match=message):
            convert(self.a_log(values), tmp_path / f"a.{suffix}")
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize(
        ("values", "suffix"), [([1.5, np.inf], "csv"), ([1, -(2**63)], "jsonl")]
    )
    def test_what_is_written_is_read_again(self, tmp_path, values, suffix):
        done = convert(self.a_log(pa.array(values)), tmp_path / f"a.{suffix}")
        assert done.not_held == ()
        assert [row["a"] for row in Log.load(tmp_path / f"a.{suffix}").contexts.tolist()] == values

    @pytest.mark.parametrize("suffix", ["csv", "jsonl"])
    def test_that_text_may_come_back_as_something_else_is_said(self, tmp_path, suffix):
        texts = pa.array(["007", "008"], pa.large_string())
        (note,) = convert(self.a_log(texts), tmp_path / f"a.{suffix}").not_held
        assert note.startswith("that a is text: types are told from what is written")


def test_a_needed_column_that_is_there_twice_is_named(tmp_path):
    columns = {"context": "u", "action": "item", "propensity": "p", "reward": "r"}
    arrays = [pa.array([1, 2]), pa.array([0, 1]), pa.array([0.5, 0.5]), pa.array([0, 1])]
    names = ["u", "item", "p", "r"]
    for extra in ("u", "other", "other"):
        names.append(extra)
        arrays.append(arrays[0])
        pq.write_table(pa.Table.from_arrays(arrays, names), tmp_path / "log.parquet")
        if extra == "u":
            with pytest.raises(FileFormatError, match="different columns, 'u' is there twice"):
                LogFile(tmp_path / "log.parquet", columns=columns)
            del names[-1], arrays[-1]
        else:
            assert len(Log.load(LogFile(tmp_path / "log.parquet", columns=columns))) == 2


class TestWords:
    COLUMNS: ClassVar = {"context": "age", "action": "item", "propensity": "p", "reward": "r"}

    @pytest.mark.parametrize("suffix", ["csv", "parquet"])
    def test_a_context_that_is_missing_could_be_in_a_table(self, tmp_path, suffix):
        rows = [
            {"age": 31, "item": "x", "p": 0.5, "r": 1},
            {"age": None, "item": "x", "p": 0.5, "r": 1},
        ]
        path = write_rows(tmp_path / f"log.{suffix}", rows)
        with pytest.raises(FileFormatError, match=r'keeps missing values: .* context = \["age"\]'):
            Log.load(LogFile(path, columns=self.COLUMNS))
        log = Log.load(LogFile(path, columns={**self.COLUMNS, "context": ["age"]}))
        assert log.contexts.tolist() == [{"age": 31}, {"age": None}]

    def test_a_missing_reward_of_a_frame_can_be_filled(self):
        frame = pd.DataFrame({"age": [1], "item": ["x"], "p": [0.5], "r": [np.nan]})
        with pytest.raises(InvalidArgumentError, match=r"row 0: .* frame\[name\].fillna\(0\)"):
            Log.from_frame(frame, **self.COLUMNS)

    def test_a_map_is_proposed_as_a_shell_takes_it(self, tmp_path):
        (tmp_path / "log.csv").write_text("my age,item,p,click\n1,x,0.5,0\n")
        with pytest.raises(FileFormatError, match=r"--map 'context=my age,action=item,.*', or"):
            LogFile(tmp_path / "log.csv")
        (tmp_path / "log.csv").write_text("a+b,item,p,click\n1,x,0.5,0\n")
        with pytest.raises(FileFormatError, match=r'columns=\{"action": ...\} of LogFile'):
            LogFile(tmp_path / "log.csv")

    def test_names_of_columns_may_begin_with_a_space_if_the_map_says_so(self, tmp_path):
        (tmp_path / "log.csv").write_text("age, age,item,p,r\n1,2,x,0.5,0\n")
        log = LogFile(tmp_path / "log.csv", columns={**self.COLUMNS, "context": [" age", "age"]})
        assert Log.load(log).contexts.tolist() == [{" age": 2, "age": 1}]
