"""An interrupt at any point of a call leaves all of it or nothing."""

import copy
import signal
import sys
from functools import partial

import numpy as np
import pytest

import policysieve as ps
from policysieve.exploration import LEARNERS

POLICIES = ps.PolicyTable(np.random.default_rng(0).integers(0, 4, (6, 8)), n_actions=4)
PROBLEM = ps.Problem(n_actions=4, epsilon=0.1, delta=0.1)
SHORT = {
    "LowVarianceExploration": {"explore_rounds": 30, "estimate_rounds": 500},
    "LogBarrier": {"explore_rounds": 30, "estimate_rounds": 500},
    "ListWeights": {"explore_rounds": 30, "estimate_rounds": 500},
}
every_learner = pytest.mark.parametrize("name", LEARNERS)


class Interrupt(BaseException):
    """Like KeyboardInterrupt: not an Exception."""


def interrupted_after(lines, call):
    """Whether a call was interrupted when it had run so many lines of the package."""
    left = lines

    def trace(frame, event, _argument):
        nonlocal left
        if "policysieve" not in frame.f_code.co_filename or "kernels" in frame.f_code.co_filename:
            return None
        if event == "line":
            left -= 1
            if left == 0:
                raise Interrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except Interrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def learner_with_batch(name, warm=60, late=3):
    """A learner in its later life, and rounds whose answers free others that were told before."""
    learner = LEARNERS[name](POLICIES, PROBLEM, rng=1, **SHORT.get(name, {}))
    rng = np.random.default_rng(2)
    for _ in range(warm // 10):
        decisions = learner.ask(rng.integers(0, 6, 10))
        learner.tell(decisions, rewards(decisions))
    first = learner.ask(rng.integers(0, 6, late))
    second = learner.ask(rng.integers(0, 6, 4))
    learner.tell(second, rewards(second))
    return learner, first


def rewards(decisions):
    return (decisions.actions[:, 0] == decisions.contexts % 4).astype(float)


def state(learner):
    every = learner.exploration.propensities(np.arange(6)).tolist()
    values = np.nan_to_num(learner.intervals().values).tolist()
    return learner.rounds, learner.pending, learner.log.rewards.tolist(), every, values


@pytest.mark.parametrize(
    ("name", "method"),
    [*((name, "tell") for name in LEARNERS), ("Sieve", "discard"), ("Sieve", "expire")],
)
def test_settling_is_all_or_nothing(name, method):
    def settle(learner):
        if method == "tell":
            learner.tell(batch, rewards(batch))
        elif method == "discard":
            learner.discard(batch)
        else:
            learner.expire(older_than=0)

    original, batch = learner_with_batch(name)
    nothing, learner = state(original), copy.deepcopy(original)
    settle(learner)
    everything = state(learner)
    assert nothing[:2] == (60, 3)
    assert everything[:2] == (64 if method == "discard" else 67, 0)
    seen, lines, stopped = set(), 0, True
    while stopped:
        lines += 1 if lines < 50 else 5
        learner = copy.deepcopy(original)
        stopped = interrupted_after(lines, partial(settle, learner))
        found = state(learner)
        assert found in (nothing, everything), f"after {lines} lines"
        seen.add(found == everything)
        if found == nothing:
            settle(learner)
            assert state(learner) == everything
        elif method != "expire":
            with pytest.raises(ps.DecisionsError, match="before"):
                settle(learner)
    assert seen == {False, True}
    assert lines > 60


@every_learner
def test_asking_is_all_or_nothing(name):
    contexts = np.arange(6)
    original, _ = learner_with_batch(name)
    expected = copy.deepcopy(original).ask(contexts)
    lines, stopped = 0, True
    while stopped:
        lines += 2
        learner = copy.deepcopy(original)
        stopped = interrupted_after(lines, partial(learner.ask, contexts))
        assert learner.pending in (3, 9)
        if learner.pending == 3:
            found = learner.ask(contexts)
            np.testing.assert_array_equal(found.actions, expected.actions)
        waiting = learner.open_decisions()
        np.testing.assert_array_equal(waiting.actions[-6:], expected.actions)
        learner.expire(older_than=0)
        assert (learner.rounds, learner.pending) == (73, 0)
    assert lines > 30


@every_learner
def test_questions_can_be_interrupted(name):
    learner, batch = learner_with_batch(name)
    before = state(learner)
    for lines in range(1, 120, 13):
        interrupted_after(lines, learner.recommend)
        interrupted_after(lines, lambda: learner.log)
        assert state(learner) == before
    learner.tell(batch, rewards(batch))
    assert learner.rounds == 67


def test_an_alarm_in_a_loop_loses_and_repeats_nothing():
    """A real signal at real times, as a user's Ctrl-C would come."""

    armed = False

    def stop(*_arguments):
        if armed:
            raise Interrupt

    learner = ps.Sieve(POLICIES, ps.Problem(n_actions=4, epsilon=0.01, delta=0.1), rng=0)
    rng, told, before = np.random.default_rng(0), 0, signal.signal(signal.SIGALRM, stop)
    try:
        for k in range(300):
            decisions = learner.ask(rng.integers(0, 6, 5))
            try:
                armed = True
                signal.setitimer(signal.ITIMER_REAL, 2e-5 + 2e-6 * (k % 150))
                learner.tell(decisions, rewards(decisions))
                armed = False
            except Interrupt:
                armed = False
                if learner.pending:
                    learner.tell(decisions, rewards(decisions))
            signal.setitimer(signal.ITIMER_REAL, 0)
            told += 5
            assert (learner.rounds, learner.pending) == (told, 0)
    finally:
        signal.signal(signal.SIGALRM, before)
    log = learner.log
    assert len(log) == learner.evidence.rounds == told
