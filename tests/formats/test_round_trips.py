"""What is written comes back, to the last bit where the format can hold it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from policysieve.formats import FORMATS
from policysieve.log import Log, LogFile, Rounds
from tests.formats.rounds import assert_same, read, some_rounds, write

few = settings(deadline=None, max_examples=25)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("formats")


@given(rounds=some_rounds(kinds=["row", "number", "text", (3,), (2, 2)], distributions=True))
@few
def test_parquet(folder, rounds):
    write(folder / "log.parquet", "parquet", rounds)
    assert_same(read(folder / "log.parquet"), rounds)
    assert Log.load(folder / "log.parquet") == rounds.to_log()


@given(rounds=some_rounds(kinds=["row", "number", "text", (3,), (2, 2)], distributions=True))
@few
def test_newline_json(folder, rounds):
    write(folder / "log.jsonl", "jsonl", rounds)
    assert_same(read(folder / "log.jsonl"), rounds)


@given(rounds=some_rounds(kinds=["row", "number", "text", (3,), (1,)], distributions=True))
@few
def test_csv(folder, rounds):
    write(folder / "log.csv.gz", "csv", rounds)
    assert_same(read(folder / "log.csv.gz"), rounds)


@pytest.mark.parametrize("format", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize("rewards", [[[np.nan], [0.25]], [[1.0, np.nan], [np.nan, np.nan]]])
def test_missing_rewards(tmp_path, format, rewards):
    m = len(rewards[0])
    slates = np.arange(2 * m, dtype=np.int32).reshape(2, m)
    rounds = Rounds(np.arange(2), slates, np.full((2, m), 0.5), np.array(rewards))
    write(tmp_path / "log", format, rounds)
    assert_same(read(tmp_path / "log", format), rounds)


@pytest.mark.parametrize("format", ["vw", "vw-adf"])
@given(rounds=some_rounds(kinds=["row", "text", (3,)], slates=False, times=False))
@few
def test_vowpal_text(folder, format, rounds):
    write(folder / "log.vw", format, rounds)
    assert_same(read(folder / "log.vw", format), rounds)


@given(rounds=some_rounds(kinds=["row", "text", (3,), (2, 2)], slates=False, distributions=True))
@few
def test_dsjson(folder, rounds):
    write(folder / "log.dsjson", "dsjson", rounds)
    got = read(folder / "log.dsjson")
    if rounds.times is not None:
        np.testing.assert_allclose(got.times, rounds.times, rtol=0, atol=1e-6)
        got = replace(got, times=rounds.times)
    assert_same(got, rounds)


@given(rounds=some_rounds(kinds=[(3,)], slates=False, ids=False))
@few
def test_open_bandit_csv(folder, rounds):
    write(folder / "log.csv", "obp-csv", rounds)
    got = read(folder / "log.csv")
    times = np.arange(float(len(rounds))) if rounds.times is None else rounds.times
    np.testing.assert_allclose(got.times, times, rtol=0, atol=1e-6)
    assert_same(replace(got, times=rounds.times), rounds)


@pytest.mark.parametrize("format", FORMATS)
def test_several_batches_are_one_file(tmp_path, format):
    rounds = Rounds(
        np.arange(12.0).reshape(4, 3),
        np.array([[0], [4], [2], [1]], dtype=np.int32),
        np.full((4, 1), 0.25),
        np.array([[0.0], [1.0], [0.5], [0.0]]),
    )
    halves = [rounds.where(np.arange(4) < 2), rounds.where(np.arange(4) >= 2)]
    write(tmp_path / "log", format, *halves)
    got = read(tmp_path / "log", format)
    assert_same(replace(got, times=None), rounds)


@pytest.mark.parametrize("format", sorted(set(FORMATS) - {"parquet"}))
def test_long_text_is_read_in_several_batches(tmp_path, format, monkeypatch):
    monkeypatch.setattr("policysieve.formats.text.BATCH", 3)
    rounds = Rounds(
        np.arange(20.0).reshape(10, 2) + 1,
        np.arange(10, dtype=np.int32)[:, None] % 5,
        np.full((10, 1), 0.25),
        np.zeros((10, 1)),
    )
    write(tmp_path / "log", format, rounds)
    pieces = list(LogFile(tmp_path / "log", format).rounds())
    assert [len(piece) for piece in pieces] == [3, 3, 3, 1]
    np.testing.assert_array_equal(np.concatenate([p.contexts for p in pieces]), rounds.contexts)


@pytest.mark.parametrize("format", sorted(set(FORMATS) - {"parquet"}))
def test_compressed_text_has_the_same_bytes_each_time(tmp_path, format):
    rounds = Rounds(
        np.ones((2, 2)), np.zeros((2, 1), np.int32), np.full((2, 1), 0.5), np.ones((2, 1))
    )
    for name in ("a.gz", "b.gz"):
        write(tmp_path / name, format, rounds)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    assert (tmp_path / "a.gz").read_bytes()[:2] == b"\x1f\x8b"
    np.testing.assert_array_equal(read(tmp_path / "a.gz", format).contexts, rounds.contexts)
