"""A web team's log goes through all commands as it is."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import policysieve as ps
from policysieve.cli import main

MAP = "context=age+country+device,action=item,propensity=prob,reward=clicked,id=request_id,time=ts"
ITEMS = ("scarf, red", "shoes", "hats")
MODULE = """
import policysieve as ps

ITEMS = ("scarf, red", "shoes", "hats")


def young(rows):
    return ["shoes" if age < 40 else "hats" for age in rows["age"].fillna(99)]


def german(rows):
    return ["hats" if country == "DE" else "scarf, red" for country in rows["country"]]


def phones(rows):
    return (rows["device"] == "phone").map({True: "shoes", False: "scarf, red"})


candidates = ps.FunctionPolicies(
    {"young": young, "german": german, "phones": phones}, actions=ITEMS
)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A log of 3,000 rounds in which the young like shoes and others hats, and the candidates."""
    rng = np.random.default_rng(0)
    lines = ["ts,request_id,user_id,age,country,device,item,prob,clicked"]
    for i in range(3000):
        age = "" if rng.random() < 0.1 else int(rng.integers(18, 70))
        item = ITEMS[rng.integers(3)]
        liked = item == ("shoes" if age and age < 40 else "hats")
        lines.append(
            f"2024-05-01T{i // 3600:02}:{i // 60 % 60:02}:{i % 60:02}Z,r{i},u{i % 50},{age},"
            f'{rng.choice(["DE", "FR", ""])},{rng.choice(["phone", "desk"])},"{item}",'
            f"{1 / 3!r},{'true' if liked and rng.random() < 0.8 else 'false'}"
        )
    (tmp_path / "web.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "web_candidates.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    done = CliRunner().invoke(main, list(arguments))
    assert done.exit_code == 0, done.output
    return done.output


CANDIDATES = ("--policies", "web_candidates:candidates", "--epsilon", "0.1", "--delta", "0.05")


def test_from_the_csv_to_a_named_answer(folder):
    assert "3,000 rounds, 3 actions (those that were shown)" in run(
        "check", "web.csv", "--map", MAP
    )

    chosen = json.loads(
        run("select", "web.csv", "--map", MAP, *CANDIDATES, "--floor", "0.33", "--json")
    )
    assert (chosen["policy"], chosen["policy_name"]) == (0, "young")
    assert chosen["certificate"]["certified"]

    made = run("design", "web.csv", "--map", MAP, *CANDIDATES, "--out", "design.npz")
    assert "Design: design.npz" in made

    (folder / "today.csv").write_text("request_id;age;country;device\nq1;25;DE;phone\nq2;;;desk\n")
    run(
        *("decide", "design.npz", "--policies", "web_candidates:candidates", "--seed", "1"),
        *("--contexts", "today.csv", "--map", "context=age+country+device,id=request_id"),
        *("--out", "decisions.csv"),
    )
    (decided,) = ps.LogFile("decisions.csv").rounds()
    assert decided.ids.tolist() == ["q1", "q2"]
    assert decided.contexts.tolist()[1] == {"age": None, "country": None, "device": "desk"}
    assert set(decided.action_names) <= set(ITEMS)

    run("convert", "web.csv", "web.parquet", "--map", MAP)
    again = json.loads(run("select", "web.parquet", *CANDIDATES, "--floor", "0.33", "--json"))
    assert again == chosen
    assert ps.Log.load("web.parquet").action_names == tuple(sorted(ITEMS))


def test_a_map_may_be_a_file(folder):
    (folder / "map.toml").write_text(
        'context = ["age", "country", "device"]\naction = "item"\npropensity = "prob"\n'
        'reward = "clicked"\n'
    )
    assert "3,000 rounds" in run("check", "web.csv", "--map", "map.toml")


def test_without_a_map_the_error_says_which(folder):
    done = CliRunner().invoke(main, ["check", "web.csv"])
    assert done.exit_code == 1
    assert f"--map {MAP}" in " ".join(done.output.split())


def test_names_can_be_typed(folder):
    (folder / "few.csv").write_text("c,i,p,r\n1,501,0.5,0\n2,jacket,0.5,1\n")
    arguments = ["few.csv", "--map", "context=c,action=i,propensity=p,reward=r"]
    done = CliRunner().invoke(main, ["check", *arguments])
    assert (done.exit_code, "--actions hats,shoes" in done.output) == (1, True)
    told = CliRunner().invoke(main, ["check", *arguments, "--actions", "501,jacket,cap"])
    assert "2 rounds, 3 actions" in told.output
    assert "never shown ('cap')" in " ".join(told.output.split())
    run("convert", *arguments, "few.jsonl", "--actions", "jacket,501")
    assert '"actions": ["501"]' in (folder / "few.jsonl").read_text()
