"""Explorations are values: checked when made or loaded, and played alike in any process."""

import dataclasses
import json
import subprocess
import sys
from io import BytesIO

import numpy as np
import pytest

import policysieve as ps
from policysieve.exploration.designs import (
    ListExploration,
    MarginalExploration,
    MixtureExploration,
    NeedExploration,
    OptimizedExploration,
    TodayExploration,
    UniformExploration,
)
from policysieve.exploration.designs.saving import sealed
from policysieve.policies.weights import UnlistedWeights

POLICIES = ps.PolicyTable(np.random.default_rng(0).integers(0, 4, (6, 5)), n_actions=4)
TABULAR = ps.TabularPolicies(n_contexts=6, n_actions=4)
PROBLEM = ps.Problem(n_actions=4, epsilon=0.1, delta=0.1)
SHARED = ps.Problem(n_actions=4, epsilon=0.1, delta=0.1, against=2, traffic=0.3)
NEEDS = {
    "survivors": np.array([0, 2, 3]),
    "need": np.array([1.0, 0.5, 0.2]),
    "votes": np.array([0.25, 0.75, 0.0]),
    "mixing": 0.5,
}
MIXTURE = {"support": np.array([1, 4]), "shares": np.array([0.5, 0.5]), "mixing": 0.2}


def weights_after_events(policies):
    rng = np.random.default_rng(1)
    weights = policies.prior().with_rounds(policies.prior(), 4, 0)
    contexts, actions = rng.integers(0, 6, 9), rng.integers(0, 4, 9)
    return weights.plus(policies.answers(contexts), actions, rng.random(9))


def every_kind():
    yield UniformExploration(POLICIES, PROBLEM)
    yield MixtureExploration(POLICIES, PROBLEM, **MIXTURE)
    yield NeedExploration(POLICIES, PROBLEM, **NEEDS)
    yield ListExploration(POLICIES, PROBLEM, listed=np.array([3, 0]), mixing=0.4)
    for policies in (POLICIES, TABULAR):
        yield OptimizedExploration(
            policies,
            PROBLEM,
            weights=weights_after_events(policies),
            information_weight=9.0,
            binary=True,
        )
    yield TodayExploration(POLICIES, SHARED)
    yield UniformExploration(POLICIES, SHARED)
    yield MixtureExploration(POLICIES, SHARED, **MIXTURE)
    yield NeedExploration(POLICIES, SHARED, **{**NEEDS, "survivors": np.array([0, 3, 4])})
    yield ListExploration(POLICIES, SHARED, listed=np.array([3, 0]), mixing=0.4)
    yield OptimizedExploration(
        POLICIES,
        SHARED,
        weights=weights_after_events(POLICIES),
        information_weight=9.0,
        binary=True,
    )
    state = TABULAR.start_weights()
    state.wait(3)
    state.add(np.array([2]), np.array([1]), np.array([1.0]))
    state.wait(2)
    weights = UnlistedWeights(TABULAR, state)
    yield MarginalExploration(TABULAR, PROBLEM, weights=weights, rounds=5, mixing=0.3)


def write_sealed(path, content):
    file = BytesIO()
    np.savez(file, **content)
    path.write_bytes(sealed(file.getvalue()))


KINDS = list(every_kind())
kinds = pytest.mark.parametrize("exploration", KINDS, ids=lambda kind: repr(kind)[:40])


def test_every_kind_is_here():
    fitted = {"MixedExploration", "FittedMixture"}
    assert {type(kind).__name__ for kind in KINDS} == set(ps.Exploration.kinds) - fitted


@kinds
def test_propensities_are_those_that_are_shown(exploration):
    every = exploration.propensities(np.arange(6))
    np.testing.assert_allclose(every.sum(axis=1), 1)
    contexts = np.repeat(np.arange(6), 2000)
    decisions = exploration.ask(contexts, rng=0)
    at = (contexts, decisions.actions[:, 0])
    np.testing.assert_allclose(decisions.propensities[:, 0], every[at], rtol=1e-12)
    shown = np.zeros((6, 4))
    np.add.at(shown, at, 1 / 2000)
    np.testing.assert_allclose(shown, every, atol=0.06)
    assert (decisions.propensities >= exploration.floor * (1 - 1e-9)).all()


@kinds
def test_a_file_gives_it_back(exploration, tmp_path):
    exploration.save(tmp_path / "one.npz")
    loaded = ps.Exploration.load(tmp_path / "one.npz", exploration.policies)
    one, two = (each.ask(np.arange(6), rng=3) for each in (exploration, loaded))
    np.testing.assert_array_equal(one.actions, two.actions)
    np.testing.assert_array_equal(one.propensities, two.propensities)
    assert repr(loaded) == repr(exploration)
    assert (tmp_path / "one.npz").stat().st_size < 4000
    if exploration.policies is POLICIES:
        other = ps.PolicyTable(POLICIES.table[::-1], n_actions=4)
    else:
        other = ps.TabularPolicies(n_contexts=7, n_actions=4)
    with pytest.raises(ps.InvalidArgumentError, match="those that the exploration was made for"):
        ps.Exploration.load(tmp_path / "one.npz", other)


@kinds
def test_they_cannot_be_changed(exploration):
    with pytest.raises(dataclasses.FrozenInstanceError):
        exploration.problem = PROBLEM
    for field in dataclasses.fields(exploration):
        value = getattr(exploration, field.name)
        if isinstance(value, np.ndarray):
            with pytest.raises(ValueError, match="read-only"):
                value[0] = 1


def test_arrays_of_the_caller_stay_the_callers():
    shares = np.array([0.5, 0.5])
    exploration = MixtureExploration(POLICIES, PROBLEM, **{**MIXTURE, "shares": shares})
    shares[0] = 7
    assert exploration.shares.tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("field", "bad", "message"),
    [
        ("support", [0, 5], r"policy numbers in \[0, 4\]"),
        ("support", [-1, 0], "policy numbers"),
        ("support", [1, 1], "different policies"),
        ("support", [], "at least one policy"),
        ("support", [0.5, 1.5], "whole numbers"),
        ("shares", [1.0], "2 entries"),
        ("shares", [1.5, -0.5], "not be negative"),
        ("shares", [2.0, 3.0], "sum to one"),
        ("shares", [np.nan, 1.0], "finite"),
        ("mixing", 7, "mixing"),
        ("mixing", "much", "mixing"),
        ("mixing", 0.0, "mixing"),
        ("variance_bound", -1.0, "variance_bound"),
    ],
)
def test_bad_mixtures(field, bad, message):
    with pytest.raises(ps.InvalidArgumentError, match=message):
        MixtureExploration(POLICIES, PROBLEM, **{**MIXTURE, field: bad})


@pytest.mark.parametrize(
    ("field", "bad", "message"),
    [
        ("survivors", [0, 2, 9], "policy numbers"),
        ("survivors", [], "survivors must hold at least one policy"),
        ("need", [1.0, 0.5, 0.0], "need must be positive"),
        ("need", [1.0, 0.5], "3 entries"),
        ("votes", [0.5, 0.5], "3 entries"),
        ("votes", [1.5, -0.5, 0.0], "votes must not be negative"),
        ("votes", [1.0, 1.0, 1.0], "sum to one"),
        ("mixing", 1.5, "mixing"),
    ],
)
def test_bad_needs(field, bad, message):
    with pytest.raises(ps.InvalidArgumentError, match=message):
        NeedExploration(POLICIES, PROBLEM, **{**NEEDS, field: np.array(bad)})


def test_other_bad_fields():
    with pytest.raises(ps.InvalidArgumentError, match="must be numbered for listed"):
        ListExploration(TABULAR, PROBLEM, listed=[0], mixing=0.5)
    with pytest.raises(ps.InvalidArgumentError, match="information_weight"):
        dataclasses.replace(KINDS[4], information_weight=4.0)
    with pytest.raises(ps.InvalidArgumentError, match="rounds"):
        dataclasses.replace(KINDS[-1], rounds=0)
    with pytest.raises(ps.InvalidArgumentError, match="period must be a whole number >= 0"):
        NeedExploration(POLICIES, PROBLEM, **NEEDS, period=-1)
    other = ps.Problem(n_actions=5, epsilon=0.1, delta=0.1)
    with pytest.raises(ps.InvalidArgumentError, match="agree on n_actions"):
        UniformExploration(POLICIES, other)
    with pytest.raises(ps.InvalidArgumentError, match="uniforms must have shape"):
        KINDS[1].choose(np.arange(3), np.zeros((3, 1)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "os.system"}, "which this release does not know"),
        ({"version": 2}, "version 2"),
        ({"numbers": {"mixing": 7}}, "breaks a rule"),
        ({"numbers": {}}, "breaks a rule"),
        ({"numbers": {"mixing": 0.2, "more": 1}}, "breaks a rule"),
        ({"arrays": ["support"]}, "breaks a rule"),
        ({"arrays": ["support", "shares", "more"]}, "no array named more"),
        ({"problem": {"n_actions": -1}}, "not a readable"),
    ],
)
def test_tampered_files(tmp_path, change, message):
    """Whatever a file says, it ends in an error, not in numba."""
    path = tmp_path / "one.npz"
    KINDS[1].save(path)
    with np.load(path) as archive:
        content = dict(archive)
    header = {**json.loads(str(content["header"])), **change}
    write_sealed(path, {**content, "header": json.dumps(header)})
    with pytest.raises(ps.FileFormatError, match=message):
        ps.Exploration.load(path, POLICIES)


@pytest.mark.parametrize(("name", "bad"), [("log_w", np.nan), ("slots", 99), ("now", np.inf)])
def test_tampered_weights(tmp_path, name, bad):
    path = tmp_path / "one.npz"
    KINDS[5].save(path)
    with np.load(path) as archive:
        content = dict(archive)
    content[f"weights.{name}"].flat[0] = bad
    write_sealed(path, content)
    with pytest.raises(ps.FileFormatError, match="breaks a rule"):
        ps.Exploration.load(path, TABULAR)


def test_the_sieve_decides_in_another_process(tmp_path):
    world = ps.worlds.SparseSynthetic(
        n_actions=8, n_contexts=30, n_policies=12, profile="close", rng=0
    )
    policies = ps.PolicyTable(world.pool, n_actions=8)
    learner = ps.Sieve(policies, world.problem(epsilon=0.02, delta=0.1), rng=0)
    ps.run(learner, world, 400)
    policies.save(tmp_path / "table.npy")
    learner.exploration.save(tmp_path / "exploration.npz")
    code = f"""
import numpy as np, policysieve as ps
policies = ps.PolicyTable.load({str(tmp_path / "table.npy")!r}, n_actions=8)
exploration = ps.Exploration.load({str(tmp_path / "exploration.npz")!r}, policies)
decisions = exploration.ask(np.arange(30), rng=5)
np.savez({str(tmp_path / "decided.npz")!r}, a=decisions.actions, w=decisions.propensities)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
    ours = learner.exploration.ask(np.arange(30), rng=5)
    with np.load(tmp_path / "decided.npz") as theirs:
        np.testing.assert_array_equal(theirs["a"], ours.actions)
        np.testing.assert_array_equal(theirs["w"], ours.propensities)


def test_a_process_draws_its_own_numbers():
    exploration = KINDS[0]
    one, two = (exploration.ask(np.zeros(50, int)) for _ in range(2))
    assert (one.actions != two.actions).any()
