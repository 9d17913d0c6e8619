"""The race in tables."""

from policysieve.bench.race.measuring import RaceSettings, summary
from policysieve.bench.race.page import tables
from policysieve.report.formats import Beyond
from tests.bench.results import BENCHES, picked

SETTINGS = RaceSettings(most=1000, most_to_prove=9000)


def result(picking=(), **parts):
    return {
        "settings": SETTINGS._asdict(),
        "picking": list(picking),
        "proving": [],
        "summary": summary(list(picking), [], SETTINGS),
        **parts,
    }


def test_tables_without_rows_are_left_out():
    assert tables(result()) == {}
    assert set(tables(BENCHES["samples"])) == {"right", "best", "certified", "means"}


def test_what_was_given_up_or_not_run():
    """Beyond the last budget, or beyond the most; nothing where it was not measured."""
    rows = [picked("a", "Sieve", None), picked("a", "Exp4", 345.6), picked("b", "Sieve", 7.0)]
    del rows[0]["budgets"]
    shown = tables(result(rows))
    assert shown["right"].columns == ["task", "Sieve", "Exp4"]
    assert shown["right"].rows == [["a", 1000.0, 346], ["b", 7, None]]
    assert isinstance(shown["right"].rows[0][1], Beyond)
    assert shown["right"].texts[0] == ("a", ">1,000", "346")
    assert shown["best"].rows == [["a", "Exp4", None]]
    assert shown["best"].note == "Above 1 the Sieve loses."
    rows[0] |= {"budgets": [20, 45]}
    assert tables(result(rows))["right"].texts[0] == ("a", ">45", "346")


def test_certificates_and_the_plan():
    table = tables(BENCHES["samples"])["certified"]
    assert table.columns == ["task", "Uniform", "Sieve", "plan"]
    assert table.texts == [("one", ">9,000", "4,000", "7,000")]


def test_means_of_ratios():
    """A learner that only races to be right has none to prove it, and the plan only that."""
    means = {"right_means": {"Exp4": 0.5, "Uniform": None}, "right_mean": 0.25, "right": {}}
    shown = tables(
        result(summary={**means, "proved_mean": {"Uniform": 0.5, "plan": 0.00123}}),
    )
    assert shown["means"].rows == [
        ["Exp4", 0.5, None],
        ["Uniform", None, 0.5],
        ["plan", None, 0.00123],
    ]
    assert shown["means"].texts[2][2] == "0.0012"  # not rounded to nothing
