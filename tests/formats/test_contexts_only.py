"""Contexts with ids and times alone, out of files that have nothing else and out of logs."""

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from policysieve.errors import FileFormatError, InvalidArgumentError
from policysieve.formats import FORMATS, open_contexts
from policysieve.log import LogFile, Rounds
from tests.formats.rounds import assert_same, read, write

NOON = "2024-05-01T12:00:00Z"
ROW = {"context": 1, "actions": [0], "propensities": [0.5], "rewards": [1]}


def save(path, content):
    """A file of lines, or of the columns of a table."""
    if isinstance(content, str):
        path.write_text(content, encoding="utf-8")
    else:
        pq.write_table(pa.table(content), path)
    return path


def contexts_alone(*columns):
    """Rounds without items."""
    n = len(columns[0])
    return Rounds(columns[0], np.empty((n, 0), np.int32), *[np.empty((n, 0))] * 2, *columns[1:])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", f"id,time,x1,x0\nu1,{NOON},2,0.5\n,,3,1.5\n"),
        (
            "a.jsonl",
            json.dumps({"id": "u1", "time": NOON, "context": [0.5, 2]})
            + '\n\n{"context": [1.5, 3.0]}\n',
        ),
        (
            "a.parquet",
            {
                "x1": pa.array([2, 3]),
                "x0": pa.array([0.5, 1.5], pa.float32()),
                "time": pa.array([1_714_564_800, None], pa.timestamp("s")),
                "id": pa.array(["u1", None]),
                "__index_level_0__": pa.array([8, 9]),
            },
        ),
    ],
)
def test_files_that_have_nothing_else(tmp_path, name, content):
    path = save(tmp_path / name, content)
    expected = contexts_alone(
        np.array([[0.5, 2.0], [1.5, 3.0]]),
        np.array(["u1", ""], dtype=object),
        np.array([1714564800.0, np.nan]),
    )
    got = read(path, contexts_only=True)
    assert_same(got, expected)
    with pytest.raises(InvalidArgumentError, match="actions must have shape"):
        got.to_log()
    with pytest.raises(FileFormatError, match=r"no (column|key) 'action"):
        LogFile(path).rounds()


@pytest.mark.parametrize(
    ("lines", "contexts", "ids"),
    [
        (["| f0:1.5 f2", "'u%201| f1:2"], [[1.5, 0, 1], [0, 2, 0]], ["", "u 1"]),
        (["| c=17", "1:0.5:0.25 | c=4"], [17, 4], None),
        (["0:bad | c=17", "u| c=4"], [17, 4], ["", "u"]),
    ],
)
def test_vowpal_wabbit_needs_no_label(tmp_path, lines, contexts, ids):
    path = save(tmp_path / "a.vw", "\n".join(lines))
    got = read(path, contexts_only=True)
    assert got.contexts.tolist() == contexts
    assert (None if got.ids is None else got.ids.tolist()) == ids


ADF = "shared 'u| c=17\n| a=0\n| a=1\n\nshared | c=4\n| a=0\n| a=2\n"
DSJSON = """\
{"EventId": "u", "c": {"row": "17", "_multi": [{"a": "0"}, {"a": "1"}]}}
{"c": {"row": "4", "_multi": [{"a": "0"}, {"a": "2"}]}}
"""


@pytest.mark.parametrize(("format", "text"), [("vw-adf", ADF), ("dsjson", DSJSON)])
def test_sets_of_actions_need_no_label(tmp_path, format, text):
    got = read(save(tmp_path / "a", text), format, contexts_only=True)
    assert got.contexts.tolist() == [17, 4]
    assert got.ids.tolist() == ["u", ""]
    assert got.beside.available.lists() == [[0, 1], [0, 2]]


@pytest.mark.parametrize(("format", "text"), [("vw-adf", ADF), ("dsjson", DSJSON)])
def test_a_log_with_sets_of_actions_needs_labels(tmp_path, format, text):
    path = save(tmp_path / "a", text)
    with pytest.raises(FileFormatError, match=", line 1: no"):
        read(path, format)


OURS = ("parquet", "csv", "jsonl")  # which hold everything


@pytest.mark.parametrize(
    ("format", "slate_size"), [*((name, 1) for name in FORMATS), *((name, 2) for name in OURS)]
)
def test_logs_of_all_formats(tmp_path, format, slate_size):
    """Propensities and rewards that no log may have are not looked at."""
    shape = (3, slate_size)
    rounds = Rounds(
        np.array([[0.5, 1.0], [2.0, 3.0], [0.0, -1.0]]),
        np.zeros(shape, np.int32),
        np.full(shape, 7.0),
        np.full(shape, -5.0),
        np.array(["a", "", "c"], dtype=object),
        np.array([1.5, np.nan, 2.5]),
    )
    write(tmp_path / "a", format, rounds)
    with pytest.raises(FileFormatError):
        read(tmp_path / "a", format)
    got = read(tmp_path / "a", format, contexts_only=True)
    expected = contexts_alone(rounds.contexts, rounds.ids, rounds.times)
    assert got.actions.shape == (3, 0)
    np.testing.assert_array_equal(got.contexts, expected.contexts)
    if format in OURS:
        assert_same(got, expected)


def test_only_some_of_a_log(tmp_path):
    """Columns of a log are left aside, whatever is in them; others are not understood."""
    path = save(tmp_path / "a.csv", "context,action,reward_1\n17,red,50%\n4,,\n")
    assert read(path, contexts_only=True).contexts.tolist() == [17, 4]
    column = pa.array([["red"], None])
    path = save(tmp_path / "a.parquet", {"context": pa.array([17, 4]), "action": column})
    assert read(path, contexts_only=True).contexts.tolist() == [17, 4]
    path = save(tmp_path / "a.jsonl", '{"context": 17, "actions": "red"}\n{"context": 4}')
    assert read(path, contexts_only=True).contexts.tolist() == [17, 4]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "id,context,price\nu,1,2\n", " has unknown column 'price' among id, context, "),
        (
            "a.csv",
            "id,action\nu,1\n",
            " has no column 'context' among id, action; columns are id, ",
        ),
        ("a.csv", "id,x0,x2\nu,1,1\n", " has no column 'x1' among"),
        ("a.csv", "id,context\n", " holds no rounds"),
        ("a.csv", "id,context\nu,1\nv,2,3\n", ", line 3: 2 columns are needed, got 3"),
        ("a.csv", "id,context\nu,1\nv,\n", ", line 3: context must be a whole number, got ''"),
        ("a.csv", "x0,x1\n1,2\n1,two\n", ", line 3: x1 must be a finite number, got 'two'"),
        ("a.csv", "time,context\n1,1\nnoon,2\n", ", line 3: time must be seconds since 1970"),
        ("a.csv", "time,context\n1,1\n1e15,2\n", ", line 3: a time must be in seconds since 1970"),
        (
            "a.jsonl",
            '{"context": 1}\n{"id": "u"}',
            ", line 2: no key 'context'; keys are context, and",
        ),
        ("a.jsonl", '{"context": 1}\n{"context": 1, "x": 2}', ", line 2: unknown key 'x'"),
        ("a.jsonl", '{"context": 1}\n{"context": "a"}', ", line 2: context must be one number as"),
        ("a.vw", "| c=1\nc=2", ", line 2: there is no |"),
        ("a.vw", "shared | c=1", ", line 1: a shared line belongs to the format vw-adf"),
        ("a.parquet", {"id": pa.array(["u"])}, " has no column 'context' among id"),
        (
            "a.parquet",
            {"context": pa.array([1]), "price": pa.array([2])},
            " has unknown column 'price' among",
        ),
        ("a.parquet", {"context": pa.array([[1.0]])}, ": column context must hold numbers or"),
        ("a.parquet", {"context": pa.array([1, None])}, ", row 2: column context is null"),
        ("a.parquet", {"x0": pa.array([1, np.inf])}, ", row 2: the context must be finite"),
    ],
)
def test_what_is_refused(tmp_path, name, content, message):
    path = save(tmp_path / name, content)
    with pytest.raises(FileFormatError, match=re.escape(f"{path}{message}")):
        list(open_contexts(path))


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_comes_in_batches(tmp_path, monkeypatch, ending):
    for module in ("text", "parquet_file"):
        monkeypatch.setattr(f"policysieve.formats.{module}.BATCH", 4)
    lines = {
        "csv": "context\n" + "\n".join(map(str, range(10))),
        "jsonl": "\n".join(json.dumps({"context": i}) for i in range(10)),
        "parquet": {"context": pa.array(range(10))},
    }
    path = save(tmp_path / f"a.{ending}", lines[ending])
    pieces = [piece.contexts.tolist() for piece in open_contexts(path)]
    assert pieces == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
