"""Exploring on a share of the rounds: right propensities, valid proofs, or a clear refusal."""

import json
from dataclasses import replace
from io import BytesIO

import numpy as np
import pytest

import policysieve as ps
from policysieve.exploration import LEARNERS
from policysieve.exploration.designs import (
    ListExploration,
    MixtureExploration,
    NeedExploration,
    UniformExploration,
)
from policysieve.exploration.designs.saving import sealed
from tests.contracts.explorer_contract import ExplorerContract
from tests.exploration.cases import random_case, true_values
from tests.oracles import spending as oracle
from tests.statistics import assert_at_most, assert_binomial

SHARE = 0.4


class SharedContract(ExplorerContract):
    kind = None

    def make(self, policies, problem, seed):
        if isinstance(problem, ps.Problem):
            problem = replace(problem, against=0, traffic=SHARE)
        return self.kind(policies, problem, rng=seed)


class TestSieveOnAShare(SharedContract):
    kind = ps.Sieve


class TestEpsilonGreedyOnAShare(SharedContract):
    kind = ps.EpsilonGreedy


def explorations(m, traffic):
    policies, _ = random_case(0, m=m)
    problem = ps.Problem(
        n_actions=6,
        slate_size=m,
        sparsity=None,
        epsilon=0.2,
        delta=0.1,
        against=2,
        traffic=traffic,
    )
    yield UniformExploration(policies, problem)
    yield MixtureExploration(
        policies, problem, support=np.array([1, 4]), shares=np.array([0.3, 0.7]), mixing=0.2
    )
    yield ListExploration(policies, problem, listed=np.array([3, 0]), mixing=0.4)
    yield NeedExploration(
        policies,
        problem,
        survivors=np.array([0, 2, 5]),
        need=np.array([1.0, 0.5, 0.2]),
        votes=np.array([0.25, 0.75, 0.0]),
        mixing=0.5,
    )


@pytest.mark.parametrize("m", [1, 3])
def test_propensities_are_those_of_both_together(m):
    contexts = np.arange(5)
    for explored, shared in zip(explorations(m, 1.0), explorations(m, SHARE), strict=True):
        today = shared.policies.actions(contexts)[:, 2].tolist()
        every = explored.propensities(contexts).tolist()
        twin = [oracle.shared(row, slate, SHARE) for row, slate in zip(every, today, strict=True)]
        np.testing.assert_allclose(shared.propensities(contexts), twin, rtol=1e-12)
        assert shared.floor == pytest.approx(SHARE * explored.floor)
        assert shared.draws_per_round == explored.draws_per_round + 1


@pytest.mark.parametrize("m", [1, 3])
def test_whole_slates_are_explored_or_not(m):
    rng, n = np.random.default_rng(1), 4000
    for explored, shared in zip(explorations(m, 1.0), explorations(m, SHARE), strict=True):
        contexts = rng.integers(0, 5, n)
        coins, draws = rng.random((n, 1)), rng.random((n, explored.draws_per_round))
        actions, propensities = shared.choose(contexts, np.hstack([coins, draws]))
        there, _ = explored.choose(contexts, draws)
        today = shared.policies.actions(contexts)[:, 2]
        np.testing.assert_array_equal(actions, np.where(coins < SHARE, there, today))
        every = shared.propensities(contexts)
        at = np.take_along_axis(every, actions.astype(int), axis=1)
        np.testing.assert_allclose(propensities, at, rtol=1e-12)
        here = actions[contexts == 3]
        for item in range(6):
            assert_binomial(
                int((here == item).sum()), len(here), min(1.0, every[contexts == 3][0, item])
            )


def test_all_traffic_is_as_if_nothing_was_said():
    policies, _ = random_case(0)
    plain = ps.Problem(n_actions=6, epsilon=0.2, delta=0.1)
    named = ps.Problem(n_actions=6, epsilon=0.2, delta=0.1, against=1, traffic=1.0, max_loss=1e6)
    one, two = (ps.Sieve(policies, problem, rng=0).ask(np.arange(5)) for problem in (plain, named))
    np.testing.assert_array_equal(one.actions, two.actions)
    np.testing.assert_array_equal(one.propensities, two.propensities)


def test_a_file_without_a_share_is_read_and_one_with_it_keeps_it(tmp_path):
    (uniform, *_) = explorations(1, SHARE)
    path = tmp_path / "one.npz"
    uniform.save(path)
    assert ps.Exploration.load(path, uniform.policies).problem.traffic == SHARE
    with np.load(path) as archive:
        content = dict(archive)
    header = json.loads(str(content["header"]))
    for name in ("traffic", "max_loss"):  # which earlier releases did not write
        del header["problem"][name]
    file = BytesIO()
    np.savez(file, **{**content, "header": json.dumps(header)})
    path.write_bytes(sealed(file.getvalue()))
    assert ps.Exploration.load(path, uniform.policies).problem.traffic == 1.0


def test_only_survivors_and_what_runs_today_are_asked():
    asked = []

    def candidate(number):
        def act(x):
            asked.append(number)
            return (x + number) % 4

        return act

    policies = ps.FunctionPolicies([candidate(number) for number in range(4)], n_actions=4)
    problem = ps.Problem(n_actions=4, epsilon=0.2, delta=0.1, against=3, traffic=0.5)
    uniform = UniformExploration(policies, problem)
    uniform.ask(np.arange(4), rng=0)
    assert set(asked) == {3}
    asked.clear()
    learner = ps.Sieve(policies, problem, rng=0)
    rng = np.random.default_rng(0)
    while len(learner.survivors) == 4:
        batch = learner.ask(rng.integers(0, 4, learner.batch_size))
        learner.tell(batch, batch.actions == (batch.contexts[:, None] + 3) % 4)
    asked.clear()
    learner.ask(np.arange(4))
    assert set(asked) == set(learner.survivors.tolist())
    assert 3 in asked


def test_the_rest_refuses():
    policies, _ = random_case(0)
    problem = ps.Problem(n_actions=6, epsilon=0.2, delta=0.1, against=1, traffic=0.5)
    takes = {"EpsilonGreedy", "Exp4", "ListWeights", "LogBarrier", "PolicyElimination"}
    takes |= {"Sieve", "Uniform"}
    for name, learner in LEARNERS.items():
        if name in takes:
            assert learner(policies, problem, rng=0).problem.traffic == 0.5
        else:
            with pytest.raises(
                ps.InvalidArgumentError, match="explores in all rounds, got traffic"
            ):
                learner(policies, problem, rng=0)
    with pytest.raises(ps.InvalidArgumentError, match="traffic must be 1 for a plan"):
        ps.plan(problem, 9)


def test_promised_sizes_grow_as_the_share_falls():
    policies, _ = random_case(0)
    problem = ps.Problem(n_actions=6, epsilon=0.2, delta=0.1, against=1)
    all_of_it = ps.Uniform(policies, problem, rng=0)
    share = ps.Uniform(policies, replace(problem, traffic=0.25), rng=0)
    assert 3.9 < share.planned_rounds / all_of_it.planned_rounds <= 4


@pytest.mark.parametrize("learner", ["Sieve", "Exp4"])
def test_estimates_stay_unbiased(learner):
    policies, rewards = random_case(4)
    truth, means = true_values(policies, rewards), []
    problem = ps.Problem(n_actions=6, epsilon=0.2, delta=0.1, against=1, traffic=0.3)
    for seed in range(60):
        one = LEARNERS[learner](policies, problem, rng=seed)
        rng = np.random.default_rng(1000 + seed)
        for _ in range(3):
            contexts = rng.integers(0, 5, 40)
            batch = one.ask(contexts)
            one.tell(batch, rewards[contexts[:, None], batch.actions])
        log = one.log
        hits = policies.actions(log.contexts)[:, :, 0] == log.actions
        means.append((hits * log.rewards / log.propensities).mean(axis=0))
    error = np.std(means, axis=0, ddof=1) / np.sqrt(len(means))
    assert (np.abs(np.mean(means, axis=0) - truth) <= 6 * error + 1e-12).all()


def test_false_certificates_are_rare():
    """Two policies far apart, the worse of which runs today; noise is as large as it can be."""
    policies = ps.PolicyTable(np.array([[0, 1, 2]]), n_actions=3)
    problem = ps.Problem(n_actions=3, epsilon=0.05, delta=0.3, against=1, traffic=0.3)
    chances, false, runs = np.array([0.56, 0.5, 0.5]), 0, 60
    for seed in range(runs):
        learner = ps.Sieve(policies, problem, rounds=400, rng=seed)
        rng = np.random.default_rng(seed + 500)
        wrong = False
        while not learner.finished:
            batch = learner.ask(np.zeros(learner.batch_size, dtype=int))
            rewards = rng.random(len(batch)) < chances[batch.actions[:, 0]]
            learner.tell(batch, rewards.astype(float))
            best = learner.recommend()
            wrong |= chances.max() - chances[best.policy] > best.suboptimality_bound
            wrong |= 0 not in learner.survivors
            wrong |= chances[best.policy] - chances[1] < best.gain
        false += wrong
    assert_at_most(false, runs, 0.3)


def test_a_design_on_a_share_needs_more_rounds():
    policies, rewards = random_case(2)
    rng = np.random.default_rng(0)
    contexts, actions = rng.integers(0, 5, 800), rng.integers(0, 6, (800, 1))
    log = ps.Log(
        contexts=contexts,
        actions=actions,
        propensities=np.full((800, 1), 1 / 6),
        rewards=rewards[contexts[:, None], actions],
    )
    problem = ps.Problem(n_actions=6, epsilon=0.2, delta=0.1, against=1)
    whole, part = (ps.design(log, policies, replace(problem, traffic=t)) for t in (1.0, 0.1))
    np.testing.assert_array_equal(whole.shares, part.shares)
    assert part.variance_bound == pytest.approx(10 * whole.variance_bound)
    assert part.largest_gain == pytest.approx(10 * whole.largest_gain)
    assert part.ask(np.arange(5), rng=0).propensities.min() >= part.floor
