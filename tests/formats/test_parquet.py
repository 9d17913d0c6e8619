"""Parquet that others wrote: rows with nulls, and columns without our header."""

import datetime
import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from policysieve.errors import FileFormatError
from policysieve.formats import convert
from policysieve.formats.parquet_writing import as_table
from policysieve.formats.rules import MISSING
from policysieve.log import Log, LogFile, Rounds
from tests.formats.rounds import read

PLAIN = {
    "context": pa.array([17, 4, 9]),
    "action": pa.array([2, 0, 1]),
    "propensity": pa.array([0.25, 0.5, 0.5]),
    "reward": pa.array([1, 0, 1]),
}


def save(path, **columns):
    pq.write_table(pa.table(columns), path)
    return path


class TestNulls:
    def table(self):
        rounds = Rounds(
            np.arange(10, 16.0).reshape(3, 2),
            np.array([[0, 1], [2, 3], [4, 5]], np.int32),
            np.full((3, 2), 0.5),
            np.ones((3, 2)),
            np.array(["a", "b", "c"], dtype=object),
        )
        return as_table(rounds)

    @pytest.mark.parametrize("name", ["context", "actions", "propensities"])
    @pytest.mark.parametrize("whole", [True, False])
    @pytest.mark.parametrize("row", [0, 1, 2])
    def test_a_row_with_a_null_can_be_skipped(self, tmp_path, name, whole, row):
        table = self.table()
        values = table[name].to_pylist()
        values[row] = None if whole else [values[row][0], None]
        column = pa.array(values, type=table[name].type)
        changed = table.set_column(table.column_names.index(name), name, column)
        pq.write_table(changed, tmp_path / "a.parquet")
        done = convert(tmp_path / "a.parquet", tmp_path / "b.jsonl", skip_bad=True)
        assert (done.rounds, done.skipped) == (2, 1)
        kept = [i for i in range(3) if i != row]
        got = read(tmp_path / "b.jsonl")
        assert got.contexts.tolist() == [[10.0 + 2 * i, 11.0 + 2 * i] for i in kept]
        assert got.actions.tolist() == [[2 * i, 2 * i + 1] for i in kept]
        assert got.ids.tolist() == ["abc"[i] for i in kept]
        (line,) = (tmp_path / "b.jsonl.skipped.jsonl").read_text().splitlines()
        skipped = json.loads(line)
        assert (skipped["line"], skipped["reason"]) == (row + 1, f"column {name} is null")
        assert json.loads(skipped["text"])["id"] == "abc"[row]

    def test_bad_rows_keep_their_numbers_and_their_order(self, tmp_path, monkeypatch):
        monkeypatch.setattr("policysieve.formats.parquet_file.BATCH", 4)
        n = 11
        path = save(
            tmp_path / "a.parquet",
            context=pa.array([None if i == 1 else i for i in range(n)]),
            action=pa.array([None if i in (1, 8) else 0 for i in range(n)]),
            propensity=pa.array([0.0 if i in (3, 9) else 0.5 for i in range(n)]),
            reward=pa.array([None if i == 6 else 1 for i in range(n)]),
        )
        done = convert(path, tmp_path / "b.jsonl", skip_bad=True)
        lines = (tmp_path / "b.jsonl.skipped.jsonl").read_text().splitlines()
        skipped = [(row["line"], row["reason"]) for row in map(json.loads, lines)]
        improbable = "a propensity must lie in (0, 1], got 0"
        assert skipped == [
            (2, "column context is null"),
            (4, improbable),
            (7, MISSING),
            (9, "column action is null"),
            (10, improbable),
        ]
        assert done.rounds == n - 5
        kept = np.concatenate([piece.contexts for piece in LogFile(tmp_path / "b.jsonl").rounds()])
        assert kept.tolist() == [0, 2, 4, 5, 7, 10]

    def test_nothing_but_nulls(self, tmp_path):
        empty = {**PLAIN, "action": pa.array([None] * 3, pa.int64())}
        path = save(tmp_path / "a.parquet", **empty)
        for out, options in (("b.csv", {}), ("b", {"to_format": "vw-adf"})):
            with pytest.raises(FileFormatError, match="no rounds that can be read"):
                convert(path, tmp_path / out, skip_bad=True, **options)


class TestPlainColumns:
    def test_become_a_log(self, tmp_path):
        path = save(tmp_path / "a.parquet", **PLAIN)
        convert(path, tmp_path / "log.parquet")
        expected = Log(
            contexts=[17, 4, 9],
            actions=[2, 0, 1],
            propensities=[0.25, 0.5, 0.5],
            rewards=[1, 0, 1],
        )
        assert Log.load(tmp_path / "log.parquet") == expected

    def test_features_slates_ids_and_missing_rewards(self, tmp_path):
        path = save(
            tmp_path / "a.parquet",
            x1=pa.array([3, 4]),
            x0=pa.array([0.5, 1.5], pa.float32()),
            id=pa.array(["u", None]),
            action_0=pa.array([0, 1], pa.int8()),
            action_1=pa.array([1, 2], pa.uint16()),
            propensity_0=pa.array([0.5, 0.25]),
            propensity_1=pa.array([0.25, 0.5]),
            reward_0=pa.array([True, False]),
            reward_1=pa.array([None, 0.75]),
            __index_level_0__=pa.array([8, 9]),
        )
        got = read(path)
        assert got.contexts.tolist() == [[0.5, 3], [1.5, 4]]
        assert got.actions.tolist() == [[0, 1], [1, 2]]
        assert got.propensities.tolist() == [[0.5, 0.25], [0.25, 0.5]]
        np.testing.assert_array_equal(got.rewards, [[1, np.nan], [0, 0.75]])
        assert got.ids.tolist() == ["u", ""]

    @pytest.mark.parametrize(
        ("column", "contexts", "dtype"),
        [
            (pa.array(["b", "a", "b"]), ["b", "a", "b"], object),
            (pa.array(["b", "a", "b"], pa.large_string()), ["b", "a", "b"], object),
            (pa.array(["b", "a", "b"]).dictionary_encode(), ["b", "a", "b"], object),
            (pa.array([1, 2, 3], pa.uint8()), [1, 2, 3], np.int64),
            (pa.array([True, False, True]), [1, 0, 1], np.int64),
            (pa.array([1, 2.5, 3], pa.float32()), [1, 2.5, 3], np.float64),
        ],
    )
    def test_kinds_of_contexts(self, tmp_path, column, contexts, dtype):
        got = read(save(tmp_path / "a.parquet", **{**PLAIN, "context": column}))
        assert (got.contexts.tolist(), got.contexts.dtype) == (contexts, dtype)

    @pytest.mark.parametrize(
        ("column", "seconds"),
        [
            (pa.array([5, None, 7]), [5, np.nan, 7]),
            (pa.array([5.5, None, 7.25]), [5.5, np.nan, 7.25]),
            (pa.array([1_500, None, 2_000], pa.timestamp("ms")), [1.5, np.nan, 2]),
            (pa.array([10**9 + 1, None, 0], pa.timestamp("ns", "Asia/Tokyo")), [1, np.nan, 0]),
            (
                pa.array([datetime.datetime(1970, 1, 2, tzinfo=datetime.UTC), None, None]),
                [86_400, np.nan, np.nan],
            ),
        ],
    )
    def test_kinds_of_times(self, tmp_path, column, seconds):
        got = read(save(tmp_path / "a.parquet", **PLAIN, time=column))
        np.testing.assert_array_equal(got.times, seconds)

    def test_whole_numbers_that_became_floats_next_to_nulls(self, tmp_path):
        column = pa.array([2.0, None, 1.0])
        path = save(tmp_path / "a.parquet", **{**PLAIN, "action": column})
        with pytest.raises(FileFormatError, match="row 2: column action is null"):
            read(path)
        done = convert(path, tmp_path / "b.csv", skip_bad=True)
        assert (done.rounds, done.skipped) == (2, 1)
        assert read(tmp_path / "b.csv").actions.tolist() == [[2], [1]]

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"action": None}, "has no column 'action' among context, propensity, reward; columns"),
            ({"price": pa.array([1, 2, 3])}, "has unknown column 'price' among"),
            (
                {"context": pa.array([[1.0], [2.0], [3.0]])},
                r"column context must hold .* got list<.*>; a row of features is columns x0, x1",
            ),
            ({"action": pa.array([[0], [1], [2]])}, "column action must hold numbers or whole"),
            ({"time": pa.array(["noon", "one", "two"])}, "column time must hold .*, got string"),
            ({"action": pa.array([0.5, 1, 2])}, "row 1: column action must be a whole .* 0.5"),
            ({"propensity": pa.array([0.5, 0.5, 2])}, r"row 3: a propensity must lie in \(0, 1\]"),
        ],
    )
    def test_others_are_refused(self, tmp_path, change, message):
        columns = {name: c for name, c in {**PLAIN, **change}.items() if c is not None}
        path = save(tmp_path / "a.parquet", **columns)
        with pytest.raises(FileFormatError, match=message):
            read(path)

    def test_are_a_log(self, tmp_path):
        path = save(tmp_path / "a.parquet", **PLAIN)
        log = Log.load(path)
        assert (log.contexts.tolist(), log.actions.tolist()) == ([17, 4, 9], [[2], [0], [1]])

    def test_text_is_not_parquet(self, tmp_path):
        (tmp_path / "a.parquet").write_text("context,action,propensity,reward\n1,0,0.5,1\n")
        with pytest.raises(FileFormatError, match="of another format, name that"):
            LogFile(tmp_path / "a.parquet")


LISTS = {
    "id": pa.array(["u", None]),
    "context": pa.array([[0.5, 2.0], [1.5, 3.0]]),
    "actions": pa.array([[2, 0], [1, 2]]),
    "propensities": pa.array([[0.5, 0.25], [0.25, 1.0]]),
    "rewards": pa.array([[1, 0], [None, 0]]),
}


class TestListsWithoutAHeader:
    def test_are_read_as_with_one(self, tmp_path):
        got = read(save(tmp_path / "a.parquet", **LISTS))
        assert got.contexts.tolist() == [[0.5, 2], [1.5, 3]]
        assert got.actions.tolist() == [[2, 0], [1, 2]]
        assert got.propensities.tolist() == [[0.5, 0.25], [0.25, 1]]
        np.testing.assert_array_equal(got.rewards, [[1, 0], [np.nan, 0]])
        assert got.ids.tolist() == ["u", ""]

    @pytest.mark.parametrize("coded", [False, True])
    def test_contexts_alone(self, tmp_path, coded):
        column = pa.array(["a", "b"])
        texts = {**LISTS, "context": column.dictionary_encode() if coded else column}
        got = read(save(tmp_path / "a.parquet", **texts), contexts_only=True)
        assert got.contexts.tolist() == ["a", "b"]
        assert got.actions.shape == (2, 0)

    @pytest.mark.parametrize("rewards", [pa.nulls(2), pa.array([None, [0.5, 1]])])
    def test_rewards_that_are_null(self, tmp_path, rewards):
        got = read(save(tmp_path / "a.parquet", **{**LISTS, "rewards": rewards}))
        assert np.isnan(got.rewards[0]).all()

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"actions": pa.array([[2, 0], [1]])}, "not a readable log .*lists are all"),
            ({"actions": pa.array([None, [1, 2]])}, "row 1: context and actions must not be null"),
            ({"context": pa.array([[], []], pa.list_(pa.int8()))}, "must not be null or empty"),
            ({"actions": pa.array([[2, 0], None])}, "row 2: column actions is null"),
            ({"actions": pa.array([[2, 0], [1, None]])}, "row 2: column actions is null"),
            ({"context": pa.array([[1.0, 2.0], None])}, "row 2: column context is null"),
            ({"rewards": pa.array([1.0, 0.0])}, "not a readable log"),
            ({"rewards": pa.array([[1, 0], [7, 0]])}, r"row 2: the reward 7 is outside \[0, 1\]"),
            (
                {"context": pa.array([b"a", b"b"])},
                "column context must hold .* text, got binary",
            ),
            ({"propensities": pa.array([["a", "b"]] * 2)}, "column propensities must hold numbers"),
        ],
    )
    def test_others_are_refused(self, tmp_path, change, message):
        path = save(tmp_path / "a.parquet", **{**LISTS, **change})
        with pytest.raises(FileFormatError, match=message):
            read(path)


class TestOwnHeader:
    ROUNDS = Rounds(np.array([1, 2]), np.array([[0], [1]]), np.full((2, 1), 0.5), np.zeros((2, 1)))

    @pytest.mark.parametrize(
        "header",
        [
            "{",
            "[]",
            '{"version": 1}',
            '{"version": 1, "context_shape": [], "context_dtype": "zz", "slate_size": 1}',
            '{"version": 1, "context_shape": ["a"], "context_dtype": "<i8", "slate_size": 1}',
            '{"version": 1, "context_shape": [], "context_dtype": "<i8", "slate_size": 0}',
        ],
    )
    def test_damaged(self, tmp_path, header):
        table = as_table(self.ROUNDS).replace_schema_metadata({"policysieve.log": header})
        pq.write_table(table, tmp_path / "a.parquet")
        for read_it in (Log.load, LogFile):
            with pytest.raises(FileFormatError, match=r"a\.parquet has a damaged header"):
                read_it(tmp_path / "a.parquet")

    @pytest.mark.parametrize(
        ("name", "values"),
        [("actions", [0.5, 1.0]), ("actions", ["a", "b"]), ("propensities", ["a", "b"])],
    )
    def test_columns_of_another_kind(self, tmp_path, name, values):
        table = as_table(self.ROUNDS)
        other = pa.FixedSizeListArray.from_arrays(pa.array(values), 1)
        at = table.column_names.index(name)
        pq.write_table(table.set_column(at, name, other), tmp_path / "a.parquet")
        for read_it in (Log.load, lambda path: list(LogFile(path).rounds())):
            with pytest.raises(FileFormatError, match=f"column {name} must hold"):
                read_it(tmp_path / "a.parquet")

    def test_contexts_are_what_the_column_holds(self, tmp_path):
        """Whatever kind of numbers the header says."""
        rounds = replace(self.ROUNDS, contexts=np.array([0.5, 2.5]))
        table = as_table(rounds)
        (header,) = table.schema.metadata.values()
        table = table.replace_schema_metadata({"policysieve.log": header.replace(b"<f8", b"<i8")})
        pq.write_table(table, tmp_path / "a.parquet")
        assert Log.load(tmp_path / "a.parquet").contexts.tolist() == [0.5, 2.5]

    def test_contexts_that_are_neither_numbers_nor_strings(self, tmp_path):
        table = as_table(self.ROUNDS).set_column(0, "context", pa.array([b"a", b"b"]))
        pq.write_table(table, tmp_path / "a.parquet")
        with pytest.raises(
            FileFormatError,
            match=r"column context must hold .* text, got binary",
        ):
            list(LogFile(tmp_path / "a.parquet").rounds())


class TestParts:
    """Who reads from the middle of a row group unpacks its beginning, too."""

    N, BATCH, GROUP = 300_000, 1 << 16, 1 << 17

    @pytest.fixture
    def saved(self, tmp_path):
        zeros = np.zeros(self.N, np.int32)
        log = Log(contexts=zeros, actions=zeros, propensities=zeros + 0.5, rewards=zeros)
        log.save(tmp_path / "a.parquet")
        return tmp_path / "a.parquet"

    def test_our_files_have_row_groups_that_are_parts(self, saved):
        assert [at for at, _ in LogFile(saved).starts(self.GROUP)] == [0, 131_072, 262_144]
        with pq.ParquetFile(saved) as file:
            sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
        assert sizes == [131_072, 131_072, 37_856]

    @pytest.mark.parametrize(
        ("group", "most", "starts"),
        [
            (1 << 20, 1 << 17, [0, 131_072, 262_144]),  # one row group: cut inside
            (100_000, 1 << 20, [0, 131_072, 262_144]),  # the first batch in each
            (196_608, 1 << 17, [0, 131_072, 196_608]),  # two parts in the first, one in the second
            (1000, 1 << 20, [0, 65_536, 131_072, 196_608, 262_144]),  # a batch is the least
        ],
    )
    def test_parts_of_other_files_begin_with_row_groups(self, saved, group, most, starts):
        pq.write_table(pq.read_table(saved), saved, row_group_size=group)
        assert [at for at, _ in LogFile(saved).starts(most)] == starts
