"""What was available, who came and other outcomes: through files of all formats and back."""

import json
import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policysieve.availability import Available
from policysieve.errors import FileFormatError, InvalidArgumentError
from policysieve.formats import FORMATS, convert, open_contexts
from policysieve.log import Beside, Log, LogFile
from tests.formats.rounds import assert_same, read, some_rounds, write

few = settings(deadline=None, max_examples=25)
UNITS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
NUMBERS = st.floats(allow_infinity=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("beside")


@st.composite
def rounds_with_more(draw, **options):
    """Rounds with some of the columns, of 5 actions, each available at least once."""
    rounds = draw(some_rounds(kinds=["row", (3,)], **options))
    n, m = rounds.actions.shape
    available = units = None
    if draw(st.booleans()):
        mask = np.array(draw(st.lists(st.booleans(), min_size=5 * n, max_size=5 * n)))
        mask = mask.reshape(n, 5)
        mask[np.arange(n)[:, None], rounds.actions] = True
        mask[0] = True
        available = Available.packed(mask)
    if draw(st.booleans()):
        units = np.array([*draw(st.lists(UNITS, min_size=n, max_size=n)), None], object)[:-1]
    outcomes = {
        name: np.array(draw(st.lists(NUMBERS, min_size=n * m, max_size=n * m))).reshape(n, m)
        for name in draw(st.lists(st.sampled_from(["sale", "time: s", "x_0"]), unique=True))
    }
    return replace(rounds, beside=Beside(available, units, outcomes))


def log_of(m=1, *, names=None, **more):
    """Four rounds of six actions with all that there can be beside them."""
    actions = np.array([[0, 1], [1, 5], [2, 0], [3, 4]])[:, :m]
    mask = np.ones((4, 6), bool)
    mask[[0, 1], [3, 2]] = False
    columns = {
        "contexts": np.arange(8.0).reshape(4, 2),
        "actions": actions,
        "propensities": np.full((4, m), 0.25),
        "rewards": np.array([[1, 0], [0, 0], [1, 1], [0, 0]])[:, :m],
        "available": mask,
        "units": ["a", "b, b", "a", '"c" ü'],
        "outcomes": {"sale": np.array([[9.5, -1], [np.nan, 0], [0, np.nan], [1, 2]])[:, :m]},
        "action_names": names,
        **more,
    }
    return Log(**columns)


@pytest.mark.parametrize("format", ["parquet", "csv", "jsonl"])
@given(rounds=rounds_with_more())
@few
def test_what_is_written_comes_back(folder, format, rounds):
    write(folder / "log", format, rounds)
    assert_same(read(folder / "log", format), rounds)


@pytest.mark.parametrize("format", ["vw-adf", "dsjson"])
@given(rounds=rounds_with_more(slates=False, times=False, ids=False))
@few
def test_sets_of_actions_are_what_was_available(folder, format, rounds):
    write(folder / "log", format, rounds)
    available = rounds.beside.available
    if available is not None and len({tuple(row) for row in available.lists()}) == 1:
        available = None  # then it says nothing
    assert_same(read(folder / "log", format), replace(rounds, beside=Beside(available)))


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_named_actions_that_were_only_available_have_names(tmp_path, m, suffix):
    log = log_of(m, names=["zz 1", "yy", "xx", "ww", "v%20", "[u"])
    assert convert(log, tmp_path / f"a.{suffix}").not_held == ()
    back = Log.load(tmp_path / f"a.{suffix}")
    assert "[u" in (back.action_names or ())
    assert back.with_action_names(log.action_names) == log


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_a_log_without_them_is_written_as_before(tmp_path, suffix):
    log = log_of(available=None, units=None, outcomes=None)
    convert(log, tmp_path / f"a.{suffix}")
    rounds = next(LogFile(tmp_path / f"a.{suffix}").rounds())
    assert not rounds.beside
    if suffix == "parquet":
        header = json.loads(pq.read_schema(tmp_path / "a.parquet").metadata[b"policysieve.log"])
        assert header == {
            "version": 1,
            "slate_size": 1,
            "context_shape": [2],
            "context_dtype": "<f8",
        }


def test_releases_that_would_drop_them_are_told(tmp_path):
    log_of(available=None, units=None).save(tmp_path / "a.parquet")
    header = json.loads(pq.read_schema(tmp_path / "a.parquet").metadata[b"policysieve.log"])
    assert header["version"] == 3


@pytest.mark.parametrize(
    ("format", "lost"),
    [
        ("vw", ["what was available", "units", "sale"]),
        ("obp-csv", ["what was available", "units", "sale"]),
        ("vw-adf", ["what was available, if it is the same", "units", "sale"]),
        ("dsjson", ["what was available, if it is the same", "units", "sale"]),
    ],
)
def test_formats_say_what_they_drop(tmp_path, format, lost):
    notes = "; ".join(convert(log_of(), tmp_path / "a", to_format=format).not_held)
    for phrase in lost:
        assert phrase in notes


class TestMapped:
    FRAME = pa.table(
        {
            "age": [31, 40],
            "item": ["hats", "shoes"],
            "p": [0.5, 0.25],
            "hit": [1, 0],
            "stock": [["hats", "caps"], ["shoes", "hats"]],
            "user": [7, 8],
            "bought": [None, 2.5],
        }
    )
    COLUMNS = (
        "context=age,action=item,propensity=p,reward=hit,available=stock,unit=user,"
        "outcome.sale=bought"
    )

    def expected(self):
        return Log(
            contexts=[31, 40],
            actions=["hats", "shoes"],
            propensities=[0.5, 0.25],
            rewards=[1, 0],
            action_names=["caps", "hats", "shoes"],
            available=[["hats", "caps"], ["shoes", "hats"]],
            units=["7", "8"],
            outcomes={"sale": [np.nan, 2.5]},
        )

    def save(self, path):
        rows = self.FRAME.to_pylist()
        if path.suffix == ".parquet":
            pq.write_table(self.FRAME, path)
        elif path.suffix == ".jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        else:
            path.write_text(
                "age,item,p,hit,stock,user,bought\n"
                '31,hats,0.5,1,"[""hats"", ""caps""]",7,\n40,shoes,0.25,0,shoes hats,8,2.5\n'
            )
        return path

    @pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
    def test_files_of_others(self, tmp_path, suffix):
        from policysieve.log import ColumnMap

        path = self.save(tmp_path / f"a.{suffix}")
        opened = LogFile(path, columns=ColumnMap.parse(self.COLUMNS))
        assert Log.load(opened) == self.expected()

    def test_a_map_in_toml(self, tmp_path):
        from policysieve.log import ColumnMap

        text = 'context = "age"\naction = "item"\noutcome.sale = "bought"\nunit = "user"\n'
        (tmp_path / "a.toml").write_text(text)
        found = ColumnMap.parse(str(tmp_path / "a.toml"))
        assert (found.unit, found.outcome) == ("user", {"sale": ("bought",)})

    @pytest.mark.parametrize("library", ["pyarrow", "pandas", "polars"])
    def test_data_frames(self, library):
        frame = self.FRAME
        if library != "pyarrow":
            pytest.importorskip(library)
            frame = (
                frame.to_pandas() if library == "pandas" else __import__("polars").from_arrow(frame)
            )
        log = Log.from_frame(
            frame,
            context="age",
            action="item",
            propensity="p",
            reward="hit",
            available="stock",
            unit="user",
            outcome={"sale": "bought"},
        )
        assert log == self.expected()

    @pytest.mark.parametrize("m", [1, 2])
    def test_a_log_as_a_table_and_back(self, m):
        log = log_of(m)
        several = [""] if m == 1 else ["_0", "_1"]
        back = Log.from_frame(
            log.to_arrow(),
            context=["x0", "x1"],
            **{key: [f"{key}{i}" for i in several] for key in ("action", "propensity", "reward")},
            available="available",
            unit="unit",
            outcome={"sale": [f"outcome{i}:sale" for i in several]},
        )
        assert back.beside == log.beside

    @pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
    def test_rows_that_are_items_have_outcomes_of_their_own(self, tmp_path, suffix):
        path = tmp_path / f"a.{suffix}"
        rows = {
            "page": [1, 1, 2, 2],
            "age": [31, 31, 40, 40],
            "item": [0, 1, 1, 2],
            "place": [1, 0, 0, 1],
            "p": [0.5] * 4,
            "hit": [0, 1, 0, 0],
            "user": ["u", "v", "w", "w"],
            "bought": [1, 2, 3, 4],
        }
        table = pa.table({**rows, "stock": [[0, 1], [], [1, 2, 3], [1]]})
        if suffix == "parquet":
            pq.write_table(table, path)
        elif suffix == "jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
        else:
            stocks = [" ".join(map(str, one)) for one in table["stock"].to_pylist()]
            lines = [",".join([*rows, "stock"])]
            lines += [",".join(map(str, row)) for row in zip(*rows.values(), stocks, strict=True)]
            path.write_text("\n".join(lines) + "\n")
        columns = {
            "context": "age",
            "action": "item",
            "propensity": "p",
            "reward": "hit",
            "slate": "page",
            "position": "place",
            "available": "stock",
            "unit": "user",
            "outcome": {"sale": "bought"},
        }
        log = Log.load(LogFile(path, columns=columns))
        assert log.units.tolist() == ["u", "w"]
        assert log.available.lists() == [[0, 1], [1, 2, 3]]
        assert log.outcomes["sale"].tolist() == [[2, 1], [3, 4]]
        assert log.rewards.tolist() == [[1, 0], [0, 0]]

    @pytest.mark.parametrize(
        ("columns", "reason"),
        [
            ({"outcome": "bought"}, "from outcomes to columns"),
            ({"outcome": {"": "bought"}}, "not empty"),
            ({"outcome": {"sale": ["a", "b"]}}, "as many columns as those of actions"),
            ({"available": ["a", "b"]}, "the name of a column, got"),
        ],
    )
    def test_bad_maps(self, columns, reason):
        from policysieve.log import ColumnMap

        with pytest.raises(InvalidArgumentError, match=reason):
            ColumnMap.of({"context": "age", "action": "item", **columns})


def text_of(suffix, rows):
    if suffix == "jsonl":
        return "".join(json.dumps(row) + "\n" for row in rows)
    lines = ["context,action,propensity,reward,available,unit,outcome:sale"]
    for row in rows:
        cells = [row["context"], row["actions"][0], 0.5, 0]
        stock = " ".join(map(str, row["available"]))
        lines.append(",".join(map(str, [*cells, stock, row["unit"], row["outcomes"]["sale"][0]])))
    return "\n".join(lines) + "\n"


def parquet_of(rows):
    def lists(key, type):
        return pa.array([row[key] for row in rows], pa.list_(type))

    sales = [row["outcomes"]["sale"] for row in rows]
    return pa.table(
        {
            "context": [row["context"] for row in rows],
            "actions": lists("actions", pa.int64()),
            "propensities": lists("propensities", pa.float64()),
            "rewards": lists("rewards", pa.float64()),
            "available": lists("available", pa.int64()),
            "unit": pa.array([row["unit"] for row in rows]),
            "outcome:sale": pa.array(sales, pa.list_(pa.float64())),
        }
    )


GOOD = {
    "context": 1,
    "actions": [0],
    "propensities": [0.5],
    "rewards": [0],
    "available": [0, 1],
    "unit": "u",
    "outcomes": {"sale": [1.0]},
}


class TestBadRows:
    @pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
    @pytest.mark.parametrize(
        ("bad", "reason"),
        [
            ({"available": []}, "at least 1 action to show, got 0"),
            ({"available": [0, -1]}, "must be a number from 0 to 2147483646, got -1"),
            ({"available": [2**31]}, "must be a number from 0 to 2147483646, got 2147483648"),
            ({"unit": ""}, "unit must name the user or session, got nothing"),
            ({"outcomes": {"sale": [float("inf")]}}, "finite|not a number in JSON"),
        ],
    )
    def test_rows_and_reasons_are_named(self, tmp_path, suffix, bad, reason):
        path, rows = tmp_path / f"a.{suffix}", [GOOD, {**GOOD, **bad}]
        if suffix == "parquet":
            pq.write_table(parquet_of(rows), path)
        else:
            path.write_text(text_of(suffix, rows))
        line = "row 2" if suffix == "parquet" else f"line {3 if suffix == 'csv' else 2}"
        with pytest.raises(FileFormatError, match=f"{re.escape(str(path))}, {line}: .*({reason})"):
            Log.load(path)

    @pytest.mark.parametrize("key", ["available", "unit"])
    def test_all_rows_have_them_or_none(self, tmp_path, key):
        other = {name: value for name, value in GOOD.items() if name != key}
        (tmp_path / "a.jsonl").write_text(text_of("jsonl", [GOOD, other]))
        with pytest.raises(FileFormatError, match=f"line 2: there is nothing for {key}, unlike"):
            Log.load(tmp_path / "a.jsonl")

    def test_an_outcome_that_is_not_there_is_not_known(self, tmp_path):
        rows = [GOOD, {**GOOD, "outcomes": {"time": [3]}}]
        (tmp_path / "a.jsonl").write_text(text_of("jsonl", rows))
        found = Log.load(tmp_path / "a.jsonl").outcomes
        np.testing.assert_array_equal(found["sale"], [[1.0], [np.nan]])
        np.testing.assert_array_equal(found["time"], [[np.nan], [3.0]])

    def test_outcomes_are_one_for_each_item(self, tmp_path):
        rows = [{**GOOD, "outcomes": {"sale": [1, 2]}}]
        (tmp_path / "a.jsonl").write_text(text_of("jsonl", rows))
        with pytest.raises(FileFormatError, match="'sale' must be 1 finite numbers"):
            Log.load(tmp_path / "a.jsonl")
        path = tmp_path / "a.parquet"
        pq.write_table(parquet_of(rows), path)
        with pytest.raises(FileFormatError, match="outcome:sale must have lists of 1"):
            Log.load(path)

    def test_a_slate_has_a_column_for_each_item(self, tmp_path):
        names = "context,action_0,action_1,propensity_0,propensity_1,reward_0,reward_1"
        (tmp_path / "a.csv").write_text(f"{names},outcome_0:sale\n0,1,2,1,1,0,0,0\n")
        with pytest.raises(FileFormatError, match="no column 'outcome_1:sale'"):
            LogFile(tmp_path / "a.csv")

    def test_skipped_rows_take_theirs_along(self, tmp_path):
        rows = [GOOD, {**GOOD, "available": []}, {**GOOD, "unit": "v", "available": [0, 2]}]
        (tmp_path / "a.jsonl").write_text(text_of("jsonl", rows))
        done = convert(tmp_path / "a.jsonl", tmp_path / "b.parquet", skip_bad=True)
        log = Log.load(tmp_path / "b.parquet")
        assert done.skipped == 1
        assert (log.units.tolist(), log.available.lists()) == (["u", "v"], [[0, 1], [0, 2]])

    @pytest.mark.parametrize(
        ("column", "value", "reason"),
        [
            ("available", pa.array([1, 2]), "available must hold lists of text or whole numbers"),
            ("available", pa.array([["a"], ["b"]]), "lists of whole numbers like the actions"),
            ("unit", pa.array([1.5, 2]), "unit must hold text or whole numbers, got double"),
            ("outcome:sale", pa.array(["a", "b"]), "outcome:sale must hold numbers"),
        ],
    )
    def test_types_of_columns(self, tmp_path, column, value, reason):
        table = parquet_of([GOOD, GOOD])
        table = table.set_column(table.schema.get_field_index(column), column, value)
        pq.write_table(table, tmp_path / "a.parquet")
        with pytest.raises(FileFormatError, match=reason):
            LogFile(tmp_path / "a.parquet")

    def test_an_available_action_has_one_of_the_declared_names(self, tmp_path):
        log = log_of(names=["a", "b", "c", "d", "e", "f"])
        for name in ("a.parquet", "a.csv", "a.jsonl"):
            convert(log, tmp_path / name)
            with pytest.raises(FileFormatError, match=r"(row 1|line \d): .*available.*'f'"):
                Log.load(LogFile(tmp_path / name, actions=["a", "b", "c", "d", "e"]))

    def test_files_of_one_log_have_the_same(self, tmp_path):
        log_of().save(tmp_path / "a.parquet")
        log_of(units=None).save(tmp_path / "b.parquet")
        with pytest.raises(
            FileFormatError, match=r"a\.parquet has units, but .*b\.parquet has not"
        ):
            LogFile([tmp_path / "a.parquet", tmp_path / "b.parquet"])


class TestLimits:
    @pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
    def test_a_large_number_does_not_fill_memory(self, tmp_path, suffix):
        rows = [{**GOOD, "available": [0, 2_000_000_000]}] * 100
        path = tmp_path / f"a.{suffix}"
        if suffix == "parquet":
            pq.write_table(parquet_of(rows), path)
        else:
            path.write_text(text_of(suffix, rows))
        with pytest.raises(FileFormatError, match=r"available in .* too long"):
            Log.load(LogFile(path, max_bytes=1 << 20))

    def test_a_header_that_lies_does_not_either(self, tmp_path):
        log_of().save(tmp_path / "a.parquet")
        table = pq.read_table(tmp_path / "a.parquet")
        header = json.loads(table.schema.metadata[b"policysieve.log"])
        for value, reason in ((2**31, "too long"), (-1, "damaged header"), ("x", "damaged header")):
            text = json.dumps({**header, "n_actions": value})
            pq.write_table(table.replace_schema_metadata({"policysieve.log": text}), tmp_path / "b")
            with pytest.raises(FileFormatError, match=reason):
                Log.load(LogFile(tmp_path / "b", max_bytes=1 << 20))

    def test_many_actions_are_read_in_small_batches(self, tmp_path):
        rows = [{**GOOD, "available": [0, 8_000_000]}] * 100
        (tmp_path / "a.jsonl").write_text(text_of("jsonl", rows))
        sizes = [len(rounds) for rounds in LogFile(tmp_path / "a.jsonl").rounds()]
        assert sizes == [67, 33]  # of a megabyte each


class TestContextsAlone:
    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("a.csv", "context,unit,available\n1,u,hats shoes\n2,v,hats\n"),
            (
                "a.jsonl",
                '{"context": 1, "unit": "u", "available": ["hats", "shoes"]}\n'
                '{"context": 2, "unit": "v", "available": ["hats"]}\n',
            ),
            (
                "a.parquet",
                {
                    "context": [1, 2],
                    "unit": ["u", "v"],
                    "available": [["hats", "shoes"], ["hats"]],
                },
            ),
        ],
    )
    @pytest.mark.parametrize("mapped", [False, True])
    def test_files_that_have_nothing_else(self, tmp_path, name, content, mapped):
        path = tmp_path / name
        if isinstance(content, str):
            path.write_text(content)
        else:
            pq.write_table(pa.table(content), path)
        columns = {"context": "context", "unit": "unit", "available": "available"}
        (rounds,) = open_contexts(path, columns=columns if mapped else None)
        assert rounds.actions.shape == (2, 0)
        assert rounds.beside.units.tolist() == ["u", "v"]
        assert list(rounds.plain_available()) == [["hats", "shoes"], ["hats"]]

    @pytest.mark.parametrize("format", ["parquet", "csv", "jsonl"])
    def test_out_of_logs(self, tmp_path, format):
        (rounds,) = log_of(2).rounds()
        write(tmp_path / "a", format, rounds)
        (alone,) = open_contexts(tmp_path / "a", format)
        assert alone.beside == Beside(rounds.beside.available, rounds.beside.units)


class TestVowpal:
    def test_actions_of_others_are_known_by_their_places(self, tmp_path):
        (tmp_path / "a.txt").write_text("shared | s\n0:-1:0.5 | x\n| y\n\n| x\n0:0:0.5 | y\n| z\n")
        log = Log.load(LogFile(tmp_path / "a.txt", "vw-adf"))
        assert log.available.lists() == [[0, 1], [0, 1, 2]]

    def test_sets_that_are_all_the_same_say_nothing(self, tmp_path):
        (tmp_path / "a.txt").write_text("0:-1:0.5 | x\n| y\n\n| x\n0:0:0.5 | y\n")
        assert Log.load(LogFile(tmp_path / "a.txt", "vw-adf")).available is None

    def test_lines_are_those_of_available_actions(self, tmp_path):
        (rounds,) = log_of().rounds()
        write(tmp_path / "a.txt", "vw-adf", rounds, n_actions=6)
        first = (tmp_path / "a.txt").read_text().split("\n\n")[0].splitlines()
        assert first[1:] == ["0:-1.0:0.25 | a=0", "| a=1", "| a=2", "| a=4", "| a=5"]

    def test_places_in_dsjson_are_those_among_available_actions(self, tmp_path):
        (rounds,) = log_of().rounds()
        write(tmp_path / "a.dsjson", "dsjson", rounds, n_actions=6)
        data = [json.loads(line) for line in (tmp_path / "a.dsjson").read_text().splitlines()]
        assert [one["_labelIndex"] for one in data] == [0, 1, 2, 3]
        assert data[1]["c"]["_multi"] == [{"a": str(i)} for i in (0, 1, 3, 4, 5)]

    @pytest.mark.parametrize("format", ["vw-adf", "dsjson"])
    def test_what_was_not_available_cannot_be_written(self, tmp_path, format):
        (rounds,) = log_of(available=[[1, 2], [1], [2], [3]]).rounds()
        with pytest.raises(InvalidArgumentError, match="action 0 was shown"):
            FORMATS[format].save(tmp_path / "a", [rounds], rounds.layout, 6)
