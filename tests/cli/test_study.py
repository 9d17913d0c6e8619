"""Studies as commands and files."""

import gzip
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
    (line,) = learnt.output.splitlines()  # one each time, for programs that read lines
    assert json.loads(line)["learnt"] == 0  # the first five are open
    for name, code in (("show", 0), ("learn", 0), ("export", 1)):
        more = {"learn": ["--once"], "export": [folder / "none.csv"]}.get(name, [])
        said = " ".join(command(shop, name, *more, exit_code=code).output.split())
        assert "55 settled rounds wait behind 5 open ones" in said
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


def ids_of(shop, count=4):
    """Decisions with ids of ours: a, b, ..."""
    names = [chr(ord("a") + k) for k in range(count)]
    csv.write_csv(pa.table({"id": names, "context": range(count)}), shop[0] / "users.csv")
    command(shop, "ask", "--contexts", shop[0] / "users.csv", "--json")
    return names


def test_what_was_decided_is_found_again_by_ids_and_by_files_of_ids(shop):
    folder = shop[0]
    names = ids_of(shop)
    (folder / "ids.txt").write_text("c\n\n  b \n")
    csv.write_csv(pa.table({"id": ["d"]}), folder / "ids.csv")
    files = ("--ids", folder / "ids.txt", "--ids", folder / "ids.csv")
    found = json.loads(command(shop, "decisions", "c", *files, "--json").output)
    assert [one["id"] for one in found] == ["c", "b", "d"]
    assert "4 decisions" in command(shop, "decisions", "--open").output
    command(shop, "decisions", *names, "--out", folder / "again.csv")
    again = csv.read_csv(folder / "again.csv")
    assert again["id"].to_pylist() == names
    assert again["context"].to_pylist() == [0, 1, 2, 3]
    told = again.select(["id"]).append_column("reward", [[1, 0, 1, 0]])
    csv.write_csv(told, folder / "rewards.csv")
    command(shop, "tell", folder / "rewards.csv")
    assert "No decisions are open" in command(shop, "decisions", "--open").output
    assert json.loads(command(shop, "decisions", "--open", "--json").output) == []
    written = command(shop, "decisions", "--open", "--out", folder / "none.csv", "--json")
    assert json.loads(written.output) == {"rounds": 0, "out": None}
    assert not (folder / "none.csv").exists()


def test_long_tables_of_decisions_end(shop):
    command(shop, "ask", "--contexts", shop[0] / "contexts.npy", "--json")
    said = command(shop, "decisions", "--open").output
    assert "60 decisions" in said
    assert "and 40 more" in said
    assert (
        json.loads(command(shop, "decisions", "--open", "--older-than", "1h", "--json").output)
        == []
    )
    assert "waited so long" in command(shop, "decisions", "--open", "--older-than", "1h").output


def test_decisions_expire_and_are_given_up(shop):
    ids_of(shop)
    given_up = command(shop, "discard", "b", "--reason", "never shown", "--json")
    assert json.loads(given_up.output) == {"discarded": ["b"]}
    assert "0 decisions expired." in command(shop, "expire").output  # none is two hours old
    expired = command(shop, "expire", "--older-than", "0s", "--json")
    assert json.loads(expired.output) == {"expired": ["a", "c", "d"]}
    found = json.loads(command(shop, "show", "--json").output)
    assert (found["expired"], found["discarded"], found["learnt"]) == (3, 1, 4)
    again = command(shop, "discard", "b", "--reason", "never shown", exit_code=1)
    assert "'b' was given up before" in again.output
    ids_of_more = pa.table({"id": ["e"], "context": [1]})
    csv.write_csv(ids_of_more, shop[0] / "more.csv")
    command(shop, "ask", "--contexts", shop[0] / "more.csv", "--json")
    said = command(shop, "discard", "e", "--reason", "lost", "--no-learn")
    assert "1 decisions were given up: e." in said.output
    assert "1 decisions expired" not in command(shop, "expire", "--older-than", "1d").output


def test_contexts_are_forgotten(shop):
    folder, url, _, _ = shop
    np.savez(folder / "weights.npz", weights=np.random.default_rng(0).normal(size=(5, 3, 2)))
    where = (url, "people", "--policies", folder / "weights.npz")
    run("create", *where, "--epsilon", 0.1, "--delta", 0.05, "--seed", 0)
    table = {"id": ["u", "v", "w"], "x0": [0.1, 0.2, 0.3], "x1": [1.0, 2.0, 3.0]}
    csv.write_csv(pa.table(table), folder / "people.csv")
    run("ask", *where, "--contexts", folder / "people.csv", "--json")
    assert "1 decisions are erased: v" in run("forget", *where, "v").output
    forgotten = json.loads(run("forget", *where, "w", "--json").output)
    assert forgotten == {"forgotten": ["w"]}
    assert json.loads(run("show", *where, "--json").output)["forgotten"] == 2
    some = run("decisions", *where, "u", "v", "--out", folder / "some.csv", exit_code=1)
    assert "erased" in some.output
    assert len(json.loads(run("decisions", *where, "u", "v", "--json").output)) == 2
    assert "cannot be erased" in command(shop, "forget", *ids_of(shop, 1), exit_code=1).output


def test_commands_about_decisions_say_what_they_need(shop):
    ids_of(shop, 1)
    csv.write_csv(pa.table({"order": ["a"]}), shop[0] / "odd.csv")
    for arguments, code, what in (
        (("decisions",), 2, "either IDS or --open"),
        (("decisions", "a", "--open"), 2, "either IDS or --open"),
        (("decisions", "a", "--older-than", "1h"), 2, "--older-than needs --open"),
        (("decisions", "nobody"), 1, "'nobody'"),
        (("decisions", "--ids", shop[0] / "odd.csv"), 1, "column id, got the columns order"),
        (("discard", "--reason", "lost"), 2, "IDS or --ids FILE"),
        (("discard", "a"), 2, "--reason"),
        (("discard", "a", "--reason", " "), 1, "reason must be a text"),
        (("forget",), 2, "IDS or --ids FILE"),
        (("expire", "--older-than", "soon"), 1, "older_than must be a duration"),
    ):
        assert what in command(shop, *arguments, exit_code=code).output
    assert json.loads(command(shop, "show", "--json").output)["open"] == 1


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_ids_of_contexts_are_used_whatever_the_map_says(shop, ending):
    folder = shop[0]
    table = pa.table({"id": ["007", "b"], "row": [3, 4]})
    write_any(table, folder / f"users.{ending}")
    contexts = ("--contexts", folder / f"users.{ending}", "--map", "context=row")
    found = json.loads(command(shop, "ask", *contexts, "--json").output)
    assert [one["id"] for one in found] == ["007", "b"]
    write_any(pa.table({"row": [3, 4]}), folder / f"nobody.{ending}")
    contexts = ("--contexts", folder / f"nobody.{ending}", "--map", "context=row")
    (one, _) = json.loads(command(shop, "ask", *contexts, "--json").output)
    assert one["id"].endswith("-2")
    write_any(pa.table({"id": ["c"], "row": [3]}), folder / f"more.{ending}")
    both = ("--contexts", folder / f"more.{ending}", *contexts)
    mixed = command(shop, "ask", *both, "--json", exit_code=1)
    assert "has no column 'id', which other files" in mixed.output
    write_any(pa.table({"id": [5, 6]}), folder / f"rows.{ending}")
    contexts = ("--contexts", folder / f"rows.{ending}", "--map", "context=id")
    (one, _) = json.loads(command(shop, "ask", *contexts, "--json").output)
    assert one["id"].endswith("-4")  # the column holds contexts
    (folder / "rewards.csv").write_text("id,reward\n007,1\nb,0\n")
    assert (
        json.loads(command(shop, "tell", folder / "rewards.csv", "--json").output)["counted"] == 2
    )


def write_any(table, path):
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".csv":
        csv.write_csv(table, path)
    else:
        path.write_text("\n".join(map(json.dumps, table.to_pylist())))


def test_a_file_that_has_no_rewards_is_named_with_what_it_has(shop):
    folder = shop[0]
    ids_of(shop, 1)
    csv.write_csv(pa.table({"order": ["a"], "click": [1]}), folder / "odd.csv")
    said = command(shop, "tell", folder / "odd.csv", exit_code=1).output
    assert "must have the columns id, reward, or be a log with ids" in said
    assert "got the columns order, click" in said
    csv.write_csv(pa.table({"id": ["a"], "reward": ["much"]}), folder / "words.csv")
    assert (
        "rewards must be numbers" in command(shop, "tell", folder / "words.csv", exit_code=1).output
    )
    (folder / "rewards.json").write_text('[{"id": "a", "reward": 1}]')
    said = command(shop, "tell", folder / "rewards.json", exit_code=1).output
    assert "whose name ends in .csv, .parquet or .jsonl" in said
    (folder / "rewards.csv.gz").write_bytes(gzip.compress(b"id,reward\na,1\n"))
    assert "1 rewards counted" in command(shop, "tell", folder / "rewards.csv.gz").output


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
