from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import policysieve as ps


def make(n, m=1, contexts=None, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "contexts": np.arange(n) if contexts is None else contexts,
        "actions": rng.random((n, 9)).argsort(axis=1)[:, :m],
        "propensities": rng.uniform(0.01, 1, (n, m)),
        "rewards": rng.uniform(0, 1, (n, m)),
    }


@st.composite
def columns(draw):
    """Rounds, slate size, shape and kind of contexts."""
    shape = draw(st.sampled_from([(), (3,), (2, 2)]))
    kind = draw(st.sampled_from(["int", "float", "text"] if shape == () else ["int", "float"]))
    return draw(st.integers(0, 12)), draw(st.integers(1, 4)), shape, kind


def contexts_of(kind, n, shape, seed):
    rng = np.random.default_rng(seed)
    if kind == "int":
        return rng.integers(-50, 50, (n, *shape))
    if kind == "float":
        return rng.normal(size=(n, *shape))
    return np.array([f"text {i} é" for i in rng.integers(0, 99, n)], dtype=object)


def test_columns_and_shapes():
    log = ps.Log(contexts=[5, 6], actions=[1, 2], propensities=[0.5, 1], rewards=[0, 1])
    assert (len(log), log.slate_size) == (2, 1)
    assert log.actions.shape == log.propensities.shape == log.rewards.shape == (2, 1)
    with pytest.raises(ValueError, match="read-only"):
        log.rewards[0] = 1


@given(columns(), st.lists(st.integers(0, 12), max_size=5), st.integers(0, 100))
@settings(deadline=None)
def test_appending_in_pieces_is_the_whole(case, cuts, seed):
    n, m, shape, kind = case
    data = make(n, m, contexts_of(kind, n, shape, seed), seed)
    whole = ps.Log(**data)
    edges = [0, *sorted(min(cut, n) for cut in cuts), n]
    pieces = ps.Log(**{name: column[:0] for name, column in data.items()})
    for start, end in pairwise(edges):
        pieces.append(**{name: column[start:end] for name, column in data.items()})
    assert pieces == whole
    for start, end in pairwise(edges):
        assert pieces[start:end] == ps.Log(**{k: v[start:end] for k, v in data.items()})


@given(columns(), st.integers(0, 100))
@settings(deadline=None, max_examples=40)
def test_a_file_gives_back_the_log(tmp_path_factory, case, seed):
    n, m, shape, kind = case
    path = tmp_path_factory.mktemp("log") / "log.parquet"
    log = ps.Log(**make(n, m, contexts_of(kind, n, shape, seed), seed))
    log.save(path)
    again = ps.Log.load(path)
    assert again == log
    assert again.contexts.shape == log.contexts.shape
    assert again.contexts.dtype == log.contexts.dtype


@given(hnp.arrays(np.float64, st.integers(1, 8), elements=st.floats(allow_nan=True)))
def test_only_probabilities_are_propensities(values):
    n = len(values)
    data = {**make(n), "propensities": values}
    if ((values > 0) & (values <= 1)).all():
        assert len(ps.Log(**data)) == n
    else:
        with pytest.raises(ps.InvalidArgumentError, match=r"propensities must lie in \(0, 1\]"):
            ps.Log(**data)


def test_slices_share_memory_and_never_disturb_each_other():
    log = ps.Log(**make(100))
    part = log[10:20]
    assert np.shares_memory(part.rewards, log.rewards)
    before = part.rewards.copy()
    part.append(**make(3, seed=1))
    log.append(**make(200, seed=2))
    np.testing.assert_array_equal(part.rewards[:10], before)
    np.testing.assert_array_equal(log.rewards[10:20], before)
    assert (len(part), len(log)) == (13, 300)
    log_tail = log[290:]
    log_tail.append(**make(5, seed=3))
    log.append(**make(5, seed=4))
    np.testing.assert_array_equal(log_tail.rewards[10:], make(5, seed=3)["rewards"])
    np.testing.assert_array_equal(log.rewards[300:], make(5, seed=4)["rewards"])


def test_appending_is_amortised():
    log = ps.Log(**make(0))
    moves = 0
    for k in range(500):
        before = log.rewards.__array_interface__["data"][0]
        log.append(**make(3, seed=k))
        moves += log.rewards.__array_interface__["data"][0] != before
    assert len(log) == 1500
    assert moves < 15


def test_equality():
    assert ps.Log(**make(5)) == ps.Log(**make(5))
    assert ps.Log(**make(5)) != ps.Log(**make(6))
    assert ps.Log(**make(5)) != ps.Log(**make(5, seed=1))
    assert ps.Log(**make(5)) != "log"
    with pytest.raises(TypeError):
        hash(ps.Log(**make(1)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"contexts": np.arange(4)}, "actions must have shape"),
        ({"contexts": 3}, "one entry or row per round"),
        ({"contexts": [np.nan] * 5}, "finite, got NaN or infinity in row 0 .5 such rows"),
        ({"contexts": [None] * 5}, "numbers or strings, got NoneType in entry 0"),
        ({"contexts": [[1], [1, 2], [3], [4], [5]]}, "contexts"),
        ({"contexts": np.zeros(5, complex)}, "complex"),
        ({"actions": [0, 1, 2, 3, -1]}, r"numbered from 0, got \[-1\] in row 4"),
        ({"actions": [0, 1, 2, 3, 2**40]}, "numbered from 0"),
        ({"actions": [0.5] * 5}, "whole numbers"),
        ({"actions": [[0, 0]] * 5}, "different, got .0, 0. in row 0"),
        ({"propensities": [0.5] * 4}, "shape"),
        ({"propensities": [0.5, 0.5, 0, 0.5, 0.5]}, "got 0 in row 2;"),
        ({"propensities": [0.5, 0.5, 0.5, 1.5, 0.5]}, "got 1.5 in row 3"),
        ({"propensities": ["a"] * 5}, "numbers"),
        ({"rewards": [0, 0, 0, 0, np.nan]}, "got nan in row 4"),
        ({"rewards": [0, 0, 0, 2, 0]}, "got 2 in row 3"),
        ({"rewards": [0, 0]}, "shape"),
    ],
)
def test_bad_rounds_change_nothing(change, message):
    data = {**make(5), **change}
    with pytest.raises(ps.InvalidArgumentError, match=message):
        ps.Log(**data)
    log = ps.Log(**make(3))
    with pytest.raises(ps.InvalidArgumentError):
        log.append(**data)
    assert log == ps.Log(**make(3))


def test_rounds_of_another_shape_are_refused():
    log = ps.Log(**make(3))
    with pytest.raises(ps.InvalidArgumentError, match="actions must have shape"):
        log.append(**make(2, m=2))
    with pytest.raises(ps.InvalidArgumentError, match="contexts must have shape"):
        log.append(**make(2, contexts=np.zeros((2, 4))))
    with pytest.raises(ps.InvalidArgumentError, match="contexts must be numbers"):
        log.append(**make(2, contexts=np.array(["a", "b"])))
    with pytest.raises(ps.InvalidArgumentError, match="slice"):
        log[1]
    assert len(log) == 3


def test_bad_files(tmp_path):
    path = tmp_path / "log.parquet"
    with pytest.raises(FileNotFoundError, match="no log at"):
        ps.Log.load(path)
    ps.Log(**make(500)).save(path)
    whole = path.read_bytes()
    for broken in (whole[:-100], whole[:10], b"", b"a,b,c\n1,2,3\n"):
        path.write_bytes(broken)
        with pytest.raises(ps.FileFormatError, match="not a readable Parquet file"):
            ps.Log.load(path)
    pq.write_table(pa.table({"a": [1]}), path)
    with pytest.raises(ps.FileFormatError, match="has no column 'context' among a"):
        ps.Log.load(path)
    table = pa.table({"a": [1]}).replace_schema_metadata({b"policysieve.log": b'{"version": 99}'})
    pq.write_table(table, path)
    with pytest.raises(ps.FileFormatError, match="version 99"):
        ps.Log.load(path)


@pytest.mark.parametrize("name", ["log", "log.pq", "log.parquet", "log.old", "log.gz"])
def test_a_saved_log_is_loaded_whatever_its_name(tmp_path, name):
    log = ps.Log(**make(5))
    log.save(tmp_path / name)
    assert ps.Log.load(tmp_path / name) == log
    assert ps.check_log(tmp_path / name).rounds == 5


def test_logs_that_older_versions_saved_under_the_name_of_another_format_are_loaded(tmp_path):
    log = ps.Log(**make(5))
    log.save(tmp_path / "log")
    old = (tmp_path / "log").rename(tmp_path / "log.csv")
    assert ps.Log.load(old) == log


@pytest.mark.parametrize(
    ("name", "meant"),
    [("a.csv", "csv"), ("a.csv.gz", "csv"), ("a.JSONL", "jsonl"), ("a.dat", "vw")],
)
def test_a_log_is_not_saved_under_the_name_of_another_format(tmp_path, name, meant):
    (tmp_path / name).write_text("before")
    with pytest.raises(ps.InvalidArgumentError, match=f"means {meant}; .*policysieve.formats.conv"):
        ps.Log(**make(5)).save(tmp_path / name)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["before"]


def test_a_failed_save_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "log.parquet"
    ps.Log(**make(5)).save(path)

    def fail(*_args, **_kwargs):
        raise OSError("disk full")

    monkeypatch.setattr("pyarrow.parquet.ParquetWriter.write_table", fail)
    with pytest.raises(OSError, match="disk full"):
        ps.Log(**make(9)).save(path)
    assert ps.Log.load(path) == ps.Log(**make(5))
    assert [file.name for file in tmp_path.iterdir()] == ["log.parquet"]
