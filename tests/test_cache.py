from pathlib import Path
from tempfile import gettempdir

import pytest

from policysieve.cache import cache_folder, write_atomically


@pytest.fixture
def bare(monkeypatch):
    for name in ("POLICYSIEVE_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_tests_keep_out_of_the_users_cache():
    folder = cache_folder()
    assert folder.parent == Path(gettempdir())
    assert (folder / "datasets").is_symlink()  # which are downloaded once, for all runs


class TestFolder:
    def test_in_the_home_folder(self, bare, tmp_path):
        bare.setattr(Path, "home", lambda: tmp_path)
        assert cache_folder() == tmp_path / ".cache" / "policysieve"

    def test_in_the_users_cache(self, bare, tmp_path):
        bare.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert cache_folder() == tmp_path / "policysieve"

    def test_where_it_is_told(self, bare, tmp_path):
        bare.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
        bare.setenv("POLICYSIEVE_CACHE", str(tmp_path))
        assert cache_folder() == tmp_path

    def test_is_not_made_by_asking(self, bare, tmp_path):
        bare.setenv("POLICYSIEVE_CACHE", str(tmp_path / "new"))
        assert not cache_folder().exists()


class TestWriting:
    def test_makes_the_folder_and_replaces(self, tmp_path):
        path = tmp_path / "a" / "b" / "file"
        write_atomically(path, b"old")
        write_atomically(path, b"new")
        assert path.read_bytes() == b"new"
        assert [entry.name for entry in path.parent.iterdir()] == ["file"]

    def test_a_failure_leaves_what_was_there(self, tmp_path, monkeypatch):
        path = tmp_path / "file"
        write_atomically(path, b"old")

        def fail(*_names):
            raise OSError("disk full")

        monkeypatch.setattr("os.replace", fail)
        with pytest.raises(OSError, match="disk full"):
            write_atomically(path, b"new")
        assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
        assert path.read_bytes() == b"old"
