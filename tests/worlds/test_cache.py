from pathlib import Path
from tempfile import gettempdir

import pytest

from policysieve.worlds.cache import cache_folder


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
