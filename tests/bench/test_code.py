"""Which code measured."""

import shutil

import pytest

import policysieve
from policysieve.bench import code
from policysieve.bench.code import code_version


@pytest.fixture
def version(tmp_path, monkeypatch):
    """The version of a copy of the package, after a change to one of its files."""
    root = tmp_path / "policysieve"
    skip = shutil.ignore_patterns("__pycache__")
    shutil.copytree(code._ROOT, root, ignore=skip)
    monkeypatch.setattr(code, "_ROOT", root)

    def changed(name=None, change=lambda source: source + b"# more\n", **options):
        if name is not None:
            path = root / name
            path.write_bytes(change(path.read_bytes()))
        code_version.cache_clear()
        return code_version(**options)

    yield changed
    code_version.cache_clear()


def test_the_version_and_a_hash_of_the_source(version):
    name, _, digest = code_version().partition("+")
    assert name == policysieve.__version__
    assert len(digest) == 8
    assert int(digest, 16) >= 0
    assert version() == code_version() == f"{name}+{digest}"


def test_the_ends_of_lines_do_not_count(version):
    before = version()
    assert version("bench/cells.py", lambda source: source.replace(b"\n", b"\r\n")) == before


@pytest.mark.parametrize(
    ("name", "measures"),
    [
        ("exploration/__init__.py", True),
        ("bench/rounds.py", True),
        ("bench/race/tasks.py", True),
        ("problem.py", True),
        ("bench/race/page.py", False),
        ("bench/pages.py", False),
        ("bench/scaling/plots.py", False),
        ("report/page.py", False),
        ("cli/bench.py", False),
    ],
)
def test_any_change_is_seen(version, name, measures):
    """What only prints and draws changes no measurement."""
    before, measuring = version(), version(measuring_only=True)
    assert version(name) != before
    assert (version(measuring_only=True) != measuring) is measures


def test_the_name_of_a_file_counts(version):
    before = version()
    (code._ROOT / "planning.py").rename(code._ROOT / "planing.py")
    assert version() != before
