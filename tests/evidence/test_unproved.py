"""Evidence without a floor: estimates and limits, and nothing is proved about differences."""

import pickle
from math import inf, log

import numpy as np
import pytest

import policysieve as ps
from policysieve.evidence.unproved import UnprovedEvidence
from tests.evidence.capped import World
from tests.oracles import capped as oracle
from tests.statistics import assert_at_most

WORLDS = [
    {"seed": 0, "n": 200},
    {"seed": 1, "n": 200, "sparsity": 0.5, "epsilon": 0.2},
    {"seed": 2, "n": 200, "m": 2, "sparsity": 1.5},
    {"seed": 3, "n": 200, "m": 3, "K": 6, "sparsity": None},
]


def evidence_of(world, policies=None):
    return UnprovedEvidence(policies or world.policies, world.problem)


@pytest.mark.parametrize("arguments", WORLDS)
def test_estimates_and_limits_are_those_of_plain_sums(arguments):
    world = World(**arguments)
    evidence, problem, P = evidence_of(world), world.problem, 6
    evidence.add(world.log)
    limits, log_term = evidence.intervals(), log(2 * P / problem.delta)
    for p in range(P):
        sums = np.zeros((2, 2))
        for i, x in enumerate(world.log.contexts):
            shown = world.log.actions[i].tolist()
            w = dict(zip(shown, world.log.propensities[i].tolist(), strict=True))
            seen = dict(zip(shown, world.log.rewards[i].tolist(), strict=True))
            slate = world.table[x, p].tolist()
            scores = oracle.earned(slate, w, seen), oracle.missed(slate, w, seen)
            sums += [(score, score**2) for score in scores]
        lower, missed = (oracle.least_mean(*pair, 200, log_term) for pair in sums)
        assert limits.values[p] == pytest.approx(sums[0, 0] / 200)
        assert limits.lower[p] == pytest.approx(max(0, lower), abs=1e-9)
        upper = min(max(problem.slate_size - missed, 0), problem.reward_cap)
        assert limits.upper[p] == pytest.approx(upper, abs=1e-9)
    assert (limits.lower > 0).any()
    assert (limits.upper < problem.reward_cap).any() or problem.sparsity == 0.5


def test_nothing_is_certified():
    """However much was seen; the leader has the largest estimate."""
    world = World(4, n=3000)
    evidence = evidence_of(world)
    evidence.add(world.log)
    proof = evidence.certificate(pending=2)
    assert proof.leader == evidence.intervals().values.argmax()
    assert not proof.certified
    assert not proof.eliminated.any()
    assert proof.suboptimality_bound == world.problem.reward_cap
    assert (proof.rounds, proof.pending, proof.method) == (3000, 2, "none")
    assert proof.log_threshold == inf
    assert proof.to_dict()["log_threshold"] is None
    assert pickle.loads(pickle.dumps(proof)).to_dict() == proof.to_dict()


def test_before_any_round():
    world = World(0)
    evidence = evidence_of(world)
    limits, proof = evidence.intervals(), evidence.certificate()
    assert np.isnan(limits.values).all()
    assert (limits.lower == 0).all()
    assert (limits.upper == 1).all()
    assert (proof.leader, proof.rounds, proof.certified) == (0, 0, False)


@pytest.mark.parametrize("arguments", WORLDS)
def test_parts_and_functions_say_the_same(arguments):
    world = World(**arguments)
    whole = evidence_of(world)
    whole.add(world.log)
    expected = whole.intervals()
    for policies in (world.policies, world.unlisted):
        evidence = evidence_of(world, policies)
        for start in range(0, 200, 30):
            evidence.add(world.log[start : start + 30])
            evidence.intervals()
        found = pickle.loads(pickle.dumps(evidence)).intervals()
        for name in ("values", "lower", "upper"):
            np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-12)


def test_rounds_that_do_not_fit_change_nothing():
    world = World(2, n=60, m=2, sparsity=1.5)
    evidence = evidence_of(world)
    evidence.add(world.log)
    before = pickle.dumps(evidence)
    columns = {name: getattr(world.log, name) for name in ("contexts", "actions", "propensities")}
    with pytest.raises(ps.InvalidArgumentError, match=r"sparsity 1\.5"):
        evidence.add(ps.Log(**columns, rewards=np.ones((60, 2))))
    with pytest.raises(ps.InvalidArgumentError, match=r"must lie in \[0, 4\]"):
        evidence.add(
            ps.Log(**columns | {"actions": world.log.actions + 1}, rewards=world.log.rewards)
        )
    with pytest.raises(ps.InvalidArgumentError, match="slate size"):
        evidence.add(World(0).log)
    assert pickle.dumps(evidence) == before


def test_limits_cover_with_propensities_that_are_hardly_ever_met():
    """Two actions are shown once in 4,000 rounds each: no floor could be read off the log."""
    K, n, runs, rare = 4, 400, 60, 1 / 4000
    policies = ps.PolicyTable(np.arange(K)[None, :], n_actions=K)
    problem = ps.Problem(n_actions=K, sparsity=None, epsilon=0.1, delta=0.2)
    means = np.array([0.9, 0.5, 0.95, 0.05])
    wrong = met = 0
    for seed in range(runs):
        rng, evidence, ever = (
            np.random.default_rng(seed),
            UnprovedEvidence(policies, problem),
            False,
        )
        for _ in range(4):
            q = np.array([0.1, 0.1, rare, rare])
            leader = evidence.certificate().leader if evidence.rounds else 0
            q[leader if leader < 2 else 0] += 1 - q.sum()
            actions = rng.choice(K, size=n // 4, p=q)
            met += (actions > 1).sum()
            evidence.add(
                ps.Log(
                    contexts=np.zeros(n // 4, int),
                    actions=actions,
                    propensities=q[actions],
                    rewards=rng.random(n // 4) < means[actions],
                )
            )
            limits = evidence.intervals()
            ever |= bool(((limits.lower > means) | (limits.upper < means)).any())
        wrong += ever
        assert limits.lower[0] > 0.3
    assert met > 0
    assert_at_most(wrong, runs, problem.delta, alpha=1e-3)
