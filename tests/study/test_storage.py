"""Addresses, settings of connections, durations and drawing."""

import sqlite3
import sys
from datetime import timedelta
from importlib import import_module

import numpy as np
import pytest

import policysieve as ps
from policysieve.study import storage
from policysieve.study.drawing import Draws
from policysieve.study.durations import in_words, seconds
from policysieve.study.packing import pack_answers, pack_contexts, unpack_contexts
from policysieve.study.probes import check_probes, more_probes, probed_places
from tests.study.cases import PROBLEM, contexts, linear


@pytest.mark.patient
def test_commits_of_users_are_on_disk(tmp_path):
    with ps.Study.create(f"sqlite:///{tmp_path / 's.db'}", "s", linear(), PROBLEM) as study:
        assert storage._SYNCHRONOUS == "FULL"
        with study._storage.reading() as connection:
            raw = connection.connection.driver_connection
            assert raw.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            assert raw.execute("PRAGMA synchronous").fetchone() == (2,)


def test_without_the_extra_its_name_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    monkeypatch.delitem(sys.modules, "policysieve.study")
    with pytest.raises(ps.MissingExtraError, match=r"policysieve\[study\]"):
        import_module("policysieve.study")


@pytest.mark.parametrize(
    ("url", "what"),
    [
        ("sqlite://", "would not survive"),
        ("sqlite:///:memory:", "would not survive"),
        ("mysql://host/shop", "'mysql'"),
        ("shop.db", "must be that of a database"),
        (3, "must be that of a database"),
    ],
)
def test_addresses_that_are_none_are_refused(url, what):
    with pytest.raises(ps.InvalidArgumentError, match=what):
        ps.Study.create(url, "shop", linear(), PROBLEM)


def test_a_file_that_is_not_there_is_not_made_by_opening(tmp_path):
    with pytest.raises(FileNotFoundError, match="no studies"):
        ps.Study.open(f"sqlite:///{tmp_path / 'typo.db'}", "shop", linear())
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for call in (
        lambda: ps.Study.create("sqlite:///none/shop.db", "shop", linear(), PROBLEM),
        lambda: ps.Study.open("sqlite:///none/shop.db", "shop", linear()),
    ):
        with pytest.raises(FileNotFoundError, match=f"no folder {tmp_path / 'none'} .* make the f"):
            call()
    (tmp_path / "folder").mkdir()
    with pytest.raises(ps.InvalidArgumentError, match="folder is a folder"):
        ps.Study.create("sqlite:///folder", "shop", linear(), PROBLEM)
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_file_that_is_no_database_is_named(tmp_path):
    path = tmp_path / "shop.db"
    path.write_bytes(b"not a database, but long enough to look at " * 100)
    with pytest.raises(ps.StorageError, match="file is not a database"):
        ps.Study.open(f"sqlite:///{path}", "shop", linear())


def test_a_database_that_another_process_has_locked_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "_PATIENCE", 0.1)
    path = tmp_path / "s.db"
    study = ps.Study.create(f"sqlite:///{path}", "s", linear(), PROBLEM)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(ps.StorageError, match="locked"):
        study.ask(contexts(2))
    other.execute("ROLLBACK")
    other.close()
    assert len(study.ask(contexts(2))) == 2


def test_a_damaged_batch_or_snapshot_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("policysieve.study.snapshots.EVERY", 20)
    path = tmp_path / "s.db"
    with ps.Study.create(f"sqlite:///{path}", "s", linear(), PROBLEM, seed=0) as study:
        decisions = study.ask(contexts(30))
        study.tell(decisions, np.zeros(30))
    for change, what in (
        ("UPDATE ps_snapshots SET content = x'00'", "snapshot of study 's' is damaged"),
        ("DELETE FROM ps_snapshots", None),
        ("UPDATE ps_batches SET propensities = x'00'", "batch of round 0 is damaged"),
    ):
        raw = sqlite3.connect(path)
        raw.execute(change)
        raw.commit()
        raw.close()
        study = ps.Study.open(f"sqlite:///{path}", "s", linear())
        if what is None:
            assert study.recommend().rounds == 30
            continue
        with pytest.raises(ps.FileFormatError, match=what):
            study.recommend()


@pytest.mark.parametrize(
    ("given", "found"),
    [("90s", 90), ("1.5h", 5400), (" 2 d ", 172800), ("1w", 604800), (7, 7), (0, 0)]
    + [(timedelta(minutes=2), 120)],
)
def test_durations_are_seconds(given, found):
    assert seconds("deadline", given) == found


@pytest.mark.parametrize("given", ["2 hours", "h", "-1h", -1, float("nan"), None, "1e3s"])
def test_other_durations_are_refused(given):
    with pytest.raises(ps.InvalidArgumentError, match="deadline"):
        seconds("deadline", given)


def test_durations_have_words():
    assert [in_words(x) for x in (0.5, 90, 5400, 86400)] == ["0.5s", "1.5m", "1.5h", "1d"]


def test_places_have_numbers_of_their_own():
    draws = Draws(3)
    np.testing.assert_array_equal(draws.at(5, 4, 3), Draws(3).at(5, 4, 3))
    many = np.concatenate([draws.at(place, 1, 3).ravel() for place in range(2000)])
    assert len(np.unique(many)) == 6000
    assert abs(many.mean() - 0.5) < 0.02
    assert not np.array_equal(draws.at(0, 4, 3), Draws(4).at(0, 4, 3))


@pytest.mark.parametrize(
    "given",
    [
        np.zeros((0, 3)),
        np.arange(5, dtype=np.uint16),
        np.arange(12, dtype=np.float32).reshape(2, 3, 2),
        np.array([True, False]),
        np.array(["\ud800", "", "x" * 999], dtype=object),
        np.array([["a", "b"], ["c", "d"]], dtype=object),
    ],
    ids=str,
)
def test_contexts_are_packed_and_come_back(given):
    found = unpack_contexts(pack_contexts(given), len(given))
    assert found.dtype == given.dtype
    np.testing.assert_array_equal(found, given)


@pytest.mark.parametrize(
    "data", [b"", b"<f8 3\nxx", b"|O 3\n" + bytes(24), b"text\n\1" + b"\xff" * 20, b"arrow\n\0x"]
)
def test_what_is_no_contexts_is_refused(data):
    with pytest.raises((ValueError, OSError)):
        unpack_contexts(data, 1)


def test_probes_that_were_kept_as_one_part_are_read_and_added_to():
    """As the first studies have them."""
    policies = ps.FunctionPolicies([lambda x: x[:, 0].astype(int)] * 2, n_actions=3)
    x = np.array([[1.0], [2.0], [0.0]])
    answers = policies.answers_at(x)
    packed, said = pack_contexts(x[:2]), pack_answers(policies, answers.take(slice(2)), None)
    old = b"[2, %d]\n" % len(packed) + packed + said
    assert probed_places(old) == [0, 1]
    more = more_probes(old, policies, x[2:], answers.take(slice(2, 3)), 7)
    assert probed_places(more) == [0, 1, 7]
    check_probes(more, policies)
    other = ps.FunctionPolicies([lambda x: (x[:, 0] > 0).astype(int)] * 2, n_actions=3)
    for probes in (old, more):
        with pytest.raises(
            ps.InvalidArgumentError, match=r"2 of 2 .* \[1\] where it answered \[2\]"
        ):
            check_probes(probes, other)


@pytest.mark.parametrize("probes", [b"x", b"[2]\n", b'["a", 1, 1]\nxy', b"[1, 3, 2]\n<f8\nab"])
def test_damaged_probes_are_named(probes):
    policies = ps.FunctionPolicies([lambda x: x[:, 0].astype(int)] * 2, n_actions=3)
    with pytest.raises(ps.FileFormatError, match="probes"):
        check_probes(probes, policies)
