"""Users who come back, on the command line."""

import json

import numpy as np
import pytest

import policysieve as ps
from tests.cli.test_cli import invoke


@pytest.fixture
def case(tmp_path):
    """A log of six hundred rounds of two hundred users as a table of others, and two policies."""
    rng = np.random.default_rng(0)
    lines = ["page,item,p,hit,user,bought"]
    for i in range(600):
        cells = [rng.integers(0, 3), rng.integers(0, 2), 0.5, rng.integers(0, 2), f"u{i // 3}"]
        lines.append(",".join(map(str, [*cells, round(rng.random(), 3)])))
    (tmp_path / "web.csv").write_text("\n".join(lines) + "\n")
    np.save(tmp_path / "table.npy", np.array([[0, 1]] * 3))
    columns = "context=page,action=item,propensity=p,reward=hit,unit=user,outcome.sale=bought"
    return tmp_path, columns


def selected(folder, *arguments):
    result = invoke(
        "select",
        *(folder / "web.csv", "--policies", folder / "table.npy", "--actions", 2),
        *("--epsilon", 0.2, "--delta", 0.1, "--floor", 0.5),
        *arguments,
    )
    assert result.exit_code == 0, result.output
    return result.output


def test_select_counts_first_rounds(case):
    folder, columns = case
    found = json.loads(selected(folder, "--map", columns, "--json"))
    assert (found["certificate"]["rounds"], found["returning"]) == (200, 400)
    said = " ".join(selected(folder, "--map", columns).split())
    assert "200 rounds count" in said
    assert "after 600 logged rounds, of which 200 count" in said


def test_select_counts_all_rounds_without_units(case):
    folder, columns = case
    found = json.loads(selected(folder, "--map", columns.replace(",unit=user", ""), "--json"))
    assert found["certificate"]["rounds"] == 600
    assert "returning" not in found


def test_check_says_who_comes_back(case):
    folder, columns = case
    result = invoke("check", folder / "web.csv", "--map", columns, "--json")
    (finding,) = [one for one in json.loads(result.output)["findings"] if one["name"] == "units"]
    assert (finding["verdict"], finding["numbers"]["returning"]) == ("warning", 400)


def test_convert_keeps_them(case):
    folder, columns = case
    assert (
        invoke("convert", folder / "web.csv", folder / "a.jsonl", "--map", columns).exit_code == 0
    )
    log = ps.Log.load(folder / "a.jsonl")
    assert log.units[:4].tolist() == ["u0", "u0", "u0", "u1"]
    assert list(log.outcomes) == ["sale"]


def decided(folder, contexts, *arguments):
    policies = ps.PolicyTable(np.array([[0, 1]] * 3), n_actions=2)
    problem = ps.Problem(n_actions=2, epsilon=0.2, delta=0.1)
    ps.Uniform(policies, problem, rounds=10).exploration.save(folder / "design.npz")
    return invoke(
        "decide",
        *(folder / "design.npz", "--policies", folder / "table.npy", "--contexts", contexts),
        *("--out", folder / "decided.parquet", "--seed", 0, *arguments),
    )


def test_decide_keeps_units(case):
    folder, columns = case
    result = decided(folder, folder / "web.csv", "--map", columns)
    assert result.exit_code == 0, result.output
    (rounds,) = ps.LogFile(folder / "decided.parquet").rounds()
    assert rounds.beside.units[:4].tolist() == ["u0", "u0", "u0", "u1"]
    assert not rounds.beside.outcomes
