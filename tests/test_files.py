import os
import stat

import pytest

from policysieve.files import whole_or_nothing, write_whole
from policysieve.policies import PolicyTable


def names(folder):
    return [entry.name for entry in folder.iterdir()]


def test_a_file_is_replaced_when_all_is_written(tmp_path):
    path = tmp_path / "file"
    write_whole(path, b"old")
    with whole_or_nothing(path) as partial:
        partial.write_bytes(b"new")
        assert path.read_bytes() == b"old"
        assert partial.parent == tmp_path
    assert path.read_bytes() == b"new"
    assert names(tmp_path) == ["file"]


def test_a_failure_leaves_what_was_there(tmp_path):
    path = tmp_path / "file"
    write_whole(path, b"old")

    def write():
        with whole_or_nothing(path) as partial:
            partial.write_bytes(b"half of it")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write()
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file"]


def test_two_who_write_at_once_do_not_meet(tmp_path):
    path = tmp_path / "file"
    with whole_or_nothing(path) as first, whole_or_nothing(path) as second:
        assert first != second
        first.write_bytes(b"first")
        second.write_bytes(b"second")
    assert path.read_bytes() == b"first"
    assert names(tmp_path) == ["file"]


def test_others_may_read_it_as_any_new_file(tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    write_whole(tmp_path / "file", b"")
    modes = {stat.S_IMODE(os.stat(tmp_path / name).st_mode) for name in ("plain", "file")}
    assert len(modes) == 1


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=f"no folder {tmp_path / 'none'} to write file"):
        write_whole(tmp_path / "none" / "file", b"")


def test_a_policy_table_is_saved_whole(tmp_path, monkeypatch):
    table = PolicyTable([[0, 1]], n_actions=2)
    table.save(tmp_path / "table.npy")
    before = (tmp_path / "table.npy").read_bytes()

    def fail(file, _header):
        file.write(b"half of it")
        raise OSError("disk full")

    monkeypatch.setattr("numpy.lib.format.write_array_header_1_0", fail)
    with pytest.raises(OSError, match="disk full"):
        table.save(tmp_path / "table.npy")
    assert (tmp_path / "table.npy").read_bytes() == before
    assert names(tmp_path) == ["table.npy"]
