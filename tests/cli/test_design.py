"""Design, collect, select as files."""

import json
from copy import deepcopy

import numpy as np
import pytest

import policysieve as ps
from policysieve.cli.options import as_floor
from policysieve.exploration.designs.designing import rounds_needed
from policysieve.log import LogFile
from tests.cli.designs import decide, explored, make_design
from tests.cli.test_cli import invoke


@pytest.fixture(scope="module", params=[1, 2])
def case(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("design")
    return folder, *explored(folder, request.param)


def test_the_files_reproduce_the_learner(case, tmp_path):
    folder, learner, rewards = case
    assert make_design(folder).exit_code == 0
    again = ps.Exploration.load(folder / "design.npz", learner.policies)
    np.testing.assert_array_equal(again.support, learner.design.support)
    np.testing.assert_allclose(again.shares, learner.design.shares, rtol=1e-12)
    assert again.mixing == learner.design.mixing
    assert again.variance_bound == pytest.approx(learner.design.variance_bound, rel=1e-12)
    every = np.arange(20)
    np.testing.assert_allclose(
        again.propensities(every), learner.design.propensities(every), rtol=1e-12
    )

    learner = deepcopy(learner)
    contexts = np.random.default_rng(8).integers(0, 20, learner.ask_limit)
    rng = deepcopy(learner._rng)
    theirs, ours = learner.ask(contexts), again.ask(contexts, rng=rng)
    np.testing.assert_array_equal(ours.actions, theirs.actions)
    np.testing.assert_allclose(ours.propensities, theirs.propensities, rtol=1e-12)
    earned = rewards[contexts[:, None], ours.actions]
    learner.tell(theirs, earned)
    assert learner.finished
    log = ps.Log(
        contexts=contexts, actions=ours.actions, propensities=ours.propensities, rewards=earned
    )
    log.save(tmp_path / "log.parquet")
    result = invoke(
        "select",
        tmp_path / "log.parquet",
        "--policies",
        folder / "table.npy",
        "--actions",
        6,
        "--epsilon",
        0.25,
        "--delta",
        0.1,
        "--json",
    )
    best, found = learner.recommend(), json.loads(result.stdout)
    assert found["policy"] == best.policy
    assert found["value"] == pytest.approx(best.value, rel=1e-12)
    values = ps.select(log, learner.policies, learner.problem).values
    np.testing.assert_allclose(values, learner.intervals().values, rtol=1e-12)


def test_a_design_for_a_share_of_the_traffic(case, tmp_path):
    folder, learner, _ = case
    result = make_design(folder, "--traffic", 0.25, "--against", 1)
    assert "So it is in 0.25 of the rounds; the others show what 1 would" in result.output
    made = ps.Exploration.load(folder / "design.npz", learner.policies)
    assert (made.problem.traffic, made.problem.against) == (0.25, 1)
    np.save(tmp_path / "x.npy", np.full(400, 3))
    assert decide(folder, tmp_path / "x.npy", tmp_path / "out.parquet", "--seed", 0).exit_code == 0
    today = np.sort(learner.policies.actions([3])[0, 1])
    shown = ps.Log.load(LogFile(tmp_path / "out.parquet", missing_reward=0)).actions
    stays = (np.sort(shown, axis=1) == today).all(axis=1).sum()
    assert stays > 280  # and those that explore and show the same
    assert json.loads(make_design(folder, "--json").output)["traffic"] == 1.0
    refused = make_design(folder, "--traffic", 0.25)
    assert refused.exit_code != 0
    assert "traffic needs the policy that runs today" in refused.output


def test_design_says_what_it_made(case):
    folder, learner, _ = case
    result = make_design(folder, "--json")
    made = json.loads(result.stdout)
    assert made["rounds"] == len(learner.log)
    assert made["support"] == len(learner.design.support)
    assert made["mixing"] == learner.mixing
    assert made["rounds_needed"] == rounds_needed(learner.design, learner.policies)
    spoken = make_design(folder, "--mixing", 0.5, "--sparsity", "unknown").output
    uniform = "uniformly drawn actions" if learner.problem.slate_size == 1 else "uniform slates"
    assert f"shows {uniform} in 50% of the rounds" in spoken
    assert "of 15 policies for 20 contexts" in spoken


@pytest.mark.parametrize(
    ("smallest", "said"),
    [
        (0.55 / 6, "0.09166"),
        (0.15 * 2 / 6, "0.05"),
        (0.3, "0.3"),
        (1.0, "1"),
        (9.9999e-7, "9.999e-07"),
    ],
)
def test_a_floor_is_rounded_down(smallest, said):
    assert as_floor(smallest) == said


def test_the_floor_of_the_design_is_named_for_select(case, tmp_path):
    """By the design, propensities may be smaller than the smallest that was drawn."""
    folder, learner, _ = case
    floor = learner.design.floor
    said = f"--floor {as_floor(floor)}"
    assert float(as_floor(floor)) <= floor
    assert make_design(folder).output.splitlines()[-2].endswith(f"{said}.")
    np.save(tmp_path / "contexts.npy", np.arange(20))
    out = tmp_path / "decisions.parquet"
    assert said in decide(folder, tmp_path / "contexts.npy", out, "--seed", 4).output
    other = tmp_path / "other.parquet"
    made = json.loads(decide(folder, tmp_path / "contexts.npy", other, "--json").stdout)
    assert made["floor"] == pytest.approx(floor, rel=1e-12)
    assert made["floor"] <= made["smallest_propensity"]


def test_what_is_refused(case, tmp_path):
    folder, learner, _ = case
    make_design(folder)
    np.save(tmp_path / "contexts.npy", np.arange(20))
    np.save(tmp_path / "none.npy", np.arange(0))
    np.save(tmp_path / "outside.npy", np.arange(30))
    np.save(tmp_path / "number.npy", 3)
    (tmp_path / "broken.npy").write_bytes(b"hello")
    (tmp_path / "none.csv").write_text("id,context\n", encoding="utf-8")
    (tmp_path / "row.csv").write_text("id,context\nu,1\nv,2,3\n", encoding="utf-8")
    (tmp_path / "column.csv").write_text("id,context,price\nu,1,2\n", encoding="utf-8")
    out = tmp_path / "out.parquet"
    others = ps.PolicyTable(learner.policies.table[:, ::-1], n_actions=6)
    others.save(folder / "others.npy")
    for contexts, target, policies, message in [
        ("contexts.npy", out, "others.npy", "those that the exploration was made for"),
        ("contexts.npy", tmp_path / "out.vw", "table.npy", "--out must end in .parquet or .csv"),
        ("none.npy", out, "table.npy", "--contexts must hold at least one"),
        ("outside.npy", out, "table.npy", "contexts"),
        ("number.npy", out, "table.npy", "it has no rows"),
        ("broken.npy", out, "table.npy", "not a readable .npy array"),
        ("missing.npy", out, "table.npy", "no contexts at"),
        ("missing.parquet", out, "table.npy", "no contexts at"),
        ("none.csv", out, "table.npy", "holds no rounds"),
        ("row.csv", out, "table.npy", "row.csv, line 3: 2 columns are needed, got 3"),
        ("column.csv", out, "table.npy", "unknown column 'price'"),
    ]:
        result = decide(folder, tmp_path / contexts, target, policies=policies)
        assert result.exit_code == 1, contexts
        assert message in result.output
        assert "Traceback" not in result.output
        assert not target.exists()
    assert "mixing" in make_design(folder, "--mixing", 2).output
    table, new = folder / "table.npy", tmp_path / "contexts.npy"
    array = invoke("decide", table, "--policies", table, "--contexts", new, "--out", out)
    assert "table.npy is not a readable exploration: it does not end with" in array.output
    assert "written by policysieve design and by Exploration.save" in array.output
    assert "--sparsity unknown" in make_design(folder, "--sparsity", 0.6).output
