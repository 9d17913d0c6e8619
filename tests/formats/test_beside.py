"""What was available, who came and other outcomes: through files of all formats and back."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policysieve.availability import Available
from policysieve.errors import InvalidArgumentError
from policysieve.formats import FORMATS, convert, open_contexts
from policysieve.log import Beside, Log, LogFile
from tests.formats.complete import log_of
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
