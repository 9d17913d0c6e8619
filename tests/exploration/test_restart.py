"""A learner that begins anew: only rounds decided afterwards count, and everyone is back."""

import copy
import pickle

import numpy as np
import pytest

import policysieve as ps
from policysieve.exploration.watching import Watch
from tests.statistics import assert_at_most

N, MEANS = 10, np.array([0.3, 0.5, 0.8])


def constant(kind="table"):
    """Policies that always show the same action."""
    if kind == "table":
        return ps.PolicyTable(np.tile(np.arange(3), (N, 1)), n_actions=3)
    return ps.FunctionPolicies([First(), Second(), Third()], n_actions=3)


class First:
    action = 0

    def __call__(self, contexts):
        return np.full(len(contexts), self.action)


class Second(First):
    action = 1


class Third(First):
    action = 2


def sieve(seed=0, kind="table", learner=ps.Sieve, delta=0.1, **given):
    problem = ps.Problem(n_actions=3, epsilon=0.1, delta=delta)
    return learner(constant(kind), problem, rng=seed, **given)


def decided(learner, n, rng, means=MEANS):
    decisions = learner.ask(rng.integers(0, N, n))
    return decisions, (rng.random(n) < means[decisions.actions[:, 0]]).astype(float)


def play(learner, batches, rng, means=MEANS, size=50):
    for _ in range(batches):
        learner.tell(*decided(learner, size, rng, means))
    return learner


@pytest.mark.parametrize("kind", ["table", "function"])
@pytest.mark.parametrize("learner", [ps.Sieve, ps.PolicyElimination])
def test_everyone_is_back_and_nothing_is_known(learner, kind):
    rng = np.random.default_rng(0)
    one = play(sieve(kind=kind, learner=learner), 20, rng)
    assert one.finished
    assert len(one.survivors) < 3
    one.restart()
    assert not one.finished
    assert one.survivors.tolist() == [0, 1, 2]
    assert (one.since, one.rounds, len(one.log), one.evidence.rounds) == (1000, 1000, 1000, 0)
    assert one.recommend().rounds == 0
    assert not one.recommend().certified
    assert np.isnan(one.intervals().values).all()
    fresh = sieve(kind=kind, learner=learner).exploration.propensities(np.arange(N))
    np.testing.assert_array_equal(one.exploration.propensities(np.arange(N)), fresh)


def test_rounds_after_it_are_judged_as_those_of_a_new_learner():
    """The same rounds give the same bits."""
    rng = np.random.default_rng(1)
    one, new = play(sieve(), 6, rng), sieve()
    one.restart()
    for _ in range(8):
        decisions, rewards = decided(one, 50, rng)
        made = ps.Log(
            contexts=decisions.contexts,
            actions=decisions.actions,
            propensities=decisions.propensities,
            rewards=rewards[:, None],
        )
        new.learn(made, new.exploration)
        one.tell(decisions, rewards)
    assert one.intervals().values.tobytes() == new.intervals().values.tobytes()
    mine, theirs = one.recommend(), new.recommend()
    assert mine.to_dict() == theirs.to_dict() | {"guarantee": mine.guarantee}
    assert mine.guarantee == f"{theirs.guarantee} That counts rounds from 300 on."
    assert one.survivors.tolist() == new.survivors.tolist()


def test_rounds_decided_before_do_not_count_though_they_are_told_later():
    rng = np.random.default_rng(2)
    one = play(sieve(), 2, rng)
    early = decided(one, 40, rng)
    one.restart()
    assert one.ask_limit == 20  # up to its first look, whoever else is waited for
    assert one.batch_size == sieve().batch_size
    late = decided(one, 30, rng)
    one.tell(*late)
    assert (one.rounds, one.evidence.rounds) == (100, 0)
    one.tell(early[0][:15], early[1][:15])
    assert (one.since, one.evidence.rounds) == (115, 0)
    one.discard(early[0][15:20])
    one.tell(early[0][20:], early[1][20:])
    assert (one.since, one.played, one.rounds, one.evidence.rounds) == (135, 165, 130, 30)
    np.testing.assert_array_equal(one.log.actions[one.since :], late[0].actions)


def test_candidates_may_join_before_and_after():
    rng = np.random.default_rng(3)
    fourth = ps.PolicyTable(np.full((N, 1), 2), n_actions=3)
    one = play(sieve(additions=1), 2, rng)
    one.add(fourth)
    with pytest.raises(ps.InvalidArgumentError, match="that was once"):
        one.add(fourth)
    waits = decided(one, 30, rng)
    one.restart()
    assert len(one.survivors) == 4
    one.add(fourth, unseen=True)
    one.tell(*waits)
    play(one, 2, rng)
    assert one.evidence.standing.cohorts.since(np.arange(5)).tolist() == [0] * 5
    assert one.since == 130
    assert one.evidence.rounds == 100


def test_the_budget_counts_anew_and_so_does_the_goal():
    rng = np.random.default_rng(4)
    one = play(sieve(goal="best", rounds=100), 2, rng)
    assert one.finished
    one.restart()
    assert not one.finished
    assert one.ask_limit == 20
    assert play(one, 2, rng).finished


def test_copies_and_pickles_begin_anew_alike():
    rng = np.random.default_rng(5)
    one = play(sieve(kind="function"), 3, rng)
    early = decided(one, 20, rng)
    one.restart()
    late = decided(one, 60, rng)
    found = []
    for other in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one), one):
        other.tell(*early)
        other.tell(*late)
        found.append((other.since, other.recommend().to_dict(), other.exploration.votes.tobytes()))
    assert found[0] == found[1] == found[2]


def test_rounds_of_elsewhere_must_be_of_the_new_time():
    one = play(sieve(), 1, np.random.default_rng(6))
    before = one.exploration
    made = before.ask(np.arange(N), rng=0)
    log = ps.Log(
        contexts=made.contexts,
        actions=made.actions,
        propensities=made.propensities,
        rewards=np.zeros((N, 1)),
    )
    one.restart()
    with pytest.raises(ps.InvalidArgumentError, match="exploration must be one that Sieve has"):
        one.learn(log, before)
    assert one.rounds == 50


# --- a world that turns round ------------------------------------------------------------------


def turned(seed, *, restarts, delta=0.05):
    """A world whose best action becomes its worst; at the alarm the learner begins anew, or not."""
    rng = np.random.default_rng(seed)
    one = sieve(seed, delta=delta, goal="best")
    for k in range(40):
        play(one, 1, rng, MEANS if k < 15 else MEANS[::-1], size=60)
        if restarts and one.since == 0 and one.alarm is not None:
            one.restart()
    return one


def test_the_dead_policy_is_no_longer_certified_after_a_restart():
    wrong = 0
    for seed in range(8):
        one = turned(seed, restarts=True)
        assert 900 < one.since < 2000
        best = one.recommend()
        wrong += best.certified and best.policy != 0
        assert 0 in one.survivors or wrong
    assert_at_most(wrong, 8, 0.05)
    stuck = [turned(seed, restarts=False).recommend() for seed in range(4)]
    assert sum(best.policy == 2 or not best.certified for best in stuck) >= 3


def test_the_guarantee_says_that_the_world_has_changed():
    one = turned(0, restarts=False)
    split = one.alarm.split
    assert 600 < split < 1200
    said = f" But the world has changed at about round {split:,} (see alarm)."
    assert one.recommend().guarantee.endswith(said)
    one.restart()
    assert one.alarm is None
    assert "changed" not in one.recommend().guarantee


def test_an_alarm_after_a_restart_has_the_numbers_of_the_log():
    rng, one = np.random.default_rng(0), sieve(goal="best")
    play(one, 4, rng)
    one.restart()
    play(one, 12, rng)
    play(one, 12, rng, MEANS[::-1])
    assert one.alarm.start == 200
    assert 700 < one.alarm.split < 900
    assert "round 8" in one.recommend().guarantee or "round 7" in one.recommend().guarantee


def test_a_restart_for_no_reason_is_as_right_as_a_new_learner():
    """Restart whenever the worst policy leads: what is said afterwards holds all the same."""
    wrong, runs = 0, 24
    for seed in range(runs):
        rng, one, bad = np.random.default_rng(seed), sieve(seed, delta=0.1), False
        for _ in range(12):
            play(one, 1, rng, np.array([0.5, 0.45, 0.62]), size=30)
            proof = one.evidence.certificate()
            bad |= proof.certified and proof.leader == 1
            bad |= bool(proof.eliminated[2])
            if proof.leader == 1 and one.since == 0:
                one.restart()
        wrong += bad
    assert_at_most(wrong, runs, 0.2)  # of two times of each, each of which may fail by delta


# --- the watch ---------------------------------------------------------------------------------


def test_the_watch_finds_what_a_look_at_the_whole_log_finds():
    """However often it is asked, and with any rounds in between."""
    rng = np.random.default_rng(7)
    one, often = sieve(goal="best"), 0
    for k in range(30):
        play(one, 1, rng, MEANS if k < 14 else MEANS[::-1], size=int(rng.integers(1, 90)))
        if rng.random() < 0.6:
            found = one.alarm
            whole = Watch().alarm(one.log, 0, one.problem, None)
            assert (found is None) == (whole is None)
            if found is not None:
                often += 1
                assert found.to_dict() == whole.to_dict()
                np.testing.assert_array_equal(found.means, whole.means)
    assert often > 3


def test_looking_does_not_change_a_learner():
    rng = np.random.default_rng(8)
    one = play(sieve(), 3, rng)
    before = dict(vars(one))
    assert one.alarm is None
    one.recommend()
    assert all(vars(one)[name] is value for name, value in before.items())
