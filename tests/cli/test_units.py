"""Commands about rewards in a range, and about costs."""

import json

import numpy as np
import pytest

import policysieve as ps
from policysieve.formats import convert
from tests.cli.test_cli import invoke

K, X, N = 4, 5, 1_200
TABLE = np.random.default_rng(1).integers(0, K, (X, 6))
ASKED = ("--policies", "table.npy", "--actions", K, "--epsilon", 3, "--delta", 0.1)


@pytest.fixture
def log(tmp_path, monkeypatch):
    """Of costs, as Parquet, which knows their range, and as CSV, which does not."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    x, a = rng.integers(0, X, N), rng.integers(0, K, N)
    log = ps.Log(
        contexts=x,
        actions=a,
        propensities=np.full(N, 1 / K),
        rewards=10 + 5 * ((a + x) % K) + rng.uniform(0, 5, N),
        reward_range=(10, 30),
    )
    log.save("log.parquet")
    convert(log, "log.csv")
    ps.PolicyTable(TABLE, n_actions=K).save("table.npy")
    return log


def test_select_reports_in_the_units_of_the_log(log):
    policies = ps.PolicyTable(TABLE, n_actions=K)
    for minimize in (False, True):
        problem = ps.Problem(
            n_actions=K,
            epsilon=3,
            delta=0.1,
            reward_range=(10, 30),
            objective="minimize" if minimize else "maximize",
        )
        wanted = ps.select(log, policies, problem, floor=0.25)
        options = (*ASKED, "--floor", 0.25, *(("--minimize",) if minimize else ()))
        for files in (("log.parquet",), ("log.csv", "--reward-range", 10, 30)):
            result = invoke("select", *files, *options, "--json")
            assert result.exit_code == 0, result.output
            assert json.loads(result.stdout) == json.loads(json.dumps(wanted.to_dict()))
        said = invoke("select", "log.parquet", *options).output
        assert ("costs less than" in said) is minimize
    without = invoke("select", "log.csv", *ASKED, "--floor", 0.25)
    assert without.exit_code == 1
    assert "--reward-range LOW HIGH" in without.output


def test_a_report_speaks_of_costs(log, tmp_path):
    options = ("--floor", 0.25, "--minimize", "--report", "page.html")
    assert invoke("select", "log.parquet", *ASKED, *options).exit_code == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "policies with the lowest estimates" in page
    assert "[10, 30]" in page
    assert "minimize" in page


def test_check_takes_the_range(log):
    known = json.loads(invoke("check", "log.parquet", "--json").stdout)
    told = invoke("check", "log.csv", "--reward-range", 10, 30, "--json")
    assert json.loads(told.stdout) == known
    assert invoke("check", "log.csv").exit_code == 1


def test_a_design_and_its_decisions_keep_the_range(log):
    options = ("--minimize", "--out", "design.npz")
    made = invoke("design", "log.csv", "--reward-range", 10, 30, *ASKED, *options)
    assert made.exit_code == 0, made.output
    assert "within 3 of the best" in made.output
    design = ps.Exploration.load("design.npz", ps.PolicyTable(TABLE, n_actions=K))
    assert (design.problem.reward_range, design.problem.objective) == ((10.0, 30.0), "minimize")
    np.save("contexts.npy", np.arange(X))
    decided = invoke(
        "decide", "design.npz", "--policies", "table.npy", "--contexts", "contexts.npy",
        "--out", "decisions.parquet",
    )  # fmt: skip
    assert decided.exit_code == 0, decided.output
    assert ps.LogFile("decisions.parquet").reward_range == (10.0, 30.0)


def test_convert_keeps_rewards_and_their_range(log):
    options = ("--reward-range", 10, 30)
    assert invoke("convert", "log.csv", "again.parquet", *options).exit_code == 0
    assert ps.Log.load("again.parquet") == log
    said = invoke("convert", "log.parquet", "again.jsonl").output
    assert "the range of the rewards" in said


def test_plan_takes_the_range():
    asked = ("plan", "--actions", 20, "--n-policies", 50, "--delta", 0.05, "--json")
    mine = invoke(*asked, "--epsilon", 25, "--reward-range", -100, 400, "--minimize")
    twin = invoke(*asked, "--epsilon", 0.05, "--sparsity", "unknown")
    first, second = (json.loads(one.stdout) for one in (mine, twin))
    assert first["problem"]["epsilon"] == 25
    for key in ("total_rounds", "uniform_rounds", "lower_bound_rounds", "mixing"):
        assert first[key] == second[key]
    refused = invoke(*asked, "--epsilon", 25, "--reward-range", -100, 400, "--sparsity", 5)
    assert refused.exit_code == 1
    assert "a sum of shifted rewards does not say" in refused.output
