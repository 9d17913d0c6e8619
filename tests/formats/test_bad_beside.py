"""What was available, who came and other outcomes: rows that are refused, and limits."""

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from policysieve.errors import FileFormatError
from policysieve.formats import convert
from policysieve.log import Log, LogFile
from tests.formats.complete import log_of


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
