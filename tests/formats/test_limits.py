"""Small files that unpack to much: what is held at once has a limit, which can be raised."""

import csv
import gzip
import io
import json
import os
import tracemalloc
from itertools import repeat

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import policysieve as ps
from policysieve.cli import main
from policysieve.errors import FileFormatError
from policysieve.formats import FORMATS, convert, open_contexts

LIMIT = 1 << 22
HEADER = {"version": 1, "context_shape": [], "context_dtype": "|O", "slate_size": 1}


def saved(path, context, *, header=HEADER, n=1000, **more):
    """A Parquet file in which everything but the contexts is small."""

    def items(values):
        return pa.FixedSizeListArray.from_arrays(pa.array(values), 1)

    columns = {
        "context": context,
        "actions": items(np.arange(n, dtype=np.int32) % 2),
        "propensities": items(np.full(n, 0.5)),
        "rewards": items(np.zeros(n)),
        **more,
    }
    table = pa.table(columns).replace_schema_metadata({"policysieve.log": json.dumps(header)})
    pq.write_table(table, path, compression="zstd", dictionary_pagesize_limit=1 << 30)
    return path


def texts(path, n=1000, size=100_000):
    """The same long text in each round, which Parquet stores once."""
    codes = pa.array(np.zeros(n, dtype=np.int32))
    return saved(path, pa.DictionaryArray.from_arrays(codes, pa.array(["x" * size])), n=n)


def lists_of_texts(path, n=1000, size=100_000):
    codes = pa.array(np.zeros(n, dtype=np.int32))
    long = pa.DictionaryArray.from_arrays(codes, pa.array(["x" * size]))
    header = {**HEADER, "context_shape": [1]}
    return saved(path, pa.FixedSizeListArray.from_arrays(long, 1), header=header, n=n)


def rows(path, width=10_000, n=1000):
    values = pa.array(np.zeros(n * width))
    header = {**HEADER, "context_shape": [width], "context_dtype": "<f8"}
    return saved(path, pa.FixedSizeListArray.from_arrays(values, width), header=header, n=n)


def one_long_distribution(path, n=1000, length=1_000_000):
    lengths = np.r_[length, np.ones(n - 1, dtype=np.int64)]
    offsets = pa.array(np.r_[0, np.cumsum(lengths)])
    lists = {
        "distribution_actions": np.zeros(lengths.sum(), dtype=np.int32),
        "distribution_propensities": np.ones(lengths.sum()),
    }
    more = {k: pa.LargeListArray.from_arrays(offsets, pa.array(v)) for k, v in lists.items()}
    return saved(path, pa.array(["a"] * n), n=n, **more)


def packed_line(path, repeated="7", times=30_000_000):
    with gzip.open(path, "wt", compresslevel=1) as file:
        file.write("context,action,propensity,reward\n1,0,0.5,")
        file.writelines(repeat(repeated * 1000, times // 1000 // len(repeated)))
        file.write("\n")
    return path


class TestBombs:
    @pytest.mark.parametrize("make", [texts, one_long_distribution])
    def test_a_small_parquet_file_of_much_is_refused(self, tmp_path, make):
        path = make(tmp_path / "a.parquet")
        assert os.path.getsize(path) < 100_000
        tracemalloc.start()
        arrow = pa.total_allocated_bytes()
        with pytest.raises(
            ps.FileFormatError, match=r"raise the limit \(--max-bytes, or max_bytes="
        ):
            next(ps.LogFile(path, max_bytes=LIMIT).rounds())
        held = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert held < LIMIT
        assert pa.total_allocated_bytes() - arrow < LIMIT

    def test_lists_of_long_texts_come_in_smaller_batches(self, tmp_path):
        path = lists_of_texts(tmp_path / "a.parquet")
        sizes = [len(rounds) for rounds in ps.LogFile(path, max_bytes=LIMIT).rounds()]
        assert sum(sizes) == 1000
        assert max(sizes) * 100_000 <= LIMIT

    def test_long_rows_come_in_smaller_batches(self, tmp_path):
        log = ps.LogFile(rows(tmp_path / "a.parquet"))
        sizes = [len(rounds) for rounds in log.rounds()]
        assert sum(sizes) == 1000
        assert max(sizes) * 10_000 <= 1 << 22
        with pytest.raises(ps.FileFormatError, match="a round is too long, 80,0"):
            next(ps.LogFile(tmp_path / "a.parquet", max_bytes=50_000).rounds())

    def test_a_whole_log_is_refused_where_its_pieces_are_not(self, tmp_path):
        path = rows(tmp_path / "a.parquet")
        allowed = ps.LogFile(path, max_bytes=1 << 26)
        with pytest.raises(ps.FileFormatError, match="the whole log is too large"):
            ps.Log.load(allowed)
        assert sum(len(piece) for piece in allowed.pieces()) == 1000
        assert len(ps.Log.load(ps.LogFile(path, max_bytes=1 << 27))) == 1000

    def test_a_whole_log_that_is_as_large_as_its_file_says_is_not_refused(
        self, tmp_path, monkeypatch
    ):
        """Unless a limit was named: what is refused then is small and unpacks to much."""
        monkeypatch.setattr("policysieve.archives.MAX_BYTES", 1000)
        rounds, honest, dense = "1,0,0.5,1\n" * 10_000, tmp_path / "a.csv", tmp_path / "a.csv.gz"
        honest.write_text("context,action,propensity,reward\n" + rounds)
        dense.write_bytes(gzip.compress(honest.read_bytes()))
        assert len(ps.Log.load(honest)) == 10_000
        with pytest.raises(ps.FileFormatError, match="the whole log is too large"):
            ps.Log.load(ps.LogFile(honest, max_bytes=1 << 18))
        with pytest.raises(ps.FileFormatError, match="the whole log is too large"):
            ps.Log.load(dense)

    def test_a_limit_that_is_raised_lets_it_pass(self, tmp_path):
        path = texts(tmp_path / "a.parquet", n=100)
        with pytest.raises(ps.FileFormatError, match="rounds read at once"):
            ps.Log.load(ps.LogFile(path, max_bytes=LIMIT))
        assert len(ps.Log.load(ps.LogFile(path, max_bytes=8 * LIMIT))) == 100

    @pytest.mark.parametrize("suffix", ["csv", "jsonl", "vw", "dsjson"])
    def test_a_packed_line_without_end_is_refused(self, tmp_path, suffix):
        path = packed_line(tmp_path / f"a.{suffix}.gz")
        assert os.path.getsize(path) < 1_000_000
        tracemalloc.start()
        with pytest.raises(ps.FileFormatError, match=r"the row in line \d is too long"):
            ps.LogFile(path, max_bytes=LIMIT)
        held = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert held < LIMIT

    def test_a_row_that_is_too_long_is_told_what_share_of_the_limit_it_may_have(self, tmp_path):
        path = tmp_path / "a.csv"
        path.write_text("context,action,propensity,reward\n" + "1,0,0.5,1" + " " * 100 + "\n")
        words = "line 2 is too long, 63 bytes or more, and 62 are allowed, a sixteenth of"
        with pytest.raises(ps.FileFormatError, match=words):
            ps.LogFile(path, max_bytes=1000)
        assert len(ps.LogFile(path, max_bytes=16 * 110)) == 1

    @pytest.mark.parametrize(("name", "form"), [("a.csv.gz", "csv"), ("a.txt.gz", "vw-adf")])
    def test_a_row_of_lines_without_end_is_refused(self, tmp_path, name, form):
        with gzip.open(tmp_path / name, "wt", compresslevel=1) as file:
            file.write('context,action,propensity,reward\n1,0,0.5,"\n')
            file.writelines(repeat("| a\n" * 1000, 1000))
        with pytest.raises(ps.FileFormatError, match=r"the row in line \d is too long"):
            ps.LogFile(tmp_path / name, form, max_bytes=LIMIT)

    def test_many_short_lines_are_read_in_pieces(self, tmp_path):
        with gzip.open(tmp_path / "a.csv.gz", "wt", compresslevel=1) as file:
            file.write("context,action,propensity,reward\n")
            file.writelines(repeat("1,0,0.5,1\n", 10_000))
        log = ps.LogFile(tmp_path / "a.csv.gz", max_bytes=1 << 18)
        assert sum(len(piece) for piece in log.pieces()) == 10_000
        with pytest.raises(ps.FileFormatError, match="the whole log is too large"):
            ps.Log.load(log)

    def test_other_readers_have_the_same_limit(self, tmp_path):
        path = texts(tmp_path / "a.parquet")
        with pytest.raises(ps.FileFormatError, match="max-bytes"):
            next(open_contexts(path, max_bytes=LIMIT))
        with pytest.raises(ps.FileFormatError, match="max-bytes"):
            convert(path, tmp_path / "b.csv", max_bytes=LIMIT)
        with pytest.raises(ps.InvalidArgumentError, match="max_bytes says how files are read"):
            convert(ps.LogFile(path), tmp_path / "b.csv", max_bytes=LIMIT)
        assert not (tmp_path / "b.csv").exists()
        done = CliRunner().invoke(main, ["check", str(path), "--max-bytes", str(LIMIT)])
        assert done.exit_code != 0
        assert "if you trust it, raise the limit" in done.output

    def test_the_limit_is_a_number_of_bytes(self, tmp_path):
        for wrong in (0, -1, 1.5, "1", 10**400 * -1):
            with pytest.raises(ps.InvalidArgumentError, match="max_bytes must be a whole number"):
                ps.LogFile(tmp_path / "a.csv", max_bytes=wrong)


class TestLongTexts:
    LOG = ps.Log(
        contexts=["a" * 200_000, 'quoted " and\nin two lines ' + "b" * 200_000, "short"],
        actions=[0, 1, 0],
        propensities=[0.5, 0.5, 0.5],
        rewards=[0, 1, 0],
    )

    @pytest.mark.parametrize("form", FORMATS)
    def test_they_come_back_from_every_format_that_holds_texts(self, tmp_path, form):
        path = tmp_path / "log.out"
        done = convert(self.LOG, path, to_format=form, n_actions=2)
        limit = csv.field_size_limit()
        got = ps.Log.load(ps.LogFile(path, form))
        assert csv.field_size_limit() == limit
        if any("strings" in phrase for phrase in done.not_held):  # they are codes
            assert len(got) == 3
        else:
            assert got == self.LOG

    def test_they_are_read_where_a_long_has_32_bits(self, tmp_path, monkeypatch):
        """As on Windows, where more is an OverflowError."""
        limit = csv.field_size_limit

        def short(*new):
            assert all(value < 2**31 for value in new)
            return limit(*new)

        convert(self.LOG, tmp_path / "a.csv")
        monkeypatch.setattr(csv, "field_size_limit", short)
        assert ps.Log.load(ps.LogFile(tmp_path / "a.csv", max_bytes=2**40)) == self.LOG

    def test_a_broken_long_row_is_named_and_the_next_one_read(self, tmp_path):
        text = io.StringIO()
        csv.writer(text).writerows(
            [["context", "action", "propensity", "reward"], ["a" * 200_000, 0, 0.5, 1]]
        )
        (tmp_path / "a.csv").write_text(f'{text.getvalue()}"{"b" * 200_000}"x,0,0.5,1\nc,1,0.5,0\n')
        with pytest.raises(ps.FileFormatError, match=r"line 3: the row is not CSV"):
            ps.LogFile(tmp_path / "a.csv")
        convert(tmp_path / "a.csv", tmp_path / "b.jsonl", skip_bad=True)
        assert ps.Log.load(tmp_path / "b.jsonl").contexts[1] == "c"


@pytest.mark.parametrize(
    ("key", "why"), [("action", "at most 500 characters"), ("slate", "raise the limit")]
)
def test_long_actions_and_slates_are_refused_before_they_are_written_out(tmp_path, key, why):
    n, size = 3000, 200_000
    codes = pa.array(np.zeros(n, dtype=np.int32))
    long = pa.DictionaryArray.from_arrays(codes, pa.array(["x" * size]))
    plain = {"u": np.arange(n), "action": ["x", "y"] * (n // 2), "p": np.full(n, 0.5)}
    table = pa.table({**plain, "r": np.zeros(n), "slate": np.arange(n), key: long})
    path = tmp_path / "log.parquet"
    pq.write_table(
        table.replace_schema_metadata(), path, compression="zstd", dictionary_pagesize_limit=1 << 30
    )
    columns = {"context": "u", "action": "action", "propensity": "p", "reward": "r"}
    if key == "slate":
        columns["slate"] = "slate"
    usual = pa.default_memory_pool()
    counted = pa.proxy_memory_pool(usual)
    pa.set_memory_pool(counted)
    tracemalloc.start()
    try:
        with pytest.raises(FileFormatError, match=why):
            ps.Log.load(ps.LogFile(path, columns=columns, max_bytes=5_000_000))
        _, python = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(usual)
    assert counted.max_memory() + python < 50_000_000
