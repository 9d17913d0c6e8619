"""The accuracy of a classifier taken apart: counts by hand, and the page as it was measured."""

import json
from pathlib import Path

import numpy as np
import pytest

from policysieve.bench.classify import parts
from policysieve.bench.classify.contestants import CONTESTANTS, OURS, Entry
from policysieve.bench.classify.parts import PARTS, follow, means
from policysieve.bench.classify.tasks import SplitRows

ROOT = Path(__file__).parents[3]
CORNERS = np.eye(4)


def corners(seed=0):
    """Four classes of equal size, each at a corner: one right answer tells all about it."""
    y = np.random.default_rng(seed).permutation(np.arange(400) % 4)
    return SplitRows(CORNERS[y[:300]], y[:300], CORNERS[y[300:]], y[300:], 4)


class Stubborn:
    """Shows label 0 and then label 1 in every batch but the first, and finds 0 best."""

    def __init__(self, n_classes, seed):
        self.batches = 0

    def decide(self, X):
        self.batches += 1
        return np.full(len(X), int(self.batches > 1))

    def learn(self, X, labels, rewards):
        assert len(X) == len(labels) == len(rewards)

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


def test_counts_by_hand():
    rows = corners()
    first, second = follow(Entry(Stubborn), rows, 0, stops=[50, 150], batch=50, options={})
    assert [one["exploring"] for one in (first, second)] == [1, 1]
    assert [one["found"] for one in (first, second)] == [0.25, 0.5]
    zero, one = ((rows.y_test == label).mean() for label in (0, 1))
    assert (first["covered"], second["covered"]) == pytest.approx((zero, zero + one))
    for found in (first, second):
        assert found["accuracy"] == zero
        assert found["refitted"] == found["known"] == found["covered"]
        assert found["told"] == 1
    drawn = rows.y_train[parts.drawn_rows(rows, 0, 150)]
    right = np.concatenate([drawn[:50] == 0, drawn[50:] == 1])
    assert first["right"] == pytest.approx(right[:50].mean())
    assert second["right"] == pytest.approx(right.mean())


def test_showing_the_best_label_is_not_exploring():
    class Sure(Stubborn):
        def decide(self, X):
            return np.zeros(len(X), dtype=int)

    (found,) = follow(Entry(Sure), corners(), 0, stops=[200], batch=50, options={})
    assert found["exploring"] == 0.25  # the first batch


def test_nothing_was_right():
    class Wrong(Stubborn):
        def decide(self, X):
            return (np.argmax(X, axis=1) + 1) % 4

    (found,) = follow(Entry(Wrong), corners(), 0, stops=[60], batch=30, options={})
    assert [found[part] for part in ("found", "covered", "right", "refitted", "known")] == [0] * 5
    assert found["told"] == 1


def test_ours_plays_as_in_the_comparison():
    """Looking at it on the way changes nothing."""
    from policysieve.bench.classify.measuring import ClassifySettings, play

    settings = ClassifySettings(rounds=300, batch=50)
    played = play(CONTESTANTS[OURS], corners(), 3, settings, {})
    (found,) = follow(CONTESTANTS[OURS], corners(), 3, stops=[300], batch=50, options={})
    assert found["accuracy"] == played["accuracy"][-1]


def test_means():
    low, high = (dict.fromkeys(PARTS, value) for value in (0.25, 0.75))
    assert means([low, high]) == dict.fromkeys(PARTS, 0.5)


class TestDocumentation:
    """The table of the page is what was measured."""

    PAGE = (ROOT / "docs" / "classify.md").read_text(encoding="utf-8")
    RESULT = json.loads((ROOT / "benchmarks" / "classify" / "parts.json").read_text())

    def test_table(self):
        lines = [line for line in self.PAGE.splitlines() if line.count("|") == len(PARTS) + 3]
        assert lines[0] == f"| task, rounds | contestant | {' | '.join(PARTS)} |"
        assert lines[2:] == [
            f"| {row['task']}, {row['rounds']:,} | {row['contestant']} | "
            + " | ".join(f"{row[part]:.3f}" for part in PARTS)
            + " |"
            for row in self.RESULT["rows"]
        ]
        assert len(lines) == 2 + 10

    def test_means_of_as_many_seeds_as_the_page_says(self):
        assert f"means of {self.RESULT['settings']['seeds']} seeds" in self.PAGE
