"""Certificates through the best rival, against the class as a list."""

import pickle
from math import log

import numpy as np
import pytest

import policysieve as ps
from policysieve.evidence import ImplicitEvidence
from policysieve.evidence.betting import log_prior, stakes_for
from policysieve.evidence.implicit import _RivalWealth
from tests.oracles import betting, enumerated
from tests.statistics import assert_at_most

K, X = 3, 3
FUNCTIONS = enumerated.functions(X, K)[1]
PROBLEM = ps.Problem(n_actions=K, epsilon=0.3, delta=0.1)


def tabular():
    return ps.TabularPolicies(n_contexts=X, n_actions=K)


def rounds(n, seed=0, good=0.8, bad=0.1, p=(0.5, 0.3, 0.2)):
    rng = np.random.default_rng(seed)
    p = np.array(p)
    contexts, actions = rng.integers(X, size=n), rng.choice(K, size=n, p=p)
    rewards = rng.random(n) < np.where(actions == contexts, good, bad)
    return ps.Log(
        contexts=contexts, actions=actions, propensities=p[actions], rewards=rewards * 1.0
    )


def filled(parts):
    evidence = ImplicitEvidence(tabular(), PROBLEM)
    for log_part, floor in parts:
        evidence.add(log_part, floor=floor)
    return evidence


def all_rewards(logs):
    """R[i, p] of every round and listed policy."""
    columns = [np.concatenate([getattr(one, name) for one in logs]) for name in COLUMNS]
    contexts, shown, propensities, rewards = columns
    slates = FUNCTIONS[contexts][:, :, None]
    return betting.rewards_of(slates.tolist(), shown, propensities, rewards)


COLUMNS = ("contexts", "actions", "propensities", "rewards")


def wealth_of(evidence, leader):
    events, stakes = evidence.estimates.events, stakes_for(PROBLEM)
    return _RivalWealth(tabular(), leader, events, stakes, evidence.record.blocks)


@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.3, 1.0])
def test_smallest_wealth_is_that_of_the_list(epsilon):
    """Round by round, for every policy and stake; two blocks with different ranges."""
    logs = [rounds(150, seed=1), rounds(100, seed=2, p=(0.2, 0.4, 0.4))]
    evidence = filled([(logs[0], 0.2), (logs[1], 0.1)])
    R = all_rewards(logs)
    ranges = np.repeat([1 / 0.2, 1 / 0.1], [150, 100])[:, None] * np.ones(R.shape[1])
    leader = int(R.sum(axis=0).argmax())
    chosen = evidence.estimates.leader
    assert chosen.actions(np.arange(X))[:, 0].tolist() == FUNCTIONS[:, leader].tolist()
    wealth = wealth_of(evidence, chosen)
    for stake, share in zip(stakes_for(PROBLEM), np.exp(log_prior(8)), strict=True):
        everyone = np.log(share) + betting.log_wealth(R, leader, [stake], ranges, epsilon)
        assert wealth.smallest(epsilon, stake) == pytest.approx(everyone.min(), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("n", [50, 150, 300, 1000, 3000])
def test_bound_is_conservative_and_close_to_that_of_the_list(n):
    data = rounds(n, seed=3)
    selection = ps.select(data, tabular(), PROBLEM, floor=0.2)
    listed = ps.select(data, ps.PolicyTable(FUNCTIONS, n_actions=K), PROBLEM, floor=0.2)
    ours, theirs = selection.certificate, listed.certificate
    assert ours.suboptimality_bound >= theirs.suboptimality_bound * (1 - 2e-3)
    assert ours.suboptimality_bound <= 1
    assert theirs.certified or not ours.certified
    assert selection.value == pytest.approx(listed.value)
    assert selection.lower[0] == pytest.approx(listed.lower[listed.policy])
    assert selection.upper[0] == pytest.approx(listed.upper[listed.policy])
    if n == 3000:
        assert ours.certified
        # The leader itself cannot be left out of the rivals, so the bound never gets to 0.
        assert ours.suboptimality_bound < 0.02


def test_bound_is_the_smallest_epsilon_that_passes():
    evidence = filled([(rounds(800, seed=4), 0.2)])
    proof = evidence.certificate()
    threshold = X * log(K) + log(1 / PROBLEM.delta)
    assert proof.log_threshold == pytest.approx(threshold)
    wealth = wealth_of(evidence, proof.leader)
    bound = proof.suboptimality_bound
    assert wealth.passes(bound, threshold)
    assert not wealth.passes(bound * 0.995, threshold)


def test_certificate_of_no_rounds():
    proof = ImplicitEvidence(tabular(), PROBLEM).certificate()
    assert not proof.certified
    assert proof.suboptimality_bound == 1
    limits = ImplicitEvidence(tabular(), PROBLEM).intervals()
    assert np.isnan(limits.values[0])
    assert (limits.lower[0], limits.upper[0]) == (0, 1)


def test_parts_are_the_same_as_the_whole():
    data = rounds(500, seed=5)
    whole = filled([(data, 0.2)]).certificate()
    parts = filled([(data[s : s + 100], 0.2) for s in range(0, 500, 100)]).certificate()
    assert parts.suboptimality_bound == pytest.approx(whole.suboptimality_bound, rel=1e-9)
    assert parts.rounds == whole.rounds == 500


def test_certificates_travel():
    proof = filled([(rounds(300), 0.2)]).certificate(pending=2)
    copy = pickle.loads(pickle.dumps(proof))
    assert copy.to_dict() == proof.to_dict()
    assert proof.to_dict()["leader"].startswith("TabularPolicy(")
    assert copy.pending == 2


def test_wealth_against_the_better_policy_is_fair():
    """Bet on a leader that is worse by exactly epsilon: wealth seldom grows, by Ville's inequality.

    The class is two constant actions, the leader the worse one. A certificate would need far more
    wealth than the 4 that is counted here, so that the count is not empty.
    """
    policies = ps.TabularPolicies(n_contexts=1, n_actions=2)
    worse = policies.best([0], [1], [1.0])
    means, gap, runs, stake, rich = np.array([0.5, 0.4]), 0.1, 200, 0.4, 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        evidence = ImplicitEvidence(policies, ps.Problem(n_actions=2, epsilon=0.3, delta=0.1))
        reached = False
        for _ in range(8):
            actions = rng.integers(2, size=50)
            data = ps.Log(
                contexts=np.zeros(50, dtype=int),
                actions=actions,
                propensities=np.full(50, 0.5),
                rewards=(rng.random(50) < means[actions]) * 1.0,
            )
            evidence.add(data, floor=0.5)
            events, blocks = evidence.estimates.events, evidence.record.blocks
            wealth = _RivalWealth(policies, worse, events, np.array([0.1, stake]), blocks)
            reached |= wealth.smallest(gap, stake) + log(2) >= log(4)  # half of the capital is its
        rich += reached
    assert_at_most(rich, runs, 1 / 4)
    assert rich > 5


def test_a_wrong_leader_is_not_certified():
    """Epsilon just below what the leader of few rounds may lack, looked at all the time."""
    problem = ps.Problem(n_actions=K, epsilon=0.04, delta=0.2)
    means = np.array([[0.5, 0.35, 0.35], [0.4, 0.4, 0.4], [0.4, 0.4, 0.4]])
    wrong, runs = 0, 30
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        evidence = ImplicitEvidence(tabular(), problem)
        found = False
        for _ in range(6):
            contexts, actions = rng.integers(X, size=300), rng.integers(K, size=300)
            data = ps.Log(
                contexts=contexts,
                actions=actions,
                propensities=np.full(300, 1 / K),
                rewards=(rng.random(300) < means[contexts, actions]) * 1.0,
            )
            evidence.add(data, floor=1 / K)
            proof = evidence.certificate()
            gap = 0.05 * (proof.leader.actions([0])[0, 0] != 0)  # a third of contexts, by 0.15
            found |= gap > 0 and proof.suboptimality_bound < gap
        wrong += found
    assert_at_most(wrong, runs, problem.delta)


class TestSelect:
    def test_evidence_of_lists_says_where_to_go(self):
        with pytest.raises(ps.InvalidArgumentError, match="ImplicitEvidence"):
            ps.Evidence(tabular(), PROBLEM)

    def test_methods(self):
        with pytest.raises(ps.InvalidArgumentError, match='must be "betting"'):
            ps.select(rounds(50), tabular(), PROBLEM, method="stitched")

    def test_words(self):
        selection = ps.select(rounds(2000), tabular(), PROBLEM, floor=0.2)
        assert "no policy is better than TabularPolicy(3 contexts: 0, 1, 2)" in selection.guarantee
        assert "eliminated" not in selection.guarantee
        plain = selection.to_dict()
        assert plain["policy"] == "TabularPolicy(3 contexts: 0, 1, 2)"
        assert plain["lower"] <= plain["value"] <= plain["upper"]
        little = ps.select(rounds(20), tabular(), PROBLEM, floor=0.2)
        assert "prove nothing yet" in little.guarantee

    def test_without_a_floor_nothing_is_certified(self):
        selection = ps.select(rounds(2000), tabular(), PROBLEM)
        floored = ps.select(rounds(2000), tabular(), PROBLEM, floor=0.2)
        assert (selection.certificate.method, selection.certificate.certified) == ("none", False)
        assert "Give the smallest that any action could have had as floor." in selection.guarantee
        assert selection.value == pytest.approx(floored.value)
        assert 0 < selection.lower[0] < selection.value
        assert selection.upper[0] == 1

    def test_a_file_in_pieces(self, tmp_path):
        data = rounds(400)
        data.save(tmp_path / "log.parquet")
        whole = ps.select(data, tabular(), PROBLEM)
        again = ps.select(tmp_path / "log.parquet", tabular(), PROBLEM)
        assert again.to_dict() == whole.to_dict()

    def test_bad_rounds_change_nothing(self):
        evidence = filled([(rounds(100), 0.2)])
        before = evidence.certificate().to_dict()
        with pytest.raises(ps.InvalidArgumentError, match="at least the floor"):
            evidence.add(rounds(100), floor=0.4)
        alien = ps.Log(contexts=[7], actions=[0], propensities=[0.5], rewards=[1])
        with pytest.raises(ps.InvalidArgumentError, match="row numbers"):
            evidence.add(alien, floor=0.2)
        assert evidence.certificate().to_dict() == before
