"""Votes with weights from rounds: by hand, every error, and what they would prove of themselves."""

from math import exp, sqrt

import numpy as np
import pytest

import policysieve as ps
from tests.exploration.test_joining import Count
from tests.statistics import assert_at_most

K, N, P = 5, 30, 12


def problem(m=1, **given):
    return ps.Problem(n_actions=K, slate_size=m, epsilon=0.1, delta=0.1, **given)


def made(m=1, n=80, seed=0, uniform=False):
    """Candidates and a log in which action 0 is the best; propensities are any if not uniform."""
    rng = np.random.default_rng(seed)
    table = rng.random((N, P, K)).argsort(axis=-1)[..., :m]
    actions = rng.random((n, K)).argsort(axis=-1)[:, :m]
    rewards = (rng.random((n, m)) < np.where(actions == 0, 0.9, 0.2)) / m
    propensities = np.full((n, m), m / K) if uniform else rng.uniform(0.1, 0.9, (n, m))
    log = ps.Log(
        contexts=rng.integers(0, N, n), actions=actions, propensities=propensities, rewards=rewards
    )
    return ps.PolicyTable(table, n_actions=K), log


def by_hand(policies, log, temperature, cap=1.0):
    """Weights of the formula, with plain loops."""
    n = len(log)
    scores = np.zeros((n, P))
    for i in range(n):
        for p in range(P):
            slate = policies.table[log.contexts[i], p].tolist()
            for a, w, r in zip(log.actions[i], log.propensities[i], log.rewards[i], strict=True):
                scores[i, p] += r / w if a in slate else 0.0
    means = [sum(scores[:, p]) / n for p in range(P)]
    spread = [sum((s - means[p]) ** 2 for s in scores[:, p]) / (n - 1) for p in range(P)]
    best = means.index(max(means))
    weights = []
    for p in range(P):
        error = sqrt((spread[p] + spread[best]) / n)
        weight = exp(-(means[best] - means[p]) / max(temperature * cap, error))
        weights.append(weight if weight >= 1e-3 else 0.0)
    return np.array(weights) / sum(weights)


@pytest.mark.parametrize("m", [1, 3])
def test_weights_by_hand(m):
    policies, log = made(m)
    degrees = (0.001, 0.02, 0.5, 3.0)
    votes = ps.fit_votes(log, policies, problem(m), temperatures=degrees)
    assert type(votes) is ps.VotePolicies
    assert votes.policies is policies
    assert votes.fitted_on == len(log)
    for weights, degree in zip(votes.weights, degrees, strict=True):
        np.testing.assert_allclose(weights, by_hand(policies, log, degree), rtol=1e-9, atol=1e-12)
    assert ps.fit_votes(log, policies, problem(m)).n_policies == 2


def test_who_is_far_behind_does_not_vote():
    """Known after many rounds: the best alone votes when it is cold, all when it is hot."""
    rng, n = np.random.default_rng(0), 5000
    actions = rng.integers(0, K, (n, 1))
    log = ps.Log(
        contexts=np.zeros(n, int),
        actions=actions,
        propensities=np.full((n, 1), 1 / K),
        rewards=(actions == 3).astype(float),
    )
    names = list("abcde")
    policies = ps.PolicyTable([[0, 1, 2, 3, 4]], n_actions=K, names=names)
    votes = ps.fit_votes(log, policies, problem(), temperatures=(0.02, 10))
    assert votes.weights[0].tolist() == [0, 0, 0, 1, 0]
    assert (votes.weights[1] > 0.1).all()
    assert votes.names == (
        "vote of 1 after 5,000 rounds (temperature 0.02)",
        "vote of 5 after 5,000 rounds (temperature 10)",
    )


def test_units_do_not_matter(tmp_path):
    """Costs from -3 to 1, of which less is better, in a file: the same votes."""
    policies, log = made()
    costs = ps.Log(
        contexts=log.contexts,
        actions=log.actions,
        propensities=log.propensities,
        rewards=1 - 4 * log.rewards,
        reward_range=(-3, 1),
    )
    costs.save(tmp_path / "log.parquet")
    q = problem(reward_range=(-3, 1), objective="minimize")
    found = ps.fit_votes(tmp_path / "log.parquet", policies, q)
    np.testing.assert_allclose(
        found.weights, ps.fit_votes(log, policies, problem()).weights, rtol=1e-9
    )


def test_candidates_are_asked_at_rewarded_rounds_alone():
    policies, log = made()
    asked = []

    def answer(p):
        def ask(contexts):
            asked.append(len(contexts))
            return policies.table[contexts, p, 0]

        return ask

    functions = ps.FunctionPolicies([answer(p) for p in range(P)], n_actions=K)
    found = ps.fit_votes(log, functions, problem())
    np.testing.assert_array_equal(found.weights, ps.fit_votes(log, policies, problem()).weights)
    assert asked == [int((log.rewards > 0).sum())] * P


@pytest.mark.parametrize(
    ("temperatures", "message"),
    [
        ((), "at least one"),
        ((0.1, 0.1), "different numbers"),
        ((0.0,), "above 0"),
        ((-1,), "above 0"),
        ((float("inf"),), "finite"),
        ((float("nan"),), "temperatures"),
        (("warm",), "temperatures"),
        (0.1, "temperatures must be a sequence"),
    ],
)
def test_bad_temperatures(temperatures, message):
    policies, log = made()
    with pytest.raises(ps.InvalidArgumentError, match=message):
        ps.fit_votes(log, policies, problem(), temperatures=temperatures)


def test_logs_that_do_not_fit():
    policies, log = made()
    with pytest.raises(ps.InvalidArgumentError, match="at least two rounds, got 1"):
        ps.fit_votes(log[:1], policies, problem())
    with pytest.raises(ps.InvalidArgumentError, match="slate size"):
        ps.fit_votes(made(3)[1], policies, problem())
    with pytest.raises(ps.InvalidArgumentError, match="numbered"):
        ps.fit_votes(log, ps.TabularPolicies(n_contexts=N, n_actions=K), problem())


def test_select_does_not_judge_votes_by_what_they_were_fitted_on():
    policies, log = made(n=200, uniform=True)
    votes = ps.fit_votes(log[:150], policies, problem())
    for both in (policies + votes, votes):
        with pytest.raises(ps.InvalidArgumentError, match="since must be at least 150, got 149"):
            ps.select(log, both, problem(), since=149)
        assert ps.select(log, both, problem(), since=150).certificate.rounds == 50
    elsewhere = ps.VotePolicies(policies, votes.weights)
    assert ps.select(log, policies + elsewhere, problem()).certificate.rounds == 200


def test_fitted_votes_cannot_join_as_unseen():
    policies, log = made()
    learner = ps.Sieve(policies, problem(), additions=1, rng=0)
    votes = ps.fit_votes(log, policies, problem())
    for new in (votes, votes + ps.VotePolicies(policies)):
        with pytest.raises(ps.InvalidArgumentError, match="unseen must be left out for votes"):
            learner.add(new, unseen=True)
    assert learner.policies is policies
    learner.add(votes)
    assert learner.policies.n_policies == P + 2


def test_a_vote_that_is_better_than_each_is_found_and_proved():
    """Candidates know two thirds of the contexts, each others: together they know all."""
    rng = np.random.default_rng(1)
    right = rng.integers(0, K, 300)
    knows = rng.random((300, 40)) < 0.65
    table = np.where(knows, right[:, None], rng.integers(0, K, (300, 40)))
    policies = ps.PolicyTable(table, n_actions=K)
    learner = ps.Sieve(policies + ps.VotePolicies(policies), problem(), rng=0)
    while not learner.finished:
        decisions = learner.ask(rng.integers(0, 300, 20))
        learner.tell(decisions, decisions.actions[:, 0] == right[decisions.contexts])
    found = learner.recommend()
    assert (found.policy, found.certified) == (40, True)
    vote = ps.VotePolicies(policies).actions(np.arange(300))[:, 0, 0]
    assert (vote == right).mean() > (table == right[:, None]).mean(axis=0).max() + 0.2


def voted_on_noise(seed, *, honest):
    """One candidate is right, others guess, and votes of them remember what was rewarded where."""
    rng, n, count = np.random.default_rng(seed), 1000, Count()
    columns = np.column_stack([np.zeros(n, int), rng.integers(0, 2, (n, 1000))])
    means = np.array([0.7, 0.3])
    q = ps.Problem(n_actions=2, epsilon=0.1, delta=0.3)
    start = ps.PolicyTable(columns, n_actions=2)
    values = list(means[columns].mean(axis=0))
    learner = ps.PolicyElimination(start, q, rng=seed, additions=1)
    for size in (250, 50, 50):
        decisions = learner.ask(rng.integers(0, n, size))
        learner.tell(decisions, rng.random((size, 1)) < means[decisions.actions])
        if len(learner.policies) == len(start):
            votes = ps.fit_votes(learner.log, start, q)
            values += list(means[votes.actions(np.arange(n))[:, :, 0]].mean(axis=0))
            if honest:
                learner.add(votes)
            else:
                learner.add(ps.VotePolicies(start, votes.weights), unseen=True)
        count.see(learner, values)
    return count


def test_votes_that_were_fitted_on_noise_are_not_believed():
    runs = [voted_on_noise(seed, honest=True) for seed in range(24)]
    assert_at_most(sum(run.wrong or run.lost for run in runs), len(runs), 0.3)


def test_votes_would_be_believed_if_the_rounds_that_fitted_them_judged_them():
    """So the count above can fail, and the guard matters."""
    runs = [voted_on_noise(seed, honest=False) for seed in range(24)]
    assert sum(run.wrong for run in runs) > 18  # of 24, and 7 may be
