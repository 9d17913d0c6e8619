"""Tags to learn by showing lists: rows, who learns them, and how that is measured."""

import json
from pathlib import Path

import numpy as np
import pytest

from policysieve.bench.classify.contestants import CEILING, OURS
from policysieve.bench.classify.lists import measuring
from policysieve.bench.classify.lists.contestants import LIST_CONTESTANTS, SeparateLogistic
from policysieve.bench.classify.lists.measuring import LIST_SETTINGS, measure_lists
from policysieve.bench.classify.lists.page import tables
from policysieve.bench.classify.lists.tasks import LIST_TASKS, TaggedRows
from policysieve.bench.classify.measuring import play
from policysieve.bench.classify.tasks import ClassifyTask
from policysieve.errors import InvalidArgumentError

SHORT = LIST_SETTINGS._replace(seeds=1, rounds=400)
PACKAGES = {"vowpal": "vowpalwabbit", "contextualbandits": "contextualbandits"}


def small(seed, dense=False):
    """Six tags, each right where its feature is large."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(600, 6))
    right = (X > 0.7).astype(float)
    return TaggedRows(X[:400], right[:400], X[400:], right[400:], 2)


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr(measuring, "LIST_TASKS", {"small": ClassifyTask("small", "", small)})


@pytest.mark.parametrize("name", LIST_TASKS)
def test_tags_are_as_the_summary_says(name):
    task = LIST_TASKS[name]
    rows, again = task.build(7, False), task.build(7, False)
    assert (rows.X_train == again.X_train).all()
    assert (rows.Y_train == again.Y_train).all()
    assert np.isfinite(rows.X_train).all()
    labels, _, per_text, size = task.summary.split(", ")
    assert rows.Y_train.shape[1] == rows.Y_test.shape[1] == int(labels.split()[0])
    assert rows.Y_train.sum(axis=1).mean() == pytest.approx(float(per_text.split()[0]), abs=0.15)
    assert rows.list_size == int(size.split()[-1])
    assert set(np.unique(rows.Y_train)) == {0, 1}
    assert rows.Y_train.any(axis=1).all()
    together = rows.Y_train.T @ rows.Y_train
    friends = np.sort(together - np.diag(np.diag(together)), axis=1)[:, -3:].mean()
    assert friends > 4 * (together - np.diag(np.diag(together))).mean()


@pytest.mark.parametrize("name", LIST_CONTESTANTS)
def test_everyone_learns(name):
    for prefix, package in PACKAGES.items():
        if name.startswith(prefix):
            pytest.importorskip(package)
    entry, rows = LIST_CONTESTANTS[name], small(0)
    contestant = entry.make(6, 2, 0)
    shown = contestant.decide(rows.X_train[:50])
    assert shown.shape == (50, 2)
    assert (shown[:, 0] != shown[:, 1]).all()
    long = SHORT._replace(rounds=2000)
    found = play(entry, rows, 0, long, {})
    assert found["checkpoints"] == [1000, 2000]
    assert found["rounds"] == 2000
    guess = rows.Y_test.mean()
    assert found["accuracy"][-1] > 1.4 * guess


def test_who_is_told_hears_about_all_labels():
    heard = []

    class Told(SeparateLogistic):
        def learn(self, X, shown, rewards):
            heard.append((shown, rewards))
            super().learn(X, shown, rewards)

    entry, rows = LIST_CONTESTANTS[CEILING], small(0)
    entry = type(entry)(Told, is_told=True)
    play(entry, rows, 0, SHORT, {})
    assert all((shown == np.arange(6)).all() for shown, _ in heard)
    assert sum(len(rewards) for _, rewards in heard) == 400


def test_cells_are_kept(tiny, tmp_path):
    result = measure_lists(["small"], [OURS, CEILING], settings=SHORT, folder=tmp_path)
    assert [row["contestant"] for row in result["rows"]] == [OURS, CEILING]
    assert all(0 < row["mean"][-1] <= 1 for row in result["rows"])
    assert len(list((tmp_path / "cells").iterdir())) == 2
    again = measure_lists(["small"], [OURS, CEILING], settings=SHORT, folder=tmp_path)
    assert again["rows"] == result["rows"]  # the time, too: they were not run again


def test_slow_runs_end(tiny):
    result = measure_lists(["small"], [OURS], settings=SHORT._replace(most_seconds=0.0))
    assert result["rows"][0]["checkpoints"] == []


def test_unknown_names():
    with pytest.raises(InvalidArgumentError, match="tasks must be among tags40"):
        measure_lists(["tags41"])
    with pytest.raises(InvalidArgumentError, match="contestants must be among policysieve"):
        measure_lists(["tags40"], ["vw"])


class TestDocumentation:
    """The page shows what was measured."""

    ROOT = Path(__file__).parents[4]
    PAGE = (ROOT / "docs" / "classify.md").read_text(encoding="utf-8")
    RESULT = json.loads((ROOT / "benchmarks" / "lists" / "lists.json").read_text())

    def test_everyone_was_measured_on_every_task(self):
        found = {(row["task"], row["contestant"]) for row in self.RESULT["rows"]}
        assert found == {(task, name) for task in LIST_TASKS for name in LIST_CONTESTANTS}
        settings = self.RESULT["settings"]
        assert f"--seeds {settings['seeds']} --rounds {settings['rounds']} " in self.PAGE
        for row in self.RESULT["rows"]:
            assert row["options"] == LIST_CONTESTANTS[row["contestant"]].options.get(
                row["task"], {}
            )

    def test_longer_runs_of_two(self):
        longer = json.loads((self.ROOT / "benchmarks" / "lists" / "longer.json").read_text())
        settings = longer["settings"]
        assert f"--seeds {settings['seeds']} --rounds {settings['rounds']} " in self.PAGE
        assert len(longer["rows"]) == 2 * len(LIST_TASKS)
        for row in longer["rows"]:
            cells = " | ".join(f"{mean:.3f}" for mean in row["mean"])
            assert f"| {row['task']} | {row['contestant']} | {cells} |\n" in self.PAGE

    @pytest.mark.parametrize("task", LIST_TASKS)
    def test_tables(self, task):
        assert LIST_TASKS[task].summary in self.PAGE
        for row in self.RESULT["rows"]:
            if row["task"] == task:
                cells = " | ".join(f"{mean:.3f}" for mean in row["mean"])
                assert f"| {row['contestant']} | {cells} |\n" in self.PAGE
        assert task in tables(self.RESULT)
