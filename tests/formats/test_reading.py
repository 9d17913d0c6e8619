"""Reading: what a file may look like, and what is said when it is something else."""

import gzip
import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from policysieve.errors import FileFormatError, InvalidArgumentError
from policysieve.formats import FORMATS, convert
from policysieve.formats.parquet_writing import as_table
from policysieve.log import Log, LogFile, Rounds
from tests.formats.rounds import read, write

HEADER = "context,action,propensity,reward\n"
ROW = {"context": 1, "actions": [0], "propensities": [0.5], "rewards": [1]}


def some(n=2, **change):
    plain = Rounds(np.arange(n), np.zeros((n, 1), np.int32), np.full((n, 1), 0.5), np.zeros((n, 1)))
    return replace(plain, **change)


class TestCsv:
    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    @pytest.mark.parametrize("mark", ["", "\ufeff"])
    def test_ends_of_lines_and_marks(self, tmp_path, end, mark):
        text = f"{mark}id,time,context,action,propensity,reward\né,1.5,7,1,0.5,1\n\n,,8,0,1,0\n"
        (tmp_path / "a.csv").write_bytes(text.replace("\n", end).encode())
        got = read(tmp_path / "a.csv")
        assert got.contexts.tolist() == [7, 8]
        assert got.ids.tolist() == ["é", ""]
        np.testing.assert_array_equal(got.times, [1.5, np.nan])
        assert got.actions.tolist() == [[1], [0]]

    @pytest.mark.parametrize(
        ("cells", "contexts", "kind"),
        [
            (["1", "-2"], [1, -2], "i"),
            (["1", "2.5"], [1.0, 2.5], "f"),
            (["1", "two"], ["1", "two"], "O"),
            (["nan", "two"], ["nan", "two"], "O"),
            (["1_0", "2"], ["1_0", "2"], "O"),
            (['"a,""b\n"', '""'], ['a,"b\n', ""], "O"),
            ([str(2**70), "1"], [2.0**70, 1.0], "f"),
        ],
    )
    def test_what_a_context_is(self, tmp_path, cells, contexts, kind):
        rows = "".join(f"{cell},0,0.5,1\n" for cell in cells)
        (tmp_path / "a.csv").write_text(HEADER + rows)
        got = read(tmp_path / "a.csv").contexts
        assert (got.tolist(), got.dtype.kind) == (contexts, kind)

    def test_slates_and_columns_in_any_order(self, tmp_path):
        (tmp_path / "a.csv").write_text(
            "reward_1,reward_0,x1,x0,action_0,action_1,propensity_0,propensity_1,time\n"
            "0.25,0.75,11,10,3,4,0.5,0.125,2024-05-01T12:00:00Z\n"
        )
        got = read(tmp_path / "a.csv")
        assert got.contexts.tolist() == [[10, 11]]
        assert got.actions.tolist() == [[3, 4]]
        assert got.propensities.tolist() == [[0.5, 0.125]]
        assert got.rewards.tolist() == [[0.75, 0.25]]
        assert got.times.tolist() == [1714564800.0]

    @pytest.mark.parametrize(
        ("header", "message"),
        [
            ("", "is empty"),
            ("context,action,propensity\n1,2,3\n", "no column 'reward'"),
            ("action,propensity,reward\n1,2,3\n", "no column 'context'"),
            ("x1,action,propensity,reward\n1,2,3,4\n", "no column 'x0'"),
            ("context,action_0,action_1,propensity,reward\n", "no column 'propensity_0'"),
            ("context,action,propensity,reward,extra\n", "unknown column 'extra' among [^:]*; col"),
            (f",{HEADER}", r"unknown column '' among .*: leave it out \(index=False\); columns"),
            (f"Unnamed: 0,{HEADER}", r"unknown column 'Unnamed: 0' .*leave it out \(index=False\)"),
            (f"__index_level_0__,{HEADER}", r"leave it out \(index=False\)"),
            ("context,action,action,propensity,reward\n", "'action' is there twice"),
            ("1,0,0.5,0.9\n", "no column 'context'"),
            (
                "ts,item,p,clicked,age\n1,2,3,4,5\n",
                "--map context=age,action=item,propensity=p,rew",
            ),
            ('"a,b",item,p,clicked\n1,2,3,4\n', "say what yours hold, in a TOML file: --map"),
            (HEADER, "holds no rounds"),
        ],
    )
    def test_headers(self, tmp_path, header, message):
        (tmp_path / "a.csv").write_text(header)
        with pytest.raises(FileFormatError, match=f"a.csv .*{message}"):
            LogFile(tmp_path / "a.csv").rounds()

    @pytest.mark.parametrize(
        ("row", "reason"),
        [
            ("1,0,0.5", "4 columns are needed, got 3"),
            ("1,0,0.5,1,1", "4 columns are needed, got 5"),
            (
                "1,0,0,5,1",
                "got 5; a value with a comma must be in quotes, and numbers have a point",
            ),
            ('1,0,"0,5",1', "got '0,5'; write it with a point, not a comma"),
            ("1,0,50%,1", "got '50%'; write it as a share, without a percent sign"),
            ('1,0,0.5,"12,5 %"', "got '12,5 %'; write it as a share"),
            ("1,0,half,1", "propensity must be a finite number, got 'half'$"),
            ('1,0,0.5,"1', "not CSV"),
            (",0,0.5,1", "context must be a whole number, got ''"),
            ("nan,0,0.5,1", "context must be a finite number, got 'nan'"),
            ("1,-1,0.5,1", "an action must be a number from 0 to 2147483646, got -1"),
            ("1,3000000000,0.5,1", "from 0 to 2147483646, got 3000000000"),
            (f"1,{2**64},0.5,1", "action must be a whole number"),
            ("1,hats,0.5,1", "must be a whole number as in the rounds before, got 'hats'; if act"),
            ("1,1.0,0.5,1", "action must be a whole number, got '1.0'"),
            ("1,,0.5,1", "action must be a whole number, got ''"),
            ("1,0,0,1", r"propensity must lie in \(0, 1\], got 0"),
            ("1,0,1.01,1", r"propensity must lie in \(0, 1\], got 1.01"),
            ("1,0,16.7,1", r"got 16.7; if it is a percentage, divide it by 100"),
            ("1,0,167,1", r"propensity must lie in \(0, 1\], got 167$"),
            ("1,0,0.5,yes", "reward must be a finite number, got 'yes'; write true or false, or"),
            ("1,0,True,1", "propensity must be a finite number, got 'True'$"),
            ("1,0,nan,1", "propensity must be a finite number, got 'nan'"),
            ("1,0,0.5,nan", "reward must be a finite number, got 'nan'"),
            ("1,0,0.5,2", r"reward 2 is outside \[0, 1\]; declare .*--reward-range"),
        ],
    )
    def test_rows(self, tmp_path, row, reason):
        (tmp_path / "a.csv").write_text(f"{HEADER}1,0,0.5,1\n{row}\n")
        with pytest.raises(FileFormatError, match=f"a.csv, line 3: .*{reason}"):
            list(LogFile(tmp_path / "a.csv").rounds())

    def test_a_line_is_where_its_row_starts(self, tmp_path):
        text = f'{HEADER}"two\nlines",0,0.5,1\nbad,0,7,1\n'
        (tmp_path / "a.csv").write_text(text)
        with pytest.raises(FileFormatError, match="line 4: "):
            list(LogFile(tmp_path / "a.csv").rounds())

    def test_items_of_a_slate_are_different(self, tmp_path):
        (tmp_path / "a.csv").write_text(
            "context,action_0,action_1,propensity_0,propensity_1,reward_0,reward_1\n"
            "1,2,2,0.5,0.5,0,0\n"
        )
        with pytest.raises(FileFormatError, match=r"must be different, got \[2, 2\]"):
            LogFile(tmp_path / "a.csv").rounds()


class TestNewlineJson:
    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            ({"contexts": 1}, "unknown key 'contexts'"),
            ({"context": None}, "a number, a string, or lists of them, got None"),
            ({"context": True}, "a number, a string, or lists of them, got True"),
            ({"context": [1, 2]}, "must be one number as in the rounds before, got 2 numbers"),
            ({"context": "a"}, "must be one number .* got one string"),
            ({"context": [[1], [1, 2]]}, "empty or ragged"),
            ({"context": []}, "empty or ragged"),
            ({"actions": 1}, "actions must be a list"),
            ({"actions": []}, "actions must be a list"),
            ({"actions": [1.0]}, "an action must be a whole number, got 1.0"),
            ({"actions": [True]}, "an action must be a whole number, got true"),
            ({"actions": [0, 1]}, "actions must be 1 as in the rounds before, got 2"),
            ({"propensities": [0.5, 0.5]}, "propensities must be 1 as in the rounds before"),
            ({"propensities": ["0.5"]}, "a propensity must be a number"),
            ({"rewards": ["1"]}, "a reward must be a number"),
            ({"rewards": [-0.1]}, "the reward -0.1 is outside"),
            ({"id": [1]}, "id must be a string"),
            ({"id": "\ud800"}, "surrogate"),
            ({"time": "noon"}, "time must be seconds since 1970 or an ISO 8601 time"),
            ({"time": 1714564800000000}, "a time must be in seconds since 1970.*divide it first"),
        ],
    )
    def test_rows(self, tmp_path, change, reason):
        lines = [json.dumps(ROW), json.dumps({**ROW, **change})]
        (tmp_path / "a.jsonl").write_text("\n".join(lines))
        with pytest.raises(FileFormatError, match=f"line 2: .*{reason}"):
            list(LogFile(tmp_path / "a.jsonl").rounds())

    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            ('{"context": 1', "not JSON"),
            ("7", "must be a JSON object"),
            ("{}", "no key 'context'"),
            (json.dumps({**ROW, "rewards": [np.nan]}), "NaN is not a number in JSON"),
            (json.dumps(ROW).replace("0.5", "1e999"), r"must lie in \(0, 1\], got inf"),
            (json.dumps(ROW).replace('"context": 1', '"context": 1e999'), "must be finite"),
            (json.dumps({**ROW, "context": 10**400}), r"must be finite numbers, got about 10\^400"),
            (json.dumps({**ROW, "context": "\ud800"}), "surrogate"),
        ],
    )
    def test_lines(self, tmp_path, line, reason):
        (tmp_path / "a.ndjson").write_text(f"{json.dumps(ROW)}\n\n{line}")
        with pytest.raises(FileFormatError, match=f"line 3: .*{reason}"):
            list(LogFile(tmp_path / "a.ndjson").rounds())

    def test_missing_rewards_and_numbers_as_ids(self, tmp_path):
        lines = [{**ROW, "id": 7, "context": 2.5}, {**ROW, "rewards": [None]}]
        (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
        got = read(tmp_path / "a.jsonl")
        assert got.ids.tolist() == ["7", ""]
        assert got.contexts.tolist() == [2.5, 1.0]
        np.testing.assert_array_equal(got.rewards, [[1], [np.nan]])
        with pytest.raises(InvalidArgumentError, match="the one of row 1 is missing"):
            got.to_log()


class TestParquet:
    def test_ids_times_and_missing_rewards_are_for_those_who_ask(self, tmp_path):
        path = tmp_path / "a.parquet"
        rounds = some(ids=np.array(["a", ""], dtype=object), times=np.array([np.nan, 2.5]))
        write(path, "parquet", rounds)
        table = pq.read_table(path)
        assert table.column_names == ["id", "time", "context", "actions", "propensities", "rewards"]
        assert table["id"].to_pylist() == ["a", None]
        assert table["time"].to_pylist() == [None, 2.5]
        got = read(path)
        assert got.ids.tolist() == ["a", ""]
        np.testing.assert_array_equal(got.times, [np.nan, 2.5])
        assert Log.load(path) == rounds.to_log()
        assert len(LogFile(path)) == 2

    def test_others_can_write_the_documented_schema(self, tmp_path):
        header = {
            "version": 1,
            "context_shape": [2],
            "context_dtype": "<f8",
            "slate_size": 2,
        }
        table = pa.table(
            {
                "rewards": pa.array([[0, 1]], pa.list_(pa.float64(), 2)),
                "context": pa.array([[0.5, 2.0]], pa.list_(pa.float64(), 2)),
                "actions": pa.array([[4, 3]], pa.list_(pa.int32(), 2)),
                "propensities": pa.array([[0.5, 0.25]], pa.list_(pa.float64(), 2)),
                "time": pa.array([7.5]),
            }
        )
        described = table.replace_schema_metadata({"policysieve.log": json.dumps(header)})
        pq.write_table(described, tmp_path / "a.parquet")
        got = read(tmp_path / "a.parquet")
        assert (got.contexts.tolist(), got.times.tolist()) == ([[0.5, 2.0]], [7.5])
        assert Log.load(tmp_path / "a.parquet").actions.tolist() == [[4, 3]]

    @pytest.mark.parametrize("rewards", [[[0.25], None, [1.0]], [[0.25], [None], [1.0]]])
    def test_missing_rewards(self, tmp_path, rewards):
        path = tmp_path / "a.parquet"
        table = as_table(some(3))
        column = pa.array(rewards, type=table.schema.field("rewards").type)
        pq.write_table(table.set_column(3, "rewards", column), path)
        np.testing.assert_array_equal(read(path).rewards, [[0.25], [np.nan], [1.0]])
        with pytest.raises(FileFormatError, match=r"a\.parquet, row 2: the reward is missing"):
            Log.load(path)
        log = Log.load(LogFile(path, missing_reward=0))
        assert log.rewards.tolist() == [[0.25], [0], [1]]

    @pytest.mark.parametrize("name", ["context", "actions", "propensities"])
    def test_nothing_else_is_missing(self, tmp_path, name):
        table = as_table(some(3))
        index = table.column_names.index(name)
        column = pa.array([*table[name].to_pylist()[:2], None], type=table[name].type)
        pq.write_table(table.set_column(index, name, column), tmp_path / "a.parquet")
        with pytest.raises(FileFormatError, match=f"a.parquet, row 3: column {name} is null"):
            read(tmp_path / "a.parquet")
        with pytest.raises(FileFormatError, match=f"a.parquet, row 3: column {name} is null"):
            Log.load(tmp_path / "a.parquet")

    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            ({"propensities": np.array([[0.5], [2.0]])}, "propensity must lie in"),
            ({"actions": np.array([[0], [-1]], np.int32)}, "number from 0"),
            ({"rewards": np.array([[0.5], [3.0]])}, "reward 3 is outside"),
            ({"contexts": np.array([0.5, np.inf])}, "context must be finite"),
        ],
    )
    def test_rows(self, tmp_path, change, reason):
        write(tmp_path / "a.parquet", "parquet", some(**change))
        with pytest.raises(FileFormatError, match=f"a.parquet, row 2: .*{reason}"):
            read(tmp_path / "a.parquet")

    def test_an_empty_log(self, tmp_path):
        empty = Log.empty(contexts=np.zeros((1, 3)), slate_size=2)
        empty.save(tmp_path / "a.parquet")
        assert Log.load(tmp_path / "a.parquet") == empty
        assert len(LogFile(tmp_path / "a.parquet")) == 0
        with pytest.raises(FileFormatError, match="holds no rounds"):
            convert(tmp_path / "a.parquet", tmp_path / "a.jsonl")


class TestAnyFile:
    @pytest.mark.parametrize("format", FORMATS)
    @pytest.mark.parametrize("content", [b"", b"\n\n", b"\xff\xfe\x00\x80binary\x00\n", b"PAR1xx"])
    def test_empty_binary_and_truncated_files(self, tmp_path, format, content):
        (tmp_path / "a").write_bytes(content)
        with pytest.raises(FileFormatError, match=str(tmp_path / "a")):
            list(LogFile(tmp_path / "a", format).rounds())

    @pytest.mark.parametrize("format", sorted(set(FORMATS) - {"parquet"}))
    def test_compressed_files(self, tmp_path, format):
        path = tmp_path / "a.gz"
        write(path, format, some(200, contexts=np.random.default_rng(0).normal(size=(200, 3))))
        whole = path.read_bytes()
        for broken in (whole[:-20], whole[: len(whole) // 2], gzip.decompress(whole), b""):
            path.write_bytes(broken)
            with pytest.raises(FileFormatError, match=str(path)):
                list(LogFile(path, format).rounds())

    @pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
    def test_other_encodings(self, tmp_path, encoding):
        (tmp_path / "a.csv").write_bytes(f"{HEADER}caf\u00e9,0,0.5,1\n".encode(encoding))
        with pytest.raises(FileFormatError, match=r"a\.csv is not UTF-8 .*; save it as UTF-8"):
            LogFile(tmp_path / "a.csv").rounds()

    def test_compression_and_its_suffix(self, tmp_path):
        text = f"{HEADER}1,0,0.5,1\n".encode()
        (tmp_path / "a.csv").write_bytes(gzip.compress(text))
        with pytest.raises(FileFormatError, match="is compressed by gzip; unpack it, or let its"):
            LogFile(tmp_path / "a.csv").rounds()
        (tmp_path / "b.csv.gz").write_bytes(text)
        with pytest.raises(FileFormatError, match="is not compressed by gzip, but its name ends"):
            LogFile(tmp_path / "b.csv.gz").rounds()

    def test_what_a_suffix_means(self, tmp_path):
        suffixes = {suffix: one.name for one in FORMATS.values() for suffix in one.suffixes}
        for suffix, name in suffixes.items():
            write(tmp_path / f"a{suffix}", name, some())
            assert len(read(tmp_path / f"a{suffix}")) == 2
        assert set(suffixes) >= {".parquet", ".csv", ".jsonl", ".vw", ".dsjson"}
        convert(tmp_path / "a.jsonl", tmp_path / "new.csv")  # of which the suffix means our own
        assert (tmp_path / "new.csv").read_text().startswith(HEADER)

    def test_unknown_formats(self, tmp_path):
        (tmp_path / "a.txt").write_text("")
        with pytest.raises(InvalidArgumentError, match=r"known are \.parquet, .* vw-adf"):
            LogFile(tmp_path / "a.txt").rounds()
        with pytest.raises(InvalidArgumentError, match=r"one of parquet, csv.* got 'excel'"):
            LogFile(tmp_path / "a.txt", "excel").rounds()
        with pytest.raises(FileNotFoundError, match="no log at"):
            LogFile(tmp_path / "b.csv").rounds()


class TestRewardRange:
    def test_is_kept_with_rewards_as_they_are(self, tmp_path):
        (tmp_path / "a.csv").write_text(f"{HEADER}1,0,1,-3\n1,0,1,5\n1,0,1,-1\n1,0,1,\n")
        got = read(tmp_path / "a.csv", reward_range=(-3, 5))
        np.testing.assert_array_equal(got.rewards, [[-3], [5], [-1], [np.nan]])
        assert got.reward_range == (-3.0, 5.0)
        np.testing.assert_array_equal(got.in_unit().rewards, [[0], [1], [0.25], [np.nan]])

    def test_is_a_promise(self, tmp_path):
        (tmp_path / "a.csv").write_text(f"{HEADER}1,0,1,2\n1,0,1,2.5\n")
        with pytest.raises(FileFormatError, match=r"line 3: .*2.5 .* declared range \[0, 2\]"):
            LogFile(tmp_path / "a.csv", reward_range=(0, 2)).rounds()

    @pytest.mark.parametrize(
        "wrong",
        [(1, 0), (0, 0), (0, np.inf), (-1e308, 1e308), (np.nan, 1), (1,), 3, "ab"],
    )
    def test_is_two_numbers_in_order(self, tmp_path, wrong):
        with pytest.raises(InvalidArgumentError, match="two finite numbers low < high"):
            LogFile(tmp_path / "a.csv", reward_range=wrong).rounds()
