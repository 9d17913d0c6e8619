"""Forecasts measured: what is played, what is kept, and how they are judged."""

import json
from functools import partial

import pytest
from click.testing import CliRunner

import policysieve as ps
from policysieve.bench.forecast import measuring
from policysieve.bench.forecast.made_up import FIRST_SEED, made_up_task
from policysieve.bench.forecast.measuring import (
    SHARES,
    ForecastSettings,
    forecasts_of,
    measure_forecasts,
    summaries,
)
from policysieve.bench.rounds import Task
from policysieve.cli import main
from policysieve.errors import DatasetUnavailableError
from policysieve.policies import PolicyTable
from tests.bench.results import FORECASTS


def _made(seed):
    world = ps.worlds.SparseSynthetic(
        n_actions=5, n_contexts=50, n_policies=8, profile="close", rng=seed
    )
    return world, PolicyTable(world.pool, n_actions=5)


def _missing(_seed):
    raise DatasetUnavailableError("not here")


EASY = Task("easy", "a few policies", _made, epsilon=0.1)


@pytest.mark.parametrize("learner", measuring.LEARNERS)
def test_what_was_said_before_each_share(learner):
    run = forecasts_of(EASY, learner, 0, 5000)
    assert run["seed"] == 0
    assert 200 < run["needed"] < 5000
    for share, said in zip(SHARES, run["forecasts"], strict=True):
        if said is not None:
            assert 0.9 * share * run["needed"] < said["rounds"] <= share * run["needed"]
            assert said["rounds"] < said["lower"] <= said["total"] <= said["upper"]
    assert run["forecasts"][-1] is not None


def test_a_run_that_is_given_up_judges_nothing():
    assert forecasts_of(EASY, "Sieve", 0, 120) == {
        "seed": 0,
        "needed": None,
        "forecasts": [None] * len(SHARES),
    }


def test_how_good_forecasts_were():
    found = {(row["set"], row["share"]): row for row in summaries(FORECASTS)}
    assert set(found) == {("judged", s) for s in SHARES} | {("chose", s) for s in SHARES[1:]}
    tenth, quarter, half = (found["judged", share] for share in SHARES[:3])
    assert (tenth["runs"], tenth["given_up"], tenth["forecasts"]) == (3, 1, 1)
    assert (tenth["earlier"], tenth["held"], tenth["later"]) == (1, 0, 0)
    assert (quarter["earlier"], quarter["held"], quarter["later"]) == (0, 1, 1)
    assert quarter["error"] == pytest.approx(2.5**0.5)
    assert (half["held"], half["width"]) == (2, 4.0)


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + 8))
def test_made_up_tasks_are_the_same_for_a_seed(seed):
    task, again = made_up_task(seed), made_up_task(seed)
    (world, policies), (other, _) = task.build(seed), again.build(seed)
    assert (task.name, task.summary, task.epsilon) == (again.name, again.summary, again.epsilon)
    assert (world.pool == other.pool).all()
    assert policies.n_actions == world.n_actions
    assert 0 < task.epsilon < world.problem(epsilon=0.1, delta=0.1).reward_cap


def test_what_is_measured(tmp_path):
    tasks = {"easy": EASY, "data": Task("data", "", partial(_missing), fixed=True)}
    settings = ForecastSettings(seeds=1, made_up=1, most=300)
    result = measure_forecasts(tasks, settings=settings, folder=tmp_path)
    again = measure_forecasts(tasks, settings=settings, folder=tmp_path)
    assert json.loads(json.dumps(result)) == json.loads(json.dumps(again))
    assert result["skipped"] == {"data": "not here"}
    assert [(row["set"], row["task"], row["learner"]) for row in result["rows"]] == [
        ("chose", f"made_up_{FIRST_SEED}", "Sieve"),
        ("chose", f"made_up_{FIRST_SEED}", "PolicyElimination"),
        ("judged", "easy", "Sieve"),
        ("judged", "easy", "PolicyElimination"),
    ]
    assert result["summary"] == summaries(result["rows"])


def test_the_command_refuses_unknown_tasks():
    found = CliRunner().invoke(main, ["bench", "forecast", "--tasks", "nothing"])
    assert found.exit_code != 0
    assert "tasks must be among" in found.output
