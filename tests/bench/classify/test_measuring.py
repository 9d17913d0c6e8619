"""Bandit classifiers compared: what is played, what is kept, and what the command tells."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import policysieve as ps
from policysieve.bench.cells import code_version
from policysieve.bench.classify import measuring
from policysieve.bench.classify.contestants import CONTESTANTS, Entry
from policysieve.bench.classify.measuring import (
    ClassifySettings,
    checkpoints,
    measure_classifiers,
    play,
)
from policysieve.bench.classify.tasks import CLASSIFY_TASKS, ClassifyTask, SplitRows
from policysieve.cli import main

ROOT = Path(__file__).parents[3]
SHORT = ClassifySettings(seeds=2, rounds=250, batch=30)


def three_corners(seed, dense):
    """Three classes that their largest feature tells apart."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=200)
    X = np.eye(3)[y] + 0.1 * rng.standard_normal((200, 3))
    return SplitRows(X[:150], y[:150], X[150:], y[150:], 3)


class Puppet:
    """Shows label 0, and is right from a number of rounds on; remembers what it heard."""

    def __init__(self, n_classes, seed, *, wise_at=0):
        self.n_classes, self.seed, self.wise_at = n_classes, seed, wise_at
        self.heard, self.asked, self.rounds = [], [], 0

    def decide(self, X):
        return np.zeros(len(X), dtype=int)

    def learn(self, X, labels, rewards):
        self.heard.append((X, labels, rewards))
        self.rounds += len(X)

    def predict(self, X):
        self.asked.append((self.rounds, len(X)))
        return np.argmax(X, axis=1) if self.rounds >= self.wise_at else np.full(len(X), -1)


@pytest.fixture
def made(monkeypatch):
    """A tiny task with puppets to play it; those that were made."""
    puppets = []

    def make(*arguments, **options):
        puppets.append(Puppet(*arguments, **options))
        return puppets[-1]

    def peer(*_arguments, **_options):
        raise ps.MissingExtraError("Peer", "peerpackage", "peers")

    def gone(seed, dense):
        raise ps.DatasetUnavailableError("gone could not be downloaded: no network")

    monkeypatch.setitem(CLASSIFY_TASKS, "tiny", ClassifyTask("tiny", "corners", three_corners))
    monkeypatch.setitem(CLASSIFY_TASKS, "gone", ClassifyTask("gone", "cannot be had", gone))
    monkeypatch.setitem(CONTESTANTS, "puppet", Entry(make, {"tiny": {"wise_at": 200}}))
    monkeypatch.setitem(CONTESTANTS, "told", Entry(make, is_told=True))
    monkeypatch.setitem(CONTESTANTS, "peer", Entry(peer))
    return puppets


class TestCheckpoints:
    @pytest.mark.parametrize(
        ("rounds", "expected"),
        [
            (20_000, [1000, 2000, 5000, 10_000, 20_000]),
            (1000, [1000]),
            (999, [999]),
            (1, [1]),
            (3000, [1000, 2000, 3000]),
            (100_000, [1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000]),
        ],
    )
    def test_by_hand(self, rounds, expected):
        assert checkpoints(rounds) == expected


def test_sparse_rows_alone_where_there_are_texts(made, monkeypatch):
    thin = ClassifyTask("thin", "corners", three_corners, has_texts=True)
    monkeypatch.setitem(CLASSIFY_TASKS, "thin", thin)
    monkeypatch.setitem(CONTESTANTS, "only", replace(CONTESTANTS["puppet"], only_texts=True))
    result = measure_classifiers(
        ["tiny", "thin"], ["puppet", "only"], settings=SHORT._replace(seeds=1)
    )
    played = [(row["task"], row["contestant"]) for row in result["rows"]]
    assert played == [("tiny", "puppet"), ("thin", "puppet"), ("thin", "only")]


class TestPlay:
    ROWS = three_corners(0, False)

    def play(self, made, name, options=None, **changes):
        found = play(CONTESTANTS[name], self.ROWS, 7, SHORT._replace(**changes), options or {})
        return made[-1], found

    def test_rows_drawn_with_replacement_and_rewards_of_right_labels(self, made):
        puppet, found = self.play(made, "puppet")
        assert (puppet.n_classes, puppet.seed) == (3, 7)
        assert [len(labels) for _, labels, _ in puppet.heard] == [30] * 8 + [10]
        drawn = np.concatenate([X for X, _, _ in puppet.heard])
        where = [np.flatnonzero((self.ROWS.X_train == row).all(axis=1))[0] for row in drawn]
        assert 90 < len(set(where)) < 140
        rewards = np.concatenate([rewards for _, _, rewards in puppet.heard])
        np.testing.assert_array_equal(rewards, self.ROWS.y_train[where] == 0)
        assert found["rounds"] == 250
        assert found["seconds"] > 0

    def test_all_contestants_get_the_same_rows(self, made):
        one, _ = self.play(made, "puppet")
        two, _ = self.play(made, "told")
        for (rows, _, _), (others, _, _) in zip(one.heard, two.heard, strict=True):
            np.testing.assert_array_equal(rows, others)

    def test_told_the_true_labels(self, made):
        puppet, _ = self.play(made, "told")
        for X, labels, rewards in puppet.heard:
            np.testing.assert_array_equal(labels, np.argmax(X, axis=1))
            assert (rewards == 1).all()

    def test_accuracy_at_checkpoints(self, made, monkeypatch):
        monkeypatch.setattr(measuring, "_FIRST", 100)
        puppet, found = self.play(made, "puppet", {"wise_at": 200})
        assert found["checkpoints"] == [100, 200, 250]
        assert found["accuracy"] == [0, 1, 1]
        assert puppet.asked == [(n, size) for n in (100, 200, 250) for size in (1, 50)]

    def test_too_slow(self, made, monkeypatch):
        """It is stopped after the batch that passes the limit, and keeps what it has."""
        monkeypatch.setattr(measuring, "_FIRST", 100)
        seconds = iter(range(1000))
        monkeypatch.setattr(measuring.time, "perf_counter", lambda: next(seconds))
        _, found = self.play(made, "puppet", most_seconds=5)
        assert found["checkpoints"] == [100]
        assert found["accuracy"] == [1]
        assert (found["rounds"], found["seconds"]) == (130, 6)


class TestClassify:
    def test_a_row_for_each_task_and_contestant(self, made):
        result = measure_classifiers(["tiny"], ["puppet", "told"], settings=SHORT)
        assert result["settings"] == SHORT._asdict()
        assert result["skipped"] == {}
        assert [(row["task"], row["contestant"]) for row in result["rows"]] == [
            ("tiny", "puppet"),
            ("tiny", "told"),
        ]
        assert [row["options"] for row in result["rows"]] == [{"wise_at": 200}, {}]
        assert [(one.seed, one.wise_at) for one in made] == [(0, 200), (0, 0), (1, 200), (1, 0)]
        json.dumps(result, allow_nan=False)

    def test_means_over_seeds_up_to_what_all_of_them_passed(self, made, monkeypatch):
        cells = iter(
            [
                {"checkpoints": [1, 2, 5], "accuracy": [0.1, 0.3, 0.9], "rounds": 5, "seconds": 1},
                {"checkpoints": [1, 2], "accuracy": [0.2, 0.6], "rounds": 4, "seconds": 2},
            ]
        )
        monkeypatch.setattr(measuring, "play", lambda *_arguments: next(cells))
        (row,) = measure_classifiers(["tiny"], ["puppet"], settings=SHORT)["rows"]
        assert row["checkpoints"] == [1, 2]
        assert row["mean"] == pytest.approx([0.15, 0.45])
        assert (row["low"], row["high"]) == ([0.1, 0.3], [0.2, 0.6])
        assert row["rounds_per_second"] == 3

    def test_rows_are_built_once_for_a_seed_and_kind(self, made, monkeypatch):
        built = []

        def build(seed, dense):
            built.append((seed, dense))
            return three_corners(seed, dense)

        monkeypatch.setitem(CLASSIFY_TASKS, "tiny", ClassifyTask("tiny", "", build))
        monkeypatch.setitem(CONTESTANTS, "dense", replace(CONTESTANTS["told"], dense=True))
        measure_classifiers(["tiny"], ["puppet", "dense", "told"], settings=SHORT)
        assert built == [(0, False), (0, True), (1, False), (1, True)]

    def test_what_cannot_be_had_is_left_out_with_the_reason(self, made):
        result = measure_classifiers(["gone", "tiny"], ["peer", "told"], settings=SHORT)
        assert set(result["skipped"]) == {"gone", "peer"}
        assert result["skipped"]["gone"] == "gone could not be downloaded: no network"
        assert "policysieve[peers]" in result["skipped"]["peer"]
        assert [(row["task"], row["contestant"]) for row in result["rows"]] == [("tiny", "told")]

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((["nowhere"], ["told"]), r"tasks must be among digits, .*, got 'nowhere'"),
            ((["tiny"], ["nobody"]), r"contestants must be among policysieve, .*, got 'nobody'"),
        ],
    )
    def test_unknown_names(self, made, arguments, message):
        with pytest.raises(ps.InvalidArgumentError, match=message):
            measure_classifiers(*arguments, settings=SHORT)
        assert made == []

    def test_progress(self, made):
        seen = []
        measure_classifiers(
            ["tiny"], ["told"], settings=SHORT, progress=lambda *step: seen.append(step)
        )
        assert seen == [(1, 2, "tiny-told-0"), (2, 2, "tiny-told-1")]

    def test_finished_cells_are_not_run_again(self, made, tmp_path, monkeypatch):
        first = measure_classifiers(["tiny"], ["puppet"], settings=SHORT, folder=tmp_path)
        monkeypatch.setitem(CLASSIFY_TASKS, "tiny", CLASSIFY_TASKS["gone"])
        assert measure_classifiers(["tiny"], ["puppet"], settings=SHORT, folder=tmp_path) == first
        assert len(made) == 2

    def test_more_seeds_are_added_and_other_settings_run_anew(self, made, tmp_path, monkeypatch):
        def seeds_run(settings):
            before = len(made)
            measure_classifiers(["tiny"], ["puppet"], settings=settings, folder=tmp_path)
            return [one.seed for one in made[before:]]

        assert seeds_run(SHORT) == [0, 1]
        assert seeds_run(SHORT._replace(seeds=3)) == [2]
        assert seeds_run(SHORT._replace(batch=20)) == [0, 1]
        other = replace(CONTESTANTS["puppet"], options={"tiny": {"wise_at": 3}})
        monkeypatch.setitem(CONTESTANTS, "puppet", other)
        assert seeds_run(SHORT._replace(batch=20)) == [0, 1]

    def test_a_mean_of_fewer_seeds_is_left_out(self, made, tmp_path, monkeypatch):
        """As when the first seeds were measured where a peer is installed, and others are not."""
        measure_classifiers(["tiny"], ["puppet", "told"], settings=SHORT, folder=tmp_path)
        gone = replace(CONTESTANTS["puppet"], make=CONTESTANTS["peer"].make)
        monkeypatch.setitem(CONTESTANTS, "puppet", gone)
        more = SHORT._replace(seeds=3)
        result = measure_classifiers(["tiny"], ["puppet", "told"], settings=more, folder=tmp_path)
        assert [row["contestant"] for row in result["rows"]] == ["told"]
        assert set(result["skipped"]) == {"puppet"}

    @pytest.mark.parametrize("damage", [lambda text: text[:40], lambda text: ""])
    def test_a_truncated_cell_is_run_anew(self, made, tmp_path, damage):
        first = measure_classifiers(["tiny"], ["puppet"], settings=SHORT, folder=tmp_path)
        path = tmp_path / "cells" / "tiny-puppet-1.json"
        path.write_text(damage(path.read_text()))
        again = measure_classifiers(["tiny"], ["puppet"], settings=SHORT, folder=tmp_path)
        assert [one.seed for one in made] == [0, 1, 1]
        assert again["rows"][0]["mean"] == first["rows"][0]["mean"]


class TestCommand:
    ARGUMENTS = ("bench", "classify", "--tasks", "tiny, gone", "--contestants", "puppet,told,peer")
    SIZES = ("--seeds", "2", "--rounds", "1500", "--batch", "50")

    def invoke(self, *arguments):
        return CliRunner().invoke(main, [*self.ARGUMENTS, *self.SIZES, *arguments])

    def test_tables_json_and_plot(self, made, tmp_path):
        folder = tmp_path / "new"
        printed = self.invoke("--folder", str(folder))
        assert printed.exit_code == 0, printed.output
        text = " ".join(printed.output.split())
        for words in (
            "tiny: accuracy on held-out rows, mean of 2 seeds",
            "┃ 1,000 ┃ 1,500 ┃ rounds per second ┃",
            "│ gone │ gone could not be downloaded: no network",
            "│ peer │ Peer needs peerpackage",
            "policysieve[peers]",
        ):
            assert words in text
        result = json.loads((folder / "classify.json").read_text())
        assert result["code"] == code_version()
        assert result["settings"] == ClassifySettings(2, 1500, 50)._asdict()
        assert "</svg>" in (folder / "accuracy.svg").read_text()
        report = tmp_path / "report.html"
        machine = self.invoke("--folder", str(folder), "--json", "--report", str(report))
        assert "Bandit classifiers compared" in report.read_text(encoding="utf-8")
        assert json.loads(machine.output) == result
        assert len(made) == 4

    def test_nothing_was_measured(self, made, tmp_path):
        arguments = ("bench", "classify", "--tasks", "gone", "--contestants", "told")
        printed = CliRunner().invoke(main, [*arguments, "--folder", str(tmp_path)])
        assert printed.exit_code == 0, printed.output
        assert "gone could not be downloaded" in printed.output
        assert [path.name for path in tmp_path.iterdir()] == ["classify.json"]


class TestDocumentation:
    """The tables of the page are those that were measured."""

    PAGE = (ROOT / "docs" / "classify.md").read_text(encoding="utf-8")
    RESULT = json.loads((ROOT / "benchmarks" / "classify" / "classify.json").read_text())
    NEWS = json.loads((ROOT / "benchmarks" / "classify" / "news" / "classify.json").read_text())
    CHECKS = json.loads((ROOT / "benchmarks" / "classify" / "checks" / "classify.json").read_text())
    SPARSE = json.loads((ROOT / "benchmarks" / "classify" / "checks" / "sparse.json").read_text())

    def test_tables(self):
        checks = (*self.CHECKS["rows"], *self.SPARSE["rows"])
        for row in (*self.RESULT["rows"], *self.NEWS["rows"], *checks):
            means = " | ".join(f"{mean:.3f}" for mean in row["mean"])
            assert f"| {row['contestant']} | {means} |" in self.PAGE, row["task"]

    def test_how_many(self):
        assert f"of {self.RESULT['settings']['seeds']} seeds" in self.PAGE
        assert f"with {self.NEWS['settings']['seeds']} seeds" in self.PAGE
        assert f"in batches of {self.RESULT['settings']['batch']}" in self.PAGE
        assert not self.RESULT["skipped"]

    def test_the_checks_are_as_many_and_as_tuned(self):
        assert self.CHECKS["settings"] == self.RESULT["settings"]
        assert {row["task"] for row in self.CHECKS["rows"]} == {
            "kr-vs-k",
            "20newsgroups",
            "icd-10-cm",
            "texas-housing",
            "hs-2022",
            "soc-2010",
        }
        for row in self.CHECKS["rows"]:
            options = CONTESTANTS[row["contestant"]].options
            assert row["options"] == options.get(row["task"], {})
