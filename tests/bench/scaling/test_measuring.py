"""How rounds grow: sweeps, cells, slopes, and what the command says."""

import json
import runpy
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import replace
from itertools import groupby
from math import log
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import policysieve as ps
from policysieve import theory
from policysieve.bench import cells
from policysieve.bench.cells import code_version
from policysieve.bench.racers import RACERS
from policysieve.bench.scaling import measuring, worlds
from policysieve.bench.scaling.closer import rounds_of_contest
from policysieve.bench.scaling.growth import COUNTS, GROWTHS, Growth
from policysieve.bench.scaling.measuring import ScalingSettings, fit_slope, measure_scaling
from policysieve.bench.scaling.sweeps import LEARNERS, RATES, SWEEPS, Sweep
from policysieve.cli import main
from tests.statistics import assert_binomial

TINY = Sweep(
    "tiny",
    "both terms, small",
    "actions K",
    worlds.both_terms,
    "n_actions",
    {"epsilon": 0.2, "sparsity": 2},
    small=(2, 3, 4),
    full=(2, 3, 4, 5),
    learners=("Uniform", "Sieve"),
    lower_bound=theory.lower_bound_rare_context,
)


GROWING = Growth(
    "small",
    "one good policy",
    "policies",
    "n_policies",
    {"profile": "one_good", "n_actions": 5, "epsilon": 0.3},
    small=(5, 10, 20),
    full=(5, 10, 20),
)


CELLS = {}


def once(measure):
    """The same numbers, measured by the first test that asks."""

    def found(*arguments):
        cell = measure.__name__, repr(arguments)
        if cell not in CELLS:
            CELLS[cell] = measure(*arguments)
        return deepcopy(CELLS[cell])

    return found


@pytest.fixture
def quick(monkeypatch):
    """A small sweep, small designs, in this process; what is measured is measured once."""
    for name in ("_rounds", "_variance", "median_rounds"):
        monkeypatch.setattr(measuring, name, once(getattr(measuring, name)))
    monkeypatch.setattr(cells, "ProcessPoolExecutor", lambda _workers, **_: ThreadPoolExecutor(1))
    monkeypatch.setattr(cells, "as_completed", list)
    monkeypatch.setitem(SWEEPS, "tiny", TINY)
    monkeypatch.setattr(measuring, "_EXPLORE", (100, 400))
    monkeypatch.setattr(measuring, "_DESIGN", {"n_actions": 8, "sparsity": 2, "epsilon": 0.1})
    monkeypatch.setattr(measuring, "GROWTHS", {"small": GROWING})
    monkeypatch.setattr(measuring, "SEEDS", 1)


class TestSweeps:
    @pytest.mark.parametrize("sweep", SWEEPS.values(), ids=list(SWEEPS))
    def test_points_are_worlds_with_few_right_answers(self, sweep):
        points = sweep.points(full=False)
        xs = [point.x for point in points]
        assert xs == sorted(xs)
        assert len(set(xs)) == len(xs) >= 4
        assert set(sweep.small) & set(sweep.full)
        for point in (points[0], points[-1]):
            world, policies = point.task.build(1)
            values = world.values(policies)
            assert 0 < (values >= values.max() - point.task.epsilon).sum() < len(values)
            assert point.log_n_policies == pytest.approx(log(policies.n_policies))
            assert point.problem.epsilon == point.task.epsilon == point.settings["epsilon"]
            assert policies.check_fits(point.problem) is None

    @pytest.mark.parametrize("sweep", SWEEPS.values(), ids=list(SWEEPS))
    @pytest.mark.parametrize("full", [False, True])
    def test_theory_has_something_to_say_everywhere(self, sweep, full):
        for point in sweep.points(full=full):
            for learner in sweep.learners:
                assert learner in RACERS
                for rate in (sweep.rates[learner], RATES[learner], sweep.lower_bound):
                    if rate is not None:
                        assert rate(point.problem, point.log_n_policies) > 0

    def test_epsilon_is_drawn_as_its_inverse(self):
        assert [point.x for point in SWEEPS["hidden_arm"].points(full=False)] == pytest.approx(
            [5, 1 / 0.14, 10, 1 / 0.07]
        )

    def test_some_can_prove_it(self):
        assert TINY.lines() == [
            (kind, learner) for kind in ("right", "certified") for learner in ("Uniform", "Sieve")
        ]
        assert replace(TINY, learners=LEARNERS, kinds=("certified",)).lines() == [
            ("certified", "Uniform"),
            ("certified", "Sieve"),
        ]

    def test_both_sides_of_the_crossover(self):
        """epsilon = s/K lies between the sweeps of few and of many actions."""
        few, many = SWEEPS["actions_few"], SWEEPS["actions_many"]
        assert max(few.full) < few.fixed["sparsity"] / few.fixed["epsilon"]
        assert min(many.full) > many.fixed["sparsity"] / many.fixed["epsilon"]


class TestScaling:
    def test_a_row_for_each_line(self, quick):
        result = measure_scaling(["tiny"], settings=ScalingSettings(seeds=3))
        assert result["code"] == code_version()
        assert [(row["kind"], row["learner"]) for row in result["sweeps"]] == [
            ("right", "Uniform"),
            ("right", "Sieve"),
            ("certified", "Uniform"),
            ("certified", "Sieve"),
        ]
        for row in result["sweeps"]:
            assert (row["sweep"], row["axis"]) == ("tiny", "actions K")
            assert [point["x"] for point in row["points"]] == [2, 3, 4]
            for point, at in zip(row["points"], TINY.points(full=False), strict=True):
                rate = RATES[row["learner"]](at.problem, at.log_n_policies)
                assert point["rate"] == rate
                assert point["most"] >= (2 if row["kind"] == "right" else 4) * rate
                assert point["lower_bound"] == theory.lower_bound_rare_context(
                    at.problem, at.log_n_policies
                )
                assert 20 <= point["rounds"] <= point["most"]
            assert row["low"] <= row["slope"] <= row["high"]
            assert row["closer"] is None
            assert row["code"] == code_version(measuring_only=True)
        (grown,) = result["growth"]
        assert [point["x"] for point in grown["points"]] == [5, 10, 20]
        for count in COUNTS:
            rounds, rates = (
                [point[key][count] for point in grown["points"]] for key in ("rounds", "rates")
            )
            assert grown["slopes"][count] == fit_slope([5, 10, 20], rounds, rates)
        assert [row["explore_rounds"] for row in result["variance"]] == [100, 400]
        assert json.loads(json.dumps(result, allow_nan=False)) == result

    def test_full_has_more_points(self, quick, monkeypatch):
        monkeypatch.setattr(measuring, "_EXPLORE_FULL", (100,))
        result = measure_scaling(["tiny"], settings=ScalingSettings(seeds=2, full=True))
        assert [len(row["points"]) for row in result["sweeps"]] == [4] * 4
        assert len(result["variance"]) == 1

    def test_finished_cells_are_not_run_again(self, quick, tmp_path, monkeypatch):
        first = measure_scaling(["tiny"], settings=ScalingSettings(seeds=2), folder=tmp_path)
        monkeypatch.setattr(measuring, "_rounds", None)
        monkeypatch.setattr(measuring, "_variance", None)
        assert (
            measure_scaling(["tiny"], settings=ScalingSettings(seeds=2), folder=tmp_path) == first
        )

    def test_changed_worlds_are_run_anew(self, quick, tmp_path, monkeypatch):
        first = measure_scaling(["tiny"], settings=ScalingSettings(seeds=2), folder=tmp_path)
        changed = replace(TINY, fixed={"epsilon": 0.1, "sparsity": 2})
        monkeypatch.setitem(SWEEPS, "tiny", changed)
        other = measure_scaling(["tiny"], settings=ScalingSettings(seeds=2), folder=tmp_path)
        assert other["variance"] == first["variance"]
        assert other["sweeps"][0]["points"] != first["sweeps"][0]["points"]

    def test_rounds_until_right_are_held_against_something_closer(self, quick, monkeypatch):
        monkeypatch.setitem(SWEEPS, "tiny", replace(TINY, closer=rounds_of_contest))
        result = measure_scaling(
            ["tiny"], kinds=["right", "certified"], settings=ScalingSettings(seeds=2)
        )
        expected = [
            rounds_of_contest(at.problem, at.log_n_policies) for at in TINY.points(full=False)
        ]
        for row in result["sweeps"]:
            rounds = [point["rounds"] for point in row["points"]]
            closer = fit_slope([2, 3, 4], rounds, expected) if row["kind"] == "right" else None
            assert row["closer"] == closer

    def test_certificates_have_half_of_the_seeds(self, quick, monkeypatch):
        seen = []
        monkeypatch.setattr(
            measuring, "_rounds", lambda one, seeds: seen.append((one.kind, seeds)) or {"rounds": 9}
        )
        measure_scaling(["tiny"], kinds=["right", "certified"], settings=ScalingSettings(seeds=7))
        assert set(seen) == {("right", 7), ("certified", 4)}

    @pytest.mark.parametrize("argument", ["sweeps", "kinds", "learners"])
    def test_unknown_names(self, argument):
        message = rf"{argument} must be among .*, got 'no'"
        with pytest.raises(ps.InvalidArgumentError, match=message):
            measure_scaling(**{argument: ["no"]})


class TestParts:
    """What is measured in parts, and kept in one file."""

    SETTINGS = ScalingSettings(seeds=2)

    @pytest.fixture
    def measure(self, quick, tmp_path, monkeypatch):
        """Measure with a version of the code, and write the file as the command does."""

        def measured(code, settings=self.SETTINGS, **parts):
            monkeypatch.setattr(measuring, "code_version", lambda **_: code)
            result = measure_scaling(["tiny"], settings=settings, folder=tmp_path, **parts)
            (tmp_path / "scaling.json").write_text(json.dumps(result))
            return result

        return measured

    def codes(self, result):
        rows = {(row["kind"], row["learner"]): row["code"] for row in result["sweeps"]}
        return rows, {row["code"] for kind in ("growth", "variance") for row in result[kind]}

    def test_other_rows_are_kept_with_their_code(self, measure):
        first = measure("old")
        second = measure("new", kinds=["right"], learners=["Sieve"])
        rows, others = self.codes(second)
        assert list(rows.items()) == [
            (("right", "Uniform"), "old"),
            (("right", "Sieve"), "new"),
            (("certified", "Uniform"), "old"),
            (("certified", "Sieve"), "old"),
        ]
        assert others == {"old"}
        assert [row["points"] for row in second["sweeps"]] == [
            row["points"] for row in first["sweeps"]
        ]

    def test_in_any_order(self, measure):
        measure("one", kinds=["certified"])
        measure("two", kinds=["variance"])
        result = measure("three", kinds=["right", "growth"])
        rows, others = self.codes(result)
        assert list(rows.values()) == ["three", "three", "one", "one"]
        assert others == {"three", "two"}
        assert {**result, "code": ""} == {**self.recoded(measure("three"), result), "code": ""}

    def recoded(self, whole, parts):
        """The whole with the codes of the parts."""
        return {
            key: [{**new, "code": old["code"]} for new, old in zip(rows, parts[key], strict=True)]
            if isinstance(rows, list)
            else rows
            for key, rows in whole.items()
        }

    def test_rows_say_how_many_seeds_they_have(self, measure):
        measure("old")
        result = measure("new", settings=ScalingSettings(seeds=3), kinds=["certified"])
        assert [row["seeds"] for row in result["sweeps"]] == [2, 2, 2, 2]
        assert [row["code"] for row in result["sweeps"]] == ["old", "old", "new", "new"]
        result = measure("new", settings=ScalingSettings(seeds=3), kinds=["right"])
        assert [row["seeds"] for row in result["sweeps"]] == [3, 3, 2, 2]
        assert {row["seeds"] for row in result["variance"]} == {2}
        assert {row["seeds"] for row in result["growth"]} == {1}

    def test_rows_of_another_size_are_not_kept(self, measure, monkeypatch):
        monkeypatch.setattr(measuring, "_EXPLORE_FULL", (100,))
        measure("old")
        result = measure("new", settings=ScalingSettings(seeds=2, full=True), kinds=["variance"])
        assert (result["sweeps"], result["growth"]) == ([], [])

    def test_rows_of_sweeps_that_are_no_more_are_not_kept(self, measure, tmp_path, monkeypatch):
        before = measure("old")
        monkeypatch.delitem(SWEEPS, "tiny")
        result = measure_scaling([], settings=self.SETTINGS, kinds=["variance"], folder=tmp_path)
        assert (result["sweeps"], result["growth"]) == ([], before["growth"])


class TestVariance:
    def test_bounds_hold_and_fall(self, quick):
        rows = [measuring._variance(n, 5) for n in (100, 1000, 10_000)]
        for row in rows:
            assert row["over_observable"] == 0
            assert row["true"] <= row["largest"] <= row["bound"]
            assert row["true"] < row["observable"] < row["bound"]
            assert row["uniform"] == pytest.approx(8 * 0.7)
        for key in ("observable", "bound"):
            assert rows[0][key] > rows[1][key] > rows[2][key]
        assert rows[0]["true"] > rows[2]["true"]


class TestCommand:
    def invoke(self, *arguments):
        return CliRunner().invoke(main, ["bench", "scaling", "--sweeps", "tiny", *arguments])

    def test_tables_json_and_figures(self, quick, tmp_path):
        printed = self.invoke("--seeds", "2", "--folder", str(tmp_path / "new"))
        assert printed.exit_code == 0, printed.output
        text = " ".join(printed.output.split())
        for words in (
            "Slope of log rounds",
            "Rounds until right on the lower bounds' own instances",
            "Slope of log rounds of the Sieve",
            "Largest variance term of a design",
        ):
            assert words in text
        saved = json.loads((tmp_path / "new" / "scaling.json").read_text())
        assert saved["settings"] == {"seeds": 2, "full": False}
        for name in ("right.svg", "certified.svg", "slopes.svg", "proofs.svg", "variance.svg"):
            assert (tmp_path / "new" / name).read_text().startswith("<?xml")
        report = tmp_path / "report.html"
        again = (
            "--seeds",
            "2",
            "--json",
            "--folder",
            str(tmp_path / "new"),
            "--report",
            str(report),
        )
        machine = self.invoke(*again)
        assert "How rounds grow" in report.read_text(encoding="utf-8")
        assert json.loads(machine.stdout) == saved

    @pytest.mark.parametrize(("options", "seeds"), [((), 10), (("--full",), 20)])
    def test_sizes(self, quick, monkeypatch, options, seeds):
        seen = []

        def measure(sweeps, *, kinds, learners, settings, folder, progress, runner):
            seen.append((sweeps, kinds, learners, settings))
            return {"sweeps": [], "growth": [], "variance": [], "settings": settings._asdict()}

        monkeypatch.setattr(measuring, "measure_scaling", measure)
        assert self.invoke("--json", *options).exit_code == 0
        settings = ScalingSettings(seeds=seeds, full=bool(options))
        assert seen == [(("tiny",), measuring.KINDS, LEARNERS, settings)]
        some = ("--kinds", "right,growth", "--learners", "Sieve")
        assert self.invoke("--json", *some, *options).exit_code == 0
        assert seen[1] == (("tiny",), ("right", "growth"), ("Sieve",), settings)

    def test_unknown_names(self):
        result = CliRunner().invoke(main, ["bench", "scaling", "--sweeps", "nobody"])
        assert result.exit_code == 1
        assert "sweeps must be among" in result.output


class TestDocumentation:
    """The page shows what was measured, all of it and nothing else."""

    ROOT = Path(__file__).parents[3]
    PAGE = (ROOT / "docs" / "scaling.md").read_text()
    RESULT = json.loads((ROOT / "benchmarks" / "scaling" / "scaling.json").read_text())
    TABLES = runpy.run_path(str(ROOT / "docs" / "figures" / "fill_scaling.py"))["tables"](RESULT)

    def test_tables(self):
        shown = [
            "\n".join(lines)
            for is_table, lines in groupby(
                self.PAGE.splitlines(), lambda line: line.startswith("|")
            )
            if is_table
        ]
        assert shown[1:] == self.TABLES  # the first says what is swept

    def test_every_sweep_was_measured(self):
        lines = [(name, *line) for name, sweep in SWEEPS.items() for line in sweep.lines()]
        assert [measuring._place(row) for row in self.RESULT["sweeps"]] == lines
        assert [row["growth"] for row in self.RESULT["growth"]] == list(GROWTHS)
        assert self.RESULT["settings"]["full"]

    def test_how_much_was_measured_and_by_what(self):
        rows = [row for kind in ("sweeps", "growth", "variance") for row in self.RESULT[kind]]
        for seeds in {row["seeds"] for row in rows}:
            assert f"{seeds} seeds" in self.PAGE
        released = any("+" not in row["code"] for row in rows)  # which did not say its hash
        assert ("with version 0.1" in self.PAGE) == released

    def test_verdicts(self):
        found = Counter(row["verdict"] for row in self.RESULT["sweeps"])
        assert sum(found.values()) == found["as predicted"] + found["below"] + found["above"]
        counted = (
            f"{found['as predicted']} of the {sum(found.values())} lines are as predicted, "
            f"{found['below']} below and {found['above']} above."
        )
        assert counted in self.PAGE

    def test_growth_in_words(self):
        words = " ".join(self.PAGE.split())
        grown = {row["growth"]: row["points"] for row in self.RESULT["growth"]}
        first, *_, last = grown["one_good_policies"]
        n, rounds = f"{last['x']:,.0f}", f"{last['rounds']['certified']:,.0f}"
        start = f"{first['rounds']['certified']:,.0f} rounds with {first['x']:,.0f} policies"
        assert f"{start}, {rounds} with {n}," in words
        costs = []
        for point in grown["clusters_policies"]:
            less, all_of_it = (point["rounds"][count] for count in ("without_union", "certified"))
            costs.append((all_of_it - less) / log(point["x"] - 1))
        first, *_, last = grown["clusters_policies"]
        less, more = (
            f"{point['rounds']['without_union']:,.0f} in place of "
            f"{point['rounds']['certified']:,.0f} with {point['x']:,.0f}"
            for point in (first, last)
        )
        assert f"without it {less} policies, and {more}." in words
        assert f"{min(costs):.0f} to {max(costs):.0f} rounds for each unit of ln(|Π|-1)" in words
        assert (
            f"{last['close']:,.0f} rivals within epsilon in place of {first['close']:.0f}" in words
        )

    def test_slopes_in_words(self):
        words = " ".join(self.PAGE.split())
        slopes = {measuring._place(row): row["slope"] for row in self.RESULT["sweeps"]}
        many, one = (
            [slopes[name, "certified", learner] for learner in ("Uniform", "Sieve")]
            for name in ("sparsity", "sparsity_one_rival")
        )
        assert f"where the rate has 0.12, and have {many[0]:.2f} now." in words
        assert f"only one of its arms is close: the slope is {one[0]:.2f}." in words
        assert f"something else, with {one[1]:.2f} in place of {many[1]:.2f}:" in words

    def test_false_certificates(self):
        """Few enough, and as many as the page says."""
        rows = [row for row in self.RESULT["sweeps"] if row["kind"] == "certified"]
        rows += self.RESULT["growth"]
        runs = sum(row["seeds"] * len(row["points"]) for row in rows)
        false = sum(point["false"] for row in rows for point in row["points"])
        assert f"Of {runs:,} runs to a certificate {false} ended with a false one" in self.PAGE
        assert false < 0.05 * runs


def test_an_exact_power():
    x = [1, 2, 4, 8]
    found = fit_slope(x, [3 * v**1.5 for v in x], [v**2 for v in x])
    assert found["slope"] == pytest.approx(1.5)
    assert found["predicted"] == pytest.approx(2)
    assert (found["low"], found["high"]) == (pytest.approx(1.5), pytest.approx(1.5))
    assert found["verdict"] == "below"


def test_a_predicted_curve_does_not_widen_the_interval():
    x = np.array([1, 2, 4, 8, 16])
    curve = x + x**2
    found = fit_slope(x, (7 * curve).tolist(), curve.tolist())
    assert found["high"] - found["low"] < 1e-9
    assert found["slope"] == pytest.approx(found["predicted"])
    assert found["predicted"] == pytest.approx(1.75, abs=0.1)
    assert found["verdict"] == "as predicted"


def test_by_hand():
    """Ratios 1, e, 1 at logs 0, 1, 2: excess slope 0, residual 2/3, error sqrt(2/3/2)."""
    x = np.exp([0, 1, 2])
    found = fit_slope(x.tolist(), [1, np.e, 1], [1, 1, 1])
    assert found["slope"] == pytest.approx(0)
    assert found["high"] == pytest.approx(12.706 * np.sqrt(1 / 3), rel=1e-4)


@pytest.mark.parametrize(("power", "verdict"), [(3, "above"), (1, "below")])
def test_verdicts(power, verdict):
    x = [1, 2, 4, 8]
    assert fit_slope(x, [v**power for v in x], [v**2 for v in x])["verdict"] == verdict


def test_points_that_were_given_up_do_not_count():
    x = [1, 2, 4, 8]
    some = fit_slope(x, [1, None, 16, 64], [1, 1, 1, 1])
    assert some["slope"] == pytest.approx(2)
    none = fit_slope(x, [1, None, None, 64], [1, 1, 1, 1])
    assert none == {
        "slope": None,
        "low": None,
        "high": None,
        "predicted": None,
        "verdict": "unknown",
    }


def test_the_interval_covers():
    """In 95 of 100 cases for normal noise, by exact binomial limits."""
    rng = np.random.default_rng(0)
    x = np.array([1.0, 2, 4, 8, 16])
    hits, runs = 0, 400
    for _ in range(runs):
        found = fit_slope(x, (x**1.2 * np.exp(0.3 * rng.standard_normal(5))), x**1.2)
        hits += found["low"] <= 1.2 <= found["high"]
    assert_binomial(hits, runs, 0.95)
