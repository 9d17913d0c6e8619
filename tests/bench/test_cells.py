"""Cells: run once, kept, and run anew when their settings change."""

import json
import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import active_children

import pytest

import policysieve
from policysieve.bench import cells
from policysieve.bench.cells import Cell, code_version, kept_cell, run_cells


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch):
    monkeypatch.setattr(cells, "ProcessPoolExecutor", lambda _workers, **_: ThreadPoolExecutor(1))
    monkeypatch.setattr(cells, "as_completed", list)


@pytest.fixture
def counted():
    calls = []

    def double(number):
        calls.append(number)
        return {"double": 2 * number}

    return double, calls


def silent(*_):
    pass


def test_run_once(counted, tmp_path):
    double, calls = counted
    some = [Cell(f"cell-{n}", {"n": n}, double, (n,)) for n in (1, 2)]
    found = run_cells(some, folder=tmp_path, progress=silent)
    assert found == {"cell-1": {"double": 2}, "cell-2": {"double": 4}}
    steps = []
    more = [*some, Cell("cell-3", {"n": 3}, double, (3,))]
    again = run_cells(more, folder=tmp_path, progress=lambda *step: steps.append(step))
    assert again == {**found, "cell-3": {"double": 6}}
    assert calls == [1, 2, 3]
    assert steps == [(3, 3, "cell-3")]
    assert kept_cell(tmp_path, "cell-1", {"n": 1}) == {"double": 2}


def test_other_settings_are_run_anew(counted, tmp_path):
    double, calls = counted
    for settings in ({"seeds": 1}, {"seeds": 2}, {"seeds": 2}):
        run_cells([Cell("cell", settings, double, (5,))], folder=tmp_path, progress=silent)
    assert calls == [5, 5]
    assert kept_cell(tmp_path, "cell", {"seeds": 1}) is None


def test_other_code_is_run_anew(counted, tmp_path, monkeypatch):
    """And cells that were kept before they said which code made them."""
    double, calls = counted
    cell = Cell("cell", {}, double, (5,))
    for code in ("1.0+aa", "1.0+bb", "1.0+bb"):
        monkeypatch.setattr(cells, "code_version", lambda code=code, **_: code)
        run_cells([cell], folder=tmp_path, progress=silent)
    assert calls == [5, 5]
    path = tmp_path / "cells" / "cell.json"
    kept = json.loads(path.read_text())
    assert kept.pop("code") == "1.0+bb"
    path.write_text(json.dumps(kept))
    run_cells([cell], folder=tmp_path, progress=silent)
    assert calls == [5, 5, 5]


@pytest.mark.parametrize("damage", ["", "{", "nothing"])
def test_a_damaged_cell_is_run_anew(counted, tmp_path, damage):
    double, calls = counted
    cell = Cell("cell", {}, double, (5,))
    run_cells([cell], folder=tmp_path, progress=silent)
    path = tmp_path / "cells" / "cell.json"
    path.write_text(damage)
    run_cells([cell], folder=tmp_path, progress=silent)
    assert calls == [5, 5]
    assert json.loads(path.read_text())["found"] == {"double": 10}


def test_nothing_is_kept_without_a_folder(counted, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    double, calls = counted
    for _ in range(2):
        run_cells([Cell("cell", {}, double, (5,))], folder=None, progress=silent)
    assert calls == [5, 5]
    assert list(tmp_path.iterdir()) == []
    assert kept_cell(None, "cell", {}) is None


def test_workers_multiply_matrices_in_one_thread(counted, monkeypatch):
    """As long as they may be started, and what was set before is set again."""
    name, other = "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"
    monkeypatch.setenv(name, "7")
    monkeypatch.delenv(other, raising=False)
    seen = []
    cell = Cell("cell", {}, lambda: seen.append([os.environ[name], os.environ[other]]) or {}, ())
    run_cells([cell], folder=None, progress=silent)
    assert seen == [["1", "1"]]
    assert (os.environ[name], other in os.environ) == ("7", False)


class TestProcesses:
    """The real thing, with processes."""

    @pytest.fixture(autouse=True)
    def _in_this_process(self):
        """As it is outside of tests."""

    def test_an_interrupt_ends_the_workers(self, tmp_path):
        """A cell that takes minutes does not keep the terminal."""

        def interrupt(*_):
            raise KeyboardInterrupt

        some = [Cell("short", {}, dict, ()), *(Cell(f"{n}", {}, time.sleep, (300,)) for n in "ab")]
        with pytest.raises(KeyboardInterrupt):
            run_cells(some, folder=tmp_path, progress=interrupt)
        assert kept_cell(tmp_path, "short", {}) == {}
        assert not active_children()


@pytest.fixture
def version(tmp_path, monkeypatch):
    """The version of a copy of the package, after a change to one of its files."""
    root = tmp_path / "policysieve"
    skip = shutil.ignore_patterns("__pycache__")
    shutil.copytree(cells._ROOT, root, ignore=skip)
    monkeypatch.setattr(cells, "_ROOT", root)

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
        ("bench/scaling/page.py", False),
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
    (cells._ROOT / "planning.py").rename(cells._ROOT / "planing.py")
    assert version() != before
