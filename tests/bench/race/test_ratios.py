"""What the rows of the race add up to."""

from math import sqrt

import pytest

from policysieve.bench.race.measuring import RaceSettings
from policysieve.bench.race.ratios import summary
from policysieve.bench.rounds import budgets


def right(task, **needed):
    return [{"task": task, "learner": name, "needed": n} for name, n in needed.items()]


def proved(task, planned, **medians):
    return [
        {"task": task, "learner": name, "median": n, "planned": planned}
        for name, n in medians.items()
    ]


class TestSummary:
    SETTINGS = RaceSettings(most=1000, most_to_prove=8000)

    def test_ratios_to_the_best_other(self):
        rows = right("a", Sieve=100, Exp4=400, Uniform=200) + right("b", Uniform=300, Sieve=600)
        found = summary(rows, [], self.SETTINGS)
        assert found["right"] == {
            "a": {"best_other": "Uniform", "ratio": 0.5},
            "b": {"best_other": "Uniform", "ratio": 2.0},
        }
        assert found["right_mean"] == pytest.approx(1.0)
        assert found["right_means"] == pytest.approx({"Exp4": 0.25, "Uniform": 1.0})
        assert (found["proved"], found["proved_mean"]) == ({}, {})
        assert (found["gaps"], found["gap"], found["gap_mean"], found["gap_means"]) == (
            {},
            {},
            None,
            {},
        )

    def test_peers_from_outside_do_not_count(self):
        rows = right("a", Sieve=100, VowpalWabbit=10, Uniform=200)
        assert summary(rows, [], self.SETTINGS)["right"]["a"]["best_other"] == "Uniform"
        rows = right("a", Sieve=100, VowpalWabbit=10)
        assert summary(rows, [], self.SETTINGS)["right"] == {}

    def test_others_that_were_given_up_count_with_the_most(self):
        found = summary(right("a", Sieve=100, Exp4=None, Uniform=None), [], self.SETTINGS)
        assert found["right"]["a"]["ratio"] == 0.1
        found = summary(right("a", Sieve=100, Exp4=None, Uniform=900), [], self.SETTINGS)
        assert found["right"]["a"] == {"best_other": "Uniform", "ratio": pytest.approx(1 / 9)}

    def test_given_up_at_the_last_budget(self):
        """What lies between it and the most was never looked at."""
        rows = right("a", Sieve=100, Uniform=None, VowpalWabbit=None)
        for row, last in zip(rows, (800, 800, 400), strict=True):
            row["budgets"] = [20, last]
        found = summary(rows, [], self.SETTINGS)
        assert found["right"]["a"]["ratio"] == 0.125
        assert found["right_means"] == pytest.approx({"Uniform": 0.125, "VowpalWabbit": 0.25})

    def test_no_mean_without_the_sieve(self):
        """Where it was given up itself there is no ratio, and so no mean of them all."""
        rows = right("a", Sieve=None, Uniform=200) + right("b", Sieve=100, Uniform=200)
        found = summary(rows, [], self.SETTINGS)
        assert found["right"]["a"] == {"best_other": "Uniform", "ratio": None}
        assert found["right"]["b"]["ratio"] == 0.5
        assert found["right_mean"] is None
        assert summary(right("a", Uniform=200), [], self.SETTINGS)["right"] == {}

    def test_certificates(self):
        rows = proved("a", 40_000, Sieve=1000, Uniform=4000, PolicyElimination=None)
        rows += proved("b", 10_000, Sieve=2000, Uniform=4000)
        found = summary([], rows, self.SETTINGS)
        assert found["proved"] == {
            "a": {"Uniform": 0.25, "PolicyElimination": 0.125, "plan": 0.025},
            "b": {"Uniform": 0.5, "plan": 0.2},
        }
        assert found["proved_mean"] == pytest.approx(
            {"Uniform": sqrt(0.125), "PolicyElimination": 0.125, "plan": sqrt(0.005)}
        )
        assert (found["right"], found["right_mean"]) == ({}, None)

    def test_certificates_that_the_sieve_did_not_reach(self):
        rows = proved("a", 40_000, Sieve=None, Uniform=4000)
        assert summary([], rows, self.SETTINGS)["proved"]["a"] == {"Uniform": None, "plan": None}
        assert summary([], rows, self.SETTINGS)["proved_mean"] == {"Uniform": None, "plan": None}
        assert summary([], proved("a", 9, Uniform=1), self.SETTINGS)["proved"] == {}


def played(task, n_budgets=4, **means):
    """Rows of learners with the same suboptimality at each budget, or with those of a list."""
    return [
        {
            "task": task,
            "learner": name,
            "needed": 100,
            "budgets": [20, 30, 45, 68][:n_budgets],
            "mean": mean if isinstance(mean, list) else [mean] * n_budgets,
        }
        for name, mean in means.items()
    ]


class TestAverageSuboptimality:
    SETTINGS = RaceSettings(most=50, most_to_prove=8000)  # budgets 20, 30 and 45

    def test_over_the_budgets_that_all_play(self):
        """What comes later does not count."""
        rows = played("a", Sieve=[0.3, 0.2, 0.1, 9.0], Uniform=0.4, Exp4=0.5)
        rows += played("b", Sieve=0.2, Uniform=0.3, Exp4=0.1)
        found = summary(rows, [], self.SETTINGS)
        assert found["gaps"] == {
            "a": pytest.approx({"Sieve": 0.2, "Uniform": 0.4, "Exp4": 0.5}),
            "b": pytest.approx({"Sieve": 0.2, "Uniform": 0.3, "Exp4": 0.1}),
        }
        assert found["gap"] == {
            "a": {"best_other": "Uniform", "ratio": pytest.approx(0.5)},
            "b": {"best_other": "Exp4", "ratio": pytest.approx(2.0)},
        }
        assert found["gap_mean"] == pytest.approx(1.0)
        assert found["gap_means"] == pytest.approx({"Uniform": sqrt(1 / 3), "Exp4": sqrt(0.8)})

    def test_up_to_three_thousand_rounds(self):
        stops = budgets(10_000)
        (row,) = right("a", Sieve=100)
        row |= {"budgets": stops, "mean": [float(n <= 3000) for n in stops]}
        assert summary([row], [], RaceSettings())["gaps"] == {"a": {"Sieve": 1.0}}

    def test_those_that_stopped_before_are_left_out(self):
        rows = played("a", Sieve=0.2, VowpalWabbit=0.1) + played("a", 2, Exp4=0.1)
        found = summary(rows, [], self.SETTINGS)
        assert found["gaps"] == {"a": {"Sieve": pytest.approx(0.2)}}
        assert (found["gap"], found["gap_mean"], found["gap_means"]) == ({}, None, {})

    def test_no_suboptimality_at_all(self):
        """Counts as a ten-thousandth, so nothing by nothing is one."""
        rows = played("a", Sieve=0.0, Uniform=0.0) + played("b", Sieve=0.0, Uniform=0.001)
        found = summary(rows, [], self.SETTINGS)
        assert found["gaps"]["a"] == {"Sieve": 0.0, "Uniform": 0.0}
        assert found["gap"]["a"]["ratio"] == 1.0
        assert found["gap"]["b"]["ratio"] == pytest.approx(0.1)
        rows = played("a", Sieve=0.001, Uniform=0.0)
        assert summary(rows, [], self.SETTINGS)["gap"]["a"]["ratio"] == pytest.approx(10)

    def test_without_the_sieve(self):
        found = summary(played("a", Uniform=0.1), [], self.SETTINGS)
        assert found["gaps"] == {"a": {"Uniform": pytest.approx(0.1)}}
        assert (found["gap"], found["gap_mean"], found["gap_means"]) == (
            {},
            None,
            {"Uniform": None},
        )
