"""Learners that know names give them beside numbers, and decide as they would without."""

import inspect
import json
import pickle
from io import BytesIO

import numpy as np
import pytest

import policysieve as ps
from policysieve.archives import arrays_in
from policysieve.exploration import LEARNERS
from policysieve.exploration.designs.saving import ExplorationFile, sealed

ACTIONS = ("shoes", "hats", "bags")
NAMES = ("old", "new", "wild")
TABLE = np.array([[0, 1, 2], [1, 1, 0], [2, 0, 1], [0, 2, 2]])
ASKED = {"epsilon": 0.3, "delta": 0.1}


def named(**given):
    return ps.PolicyTable(TABLE, names=NAMES, actions=ACTIONS, **given)


def played(learner, rounds=60):
    for start in range(rounds):
        decisions = learner.ask([start % 4])
        learner.tell(decisions, decisions.actions == TABLE[decisions.contexts, [1]][:, None])
    return learner


@pytest.mark.parametrize("problem_has_names", [True, False])
def test_decisions_have_names_of_actions(problem_has_names):
    problem = ps.Problem(n_actions=3, actions=ACTIONS if problem_has_names else None, **ASKED)
    policies = ps.PolicyTable(TABLE, 3) if problem_has_names else named()
    learner = ps.Sieve(policies, problem, rng=0)
    decisions = learner.ask([0, 1, 2, 3])
    expected = [[ACTIONS[action] for action in slate] for slate in decisions.actions]
    assert decisions.action_names.tolist() == expected
    assert decisions.action_names.dtype == object
    for same in (
        pickle.loads(pickle.dumps(decisions)),
        learner.open_decisions(),
        pickle.loads(pickle.dumps(learner)).open_decisions(),
        decisions[:],
    ):
        assert same.action_names.tolist() == expected
    assert decisions[2].action_names.tolist() == expected[2:3]
    assert learner.exploration.ask([0, 1]).action_names.shape == (2, 1)


def test_decisions_about_actions_without_names_have_none():
    problem = ps.Problem(n_actions=3, **ASKED)
    decisions = ps.Sieve(ps.PolicyTable(TABLE, 3), problem, rng=0).ask([0])
    assert decisions.action_names is None
    assert decisions[:0].action_names is None


def test_slates_have_names_item_by_item():
    problem = ps.Problem(actions=ACTIONS, slate_size=2, **ASKED)
    policies = ps.PolicyTable(np.array([[[0, 1], [2, 0]]]), actions=ACTIONS)
    decisions = ps.Sieve(policies, problem, rng=0).ask([0, 0])
    assert decisions.action_names.shape == (2, 2)
    assert decisions.action_names[1, 1] == ACTIONS[decisions.actions[1, 1]]


@pytest.mark.parametrize("name", LEARNERS)
def test_names_change_nothing_but_words(name):
    kind = LEARNERS[name]
    planned = "rounds" in inspect.signature(kind).parameters
    arguments = {"rounds": 80} if planned else {}
    with_names = kind(named(), ps.Problem(actions=ACTIONS, **ASKED), rng=0, **arguments)
    without = kind(ps.PolicyTable(TABLE, 3), ps.Problem(n_actions=3, **ASKED), rng=0, **arguments)
    played(with_names), played(without)
    np.testing.assert_array_equal(with_names.log.actions, without.log.actions)
    mine, theirs = with_names.recommend(), without.recommend()
    assert mine.value == theirs.value
    if isinstance(mine.policy, int):
        assert mine.policy_name == NAMES[mine.policy]
        assert theirs.policy_name == f"policy {theirs.policy}"
        assert (theirs.name, mine.to_dict()["policy_name"]) == (None, mine.policy_name)
    leaders = with_names.intervals().leaders()
    assert [row["name"] for row in leaders] == [NAMES[row["policy"]] for row in leaders]
    assert without.intervals().leaders()[0]["name"].startswith("policy ")


def test_runs_and_checkpoints_have_the_name():
    world = ps.worlds.Classification(None, TABLE[:, 1], contexts="rows", actions=ACTIONS)
    learner = ps.Sieve(named(), world.problem(**ASKED), rng=0)
    result = ps.run(learner, world, 2000, progress=False)
    assert result.policy_name == "new"
    assert repr(result).count("new") == 1
    data = json.loads(json.dumps(result.to_dict()))
    assert (data["policy"], data["policy_name"]) == (1, "new")
    assert data["history"][-1]["policy_name"] == "new"
    assert data["problem"]["actions"] == list(ACTIONS)


def test_a_saved_exploration_keeps_names(tmp_path):
    problem = ps.Problem(actions=ACTIONS, **ASKED)
    learner = played(ps.Sieve(named(), problem, rng=0), 30)
    learner.exploration.save(tmp_path / "design.npz")
    file = ExplorationFile.read(tmp_path / "design.npz")
    assert (file.names, file.action_names, file.problem) == (NAMES, ACTIONS, problem)
    again = ps.Exploration.load(tmp_path / "design.npz", named())
    assert again.same_as(learner.exploration)
    assert set(again.ask(range(4), rng=0).action_names.ravel()) <= set(ACTIONS)
    with pytest.raises(ps.InvalidArgumentError, match="names that the exploration was made for"):
        ps.Exploration.load(tmp_path / "design.npz", ps.PolicyTable(TABLE, actions=ACTIONS))
    other = ps.PolicyTable(TABLE, names=NAMES, actions=ACTIONS[::-1])
    with pytest.raises(ps.InvalidArgumentError, match="same names of actions"):
        ps.Exploration.load(tmp_path / "design.npz", other)


def test_a_file_from_before_there_were_names_loads(tmp_path):
    policies, problem = ps.PolicyTable(TABLE, 3), ps.Problem(n_actions=3, **ASKED)
    made = played(ps.Sieve(policies, problem, rng=0), 30).exploration
    made.save(tmp_path / "design.npz")
    content = (tmp_path / "design.npz").read_bytes()
    (text,) = arrays_in("design.npz", "header", content=content)
    header = json.loads(str(text))
    del header["names"], header["action_names"], header["problem"]["actions"]
    arrays = arrays_in("design.npz", *header["arrays"], content=content)
    file = BytesIO()
    np.savez(file, header=json.dumps(header), **dict(zip(header["arrays"], arrays, strict=True)))
    (tmp_path / "old.npz").write_bytes(sealed(file.getvalue()))
    assert ps.Exploration.load(tmp_path / "old.npz", policies).same_as(made)
