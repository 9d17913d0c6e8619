"""Writers that fail, are killed, or meet: what was there stays, and nothing is left behind."""

import errno
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import policysieve as ps
from policysieve import files
from policysieve.bench.cells import keep_cell, kept_cell
from policysieve.bench.race.earlier import with_earlier_rows
from policysieve.bench.scaling.measuring import measure_scaling
from policysieve.files import sole_writer, whole_or_nothing, write_whole
from policysieve.formats import convert
from tests.cli.test_cli import invoke

HOLDS = """
import sys, time
from policysieve.files import {name}
with {name}(sys.argv[1]) as partial:
    if partial is not None:
        partial.write_bytes(b"half of it")
    print("here", flush=True)
    time.sleep(300)
"""


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


@pytest.fixture
def elsewhere():
    """Starts a process that is in the middle of writing to a path."""
    started = []

    def start(name, path):
        command = [sys.executable, "-c", HOLDS.format(name=name), str(path)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        started.append(process)
        assert process.stdout.readline() == b"here\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_file_is_on_the_disk_before_it_has_its_name_and_then_its_folder(tmp_path, monkeypatch):
    steps = []
    sync, replace = os.fsync, os.replace

    def fsync(handle):
        steps.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        sync(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", lambda *pair: steps.append("name") or replace(*pair))
    write_whole(tmp_path / "file", b"all")
    assert steps == ["file", "name", "folder"]


class TestLeftOvers:
    def test_of_a_killed_writer_go_when_the_next_one_comes(self, tmp_path, elsewhere):
        path = tmp_path / "file"
        write_whole(path, b"old")
        for name in ("file", "other"):
            killed = elsewhere("whole_or_nothing", tmp_path / name)
            killed.kill()
            killed.wait()
        assert len(names(tmp_path)) == 5  # of each what was written, and its lock
        assert path.read_bytes() == b"old"
        write_whole(path, b"new")
        *left, _ = names(tmp_path)
        assert [name[:7] for name in left] == [".other."] * 2  # its next writer's business
        write_whole(tmp_path / "other", b"new")
        assert names(tmp_path) == ["file", "other"]

    def test_of_a_living_writer_stay(self, tmp_path, elsewhere):
        path = tmp_path / "file"
        elsewhere("whole_or_nothing", path)
        with whole_or_nothing(path) as mine:
            mine.write_bytes(b"mine")
            write_whole(path, b"other")
            assert len(names(tmp_path)) == 5
        assert path.read_bytes() == b"mine"
        assert len(names(tmp_path)) == 3

    def test_a_lock_alone_goes_and_a_file_without_one_stays(self, tmp_path):
        (tmp_path / f".file.{'a' * 32}.lock").touch()  # killed before or after it wrote
        (tmp_path / f".file.{'b' * 32}.partial").touch()  # from where there are no locks
        write_whole(tmp_path / "file", b"new")
        assert names(tmp_path) == [f".file.{'b' * 32}.partial", "file"]

    def test_a_lock_that_a_new_writer_has_taken_meanwhile_stays(self, tmp_path, monkeypatch):
        """One who tidies up may open a lock that is then removed and made anew."""
        flock, path = files.fcntl.flock, tmp_path / "file"
        lock = tmp_path / f".file.{'a' * 32}.lock"
        lock.touch()

        def made_anew(handle, how):
            if how & files.fcntl.LOCK_NB:
                lock.unlink()
                lock.touch()
            flock(handle, how)

        monkeypatch.setattr(files.fcntl, "flock", made_anew)
        write_whole(path, b"new")
        assert names(tmp_path) == [lock.name, "file"]

    @pytest.mark.parametrize("step", ["touch", "fsync"])
    def test_there_are_none_where_a_step_fails(self, tmp_path, monkeypatch, step):
        def fail(*_):
            raise OSError("no more")

        monkeypatch.setattr(*{"touch": (Path, "touch"), "fsync": (os, "fsync")}[step], fail)
        with pytest.raises(OSError, match="no more"):
            write_whole(tmp_path / "file", b"new")
        assert names(tmp_path) == []

    def test_files_of_strangers_stay(self, tmp_path):
        strangers = [".file.partial", ".file.notes.partial", f".file.{'a' * 32}.partial.txt"]
        strangers += [".file.lock", ".file.notes.lock", f".file.{'a' * 32}.lock.txt"]
        for name in strangers:
            (tmp_path / name).write_text("mine")
        write_whole(tmp_path / "file", b"new")
        assert names(tmp_path) == sorted(["file", *strangers])

    def test_without_locks_they_stay(self, tmp_path, monkeypatch):
        left = tmp_path / f".file.{'a' * 32}.partial"
        left.write_text("")
        monkeypatch.setattr(files, "fcntl", None)
        write_whole(tmp_path / "file", b"new")
        assert names(tmp_path) == [left.name, "file"]
        assert (tmp_path / "file").read_bytes() == b"new"


@pytest.mark.parametrize("new", [True, False])
def test_what_is_written_to_is_never_locked(tmp_path, monkeypatch, new):
    """On SMB shares locks are mandatory: nobody else may write to, read or sync a locked file."""
    locked, flock = [], files.fcntl.flock

    def seen(handle, how):
        locked.append(os.fstat(handle).st_ino)
        flock(handle, how)

    monkeypatch.setattr(files.fcntl, "flock", seen)
    with whole_or_nothing(tmp_path / "file", new=new) as partial:
        assert partial.stat().st_ino not in locked
    assert len(locked) == 1
    assert (tmp_path / "file").stat().st_ino not in locked
    assert names(tmp_path) == ["file"]


class TestModes:
    def test_an_existing_file_keeps_its_mode(self, tmp_path):
        path = tmp_path / "file"
        write_whole(path, b"old")
        path.chmod(0o600)
        with whole_or_nothing(path) as partial:
            partial.write_bytes(b"secret")
            assert stat.S_IMODE(partial.stat().st_mode) == 0o600  # while it is written, too
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        path.chmod(0o444)
        write_whole(path, b"new")
        assert stat.S_IMODE(path.stat().st_mode) == 0o444

    def test_a_new_one_has_that_of_any_new_file(self, tmp_path):
        before = os.umask(0o027)
        try:
            write_whole(tmp_path / "file", b"")
        finally:
            os.umask(before)
        assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


class TestLinks:
    def test_lead_to_the_file_that_is_replaced(self, tmp_path):
        (tmp_path / "store").mkdir()
        link = tmp_path / "link"
        link.symlink_to("store/file")
        for content in (b"first", b"second"):  # at first it leads nowhere
            write_whole(link, content)
            assert link.is_symlink()
            assert (tmp_path / "store" / "file").read_bytes() == content
        assert names(tmp_path / "store") == ["file"]

    def test_in_a_circle_are_refused(self, tmp_path):
        (tmp_path / "one").symlink_to("two")
        (tmp_path / "two").symlink_to("one")
        with pytest.raises(ps.InvalidArgumentError, match="ordinary file"):
            write_whole(tmp_path / "one", b"")

    def test_devices_and_folders_are_never_replaced(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "folder").mkdir()
        for name in ("pipe", "folder"):
            with pytest.raises(ps.InvalidArgumentError, match=f"{name} must be an ordinary file"):
                write_whole(tmp_path / name, b"")
        assert names(tmp_path) == ["folder", "pipe"]


FULL = """
import json, resource, sys
from pathlib import Path
import numpy as np
import policysieve as ps

folder = Path(sys.argv[1])
policies = ps.PolicyTable(np.zeros((40_000, 2), int), n_actions=2)
log = ps.Log(
    contexts=np.random.default_rng(0).random(40_000),
    actions=np.zeros(40_000, int),
    propensities=np.full(40_000, 0.5),
    rewards=np.zeros(40_000),
)
def bytes_of(path):
    ps.files.write_whole(path, bytes(70_000))
import policysieve.files
said = {}
resource.setrlimit(resource.RLIMIT_FSIZE, (65_536, resource.RLIM_INFINITY))
for name, save in {"table.npy": policies.save, "log.parquet": log.save, "bytes": bytes_of}.items():
    (folder / name).write_text("old")
    try:
        save(folder / name)
    except OSError as error:
        said[name] = str(error)
print(json.dumps(said))
"""


def test_a_full_disk_is_said_and_changes_nothing(tmp_path):
    """A limit on the size of files fails in the same calls as a full disk does."""
    command = [sys.executable, "-c", FULL, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    said = json.loads(done.stdout)
    assert names(tmp_path) == sorted(said) == ["bytes", "log.parquet", "table.npy"]
    for name, message in said.items():
        assert str(tmp_path / name) in message
        assert "so the file is as it was before" in message
        assert (tmp_path / name).read_text() == "old"


class TestTables:
    OLD, NEW = np.zeros((300, 5), np.uint8), np.ones((300, 5), np.uint8)

    def test_those_who_have_mapped_it_keep_what_they_have(self, tmp_path):
        path = tmp_path / "table.npy"
        ps.PolicyTable(self.OLD, n_actions=2).save(path)
        mapped = ps.PolicyTable.load(path, n_actions=2)
        ps.PolicyTable(self.NEW, n_actions=2).save(path)
        assert (mapped.table == 0).all()
        assert (ps.PolicyTable.load(path, n_actions=2).table == 1).all()

    def test_one_may_be_saved_to_the_file_that_it_is_mapped_from(self, tmp_path):
        path = tmp_path / "table.npy"
        ps.PolicyTable(self.NEW, n_actions=2).save(path)
        before = path.read_bytes()
        mapped = ps.PolicyTable.load(path, n_actions=2)
        mapped.save(path)
        assert path.read_bytes() == before
        assert (mapped.table == 1).all()

    def test_are_what_numpy_writes(self, tmp_path):
        ps.PolicyTable(self.NEW, n_actions=2).save(tmp_path / "ours.npy")
        np.save(tmp_path / "theirs.npy", self.NEW[:, :, None])
        assert (tmp_path / "ours.npy").read_bytes() == (tmp_path / "theirs.npy").read_bytes()

    def test_any_damage_to_the_header_is_noticed_or_harmless(self, tmp_path):
        path = tmp_path / "table.npy"
        table = np.random.default_rng(0).integers(0, 3, (6, 5))
        ps.PolicyTable(table, n_actions=3).save(path)
        good = path.read_bytes()
        shape = "'shape': (6, 5, 1)"
        assert shape.encode() in good
        unnoticed = 0
        for place in range(good.index(b"\n") * 8):
            flipped = bytearray(good)
            flipped[place // 8] ^= 1 << place % 8
            path.write_bytes(flipped)
            try:
                loaded = ps.PolicyTable.load(path, n_actions=3)
            except (ps.FileFormatError, ps.InvalidArgumentError):
                continue
            unnoticed += not np.array_equal(loaded.table[:, :, 0], table)
        assert unnoticed == 0

    @pytest.mark.parametrize("more", [-7, 1])
    def test_a_wrong_length_is_noticed(self, tmp_path, more):
        path = tmp_path / "table.npy"
        ps.PolicyTable(self.OLD, n_actions=2).save(path)
        data = path.read_bytes()
        path.write_bytes(data[:more] if more < 0 else data + bytes(more))
        with pytest.raises(ps.FileFormatError, match=r"table\.npy"):
            ps.PolicyTable.load(path, n_actions=2)


class TestLogs:
    @pytest.fixture
    def log(self):
        rng = np.random.default_rng(0)
        return ps.Log(
            contexts=rng.integers(0, 9, 40),
            actions=rng.integers(0, 5, 40),
            propensities=rng.uniform(0.1, 0.6, 40),
            rewards=rng.integers(0, 2, 40),
        )

    def test_a_flipped_bit_in_a_number_is_noticed(self, log, tmp_path):
        path = tmp_path / "log.parquet"
        log.save(path)
        good = path.read_bytes()
        place = good.index(log.propensities[7].tobytes())
        for byte in range(place, place + 8):
            path.write_bytes(good[:byte] + bytes([good[byte] ^ 1]) + good[byte + 1 :])
            with pytest.raises(ps.FileFormatError, match=r"log\.parquet"):
                ps.Log.load(path)

    def test_any_damage_ends_in_an_error_of_ours_or_in_a_log(self, log, tmp_path):
        path = tmp_path / "log.parquet"
        log.save(path)
        good = path.read_bytes()
        noticed = 0
        for place in range(0, len(good), 9):
            flipped = bytes([good[place] ^ 1 << place % 8])
            path.write_bytes(good[:place] + flipped + good[place + 1 :])
            try:
                ps.Log.load(path)
            except ps.PolicySieveError:
                noticed += 1
        assert noticed > 100


class TestSoleWriter:
    def test_the_other_process_is_named(self, tmp_path, elsewhere):
        other = elsewhere("sole_writer", tmp_path)
        words = rf"another process, number {other.pid}, since \d{{4}}-.*; wait until"
        with pytest.raises(ps.InUseError, match=words), sole_writer(tmp_path):
            pass

    @pytest.mark.parametrize("error", [PermissionError, FileNotFoundError])
    def test_it_is_in_use_even_if_nobody_can_read_by_whom(self, tmp_path, monkeypatch, error):
        """SMB shares do not let others read a locked file, and it may just have been removed."""

        def fail(*_, **__):
            raise error

        with sole_writer(tmp_path):
            monkeypatch.setattr(Path, "read_text", fail)
            with pytest.raises(ps.InUseError, match="another process; wait"), sole_writer(tmp_path):
                pass

    def test_words_that_are_no_text_do_not_hide_that_it_is_in_use(self, tmp_path):
        with sole_writer(tmp_path):
            (tmp_path / ".policysieve.lock").write_bytes(b"\xff")
            with pytest.raises(ps.InUseError), sole_writer(tmp_path):
                pass

    def test_a_lock_that_is_refused_as_on_smb_shares_is_in_use(self, tmp_path, monkeypatch):
        def refuse(*_):
            raise PermissionError(errno.EACCES, "Permission denied")

        monkeypatch.setattr(files.fcntl, "flock", refuse)
        with pytest.raises(ps.InUseError), sole_writer(tmp_path):
            pass

    def test_the_lock_goes_with_its_process(self, tmp_path, elsewhere):
        other = elsewhere("sole_writer", tmp_path)
        other.kill()
        other.wait()
        with sole_writer(tmp_path):
            pass
        assert names(tmp_path) == []

    def test_one_after_the_other(self, tmp_path):
        for _ in range(2):
            with sole_writer(tmp_path), pytest.raises(ps.InUseError), sole_writer(tmp_path):
                pass

    def test_a_folder_for_nothing_is_not_left(self, tmp_path):
        with sole_writer(tmp_path / "new"):
            assert (tmp_path / "new").is_dir()
        assert names(tmp_path) == []
        with sole_writer(tmp_path / "new"):
            (tmp_path / "new" / "file").write_text("kept")
        assert names(tmp_path / "new") == ["file"]

    def test_without_locks_nobody_is_kept_out(self, tmp_path, monkeypatch):
        monkeypatch.setattr(files, "fcntl", None)
        with sole_writer(tmp_path), sole_writer(tmp_path):
            pass

    def test_two_benchmarks_do_not_share_a_folder(self, tmp_path):
        with sole_writer(tmp_path / "out"):
            result = invoke(
                "bench", "samples", "--tasks", "hidden_arm", "--folder", tmp_path / "out"
            )
        assert result.exit_code == 1
        assert "is being written to by another process" in result.output

    def test_a_refused_benchmark_leaves_no_folder(self, tmp_path):
        result = invoke("bench", "samples", "--tasks", "nothing", "--folder", tmp_path / "out")
        assert result.exit_code == 1
        assert names(tmp_path) == []


def test_convert_replaces_no_file_that_came_meanwhile(tmp_path):
    log = ps.Log(contexts=[1], actions=[0], propensities=[0.5], rewards=[1.0])
    out = tmp_path / "out.csv"

    def meanwhile(batches, _total):
        out.write_text("of another process")
        return batches

    with pytest.raises(ps.InvalidArgumentError, match="another process has written it meanwhile"):
        convert(log, out, track=meanwhile)
    assert out.read_text() == "of another process"
    assert names(tmp_path) == ["out.csv"]
    convert(log, out, track=meanwhile, overwrite=True)
    assert "of another process" not in out.read_text()


BAD_JSON = ["", "{", "[]", "3", "null", '{"found": 1}', "[" * 100_000, '{"settings": 1}']


class TestCells:
    def test_an_edited_one_is_none(self, tmp_path):
        keep_cell(tmp_path, "cell", {"n": 1}, {"rounds": [100, 20.5, float("nan")]})
        path = tmp_path / "cells" / "cell.json"
        text = path.read_text()
        assert kept_cell(tmp_path, "cell", {"n": 1}) is not None
        for edited in (text.replace("100", "101"), text.replace("20.5", "20.6"), text[:-1]):
            path.write_text(edited)
            assert kept_cell(tmp_path, "cell", {"n": 1}) is None

    @pytest.mark.parametrize("bad", BAD_JSON, ids=range(len(BAD_JSON)))
    def test_a_damaged_one_is_none(self, tmp_path, bad):
        (tmp_path / "cells").mkdir()
        (tmp_path / "cells" / "cell.json").write_text(bad)
        assert kept_cell(tmp_path, "cell", {}) is None

    def test_not_even_text(self, tmp_path):
        (tmp_path / "cells").mkdir()
        (tmp_path / "cells" / "cell.json").write_bytes(b"\xff\xfe\x00")
        assert kept_cell(tmp_path, "cell", {}) is None


class TestResults:
    @pytest.mark.parametrize("bad", BAD_JSON, ids=range(len(BAD_JSON)))
    def test_rows_of_a_damaged_race_are_dropped_and_it_is_said(self, tmp_path, bad):
        (tmp_path / "samples.json").write_text(bad)
        rows = {"picking": [], "proving": []}
        found, dropped = with_earlier_rows(rows, tmp_path, {})
        assert found == rows
        assert "none of its rows could be kept" in dropped

    @pytest.mark.parametrize("bad", BAD_JSON, ids=range(len(BAD_JSON)))
    def test_a_damaged_file_of_sweeps_is_refused_before_anything_is_measured(self, tmp_path, bad):
        (tmp_path / "scaling.json").write_text(bad)
        with pytest.raises(ps.FileFormatError, match=r"scaling\.json is not a result"):
            measure_scaling(folder=tmp_path)
