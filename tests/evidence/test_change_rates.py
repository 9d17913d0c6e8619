"""Changes of rewards that need no weights: against a slow twin, in worlds that do not change."""

from dataclasses import replace

import numpy as np
import pytest

import policysieve as ps
from policysieve.evidence.change_bets import _log_prior, find_change
from policysieve.evidence.change_rates import Rates
from policysieve.evidence.change_sums import ChangeSums, boundaries
from policysieve.evidence.groups import context_groups
from tests.evidence.test_change import changed, summed, two_worlds
from tests.oracles import changed as oracle
from tests.statistics import assert_at_most


def evidence(log, n_actions, kind):
    """Ln of the evidence at the end, before its share."""
    sums = summed(log)
    last = len(sums.boundaries)
    return sums.rates(n_actions)[kind][1].evidence(last, _log_prior(last)).log_evidence


def some_log(seed, n=300, K=3, X=4, **changed):
    rng = np.random.default_rng(seed)
    columns = {
        "contexts": rng.integers(0, X, n),
        "actions": rng.integers(0, K, n),
        "propensities": np.full(n, 1 / K),
        "rewards": (rng.random(n) < rng.choice([0.0, 0.2, 0.7, 1.0])).astype(float),
    }
    return ps.Log(**columns | changed)


@pytest.mark.parametrize("seed", range(6))
def test_evidence_equals_the_slow_way(seed):
    log = some_log(seed, n=150 + 40 * seed)
    actions, rewards = log.actions[:, 0].tolist(), log.rewards[:, 0].tolist()
    slow = oracle.log_evidence_of_rates([0] * len(log), rewards, 1)
    assert evidence(log, 3, "rate") == pytest.approx(slow, abs=1e-8)
    slow = oracle.log_evidence_of_rates(actions, rewards, 3)
    assert evidence(log, 3, "rates") == pytest.approx(slow, abs=1e-8)
    places = oracle.pairs_that_count(list(zip(log.contexts.tolist(), actions, strict=True)))
    slow = oracle.log_evidence_of_rates(places, rewards, max(places) + 1)
    assert evidence(log, 3, "pairs") == pytest.approx(slow, abs=1e-8)


@pytest.mark.parametrize("size", [7, 300])
def test_pairs_begin_when_they_come_again(size):
    """Whatever the batches, within the first 2,048 rounds and for 256 pairs."""
    rng = np.random.default_rng(0)
    n = 2600
    contexts = np.where(np.arange(n) < 2200, rng.integers(0, 400, n), rng.integers(400, 410, n))
    log = some_log(0, n=n, contexts=contexts)
    keys = list(zip(contexts.tolist(), log.actions[:, 0].tolist(), strict=True))
    places = np.array(oracle.pairs_that_count(keys))
    assert places.max() == 255
    assert (places[2200:] == -1).all()
    rates = summed(log, size).rates(3)["pairs"][1]
    counted = np.bincount(places[places >= 0], minlength=256)
    np.testing.assert_array_equal(rates.rounds.sum(axis=1), counted)


@pytest.mark.parametrize("seed", range(4))
def test_looks_that_are_left_out_could_not_be_enough(seed):
    log = two_worlds(seed, 900, [0.3, 0.2], [0.2, 0.3])
    sums = summed(log)
    last = len(sums.boundaries)
    for kind in ("rate", "rates"):
        rates, prior = sums.rates(2)[kind][1], _log_prior(last)
        found = {look: rates.evidence(look, prior).log_evidence for look in range(2, last + 1)}
        for enough in (-1.0, 0.5, 3.0):
            looks = rates.looks(last, enough)
            assert all(found[look] < enough for look in found if look not in looks)
        assert len(rates.looks(last, 20.0)) < len(found)


@pytest.mark.parametrize("n_rates", [5, 40])
def test_who_has_looked_before_has_seen_all_that_others_look_at(n_rates):
    shape = (n_rates, 30)
    rates = Rates(np.ones(shape), np.ones(shape), np.ones(30, bool))
    for first in range(2, 30):
        seen = set(rates.looks(first, -np.inf))
        for last in range(first, 30):
            assert {look for look in rates.looks(last, -np.inf) if look < first} <= seen


def test_no_pair_of_contexts_that_never_come_twice():
    log = some_log(0, contexts=np.random.default_rng(0).normal(size=(300, 2)))
    assert len(summed(log).rates(3)["pairs"][1].rounds) == 0
    assert evidence(log, 3, "pairs") == -np.inf


def test_rates_need_a_fixed_design():
    """Where what is shown depends on the context, the mean of what is shown may change."""
    skewed = np.full(300, 1 / 3)
    skewed[-1] = 0.5
    log = some_log(1, propensities=skewed)
    assert evidence(log, 3, "rate") == evidence(log, 3, "rates") == -np.inf
    assert evidence(log, 3, "pairs") > -np.inf


def test_slates_have_no_rates():
    rng = np.random.default_rng(0)
    shown = rng.random((200, 4)).argsort(axis=1)[:, :2]
    log = ps.Log(
        contexts=rng.integers(0, 3, 200),
        actions=shown,
        propensities=np.full((200, 2), 0.5),
        rewards=rng.integers(0, 2, (200, 2)).astype(float),
    )
    assert summed(log).rates(4) == {}
    assert find_change(summed(log), 4, 0.05) is None


def greedy_at_contexts(seed, n, *, flips):
    """A learner that shows what earned most at a context, whose means may turn round."""
    rng = np.random.default_rng(seed)
    means = rng.uniform(0.05, 0.95, (5, 3))
    earned, pulls = np.zeros((5, 3)), np.ones((5, 3))
    contexts, draws = rng.integers(0, 5, n), rng.random((n, 2))
    actions, shares, rewards = np.empty(n, int), np.empty(n), np.empty(n)
    for t, x in enumerate(contexts):
        p = np.full(3, 0.1)
        p[(earned[x] / pulls[x]).argmax()] += 0.7
        a = int(np.searchsorted(p.cumsum(), draws[t, 0]).clip(0, 2))
        mean = 1 - means[x, a] if flips and t >= n // 2 else means[x, a]
        actions[t], shares[t], rewards[t] = a, p[a], draws[t, 1] < mean
        pulls[x, a] += 1
        earned[x, a] += rewards[t]
    return ps.Log(contexts=contexts, actions=actions, propensities=shares, rewards=rewards)


def test_learners_that_adapt_to_contexts_raise_few_alarms():
    runs, delta = 50, 0.2
    alarms = sum(
        changed(greedy_at_contexts(seed, 400, flips=False), 3, delta) is not None
        for seed in range(runs)
    )
    assert_at_most(alarms, runs, delta)


def test_evidence_reaches_a_level_as_seldom_as_it_must():
    """Looked at by itself after every stretch, with few rounds of each rate; half are fractions."""
    runs, delta, false = 200, 0.2, 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        n_rates, n = int(rng.integers(1, 12)), 200
        means = rng.choice([0.02, 0.3, 0.5, 0.97], n_rates)
        places = rng.integers(0, n_rates, n)
        at = np.searchsorted(boundaries(n), np.arange(n), "right")
        stretches = int(at[-1]) + 1
        counts = np.zeros((2, n_rates, stretches))
        np.add.at(counts[0], (places, at), 1.0)
        rewards = (rng.random(n) < means[places]).astype(float)
        if seed % 2:
            room = np.minimum(means, 1 - means)[places]
            rewards = means[places] + room * rng.uniform(-1, 1, n)
        np.add.at(counts[1], (places, at), rewards)
        rates = Rates(*counts, np.ones(stretches, bool))
        prior = _log_prior(stretches)
        looks = range(2, stretches + 1)
        false += max(rates.evidence(look, prior).log_evidence for look in looks) >= np.log(
            1 / delta
        )
    assert_at_most(false, runs, delta)


def test_rewards_that_turn_round_at_every_context_are_found():
    found = [changed(greedy_at_contexts(seed, 1500, flips=True), 3) for seed in range(8)]
    assert all(found)
    for change in found:
        assert change.watched.kind == "pairs"
        assert change.watched.of_rewards
        assert 600 < change.split < 900
        assert 750 < change.alarm <= 1500
        said = change.what()
        assert said == (
            f"the mean reward of action {change.watched.action} at context {change.watched.context}"
        )
        assert change.to_dict()["context"] == change.watched.context


def test_flips_of_few_points_are_found():
    """Which the weighted means did not show: 1 of 40 logs of 2,000 rounds, with 10 points."""
    first, second = [0.15, 0.05], [0.05, 0.15]
    found = [changed(two_worlds(seed, 2000, first, second), 2) for seed in range(10)]
    assert sum(one is not None for one in found) >= 5


def test_missing_rewards_are_not_taken_for_a_change():
    """Later only successes are told, so that the mean of what is known rises."""
    log = some_log(2, n=2000, rewards=(np.random.default_rng(5).random(2000) < 0.3).astype(float))
    (rounds,) = log.rounds()
    rewards = rounds.rewards.copy()
    rewards[1000:][rewards[1000:] == 0] = np.nan
    sums = ChangeSums(1)
    sums.add(replace(rounds, rewards=rewards), context_groups(rounds.contexts))
    assert find_change(sums, 3, 0.05) is None


def test_pairs_of_many_actions_are_told_by_their_own():
    rng = np.random.default_rng(0)
    n, K = 6000, 50
    actions = rng.integers(0, K, n)
    late = np.arange(n) >= n // 2
    log = ps.Log(
        contexts=np.zeros(n, int),
        actions=actions,
        propensities=np.where(rng.random(n) < 0.5, 0.02, 0.021),  # no fixed design
        rewards=(rng.random(n) < np.where((actions == 37) & late, 0.95, 0.05)).astype(float),
    )
    change = changed(log, K)
    assert (change.watched.kind, change.watched.action) == ("pairs", 37)
    assert change.what() == "the mean reward of action 37 at context 0"
