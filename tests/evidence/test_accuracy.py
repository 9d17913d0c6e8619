"""Accuracy from a log: the plain formula, and limits that hold as often as they promise."""

import numpy as np
import pytest

import policysieve as ps
from policysieve.classify.exploring import draw_labels
from policysieve.evidence.accuracy import accuracy_from, accuracy_gain
from tests.oracles import accuracy as oracle
from tests.statistics import assert_at_most

K = 4


def small_log(n, m, seed=0):
    rng = np.random.default_rng(seed)
    log = ps.Log(
        contexts=np.arange(n),
        actions=rng.random((n, K)).argsort(axis=1)[:, :m],
        propensities=rng.uniform(0.1, 1, (n, m)),
        rewards=rng.choice([0.0, 1.0, 0.4], (n, m)),
    )
    return log, rng.random((n, K)).argsort(axis=1)[:, :m]


@pytest.mark.parametrize("m", [1, 2, 4])
@pytest.mark.parametrize("n", [3, 60, 3000])
def test_it_is_the_plain_formula(m, n):
    log, said = small_log(n, m)
    found = accuracy_from(log, said, 0.1)
    expected = oracle.accuracy(
        log.actions.tolist(),
        log.propensities.tolist(),
        log.rewards.tolist(),
        said.tolist(),
        0.1,
    )
    assert (found.value, found.lower, found.upper) == pytest.approx(expected, rel=1e-9)
    assert (found.rounds, found.delta) == (n, 0.1)


def test_where_nothing_is_known():
    log, _ = small_log(50, 1)
    for found in (
        accuracy_from(log, (log.actions + 1) % K, 0.1),  # none of what it says was shown
        accuracy_from(log[:0], log.actions[:0], 0.1),
    ):
        assert np.isnan(found.value)
        assert (found.lower, found.upper) == (0, 1)


def one_label_log(right):
    """Rounds that show label 0 with probability 0.8, and else label 1."""
    n = len(right)
    other = np.random.default_rng(1).random(n) > 0.8
    return ps.Log(
        contexts=np.arange(n),
        actions=other.astype(int),
        propensities=np.where(other, 0.2, 0.8),
        rewards=right,
    )


def test_labels_that_are_always_right_or_always_wrong():
    said = np.zeros((3000, 1), int)
    right = accuracy_from(one_label_log(np.ones(3000)), said, 0.05)
    assert (right.value, right.upper) == (1, 1)
    assert 0.9 < right.lower < 1
    wrong = accuracy_from(one_label_log(np.zeros(3000)), said, 0.05)
    assert (wrong.value, wrong.lower) == (0, 0)
    assert wrong.upper == pytest.approx(1 - right.lower)


def test_smaller_delta_gives_wider_limits():
    log = one_label_log(np.random.default_rng(2).random(3000) < 0.6)
    said = np.zeros((3000, 1), int)
    limits = [accuracy_from(log, said, delta) for delta in (0.5, 0.1, 0.01, 1e-6)]
    assert 0 < limits[-1].lower < limits[-1].upper < 1
    for wide, narrow in zip(limits[1:], limits, strict=False):
        assert wide.lower < narrow.lower < narrow.value < narrow.upper < wide.upper


def test_limits_never_leave_zero_and_one():
    """Propensities that are not true make nonsense, but no negative accuracy."""
    log, _ = small_log(2000, 1)
    found = accuracy_from(log, log.actions, 0.1)
    for number in (found.value, found.lower, found.upper):
        assert 0 <= number <= 1


def test_it_says_itself_in_words():
    words = str(ps.Accuracy(value=0.5, lower=0.25, upper=0.75, rounds=12_000, delta=0.05))
    assert words == "0.500, between 0.250 and 0.750 with probability 0.95 (12,000 rounds)"


def test_it_says_so_while_nothing_is_known():
    none = ps.Accuracy(value=np.nan, lower=0.0, upper=1.0, rounds=0, delta=0.05)
    assert str(none) == "nothing is known yet (0 rounds)"
    never_shown = ps.Accuracy(value=np.nan, lower=0.0, upper=1.0, rounds=5, delta=0.05)
    assert str(never_shown).startswith("unknown, between 0.000 and 1.000")


def followed(seed, chances, shape, mixing):
    """Paths of n rounds that show m labels each, and mostly those that were right so far."""
    (paths, n, m), rng = shape, np.random.default_rng(seed)
    shown_so_far, right_so_far = np.ones((paths, K)), np.full((paths, K), 0.5)
    actions = np.empty(shape, int)
    propensities, rewards = np.empty((2, *shape))
    for t in range(n):
        best = np.argsort(-right_so_far / shown_so_far, axis=1)[:, :m]
        q = np.full((paths, K), mixing * m / K)
        np.put_along_axis(q, best, mixing * m / K + 1 - mixing, axis=1)
        labels = draw_labels(q, m, rng).astype(int)
        answers = rng.random((paths, m)) < chances[labels]
        actions[:, t], rewards[:, t] = labels, answers
        propensities[:, t] = np.take_along_axis(q, labels, axis=1)
        rows = np.arange(paths)[:, None]
        shown_so_far[rows, labels] += 1
        right_so_far[rows, labels] += answers
    return actions, propensities, rewards


@pytest.mark.parametrize("m", [1, 2])
def test_limits_hold_at_all_looks_whatever_is_learnt(m):
    """Exploration follows what was right so far; the true accuracy is outside seldom enough."""
    paths, n, delta, mixing = 400, 1024, 0.2, 0.2
    chances = np.array([0.7, 0.2, 0.5, 0.1])  # with which each label is right
    actions, propensities, rewards = followed(m, chances, (paths, n, m), mixing)
    said = np.tile([1, 2][:m], (n, 1))  # seldom shown, so that weights are large
    truth = chances[[1, 2][:m]].mean()
    failures, widths = 0, []
    for path in range(paths):
        log = ps.Log.trusted(np.arange(n), actions[path], propensities[path], rewards[path])
        looks = [accuracy_from(log[:t], said[:t], delta) for t in (16, 32, 64, 128, 256, 512, n)]
        failures += any(not look.lower <= truth <= look.upper for look in looks)
        widths.append(looks[-1].upper - looks[-1].lower)
    assert_at_most(failures, paths, delta)
    assert np.median(widths) < 0.8  # the limits say something


class TestGain:
    """How much more often a classifier is right than another."""

    @pytest.mark.parametrize("m", [1, 2])
    @pytest.mark.parametrize("n", [20, 600])
    def test_it_is_the_plain_formula(self, m, n):
        log, said = small_log(n, m)
        others = small_log(n, m, seed=1)[1]
        expected = oracle.gain(
            log.actions.tolist(),
            log.propensities.tolist(),
            log.rewards.tolist(),
            said.tolist(),
            others.tolist(),
            0.1,
        )
        assert accuracy_gain(log, said, others, 0.1) == pytest.approx(expected, abs=2e-4)

    def test_the_other_way_round_it_is_the_loss(self):
        log = one_label_log(np.random.default_rng(2).random(400) < 0.6)
        said, others = np.zeros((400, 1), int), np.arange(400)[:, None] % 3
        value, lower, upper = accuracy_gain(log, said, others, 0.1)
        assert lower < value < upper
        back = accuracy_gain(log, others, said, 0.1)
        assert back == pytest.approx((-value, -upper, -lower))

    def test_the_same_labels(self):
        log, said = small_log(2000, 1)
        value, lower, upper = accuracy_gain(log, said, said, 0.1)
        assert value == 0
        assert -0.05 < lower <= 0 <= upper < 0.05

    def test_labels_that_were_never_shown(self):
        log = one_label_log(np.ones(50))
        value, lower, upper = accuracy_gain(log, log.actions, np.full((50, 1), 3), 0.1)
        assert np.isnan(value)
        assert -1 <= lower <= 1 <= upper

    def test_always_right_against_always_wrong(self):
        log = one_label_log(np.ones(3000))
        rewards = np.where(log.actions == 0, 1.0, 0.0)
        log = ps.Log.trusted(log.contexts, log.actions, log.propensities, rewards)
        value, lower, upper = accuracy_gain(
            log, np.zeros((3000, 1), int), np.ones((3000, 1), int), 0.05
        )
        assert value == upper == pytest.approx(1, abs=1e-3)
        assert 0.8 < lower <= 1

    @pytest.mark.parametrize("m", [1, 2])
    @pytest.mark.parametrize("changing", [False, True])
    def test_no_false_claims_at_any_look_where_both_are_equally_good(self, m, changing):
        """Exploration follows what was right so far; one of them may change what it says.

        Labels 0 and 1 are right equally often. One that changes is worse at first and better
        later, so that on average over all rounds up to a look it is never better.
        """
        paths, n, delta, mixing = 300, 512, 0.2, 0.2
        chances = np.array([0.5, 0.5, 0.2, 0.8]) if changing else np.array([0.5, 0.5, 0.2, 0.4])
        actions, propensities, rewards = followed(10 * m + changing, chances, (paths, n, m), mixing)
        first = np.where(np.arange(n) < n // 2, 2, 3) if changing else np.zeros(n, int)
        # Lists have a second label in common, which cancels.
        said, others = (
            np.column_stack([one, np.zeros(n, int) if changing else np.full(n, 3)])[:, :m]
            for one in (first, np.ones(n, int))
        )
        claims, losses, widths = 0, 0, []
        for path in range(paths):
            log = ps.Log.trusted(np.arange(n), actions[path], propensities[path], rewards[path])
            looks = [accuracy_gain(log[:t], said[:t], others[:t], delta) for t in (32, 128, 256, n)]
            claims += any(lower > 0 for _, lower, _ in looks)
            losses += not changing and any(upper < 0 for _, _, upper in looks)
            widths.append(looks[-1][2] - looks[-1][1])
        assert_at_most(claims, paths, delta / 2)
        assert_at_most(losses, paths, delta / 2)
        assert np.median(widths) < 1.6 / m  # the limits say something
