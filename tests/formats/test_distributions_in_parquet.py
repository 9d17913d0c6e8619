"""Full distributions in Parquet, also next to the columns of others."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from policysieve.errors import FileFormatError
from policysieve.formats import convert
from policysieve.formats.parquet_writing import as_table
from policysieve.log import Distributions, Log, LogFile, Rounds
from tests.formats.listed import LISTS, ROUNDS
from tests.formats.rounds import assert_same, read, write

PLAIN = {
    "context": pa.array([17, 4]),
    "action": pa.array([2, 1]),
    "propensity": pa.array([0.5, 0.25]),
    "reward": pa.array([1, 0]),
}


class TestParquet:
    def lists(self, actions=((0, 2), (1, 3)), propensities=((0.5, 0.5), (0.25, 0.75)), kind=None):
        columns = [list(map(list, one)) for one in (actions, propensities)]
        return {
            "distribution_actions": pa.array(columns[0], kind),
            "distribution_propensities": pa.array(columns[1]),
        }

    @pytest.mark.parametrize(
        "kind",
        [None, pa.list_(pa.float64()), pa.large_list(pa.int8()), pa.list_(pa.uint32(), 2)],
        ids=str,
    )
    def test_next_to_plain_columns(self, tmp_path, kind):
        pq.write_table(pa.table({**PLAIN, **self.lists(kind=kind)}), tmp_path / "a.parquet")
        assert list(read(tmp_path / "a.parquet").distributions) == LISTS

    def test_without_a_header(self, tmp_path):
        frame = as_table(ROUNDS).to_pydict()
        pq.write_table(pa.table(frame), tmp_path / "a.parquet")
        assert_same(read(tmp_path / "a.parquet"), ROUNDS)

    @pytest.mark.parametrize(
        ("row", "name", "values", "reason"),
        [
            (0, "distribution_actions", None, "column distribution_actions is null"),
            (1, "distribution_actions", [1, None], "column distribution_actions is null"),
            (1, "distribution_propensities", None, "column distribution_propensities is null"),
            (0, "distribution_propensities", [0.5, None], "distribution_propensities is null"),
            (0, "distribution_propensities", [1.0], "must have equally long lists"),
            (1, "distribution_actions", [], "must have equally long lists"),
        ],
    )
    @pytest.mark.parametrize("header", [True, False])
    def test_rows_that_can_be_skipped(self, tmp_path, header, row, name, values, reason):
        table = as_table(ROUNDS)
        column = table[name].to_pylist()
        column[row] = values
        at = table.column_names.index(name)
        table = table.set_column(at, name, pa.array(column, table[name].type))
        if not header:
            table = table.replace_schema_metadata(None)
        pq.write_table(table, tmp_path / "a.parquet")
        with pytest.raises(FileFormatError, match=f"a.parquet, row {row + 1}: .*{reason}"):
            read(tmp_path / "a.parquet")
        done = convert(tmp_path / "a.parquet", tmp_path / "b.jsonl", skip_bad=True)
        assert (done.rounds, done.skipped) == (1, 1)
        assert list(read(tmp_path / "b.jsonl").distributions) == [LISTS[1 - row]]

    @pytest.mark.parametrize(
        "column",
        [
            pa.array([1, 2]),
            pa.array(["0", "2"]),
            pa.array([["a"], ["b"]]),
            pa.array([[0.5, 2], [1, 3]]),
            pa.array([[[0]], [[1]]]),
            pa.array([{"a": 1}, {"a": 2}]),
            pa.array([b"0", b"1"]),
        ],
        ids=lambda column: str(column.type),
    )
    def test_columns_of_another_kind(self, tmp_path, column):
        for table in (as_table(ROUNDS), pa.table({**PLAIN, **self.lists()})):
            at = table.column_names.index("distribution_actions")
            changed = table.set_column(at, "distribution_actions", column)
            pq.write_table(changed, tmp_path / "a.parquet")
            with pytest.raises(FileFormatError, match="is not a readable log"):
                read(tmp_path / "a.parquet")

    def test_nothing_but_nulls(self, tmp_path):
        columns = {**PLAIN, **self.lists(), "distribution_actions": pa.nulls(2)}
        pq.write_table(pa.table(columns), tmp_path / "a.parquet")
        with pytest.raises(FileFormatError, match="row 1: column distribution_actions is null"):
            read(tmp_path / "a.parquet")

    @pytest.mark.parametrize("table", [as_table(ROUNDS), pa.table({**PLAIN})])
    def test_one_column_is_not_enough(self, tmp_path, table):
        if "action" in table.column_names:
            columns = {**PLAIN, **self.lists()}
            del columns["distribution_actions"]
            table = pa.table(columns)
        else:
            table = table.drop_columns(["distribution_actions"])
        pq.write_table(table, tmp_path / "a.parquet")
        message = "must have both columns .* or neither, got distribution_propensities alone"
        with pytest.raises(FileFormatError, match=message):
            LogFile(tmp_path / "a.parquet")
        assert read(tmp_path / "a.parquet", contexts_only=True).contexts.tolist() == [17, 4]

    def test_an_empty_file_goes_with_both(self, tmp_path):
        empty = Log.empty(contexts=np.zeros(1, int), slate_size=1)
        empty.save(tmp_path / "empty.parquet")
        write(tmp_path / "a.parquet", "parquet", ROUNDS)
        for order in (["empty", "a"], ["a", "empty"]):
            opened = LogFile([tmp_path / f"{name}.parquet" for name in order])
            assert opened.layout.has_distributions
            assert Log.load(opened) == ROUNDS.to_log()

    def test_long_lists_are_read_a_few_rounds_at_a_time(self, tmp_path, monkeypatch):
        monkeypatch.setattr("policysieve.formats.parquet_file._VALUES", 1000)
        every = np.random.default_rng(0).dirichlet(np.ones(100), 30)
        rounds = Rounds(
            np.arange(30),
            np.zeros((30, 1), np.int32),
            every[:, :1],
            np.zeros((30, 1)),
            distributions=Distributions.of(every, 30),
        )
        write(tmp_path / "a.parquet", "parquet", rounds)
        pieces = list(LogFile(tmp_path / "a.parquet").pieces())
        assert max(map(len, pieces)) <= 5
        assert Log.concatenate(pieces) == rounds.to_log()
