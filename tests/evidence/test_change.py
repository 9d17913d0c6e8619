import numpy as np
import pytest

import policysieve as ps
from policysieve.evidence.change_bets import Bets, find_change
from policysieve.evidence.change_sums import ChangeSums, boundaries
from policysieve.evidence.groups import context_groups
from policysieve.log import Rounds
from tests.oracles import changed as oracle
from tests.statistics import assert_at_most


def summed(log, size=10**9):
    sums = ChangeSums(log.slate_size)
    for start in range(0, len(log), size):
        (rounds,) = log[start : start + size].rounds()
        sums.add(rounds, context_groups(rounds.contexts))
    return sums


def changed(log, n_actions, delta=0.05):
    return find_change(summed(log), n_actions, delta)


def two_worlds(seed, n, first, second, contexts=None):
    """A uniform log whose actions have other mean rewards from the middle on."""
    rng = np.random.default_rng(seed)
    K = len(first)
    actions = rng.integers(0, K, n)
    means = np.where(np.arange(n)[:, None] < n // 2, first, second)[np.arange(n), actions]
    return ps.Log(
        contexts=rng.integers(0, 30, n) if contexts is None else contexts,
        actions=actions,
        propensities=np.full(n, 1 / K),
        rewards=rng.random(n) < means,
    )


def greedy(seed, n, means, *, drop=False):
    """By a learner that follows what earned most; with `drop`, one action has no support later."""
    rng, K = np.random.default_rng(seed), len(means)
    pulls, earned = np.ones(K), np.zeros(K)
    actions, propensities, rewards = np.empty(n, int), np.empty(n), np.empty(n)
    for t in range(n):
        shares = np.full(K, 0.2 / K)
        shares[(earned / pulls).argmax()] += 0.8
        if drop and t > n // 3:
            shares[(earned / pulls).argmin()] = 0.0
            shares /= shares.sum()
        a = rng.choice(K, p=shares)
        r = float(rng.random() < means[a])
        pulls[a] += 1
        earned[a] += r
        actions[t], propensities[t], rewards[t] = a, shares[a], r
    return ps.Log(
        contexts=rng.integers(0, 9, n), actions=actions, propensities=propensities, rewards=rewards
    )


@pytest.mark.parametrize("kind", ["uniform", "greedy", "slates"])
def test_evidence_equals_the_slow_way(kind):
    if kind == "greedy":
        log = greedy(0, 40, [0.2, 0.7, 0.4])
    elif kind == "uniform":
        log = two_worlds(0, 40, [0.2, 0.7, 0.4], [0.6, 0.1, 0.4])
    else:
        rng = np.random.default_rng(0)
        slates = rng.random((40, 3)).argsort(axis=1)[:, :2]
        log = ps.Log(
            contexts=np.zeros(40, int),
            actions=slates,
            propensities=np.full((40, 2), 2 / 3),
            rewards=rng.random((40, 2)),
        )
    watched = summed(log).watched(3)
    bets = Bets([series for _, series in watched], [1.0] * len(watched))
    last = len(watched[0][1].rounds)
    for which in (0, 1, 3):
        earned, missed = [], []
        for shown, given, got in zip(log.actions, log.propensities, log.rewards, strict=True):
            items = [
                (r, w)
                for a, w, r in zip(shown, given, got, strict=True)
                if which == 0 or a == which - 1
            ]
            scale = 3 if which == 0 else 1
            earned.append(sum(r / w for r, w in items) / scale)
            missed.append(sum((1 - r) / w for r, w in items) / scale)
        most = {0: 1.0, 1: 3.0, 3: 3.0}[which] if kind == "uniform" else None
        slow = oracle.log_evidence(earned, missed, most)
        assert bets.evidence(which, last)[0] == pytest.approx(slow, abs=1e-6)
        assert bets.at_most(last)[which] >= slow


def test_possible_splits_are_fixed_beforehand():
    assert boundaries(10_000).tolist() == oracle.boundaries(10_000)
    assert boundaries(15).size == 0


def test_batches_do_not_matter():
    rng = np.random.default_rng(0)
    log = two_worlds(1, 3000, [0.1, 0.6], [0.6, 0.1], contexts=rng.normal(size=(3000, 2)))
    one, two = (find_change(summed(log, size), 2, 0.05) for size in (3000, 7))
    assert one.to_dict() == pytest.approx(two.to_dict())


@pytest.mark.parametrize("drop", [False, True])
def test_adaptive_learners_in_one_world_raise_few_alarms(drop):
    """Raw rates of rewards change, and so do the actions that have support."""
    runs, delta, alarms = 60, 0.2, 0
    for seed in range(runs):
        alarms += changed(greedy(seed, 500, [0.1, 0.4, 0.8], drop=drop), 3, delta) is not None
    assert_at_most(alarms, runs, delta)


def test_uniform_logs_of_one_world_raise_few_alarms():
    runs, delta, alarms = 300, 0.2, 0
    for seed in range(runs):
        rng = np.random.default_rng(10_000 + seed)
        features = rng.normal(size=(1500, 3))
        log = two_worlds(seed, 1500, [0.05, 0.5], [0.05, 0.5], contexts=features)
        alarms += changed(log, 2, delta) is not None
    assert_at_most(alarms, runs, delta)


@pytest.mark.parametrize("seed", range(3))
def test_an_action_that_flips_is_found_where_it_does(seed):
    change = changed(two_worlds(seed, 8000, [0.6, 0.4], [0.4, 0.6]), 2)
    assert change.watched.kind in ("action", "rates")
    assert 3200 < change.split < 4800
    assert 4000 < change.alarm <= 8000
    assert change.p_value < 0.05
    action = change.watched.action
    assert change.before == pytest.approx([0.6, 0.4][action], abs=0.05)
    assert change.after == pytest.approx([0.4, 0.6][action], abs=0.05)


def test_a_change_within_groups_of_contexts_is_found():
    """Overall and for each action, nothing has changed."""
    n, rng = 20_000, np.random.default_rng(0)
    contexts, actions = rng.integers(0, 10**12, n), rng.integers(0, 2, n)  # none comes twice
    good = (actions == context_groups(contexts) % 2) ^ (np.arange(n) >= n // 2)
    log = ps.Log(
        contexts=contexts,
        actions=actions,
        propensities=np.full(n, 0.5),
        rewards=rng.random(n) < np.where(good, 0.5, 0.3),
    )
    assert changed(log, 2).watched.kind == "cell"


@pytest.mark.parametrize("kind", ["share", "column"])
def test_other_contexts_are_found(kind):
    n, rng = 6000, np.random.default_rng(0)
    later = np.arange(n) >= n // 2
    if kind == "share":
        contexts = np.where(later & (rng.random(n) < 0.3), 3, rng.integers(0, 30, n))
    else:
        contexts = rng.normal(size=(n, 2)) + 0.5 * np.stack([np.zeros(n), later], axis=1)
    change = changed(two_worlds(0, n, [0.3, 0.5], [0.3, 0.5], contexts=contexts), 2)
    assert change.watched.kind == kind
    assert not change.watched.of_rewards
    if kind == "column":
        assert "the share of contexts with column 1 above" in change.what()


def test_columns_of_tables_are_looked_at_by_name():
    pd = pytest.importorskip("pandas")
    n, rng = 6000, np.random.default_rng(0)
    age = rng.normal(40, 5, n) + np.where(np.arange(n) >= n // 2, 5, 0)
    age[::50] = np.nan
    frame = pd.DataFrame({"country": ["DE", "FR"] * (n // 2), "age": age})
    change = changed(two_worlds(0, n, [0.3, 0.5], [0.3, 0.5], contexts=frame), 2)
    assert "column 'age' above" in change.sentence()


def test_a_change_that_goes_back_is_found():
    """Evidence is looked at all along, not only at the end."""
    n, rng = 24_000, np.random.default_rng(0)
    actions, t = rng.integers(0, 2, n), np.arange(n)
    means = np.where((t >= 4000) & (t < 12_000), 0.8, 0.2)
    log = ps.Log(
        contexts=np.zeros(n, int),
        actions=actions,
        propensities=np.full(n, 0.5),
        rewards=rng.random(n) < means,
    )
    assert changed(log, 2).alarm < 6000


def test_missing_rewards_raise_no_alarm():
    """They are neither earned nor missed, though all of the later ones are missing."""
    log = two_worlds(0, 4000, [0.3, 0.6], [0.3, 0.6])
    rewards = np.where(np.arange(4000)[:, None] < 2000, log.rewards, np.nan)
    rounds = Rounds(log.contexts, log.actions, log.propensities, rewards)
    sums = ChangeSums(1)
    sums.add(rounds, context_groups(rounds.contexts))
    assert sums.fixed(2)[0][:20].any()
    assert not sums.fixed(2)[0][-1]
    assert find_change(sums, 2, 0.05) is None


def test_many_actions_are_looked_at_in_groups():
    n, rng = 4000, np.random.default_rng(0)
    actions = rng.integers(0, 40, n)
    later = np.arange(n) >= n // 2
    log = ps.Log(
        contexts=np.zeros(n, int),
        actions=actions,
        propensities=np.full(n, 1 / 40),
        rewards=rng.random(n) < np.where(later & (actions % 32 == 3), 1.0, 0.01),
    )
    change = changed(log, 40)
    assert "the mean reward of actions 3, 35 and so on" in change.what()


def test_times_are_told():
    log = two_worlds(0, 4000, [0.8, 0.1], [0.1, 0.8])
    times = 1.7e9 + 60.0 * np.arange(4000)
    sums = ChangeSums(1)
    rounds = Rounds(log.contexts, log.actions, log.propensities, log.rewards, times=times)
    sums.add(rounds, context_groups(rounds.contexts))
    change = find_change(sums, 2, 0.05)
    assert change.split_time == times[change.split]
    assert change.alarm_time == times[change.alarm]
    assert "(2023-11-1" in change.sentence()


@pytest.mark.parametrize("n", [1, 15, 16, 17, 40])
def test_short_logs(n):
    assert changed(two_worlds(0, n, [0.5, 0.5], [0.5, 0.5]), 2) is None
