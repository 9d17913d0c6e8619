"""Cells of the race: measured once, kept, summed up, and told by the command."""

import io
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import policysieve as ps
from policysieve.bench import cells
from policysieve.bench.cells import code_version
from policysieve.bench.provers import PROVERS
from policysieve.bench.race import measuring
from policysieve.bench.race.measuring import LEARNERS, RaceSettings, measure_race
from policysieve.bench.race.page import tables
from policysieve.bench.race.ratios import summary
from policysieve.bench.race.tasks import TASKS
from policysieve.bench.racers import ONE_ACTION_ONLY, RACERS, VOTERS
from policysieve.bench.rounds import Task, picking, proving, rounds_needed
from policysieve.cli import main
from policysieve.cli.bench import samples

HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"  # the cursor
SHORT = RaceSettings(seeds=2, proof_seeds=2, most=60, most_to_prove=400)


def tiny(seed):
    world = ps.worlds.SparseSynthetic(
        n_actions=4, n_contexts=20, n_policies=6, profile="one_good", rng=seed
    )
    return world, ps.PolicyTable(world.pool, n_actions=4)


def missing(seed):
    raise ps.DatasetUnavailableError("gone could not be downloaded: no network")


CELLS = {}  # numbers that the first test which asks has measured


@pytest.fixture
def measured(monkeypatch):
    """Tiny tasks, measured in this process one after the other; names of the cells that were."""
    names = []

    def counted(measure):
        def measure_and_count(task, learner, **arguments):
            names.append((measure.__name__, task.name, learner))
            cell = (measure.__name__, task, learner, *arguments.items())
            if cell not in CELLS:
                CELLS[cell] = measure(task, learner, **arguments)
            return deepcopy(CELLS[cell])

        return measure_and_count

    monkeypatch.setattr(cells, "ProcessPoolExecutor", lambda _workers, **_: ThreadPoolExecutor(1))
    monkeypatch.setattr(cells, "as_completed", list)
    monkeypatch.setattr(measuring, "picking", counted(picking))
    monkeypatch.setattr(measuring, "proving", counted(proving))
    monkeypatch.setitem(TASKS, "tiny", Task("tiny", "six policies", tiny, epsilon=0.2))
    monkeypatch.setitem(TASKS, "same", Task("same", "fixed", tiny, fixed=True, epsilon=0.2))
    monkeypatch.setitem(TASKS, "gone", Task("gone", "cannot be had", missing, fixed=True))
    return names


class TestRace:
    def test_a_row_for_each_cell(self, measured):
        result = measure_race(["tiny", "same"], ["Sieve", "Exp4", "Uniform"], settings=SHORT)
        assert result["code"] == code_version()
        assert result["settings"] == SHORT._asdict()
        assert result["skipped"] == {}
        tasks = ("tiny", "same")
        assert [(row["task"], row["learner"]) for row in result["picking"]] == [
            (task, name) for task in tasks for name in ("Sieve", "Exp4", "Uniform")
        ]
        assert [(row["task"], row["learner"]) for row in result["proving"]] == [
            (task, name) for task in tasks for name in ("Sieve", "Uniform")
        ]
        assert measured[:4] == [("proving", t, n) for t in tasks for n in ("Sieve", "Uniform")]
        for row in result["picking"]:
            assert len(row["budgets"]) == len(row["mean"]) == len(row["right"])
            assert all(a <= b for a, b in zip(row["low"], row["high"], strict=True))
            assert all(share in (0, 0.5, 1) for share in row["right"])
        assert result["summary"] == summary(result["picking"], result["proving"], SHORT)
        json.dumps(result, allow_nan=False)

    def test_numbers_are_those_of_the_cells(self, measured):
        result = measure_race(["tiny"], ["Uniform"], settings=SHORT)
        found = picking(TASKS["tiny"], "Uniform", seeds=2, most=60)
        row = result["picking"][0]
        assert row["budgets"] == found["budgets"] == [20, 30, 45]
        assert row["needed"] == rounds_needed(row["budgets"], row["right"])
        for mean, low, high, right, gaps in zip(
            row["mean"], row["low"], row["high"], row["right"], found["suboptimality"], strict=True
        ):
            width = max(gaps) - min(gaps)
            assert mean == pytest.approx(sum(gaps) / 2)
            assert low == pytest.approx(min(gaps) + 0.1 * width)
            assert high == pytest.approx(max(gaps) - 0.1 * width)
            assert right == sum(gap <= 0.2 for gap in gaps) / 2
        proved = proving(TASKS["tiny"], "Uniform", seeds=2, most=400)
        code = code_version(measuring_only=True)
        assert result["proving"] == [{"task": "tiny", "learner": "Uniform", **proved, "code": code}]
        assert row["code"] == code

    def test_a_fixed_world_is_built_once(self, measured, monkeypatch):
        built = []

        def build(seed):
            built.append(seed)
            return tiny(seed)

        monkeypatch.setitem(TASKS, "same", Task("same", "", build, fixed=True, epsilon=0.2))
        measure_race(["same"], ["Sieve", "Uniform"], settings=SHORT)
        assert built == [0]
        monkeypatch.setitem(TASKS, "tiny", Task("tiny", "", build, epsilon=0.2))
        measure_race(["tiny"], ["Exp4"], settings=SHORT._replace(most=20))
        assert built == [0, 0, 1]

    def test_progress(self, measured):
        seen = []
        measure_race(
            ["tiny"], ["Uniform"], settings=SHORT, progress=lambda *step: seen.append(step)
        )
        assert seen == [(1, 2, "proving-tiny-Uniform"), (2, 2, "picking-tiny-Uniform")]

    def test_learners_of_one_action_do_not_race_with_slates(self):
        slates = {
            name
            for name, task in TASKS.items()
            if getattr(task.build, "keywords", {}).get("slate_size", 1) > 1
        }
        cells = list(measuring._cells(list(TASKS), LEARNERS))
        assert len(slates) == 3
        for task in TASKS:
            picks = {cell.learner for cell in cells if cell[:2] == ("picking", task)}
            proofs = {cell.learner for cell in cells if cell[:2] == ("proving", task)}
            assert picks == set(RACERS) - (set(ONE_ACTION_ONLY) if task in slates else set())
            assert proofs == set(PROVERS)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((["nowhere"], ["Sieve"]), r"tasks must be among one_good_10, .*, got 'nowhere'"),
            ((["tiny"], ["Sieve", "sieve"]), r"learners must be among Sieve, .*, got 'sieve'"),
        ],
    )
    def test_unknown_names(self, measured, arguments, message):
        with pytest.raises(ps.InvalidArgumentError, match=message):
            measure_race(*arguments, settings=SHORT)
        assert measured == []

    def test_a_data_set_that_cannot_be_had_is_left_out(self, measured):
        result = measure_race(["gone", "tiny"], ["Uniform"], settings=SHORT)
        assert result["skipped"] == {"gone": "gone could not be downloaded: no network"}
        assert {row["task"] for row in result["picking"] + result["proving"]} == {"tiny"}

    def test_a_peer_that_is_not_installed_is_left_out(self, measured, monkeypatch):
        monkeypatch.setattr(measuring, "find_spec", lambda name: None)
        result = measure_race(["tiny"], ["Uniform", "VowpalWabbit"], settings=SHORT)
        assert "policysieve[peers]" in result["skipped"]["VowpalWabbit"]
        assert [row["learner"] for row in result["picking"]] == ["Uniform"]

    def test_in_processes_of_its_own(self, tmp_path):
        settings = RaceSettings(seeds=1, proof_seeds=1, most=20, most_to_prove=20)
        result = measure_race(["hidden_arm"], ["Uniform"], settings=settings, folder=tmp_path)
        found = picking(TASKS["hidden_arm"], "Uniform", seeds=1, most=20)
        assert result["picking"][0]["mean"] == [found["suboptimality"][0][0]]
        assert len(list((tmp_path / "cells").iterdir())) == 2


class TestKeeping:
    CELL = "picking-tiny-Uniform.json"

    def run(self, folder, settings=SHORT, learners=("Uniform",)):
        return measure_race(["tiny"], learners, settings=settings, folder=folder)

    def test_finished_cells_are_not_run_again(self, measured, tmp_path):
        first = self.run(tmp_path)
        assert len(measured) == 2
        assert self.run(tmp_path) == first
        assert len(measured) == 2
        more = self.run(tmp_path, learners=("Uniform", "Exp4"))
        assert measured[2:] == [("picking", "tiny", "Exp4")]
        assert [row for row in more["picking"] if row["learner"] == "Uniform"] == first["picking"]

    def test_finished_cells_do_not_need_their_data(self, measured, tmp_path, monkeypatch):
        first = measure_race(["same"], ["Uniform"], settings=SHORT, folder=tmp_path)
        monkeypatch.setitem(TASKS, "same", Task("same", "", missing, fixed=True, epsilon=0.2))
        assert measure_race(["same"], ["Uniform"], settings=SHORT, folder=tmp_path) == first

    def test_other_settings_are_run_anew(self, measured, tmp_path):
        self.run(tmp_path)
        other = self.run(tmp_path, SHORT._replace(seeds=3))
        assert len(measured) == 4
        assert other["settings"]["seeds"] == 3
        assert self.run(tmp_path, SHORT._replace(seeds=3)) == other
        assert len(measured) == 4

    @pytest.mark.parametrize("damage", [lambda text: text[:40], lambda text: ""])
    def test_a_truncated_cell_is_run_anew(self, measured, tmp_path, damage):
        first = self.run(tmp_path)
        path = tmp_path / "cells" / self.CELL
        path.write_text(damage(path.read_text()))
        assert self.run(tmp_path) == first
        assert measured[2:] == [("picking", "tiny", "Uniform")]
        assert json.loads(path.read_text())["settings"] == SHORT._asdict()

    def test_what_is_done_when_another_fails_is_kept(self, measured, tmp_path, monkeypatch):
        def fails(*_arguments, **_settings):
            raise MemoryError

        monkeypatch.setattr(measuring, "picking", fails)
        with pytest.raises(MemoryError):
            self.run(tmp_path)
        assert [path.name for path in (tmp_path / "cells").iterdir()] == [
            "proving-tiny-Uniform.json"
        ]

    def test_nothing_is_kept_without_a_folder(self, measured, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        self.run(None)
        assert list(tmp_path.iterdir()) == []


class TestMeasuredAgain:
    """Rows that a call did not measure are kept."""

    def run(self, folder, learners, settings=SHORT, **options):
        result = measure_race(["tiny"], learners, settings=settings, folder=folder, **options)
        (folder / "samples.json").write_text(json.dumps(result))
        return result

    def test_one_learner(self, measured, tmp_path):
        first = self.run(tmp_path, ["Sieve", "Exp4", "Uniform"])
        for row in first["picking"] + first["proving"]:
            row["code"] = "old"
        (tmp_path / "samples.json").write_text(json.dumps(first))
        again = self.run(tmp_path, ["Exp4"])
        code = code_version(measuring_only=True)
        assert again["proving"] == first["proving"]
        assert again["picking"] == [
            {**row, "code": code if row["learner"] == "Exp4" else "old"} for row in first["picking"]
        ]
        assert again["summary"] == first["summary"]
        proofs = self.run(tmp_path, ["Uniform"], proofs_only=True)
        assert proofs["picking"] == again["picking"]
        assert [row["code"] for row in proofs["proving"]] == ["old", code]

    def test_rows_are_in_the_order_of_tasks_and_learners(self, measured, tmp_path):
        self.run(tmp_path, ["Uniform"])
        result = measure_race(["same", "tiny"], ["Sieve"], settings=SHORT, folder=tmp_path)
        for kind in ("picking", "proving"):
            assert [(row["task"], row["learner"]) for row in result[kind]] == [
                ("tiny", "Sieve"),
                ("tiny", "Uniform"),
                ("same", "Sieve"),
            ]

    def test_other_settings(self, measured, tmp_path):
        self.run(tmp_path, ["Uniform", "Exp4"])
        result = self.run(tmp_path, ["Uniform"], SHORT._replace(seeds=3))
        assert [row["learner"] for row in result["picking"]] == ["Uniform"]
        assert "1 of its rows were dropped" in result["skipped"]["samples.json"]
        assert "seeds 2" in result["skipped"]["samples.json"]

    def test_tasks_and_learners_that_are_gone_stay(self, measured, tmp_path):
        result = self.run(tmp_path, ["Uniform"])
        text = json.dumps(result).replace('"tiny"', '"lost"').replace("Uniform", "Nobody")
        (tmp_path / "samples.json").write_text(text)
        result = self.run(tmp_path, ["Uniform"])
        assert [(row["task"], row["learner"]) for row in result["proving"]] == [
            ("tiny", "Uniform"),
            ("lost", "Nobody"),
        ]


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def quick(measured, monkeypatch):
    """The command with short settings; names of the cells that were measured."""
    monkeypatch.setattr(measuring, "RaceSettings", lambda seeds, **_: SHORT._replace(seeds=seeds))
    return measured


class TestCommand:
    ARGUMENTS = ("bench", "samples", "--tasks", "tiny, gone", "--learners", "Sieve,Exp4,Uniform")

    def invoke(self, *arguments):
        return CliRunner().invoke(main, [*self.ARGUMENTS, "--seeds", "2", *arguments])

    def test_tables_json_and_figures(self, quick, tmp_path):
        printed = self.invoke("--folder", str(tmp_path / "new"))
        assert printed.exit_code == 0, printed.output
        text = " ".join(printed.output.split())
        for words in (
            "Rounds until 95% of the seeds are right",
            "Median rounds until epsilon is certified",
            "The Sieve's rounds to be right by those of the best other learner",
            "Average suboptimality over the budgets up to 3,000 rounds",
            "The Sieve's rounds and suboptimality by those of others, in the geometric mean over",
            "│ gone │ gone could not be downloaded: no network │",
        ):
            assert words in text
        saved = json.loads((tmp_path / "new" / "samples.json").read_text())
        assert saved["settings"]["seeds"] == 2
        for name in ("right.svg", "curves.svg", "certified.svg"):
            assert (tmp_path / "new" / name).read_text().startswith("<?xml")
        cells = len(quick)
        report = tmp_path / "report.html"
        machine = self.invoke("--json", "--folder", str(tmp_path / "new"), "--report", str(report))
        assert "gone could not be downloaded" in report.read_text(encoding="utf-8")
        assert json.loads(machine.stdout) == saved
        assert len(quick) == cells == 5

    def test_rows_that_were_dropped(self, quick, tmp_path):
        self.invoke("--folder", str(tmp_path))
        arguments = ["bench", "samples", "--tasks", "tiny", "--learners", "Exp4", "--seeds", "3"]
        printed = CliRunner().invoke(main, [*arguments, "--folder", str(tmp_path)])
        text = " ".join(printed.output.replace("│", " ").split())
        assert "samples.json 4 of its rows were dropped" in text

    def test_proofs_alone(self, quick):
        found = json.loads(self.invoke("--proofs-only", "--json").stdout)
        assert found["picking"] == []
        assert {row["learner"] for row in found["proving"]} == {"Sieve", "Uniform"}
        assert {kind for kind, _, _ in quick} == {"proving"}
        printed = self.invoke("--proofs-only")
        assert "Rounds until 95%" not in printed.output
        assert "Median rounds until epsilon is certified" in " ".join(printed.output.split())

    def test_nothing_is_written_unless_asked(self, quick, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        machine = self.invoke("--json")
        assert {row["task"] for row in json.loads(machine.stdout)["picking"]} == {"tiny"}
        assert list(tmp_path.iterdir()) == []

    def test_nothing_to_measure(self, quick, tmp_path):
        """The folder is made all the same, and the reason is told."""
        arguments = ["bench", "samples", "--tasks", "gone", "--learners", "Uniform"]
        printed = CliRunner().invoke(main, [*arguments, "--folder", str(tmp_path / "new")])
        assert printed.exit_code == 0, printed.output
        assert "gone could not be downloaded" in printed.output
        assert json.loads((tmp_path / "new" / "samples.json").read_text())["picking"] == []

    @pytest.mark.parametrize("tasks", ["tiny", "nowhere"])
    def test_the_bar_ends_with_the_race(self, quick, tmp_path, monkeypatch, tasks):
        """When all cells were kept, and when there is no race, too."""
        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        monkeypatch.setenv("TERM", "xterm")
        arguments = [
            "--tasks",
            tasks,
            "--learners",
            "Exp4",
            "--seeds",
            "2",
            "--folder",
            str(tmp_path),
        ]
        for _ in range(2):
            with suppress(ps.InvalidArgumentError):
                samples.main(arguments, standalone_mode=False)
            text = terminal.getvalue()
            assert text.count(HIDE) == text.count(SHOW) > 0
            assert text.rindex(SHOW) > text.rindex(HIDE)

    @pytest.mark.parametrize(
        ("option", "message"),
        [("--tasks", "tasks must be among"), ("--learners", "learners must be among")],
    )
    def test_unknown_names(self, quick, option, message):
        result = CliRunner().invoke(main, ["bench", "samples", option, "nobody"])
        assert result.exit_code != 0
        assert message in result.output
        assert "'nobody'" in result.output
        assert "Traceback" not in result.output
        assert quick == []


class TestDocumentation:
    """The page shows what was measured."""

    ROOT = Path(__file__).parents[3]
    PAGE = (ROOT / "docs" / "race.md").read_text(encoding="utf-8")
    RESULT = json.loads((ROOT / "benchmarks" / "samples" / "samples.json").read_text())
    BEFORE = json.loads((ROOT / "benchmarks" / "samples" / "version-0.1.json").read_text())

    def test_everybody_raced_on_every_task(self):
        """But those that may deploy a vote, which have a race of their own."""
        proved = {(row["task"], row["learner"]) for row in self.RESULT["proving"]}
        assert proved == {(task, name) for task in TASKS for name in PROVERS if name not in VOTERS}
        picked = {(row["task"], row["learner"]) for row in self.RESULT["picking"]}
        assert picked == {
            (task, name)
            for task in TASKS
            for name in RACERS
            if name not in VOTERS
            and not (name in ONE_ACTION_ONLY and task in ("yeast", "tags_100", "rankers_50"))
        }
        assert sum(row["false"] for row in self.RESULT["proving"]) == 0
        assert all(row["code"] for row in self.RESULT["picking"] + self.RESULT["proving"])

    @pytest.mark.parametrize("name", ["right", "best", "gaps", "certified", "means"])
    def test_tables(self, name):
        table = tables(self.RESULT)[name]
        for row in table.texts:
            assert f"| {' | '.join(row)} |\n" in self.PAGE

    def test_against_version_0_1(self):
        then, now = (
            {
                (row["task"], row["learner"]): row["median"]
                for row in result["proving"]
                if row["learner"] in ("Sieve", "PolicyElimination")
            }
            for result in (self.BEFORE, self.RESULT)
        )
        means = [
            np.exp(
                np.mean(
                    [
                        np.log(now[task, "Sieve"] / was)
                        for (task, who), was in then.items()
                        if who == name
                    ]
                )
            )
            for name in ("Sieve", "PolicyElimination")
        ]
        assert f"{means[0]:.2f} of the rounds of its Sieve" in self.PAGE
        assert f"{means[1]:.2f} of those of its policy elimination" in self.PAGE

    def test_what_is_said_first(self):
        """The sentences at the top are those of the tables."""
        said = " ".join(self.PAGE.split())
        means = {row[0]: row[-1] for row in tables(self.RESULT)["means"].texts}
        uniform, elimination, arms = (
            f"{float(means[name]):.2f}"
            for name in ("Uniform", "PolicyElimination", "policies as arms")
        )
        assert f"the Sieve needs {uniform} of the rounds of uniform exploration" in said
        assert (
            f"{elimination} of those of policy elimination, and {arms} of those of an A/B/n" in said
        )
        found = {(row["task"], row["learner"]): row["median"] for row in self.RESULT["proving"]}
        lost = {
            other: sum((found[task, other] or np.inf) < found[task, "Sieve"] for task in TASKS)
            for other in ("PolicyElimination", "Uniform", "PoliciesAsArms")
        }
        assert (
            f"It loses to policy elimination on {lost['PolicyElimination']} tasks, to uniform "
            f"exploration on {lost['Uniform']}, and to the A/B/n test on {lost['PoliciesAsArms']}:"
        ) in said
        ratios = [float(row[-1]) for row in tables(self.RESULT)["best"].texts]
        ahead = sum(ratio <= 1 for ratio in ratios)
        assert f"the best of eight others on {ahead} of the {len(ratios)} tasks" in said
        assert f"At worst it needs {max(ratios):.2f} times the rounds" in said
