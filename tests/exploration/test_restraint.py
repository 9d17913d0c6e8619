"""A switch back to what runs today, and a limit on what exploring may cost."""

import pickle
import signal
from dataclasses import replace

import numpy as np
import pytest

import policysieve as ps
from policysieve.exploration import LEARNERS
from policysieve.exploration.designs import TodayExploration, UniformExploration
from tests.exploration.cases import play, random_case, true_values
from tests.statistics import assert_at_most

PROBLEM = ps.Problem(n_actions=6, epsilon=0.2, delta=0.1, against=3)

learners = pytest.mark.parametrize("name", LEARNERS)


def told(learner, contexts, rewards):
    batch = learner.ask(contexts)
    learner.tell(batch, rewards[contexts[:, None], batch.actions])
    return batch


@learners
def test_a_stopped_learner_shows_what_runs_today_and_goes_on_as_if_nothing_had_happened(name):
    policies, rewards = random_case(1)
    rewards = (rewards == rewards.max(axis=1, keepdims=True)).astype(float)
    one, two = (LEARNERS[name](policies, PROBLEM, rng=0) for _ in range(2))
    x = np.random.default_rng(0).integers(0, 5, 200)
    for learner in (one, two):
        told(learner, x[:60], rewards)
    late = [learner.ask(x[60:80]) for learner in (one, two)]
    one.stop_exploring()
    one = pickle.loads(pickle.dumps(one))
    assert not one.exploring
    shown = one.ask(x[80:130])
    np.testing.assert_array_equal(shown.actions, policies.actions(x[80:130])[:, 3])
    assert (shown.propensities == 1).all()
    assert (one.batch_size, one.ask_limit) == (100, None)
    one.tell(shown, rewards[x[80:130, None], shown.actions])
    for learner, batch in zip((one, two), late, strict=True):
        learner.tell(batch, rewards[x[60:80, None], batch.actions])
    assert (one.rounds, one.played, len(one.log), two.rounds) == (80, 130, 130, 80)
    assert (one.log.propensities[80:] == 1).all()
    np.testing.assert_array_equal(one.intervals().upper, two.intervals().upper)
    np.testing.assert_array_equal(one.intervals().values, two.intervals().values)
    one.resume_exploring()
    assert one.exploring
    again, also = one.ask(x[130:]), two.ask(x[130:])
    np.testing.assert_array_equal(again.actions, also.actions)
    np.testing.assert_array_equal(again.propensities, also.propensities)


def test_a_learner_that_never_explored_knows_what_it_earned():
    policies, rewards = random_case(1)
    learner = ps.Sieve(policies, PROBLEM, rng=0)
    learner.stop_exploring()
    play(learner, rewards, 60, 20, seed=0)
    cost = learner.cost()
    assert (cost.rounds, cost.explored) == (60, 0)
    assert (cost.today.lower, cost.today.estimate, cost.today.upper) == (0, 0, 0)
    assert cost.to_dict()["best"]["estimate"] is None
    assert cost.best.lower == 0
    assert "not known" not in cost._repr_html_()
    assert (learner.recommend().rounds, learner.played) == (0, 60)
    assert not learner.finished


def test_stopping_is_not_a_change_of_the_world():
    policies, rewards = random_case(1)
    learner = ps.Uniform(policies, PROBLEM, rng=0)
    rng = np.random.default_rng(0)
    for stopped in (False, True, False):
        if stopped:
            learner.stop_exploring()
        else:
            learner.resume_exploring()
        for _ in range(6):
            told(learner, rng.integers(0, 5, 100), rewards)
    assert learner.alarm is None


def test_what_runs_today_must_be_known():
    learner = ps.Sieve(random_case(0)[0], replace(PROBLEM, against=None), rng=0)
    with pytest.raises(ps.InvalidArgumentError, match=r"Problem\(against=\.\.\.\)"):
        learner.stop_exploring()
    assert learner.exploring
    with pytest.raises(ps.InvalidArgumentError, match="against must be set"):
        TodayExploration(learner.policies, learner.problem)


def test_nobody_else_is_asked_while_it_is_stopped():
    asked = []

    def candidate(number):
        def act(x):
            asked.append(number)
            return (x + number) % 6

        return act

    policies = ps.FunctionPolicies([candidate(number) for number in range(5)], n_actions=6)
    learner = ps.Sieve(policies, PROBLEM, rng=0)
    learner.stop_exploring()
    batch = learner.ask(np.arange(6))
    learner.tell(batch, np.zeros(6))
    learner.cost()
    assert set(asked) == {3}


def test_a_signal_handler_cannot_stop_within_a_call():
    policies = ps.FunctionPolicies([_signalled, _signalled], n_actions=6)
    learner = ps.Sieve(policies, replace(PROBLEM, against=0), rng=0)
    outcomes = []

    def stop(*_):
        try:
            learner.stop_exploring()
            outcomes.append("stopped")
        except ps.BusyError:
            outcomes.append("busy")

    before = signal.signal(signal.SIGALRM, stop)
    try:
        batch = learner.ask(np.arange(6))  # candidates have no lock: it stops before it decides
    finally:
        signal.signal(signal.SIGALRM, before)
    assert outcomes
    assert "busy" not in outcomes
    assert (batch.propensities == 1).all()


def _signalled(x):
    signal.raise_signal(signal.SIGALRM)
    return x % 6


def test_rounds_that_were_shown_elsewhere_are_learnt_from():
    policies, rewards = random_case(1)
    learner = ps.Sieve(policies, PROBLEM, rng=0)
    today = TodayExploration(policies, PROBLEM)
    x = np.arange(5)
    batch = today.ask(x)
    log = ps.Log(
        contexts=x,
        actions=batch.actions,
        propensities=batch.propensities,
        rewards=rewards[x[:, None], batch.actions],
    )
    learner.learn(log, today)
    assert (learner.rounds, learner.played, learner.cost().explored) == (0, 5, 0)
    wrong = UniformExploration(policies, PROBLEM).ask(x, rng=0)
    bad = ps.Log(
        contexts=x,
        actions=wrong.actions,
        propensities=np.ones((5, 1)),
        rewards=np.zeros((5, 1)),
    )
    with pytest.raises(ps.InvalidArgumentError, match="propensities must be those"):
        learner.learn(bad, today)


def test_evidence_takes_rounds_that_show_what_runs_today():
    """Nothing breaks where the others cannot be shown, and nothing false is said of them."""
    policies, rewards = random_case(3)
    evidence = ps.Evidence(policies, PROBLEM)
    today = TodayExploration(policies, PROBLEM)
    rng, truth = np.random.default_rng(0), true_values(policies, rewards)
    for _ in range(30):
        x = rng.integers(0, 5, 20)
        batch = today.ask(x)
        log = ps.Log(
            contexts=x,
            actions=batch.actions,
            propensities=batch.propensities,
            rewards=rewards[x[:, None], batch.actions],
        )
        evidence.add(log, today)
    limits = evidence.intervals()
    assert np.isfinite(limits.values).all()
    assert (limits.lower <= truth).all()
    assert (truth <= limits.upper).all()
    assert limits.upper[3] - limits.lower[3] < 0.2
    proof = evidence.certificate()
    assert truth.max() - truth[proof.leader] <= proof.suboptimality_bound


# --- a limit on what exploring may cost ------------------------------------------------------


def test_a_batch_explores_as_far_as_the_limit_allows():
    policies, _ = random_case(1)
    learner = ps.Sieve(policies, replace(PROBLEM, max_loss=7.0, traffic=0.5), rng=0)
    assert learner.status().left == 14
    assert learner.batch_size == learner.ask_limit == 14
    x = np.random.default_rng(0).integers(0, 5, 20)
    batch = learner.ask(x)
    every = learner.exploration.propensities(x[:14])
    np.testing.assert_allclose(
        batch.propensities[:14, 0], every[np.arange(14), batch.actions[:14, 0]]
    )
    np.testing.assert_array_equal(batch.actions[14:], policies.actions(x[14:])[:, 3])
    assert (batch.propensities[14:] == 1).all()
    assert (learner.batch_size, learner.ask_limit, learner.status().left) == (0, 0, 0)
    assert not learner.finished  # answers may show that it has cost less
    assert (learner.ask(x).propensities == 1).all()
    learner.discard(batch[:5])  # what was shown has cost something, whatever it was
    learner.tell(batch[5:], np.zeros(15))
    assert learner.cost().explored == 9
    assert learner.status().left == 0


def test_it_ends_when_nothing_may_be_explored_any_more():
    policies, rewards = random_case(1)
    learner = ps.Uniform(policies, replace(PROBLEM, max_loss=30.0), rng=0)
    rng = np.random.default_rng(0)
    while not learner.finished:
        told(learner, rng.integers(0, 5, max(1, learner.batch_size)), rewards)
    status = learner.status()
    assert (status.left, status.finished, status.exploring) == (0, True, True)
    assert 30 <= learner.cost().explored < learner.planned_rounds
    assert learner.recommend().guarantee.startswith("Nothing is guaranteed")
    before = learner.played
    batch = told(learner, rng.integers(0, 5, 40), rewards)
    assert (batch.propensities == 1).all()
    assert learner.played == before + 40


def test_a_run_ends_with_the_limit():
    world = ps.worlds.SparseSynthetic(
        n_actions=6, n_contexts=40, n_policies=9, profile="close", rng=0
    )
    policies = ps.PolicyTable(world.pool, n_actions=6)
    problem = world.problem(epsilon=0.01, delta=0.1, against=0, traffic=0.2, max_loss=25)
    result = ps.run(ps.EpsilonGreedy(policies, problem, rng=0), world, 20_000, progress=False)
    assert result.finished
    assert not result.recommendation.certified
    assert result.rounds < 20_000
    assert result.cost.today.upper <= 25 + 1e-9


def test_what_was_decided_elsewhere_counts_as_lost_but_not_as_open():
    policies, rewards = random_case(1)
    learner = ps.EpsilonGreedy(policies, replace(PROBLEM, max_loss=50.0), rng=0)
    x = np.random.default_rng(0).integers(0, 5, 10)
    batch = learner.exploration.ask(x, rng=0)
    shown = rewards[x[:, None], batch.actions]
    log = ps.Log(contexts=x, actions=batch.actions, propensities=batch.propensities, rewards=shown)
    learner.learn(log, learner.exploration)
    assert learner.status().left == 40
    learner.ask(x)
    assert learner.status().left == 30


@pytest.mark.parametrize(("traffic", "limit"), [(1.0, 40.0), (0.3, 25.0)])
def test_the_limit_is_kept(traffic, limit):
    """Everything but what runs today earns nothing, so that exploring costs as much as it can."""
    policies = ps.PolicyTable(np.array([[0, 1, 2, 3]]), n_actions=4)
    problem = ps.Problem(
        n_actions=4,
        sparsity=None,
        epsilon=0.05,
        delta=0.3,
        against=0,
        traffic=traffic,
        max_loss=limit,
    )
    chances, broken, runs, used = np.array([0.7, 0.0, 0.0, 0.0]), 0, 60, []
    for seed in range(runs):
        learner = ps.Uniform(policies, problem, rounds=100_000, rng=seed)
        rng, lost = np.random.default_rng(seed + 100), 0.0
        open_batches = []
        for step in range(60):
            batch = learner.ask(np.zeros(10 + 5 * (step % 3), dtype=int))
            explores = int((batch.propensities[:, 0] < 1).sum())
            lost += explores * traffic * 0.75 * 0.7
            open_batches.append(batch)
            if step % 4 == 3:  # answers come late, and the last first
                for one in reversed(open_batches):
                    learner.tell(one, (rng.random(len(one)) < chances[one.actions[:, 0]]) * 1.0)
                open_batches = []
        broken += lost > limit
        used.append(lost)
    assert_at_most(broken, runs, 0.3)
    assert np.mean(used) > 0.3 * limit  # it is not kept by exploring nothing


def test_exploring_that_pays_is_not_limited_for_good():
    """What runs today is the worst: exploring soon earns more, and the limit is never used up."""
    policies = ps.PolicyTable(np.array([[0, 1, 2]]), n_actions=3)
    problem = ps.Problem(
        n_actions=3, epsilon=0.05, delta=0.1, against=0, traffic=0.5, max_loss=40.0
    )
    learner = ps.EpsilonGreedy(policies, problem, rounds=3000, mixing=0.2, rng=0)
    chances, rng = np.array([0.2, 0.5, 0.6]), np.random.default_rng(0)
    while not learner.finished:
        batch = learner.ask(np.zeros(max(1, learner.batch_size), dtype=int))
        learner.tell(batch, (rng.random(len(batch)) < chances[batch.actions[:, 0]]) * 1.0)
    cost = learner.cost()
    assert cost.explored == 3000
    assert cost.today.upper < 0


def test_learning_on_a_limit_is_as_valid_as_without():
    policies, rewards = random_case(1)
    learner = ps.Sieve(policies, replace(PROBLEM, max_loss=8.0, traffic=0.5), rng=0)
    play(learner, rewards, 600, 50, seed=0)
    limits, truth = learner.intervals(), true_values(policies, rewards)
    assert learner.evidence.rounds == learner.cost().explored < learner.played == 600
    assert (limits.lower <= truth).all()
    assert (truth <= limits.upper).all()


def test_no_proof_is_expected_of_a_learner_that_does_not_explore():
    policies, rewards = random_case(1)
    for kind in (ps.Sieve, ps.Uniform):
        learner = kind(policies, replace(PROBLEM, epsilon=0.01), rng=0)
        play(learner, rewards, 200, 20, seed=0)
        before = learner.forecast().sentence()
        learner.stop_exploring()
        for found in (learner.forecast(), learner.status().forecast):
            assert found.total is None
            assert "told to stop exploring" in found.sentence()
        learner.resume_exploring()
        assert learner.forecast().sentence() == before


def test_a_limit_that_is_used_up_is_named_and_no_proof_is_expected():
    policies, _ = random_case(1)
    problem = replace(PROBLEM, epsilon=0.01, traffic=0.5, max_loss=30)
    learner = ps.Sieve(policies, problem, rng=0)
    assert "used up" not in learner.recommend().guarantee
    batches = []
    while learner.batch_size:
        batches.append(learner.ask(np.arange(learner.batch_size) % 5))
    assert "before more answers are told" in learner.forecast().reason
    while not learner.finished:
        for batch in batches:
            mine = policies.actions(batch.contexts)[:, 3]  # it is the best
            learner.tell(batch, (batch.actions == mine).astype(float))
        batches = [learner.ask(np.arange(learner.batch_size) % 5)]
    assert not learner.recommend().certified
    status = learner.status()
    for best in (learner.recommend(), status.recommendation):
        assert "The limit on what exploring may cost, 30, is used up." in best.guarantee
    for found in (learner.forecast(), status.forecast):
        assert found.total is None
        assert "is used up" in found.sentence()
    assert status.finished
    assert status.left == 0
