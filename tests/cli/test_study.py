"""Studies as commands and files."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import policysieve as ps
from tests.cli.test_cli import invoke


@pytest.fixture
def shop(tmp_path, monkeypatch):
    monkeypatch.setattr("policysieve.study.storage._SYNCHRONOUS", "OFF")
    table = np.random.default_rng(0).integers(4, size=(20, 6))
    np.save(tmp_path / "table.npy", table)
    url = f"sqlite:///{tmp_path / 'shop.db'}"
    where = (url, "homepage", "--policies", tmp_path / "table.npy")
    made = invoke(
        "study", "create", *where, "--actions", 4, "--epsilon", 0.1, "--delta", 0.05,
        "--seed", 0, "--deadline", "2h", "--set", "goal=best", "--set", "rounds=500", "--json",
    )  # fmt: skip
    assert json.loads(made.output)["rounds"] == 0
    np.save(tmp_path / "contexts.npy", np.arange(20).repeat(3))
    return tmp_path, url, where, table


def run(*arguments, exit_code=0):
    done = invoke("study", *arguments)
    assert done.exit_code == exit_code, done.output
    return done


def command(shop, name, *arguments, exit_code=0):
    return run(name, *shop[2], *arguments, exit_code=exit_code)


def answered(shop, path, policy=2):
    """A log of decisions with the rewards that policy would earn."""
    log = pq.read_table(path)
    right = shop[3][np.array(log["context"]), policy]
    shown = np.array(log["actions"].to_pylist())[:, 0]
    return log["id"], (shown == right).astype(float)


def test_a_study_from_the_first_decision_to_the_archive(shop):
    folder, url, _, _ = shop
    contexts = ("--contexts", folder / "contexts.npy")
    command(shop, "ask", *contexts, "--out", folder / "first.parquet")
    ids, rewards = answered(shop, folder / "first.parquet")
    csv.write_csv(pa.table({"id": ids, "reward": rewards}), folder / "rewards.csv")
    told = command(shop, "tell", folder / "rewards.csv", "--json")
    assert json.loads(told.output) == {"counted": 60, "again": 0, "late": [], "missing": 0}
    again = command(shop, "tell", folder / "rewards.csv", "--json")
    assert json.loads(again.output)["again"] == 60
    listed = json.loads(run("list", url, "--json").output)
    assert [(one["name"], one["rounds"], one["settled"]) for one in listed] == [
        ("homepage", 60, 60)
    ]
    shown = json.loads(command(shop, "show", "--json").output)
    assert shown["learnt"] == 60
    assert shown["recommendation"]["policy"] == 2
    assert "Recommended: policy 2" in command(shop, "show").output
    command(shop, "report", folder / "page.html")
    assert "homepage recommends policy 2" in (folder / "page.html").read_text()
    written = command(shop, "export", folder / "log.parquet", "--json")
    assert json.loads(written.output)["rounds"] == 60
    assert ps.LogFile(folder / "log.parquet").whole()[0].rewards.sum() == rewards.sum()
    assert json.loads(command(shop, "verify", "--json").output)["holds"]
    assert "is archived" in command(shop, "archive").output
    refused = command(shop, "ask", *contexts, "--json", exit_code=1)
    assert "archived" in refused.output
    assert "homepage" in run("list", url).output


def test_a_log_whose_rewards_were_filled_in_is_told_and_a_worker_learns(shop):
    folder = shop[0]
    command(shop, "ask", "--contexts", folder / "contexts.npy", "--out", folder / "d.parquet")
    log = pq.read_table(folder / "d.parquet")
    _, rewards = answered(shop, folder / "d.parquet")
    filled = [None if row < 5 else [value] for row, value in enumerate(rewards)]
    column = pa.array(filled, log.schema.field("rewards").type)
    at = log.schema.get_field_index("rewards")
    pq.write_table(log.set_column(at, "rewards", column), folder / "filled.parquet")
    told = command(shop, "tell", folder / "filled.parquet", "--no-learn", "--json")
    assert json.loads(told.output) == {"counted": 55, "again": 0, "late": [], "missing": 5}
    learnt = command(shop, "learn", "--once", "--json")
    assert json.loads(learnt.output)["learnt"] == 0  # the first five are open
    lines = [{"id": id, "reward": 1.0} for id in log["id"].to_pylist()[:5]]
    (folder / "late.jsonl").write_text("\n".join(map(json.dumps, lines)))
    command(shop, "tell", folder / "late.jsonl", "--no-learn")
    assert "60 rounds" in command(shop, "learn", "--once").output


def test_decisions_are_printed_with_the_ids_of_the_contexts(shop):
    folder = shop[0]
    csv.write_csv(pa.table({"id": ["a", "b"], "context": [3, 4]}), folder / "contexts.csv")
    contexts = ("--contexts", folder / "contexts.csv")
    found = json.loads(command(shop, "ask", *contexts, "--json").output)
    assert [one["id"] for one in found] == ["a", "b"]
    assert all(0 < one["propensities"][0] <= 1 for one in found)
    assert "'a'" in command(shop, "ask", *contexts, "--json", exit_code=1).output


def test_mistakes_are_named(shop):
    folder, url, _, _ = shop
    assert "no studies" in run("list", url + "x", exit_code=1).output
    missing = command(shop, "ask", "--contexts", folder / "contexts.npy", exit_code=2)
    assert "--out or --json" in missing.output
    csv.write_csv(pa.table({"id": ["nobody"], "reward": [1.0]}), folder / "wrong.csv")
    assert "'nobody'" in command(shop, "tell", folder / "wrong.csv", exit_code=1).output
    np.save(folder / "table.npy", np.zeros((20, 6), int))
    assert "numbers that they are made of" in command(shop, "show", exit_code=1).output


def test_costs_on_a_share_of_the_traffic_where_not_everything_is_available(shop):
    folder, url, _, _ = shop
    where = (url, "costs", "--policies", folder / "table.npy")
    run(
        "create", *where, "--actions", 4, "--fallback", "3,2,1,0", "--epsilon", 2, "--delta", 0.05,
        "--reward-range", 0, 9, "--minimize", "--no-answer", 9, "--against", 1, "--traffic", 0.5,
        "--deadline", "2h", "--seed", 0,
    )  # fmt: skip
    stock = [[k % 4, (k + 1) % 4] for k in range(20)]
    lines = [json.dumps({"context": k, "available": stock[k]}) for k in range(20)]
    (folder / "users.jsonl").write_text("\n".join(lines))
    run("ask", *where, "--contexts", folder / "users.jsonl", "--out", folder / "asked.parquet")
    asked = next(iter(ps.LogFile(folder / "asked.parquet").rounds()))
    assert asked.reward_range == (0, 9)
    assert all(action in some for (action,), some in zip(asked.actions, stock, strict=True))
    rewards = pa.table({"id": asked.ids.tolist(), "reward": np.arange(20) % 10})
    csv.write_csv(rewards, folder / "costs.csv")
    assert json.loads(run("tell", *where, folder / "costs.csv", "--json").output)["counted"] == 20
    found = json.loads(run("show", *where, "--json").output)
    assert (found["problem"]["traffic"], found["problem"]["no_answer"]) == (0.5, 9)
    assert found["cost"]["earned"] == pytest.approx(90)
    assert json.loads(run("verify", *where, "--json").output)["holds"]


def test_who_came_is_not_kept(shop):
    (shop[0] / "users.jsonl").write_text('{"context": 1, "unit": "ann"}')
    said = command(shop, "ask", "--contexts", shop[0] / "users.jsonl", "--json", exit_code=1)
    assert "must not name units" in said.output


def test_the_same_command_may_create_a_study_each_time_a_machine_starts(shop):
    folder, _, (url, name, *policies), table = shop
    wanted = ("--actions", 4, "--epsilon", 0.1, "--delta", 0.05)
    command(shop, "ask", "--contexts", folder / "contexts.npy", "--out", folder / "first.parquet")
    assert "there is a study" in run("create", *shop[2], *wanted, exit_code=1).output
    left = run("create", *shop[2], *wanted, "--if-missing", "--json")
    assert json.loads(left.output)["rounds"] == 60
    made = run("create", f"{url}2", name, *policies, *wanted, "--if-missing", "--json")
    assert json.loads(made.output)["rounds"] == 0
    np.save(folder / "table.npy", table[:, ::-1])
    refused = run("create", *shop[2], *wanted, "--if-missing", exit_code=1)
    assert "policies must be" in refused.output
