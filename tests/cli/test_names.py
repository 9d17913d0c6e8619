"""Names of policies and actions on the command line."""

import json

import numpy as np
import pytest

import policysieve as ps
from tests.cli.test_cli import invoke

ACTIONS = ("shoes", "hats", "bags")
NAMES = ("old", "new", "wild model")
TABLE = np.array([[0, 1, 2], [1, 1, 0], [2, 0, 1], [0, 2, 2]])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("names")
    policies = ps.PolicyTable(TABLE, 3)
    policies.save(folder / "table.npy")
    np.savez(folder / "weights.npz", weights=np.arange(6.0).reshape(2, 3, 1))
    problem = ps.Problem(n_actions=3, epsilon=0.3, delta=0.1)
    learner = ps.Uniform(policies, problem, rounds=600, rng=0)
    contexts = np.random.default_rng(0).integers(0, 4, 600)
    decisions = learner.ask(contexts)
    learner.tell(decisions, decisions.actions[:, 0] == TABLE[contexts, 1])
    learner.log.save(folder / "log.parquet")
    (folder / "actions.txt").write_text("shoes\nhats\n\nbags\n", encoding="utf-8")
    (folder / "names.txt").write_text("\n".join(NAMES), encoding="utf-8")
    return folder


def asked(folder, command, *arguments, policies="table.npy", actions="shoes, hats, bags"):
    return invoke(
        command,
        folder / "log.parquet",
        "--policies",
        folder / policies,
        "--actions",
        actions,
        "--epsilon",
        0.3,
        "--delta",
        0.1,
        *arguments,
    )


@pytest.mark.parametrize("names", ["old,new,wild model", "names.txt"])
@pytest.mark.parametrize("actions", ["shoes,hats, bags", "actions.txt", "3"])
def test_select_says_the_name(folder, names, actions, monkeypatch):
    monkeypatch.chdir(folder)
    result = asked(folder, "select", "--floor", 1 / 3, "--names", names, "--json", actions=actions)
    assert result.exit_code == 0, result.output
    data = json.loads(result.output)
    assert (data["policy"], data["policy_name"]) == (1, "new")


def test_the_table_and_the_report_of_select_have_names(folder, tmp_path):
    result = asked(
        folder,
        "select",
        "--floor",
        1 / 3,
        "--names",
        folder / "names.txt",
        "--report",
        tmp_path / "report.html",
    )
    assert result.exit_code == 0, result.output
    assert "wild model" in result.output
    assert "no policy is better than new" in result.output
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<h1>The log selects new</h1>" in page
    assert page.count("wild model") >= 2  # in the figure and in the table


def test_design_and_decide_keep_names(folder, tmp_path):
    made = asked(
        folder, "design", "--names", folder / "names.txt", "--out", tmp_path / "design.npz"
    )
    assert made.exit_code == 0, made.output
    policies = ps.PolicyTable(TABLE, names=NAMES, actions=ACTIONS)
    design = ps.Exploration.load(tmp_path / "design.npz", policies)
    assert design.problem.actions == ACTIONS
    np.save(tmp_path / "contexts.npy", np.arange(4))
    decided = invoke(
        "decide",
        tmp_path / "design.npz",
        "--policies",
        folder / "table.npy",
        "--contexts",
        tmp_path / "contexts.npy",
        "--out",
        tmp_path / "decisions.csv",
    )
    assert decided.exit_code == 0, decided.output


@pytest.mark.parametrize(
    ("arguments", "actions", "words"),
    [
        ([], "nowhere.txt", "neither a list of names with commas, nor a file"),
        ([], "0", "0 is not in the range x>=1"),
        ([], "-3", "-3 is not in the range x>=1"),
        ([], "shoes,hats,shoes", "must be different"),
        ([], "shoes,hats", "got 2 for policy 2"),
        (["--names", "old,new"], "3", "names must name each of the 3 policies, got 2"),
        (["--names", "old"], "3", "neither a list of names"),
        (["--names", "table.npy"], "3", "is not text in UTF-8"),
    ],
)
def test_bad_names_are_explained(folder, arguments, actions, words, monkeypatch):
    monkeypatch.chdir(folder)
    result = asked(folder, "select", *arguments, actions=actions)
    assert result.exit_code != 0
    assert words in " ".join(result.output.replace("│", " ").split())


def test_policies_from_python_have_their_own_names(folder, tmp_path, monkeypatch):
    (tmp_path / "named_candidates.py").write_text(
        "import policysieve as ps\n"
        f"table = {TABLE.tolist()}\n"
        f"policies = ps.PolicyTable(table, names={list(NAMES)}, actions={list(ACTIONS)})\n"
        "bare = ps.PolicyTable(table, 3)\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    options = ["--epsilon", 0.3, "--delta", 0.1, "--floor", 1 / 3, "--json"]
    log = folder / "log.parquet"
    found = invoke("select", log, "--policies", "named_candidates:policies", *options)
    assert json.loads(found.output)["policy_name"] == "new"
    bare = ["select", log, "--policies", "named_candidates:bare", *options]
    refused = invoke(*bare, "--names", "old,new,wild")
    assert "--names must be left out with named_candidates:bare" in refused.output
    assert invoke(*bare, "--actions", "shoes,hats,bags").exit_code == 0
    short = invoke(*bare, "--actions", "shoes,hats")
    assert "--actions must be the 3 of the policies, got 2" in short.output


def test_run_shows_names_of_a_table(folder, tmp_path):
    (tmp_path / "run.toml").write_text(
        "[world]\nkind = 'SparseSynthetic'\nn_actions = 3\nn_contexts = 4\nn_policies = 5\n"
        "profile = 'one_good'\n"
        f"[policies]\nkind = 'table'\nfile = '{(folder / 'table.npy').as_posix()}'\n"
        f"names = {list(NAMES)}\n"
        "[problem]\nepsilon = 0.3\ndelta = 0.1\n[[learner]]\nkind = 'Sieve'\n"
        "[run]\nrounds = 200\nseeds = 1\n",
        encoding="utf-8",
    )
    result = invoke("run", tmp_path / "run.toml", "--folder", tmp_path / "out")
    assert result.exit_code == 0, result.output
    data = json.loads((tmp_path / "out" / "result.json").read_text(encoding="utf-8"))
    best = data["learners"][0]["recommendation"]["policy_name"]
    assert best in NAMES
    assert f"Sieve, seed 0: {best}." in result.output
    assert data["learners"][0]["leaders"][0]["name"] in NAMES
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert f"Sieve recommends {best}" in page
