"""Tables of others in which each item of a slate has a row of its own."""

import numpy as np
import pandas as pd
import pytest

from policysieve.errors import FileFormatError, InvalidArgumentError
from policysieve.formats import convert, open_contexts
from policysieve.log import Log, LogFile
from tests.formats.rounds import write_rows


@pytest.fixture(params=["csv", "jsonl", "parquet"])
def log_path(request, tmp_path):
    return tmp_path / f"web.{request.param}"


SLATE = {"context": "c", "action": "a", "propensity": "p", "reward": "r", "slate": "s"}


def items(*rows):
    """Rows of shown items: slate, context, action, position."""
    return [
        {"s": s, "c": c, "a": a, "k": k, "p": 0.5, "r": float(a == "x"), "more": 1}
        for s, c, a, k in rows
    ]


class TestSlates:
    def test_rows_of_one_slate_are_a_round(self, log_path):
        write_rows(log_path, items((7, 1, "y", 2), (7, 1, "x", 1), (5, 2, "x", 1), (5, 2, "z", 2)))
        log = LogFile(log_path, columns=SLATE)
        assert (len(log), log.slate_size) == (2, 2)
        got = Log.load(log)
        assert got.actions.tolist() == [[1, 0], [0, 2]]
        assert got.rewards.tolist() == [[0, 1], [1, 0]]
        assert got.contexts.tolist() == [1, 2]
        assert [name for one in log.rounds() for name in one.ids] == ["7", "5"]
        placed = Log.load(LogFile(log_path, columns={**SLATE, "position": "k"}))
        assert placed.actions.tolist() == [[0, 1], [0, 2]]

    def test_contexts_alone(self, log_path):
        write_rows(log_path, items((7, 1, "y", 2), (7, 1, "x", 1), (5, 2, "x", 1)))
        pairs = [
            pair
            for one in open_contexts(log_path, columns=SLATE)
            for pair in zip(one.contexts.tolist(), one.ids, strict=True)
        ]
        assert pairs == [(1, "7"), (2, "5")]

    @pytest.mark.parametrize(
        ("rows", "reason"),
        [
            ([(2, 1, "x", 1)], "actions must be 2 .* got 1; rows of one slate .* sort them by s"),
            ([(2, 1, "x", 1), (2, 1, "x", 2)], r"must be different, got \['x', 'x'\]"),
            ([(2, 1, "x", 1), (2, 3, "y", 2)], "one context, c is '?1'? in .* '?3'? in "),
            ([(2, 1, "x", 1), (2, 1, "y", 1)], "k must be different in a slate"),
            ([(None, 1, "x", 1), (3, 1, "x", 1), (3, 1, "y", 2)], "slate|actions must be 2"),
        ],
    )
    def test_what_is_refused(self, log_path, rows, reason):
        write_rows(log_path, items((1, 1, "x", 1), (1, 1, "y", 2), *rows))
        where = {".csv": "line 4", ".jsonl": "line 3", ".parquet": "row [34]"}[log_path.suffix]
        columns = {**SLATE, "position": "k"}
        with pytest.raises(FileFormatError, match=f"{where}: .*({reason})"):
            list(LogFile(log_path, columns=columns).rounds())
        done = convert(log_path, log_path.with_name("o.jsonl"), columns=columns, skip_bad=True)
        assert (done.skipped, done.slate_size) == (1, 2)
        assert done.rounds == (2 if len(rows) == 3 else 1)

    def test_batches_do_not_cut_slates(self, log_path, monkeypatch):
        monkeypatch.setattr("policysieve.formats.parquet_file.BATCH", 5)
        monkeypatch.setattr("policysieve.formats.text.BATCH", 5)
        rows = [(slate, slate, action, 1) for slate in range(20) for action in ("x", "y", "z")]
        write_rows(log_path, items(*rows))
        batches = list(LogFile(log_path, columns=SLATE).rounds())
        assert len(batches) > 2
        assert np.concatenate([one.contexts for one in batches]).tolist() == list(range(20))

    def test_a_column_with_one_value_is_no_slate(self, log_path):
        write_rows(log_path, items(*[(1, 1, str(i), 1) for i in range(10_002)]))
        with pytest.raises(FileFormatError, match="at most 10,000 rows"):
            list(LogFile(log_path, columns=SLATE).rounds())


@pytest.mark.parametrize("order", [[0, 2, 1, 3], [0, 1, 2, 3, 0, 1]])
def test_a_slate_that_comes_again_is_not_taken_for_another(tmp_path, order):
    rows = [("a", 1, "hats"), ("a", 1, "shoes"), ("b", 2, "hats"), ("b", 2, "shoes")]
    frame = pd.DataFrame(
        [{"r": r, "user": u, "item": i, "p": 0.5, "c": 0} for r, u, i in (rows[k] for k in order)]
    )
    frame.to_csv(tmp_path / "log.csv", index=False)
    frame.to_json(tmp_path / "log.jsonl", orient="records", lines=True)
    frame.to_parquet(tmp_path / "log.parquet")
    columns = {"context": "user", "action": "item", "propensity": "p", "reward": "c", "slate": "r"}
    for name in ("log.csv", "log.jsonl", "log.parquet"):
        with pytest.raises(FileFormatError, match="rows of one slate must follow each other"):
            Log.load(LogFile(tmp_path / name, columns=columns))
    with pytest.raises(InvalidArgumentError, match="rows of one slate must follow each other"):
        Log.from_frame(frame, **columns)


SLATES = {"context": "u", "action": "item", "propensity": "p", "reward": "c", "slate": "r"}


def slate_rows(*rows):
    return [dict(zip(("r", "u", "item", "p", "c"), row, strict=True)) for row in rows]


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
class TestSlatesInRows:
    def test_one_that_comes_again_in_another_file_is_noticed_and_can_be_skipped(
        self, tmp_path, suffix
    ):
        paths = [tmp_path / f"{name}.{suffix}" for name in ("one", "two")]
        write_rows(paths[0], slate_rows(("a", 1, "x", 0.5, 0), ("b", 1, "x", 0.5, 0)))
        write_rows(paths[1], slate_rows(("a", 1, "y", 0.5, 0), ("c", 1, "y", 0.5, 0)))
        message = rf"two.{suffix}, (line|row) \d: rows of one slate .* 'a' was there in .*one"
        with pytest.raises(FileFormatError, match=message):
            Log.load(LogFile(paths, columns=SLATES))
        done = convert(paths, tmp_path / "out.parquet", columns=SLATES, skip_bad=True)
        assert (done.rounds, done.skipped) == (3, 1)

    def test_the_line_of_the_wrong_item_is_named(self, tmp_path, suffix):
        rows = slate_rows(
            ("a", 1, "x", 0.5, 0), ("a", 1, "y", 0.5, 0), ("b", 1, "x", 0.5, 0), ("b", 1, "y", 7, 0)
        )
        write_rows(tmp_path / f"log.{suffix}", rows)
        where = {"csv": "in line 5, ", "jsonl": "in line 4, ", "parquet": "row 4: "}[suffix]
        with pytest.raises(FileFormatError, match=f"{where}a propensity must lie in"):
            Log.load(LogFile(tmp_path / f"log.{suffix}", columns=SLATES))
        rows[3] |= {"item": None, "p": 0.5}
        write_rows(tmp_path / f"log.{suffix}", rows)
        with pytest.raises(FileFormatError, match=f"{where}(an action|item|column item)"):
            Log.load(LogFile(tmp_path / f"log.{suffix}", columns=SLATES))


def test_the_wrong_item_of_a_frame_is_named_by_its_row():
    rows = slate_rows(("a", 1, "x", 0.5, 0), ("a", 1, "y", 7, 0))
    with pytest.raises(InvalidArgumentError, match="row 1: a propensity must lie"):
        Log.from_frame(pd.DataFrame(rows), **SLATES)
