"""Cells: run once, kept, and run anew when their settings change."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import active_children

import pytest

from policysieve.bench import cells
from policysieve.bench.cells import Cell, kept_cell, run_cells


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
