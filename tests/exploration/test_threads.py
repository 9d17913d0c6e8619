"""Calls from many threads give what some order of the same calls gives."""

import copy
import sys
import threading
from functools import partial

import numpy as np
import pytest

import policysieve as ps
from policysieve.exploration import LEARNERS
from tests.exploration.test_interrupts import POLICIES, SHORT, rewards

PROBLEM = ps.Problem(n_actions=4, epsilon=0.02, delta=0.1)


@pytest.fixture(autouse=True)
def frequent_switches():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def in_threads(*jobs):
    errors = []

    def guarded(job):
        try:
            job()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads)
    if errors:
        raise errors[0]


@pytest.mark.parametrize("name", LEARNERS)
def test_many_threads_ask_tell_discard_and_look(name):
    learner = LEARNERS[name](POLICIES, PROBLEM, rng=1, **SHORT.get(name, {}))
    rounds, dropped, looks = [], [], []

    def player(seed):
        def play():
            rng = np.random.default_rng(seed)
            for k in range(40):
                decisions = learner.ask(rng.integers(0, 6, 3))
                if k % 10 == 9:
                    learner.discard(decisions[:1])
                    dropped.append(1)
                    decisions = decisions[1:]
                learner.tell(decisions, rewards(decisions))
                rounds.append(len(decisions))

        return play

    def watch():
        for _ in range(20):
            answer, log = learner.recommend(), learner.log
            assert len(log) >= answer.rounds
            looks.append(answer.rounds)

    in_threads(*(player(seed) for seed in range(4)), watch)
    assert sum(rounds) == 4 * 40 * 3 - len(dropped)
    assert (learner.rounds, learner.pending) == (sum(rounds), 0)
    assert looks == sorted(looks)
    log = learner.log
    assert len(log) == learner.rounds
    np.testing.assert_array_equal(log.rewards[:, 0], log.actions[:, 0] == log.contexts % 4)


def test_what_comes_out_is_what_one_order_gives():
    """The order in which rounds were decided, replayed by one thread, gives the same bits."""
    learner = ps.EpsilonGreedy(POLICIES, PROBLEM, rng=3)
    asked, lock = [], threading.Lock()

    def player(seed):
        def play():
            rng = np.random.default_rng(seed)
            for _ in range(60):
                decisions = learner.ask(rng.integers(0, 6, 2))
                with lock:
                    asked.append(decisions)
                learner.tell(decisions, rewards(decisions))

        return play

    in_threads(*(player(seed) for seed in range(3)))
    asked.sort(key=lambda decisions: decisions.numbers[0])
    numbers = np.concatenate([decisions.numbers for decisions in asked])
    np.testing.assert_array_equal(numbers, np.arange(360))
    uniforms = ps.EpsilonGreedy(POLICIES, PROBLEM, rng=3)._rng.random((360, 3))
    shown = np.concatenate([decisions.actions for decisions in asked])
    np.testing.assert_array_equal(learner.log.actions, shown)
    contexts = learner.log.contexts
    leaders = [
        [p for p in range(8) if _follows(p, contexts[i], uniforms[i], shown[i])] for i in range(360)
    ]
    assert all(leaders)  # each was drawn with its own random numbers, for some leader


def _follows(policy, context, uniforms, shown):
    """What epsilon-greedy shows when it follows a policy, by hand."""
    coin, _, item = uniforms
    if coin < 0.7:
        return shown[0] == int(item * 4)
    return shown[0] == POLICIES.actions([context])[0, policy, 0]


def test_slow_candidates_do_not_hold_up_others():
    started, go_on = threading.Event(), threading.Event()

    def slow(x):
        if (x == 99).any():
            started.set()
            assert go_on.wait(60)
        return x % 4

    learner = ps.Sieve(ps.FunctionPolicies([slow, lambda x: x * 0], n_actions=4), PROBLEM, rng=0)
    waiting = threading.Thread(target=lambda: learner.ask([99]))
    waiting.start()
    assert started.wait(60)
    decisions = learner.ask([1, 2, 3])
    learner.tell(decisions, np.zeros(3))
    assert learner.rounds == 3
    go_on.set()
    waiting.join(60)
    assert learner.pending == 1


def test_copies_learn_apart():
    """A learner and its copies share memory that neither may write to."""
    for trial in range(30):
        learner = ps.Uniform(POLICIES, PROBLEM, rounds=5000, rng=0)
        decisions = learner.ask(np.zeros(101, int))
        learner.tell(decisions, np.zeros(101))
        copies = [copy.deepcopy(learner) for _ in range(2)]

        def go_on(context, copies=copies):
            asked = copies[context].ask(np.full(20, context))
            copies[context].tell(asked, np.full(20, context))

        in_threads(*(partial(go_on, context) for context in range(2)))
        for context, one in enumerate(copies):
            assert (one.log.contexts[101:] == context).all(), trial
            assert (one.log.rewards[101:] == context).all(), trial
