"""What a signal handler may do while the main thread is inside a call: look, and change nothing."""

import copy
import signal
import sys
from functools import partial

import numpy as np
import pytest

import policysieve as ps
from policysieve.exploration.asking import Asking
from tests.exploration.test_interrupts import (
    POLICIES,
    PROBLEM,
    Interrupt,
    learner_with_batch,
    rewards,
    state,
)

LEARNERS = ("Sieve", "Uniform")


def run_with(handler, line, call):
    """Whether `handler` was run when a call had come to so many lines of the package."""
    left = line

    def trace(frame, event, _argument):
        nonlocal left
        if "policysieve" not in frame.f_code.co_filename or "kernels" in frame.f_code.co_filename:
            return None
        if event == "line":
            left -= 1
            if left == 0:
                sys.settrace(None)
                handler()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return left <= 0


def everything(learner):
    """All that can be seen, and what a copy would do next."""
    ahead = copy.deepcopy(learner).ask(np.arange(6))
    waiting = learner.open_decisions()
    return (
        *state(learner),
        learner.recommend().to_dict(),
        learner.ask_limit,
        learner.finished,
        repr(learner),
        waiting.numbers.tolist(),
        ahead.actions.tolist(),
        ahead.numbers.tolist(),
    )


def call_of(method, learner, batch):
    if method == "ask":
        return partial(learner.ask, np.arange(5))
    return partial(learner.tell, batch, rewards(batch))


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("method", ["ask", "tell"])
def test_a_look_at_any_line_sees_one_state_and_changes_nothing(name, method):
    original, batch = learner_with_batch(name)
    before, learner = everything(original), copy.deepcopy(original)
    call_of(method, learner, batch)()
    after = everything(learner)
    assert before != after
    line, reached, seen = 0, True, []
    while reached:
        line += 1 if name == "Uniform" or line < 50 else 7
        learner = copy.deepcopy(original)
        look = partial(lambda one: seen.append(everything(one)), learner)
        reached = run_with(look, line, call_of(method, learner, batch))
        assert everything(learner) == after, f"looked at line {line}"
    assert all(found in (before, after) for found in seen)
    assert len(seen) > 30
    moved = [found == after for found in seen]
    assert moved == sorted(moved)  # it happens in one step


@pytest.mark.parametrize("within", ["ask", "tell"])
@pytest.mark.parametrize("method", ["ask", "tell"])
def test_a_call_at_any_line_is_refused_or_as_if_it_had_come_alone(method, within):
    original, first = learner_with_batch("Uniform")
    late = original.ask(np.arange(4))
    orders, line, reached, refused = [], 0, True, []
    for order in ([method], [method, within], [within, method]):
        learner = copy.deepcopy(original)
        for k, name in enumerate(order):
            call_of(name, learner, first if k == order.index(method) else late)()
        orders.append(everything(learner))

    def handler(learner):
        try:
            call_of(within, learner, late)()
        except ps.BusyError as error:
            refused.append(str(error))
        else:
            refused.append("")

    while reached:
        line += 1
        learner = copy.deepcopy(original)
        reached = run_with(partial(handler, learner), line, call_of(method, learner, first))
        if reached:
            expected = orders[:1] if refused[-1] else orders[1:]
            assert everything(learner) in expected, f"called at line {line}"
    assert sum("signal handler" in error for error in refused) > 30
    assert "" in refused


def test_an_alarm_that_looks_in_a_loop_counts_nothing_twice():
    """A real signal at real times."""
    learner = ps.Uniform(POLICIES, ps.Problem(n_actions=4, epsilon=0.05, delta=0.1), rng=0)
    looks, told = [], 0
    before = signal.signal(signal.SIGALRM, lambda *_: looks.append(learner.recommend().rounds))
    try:
        for k in range(300):
            decisions = learner.ask(np.arange(3))
            signal.setitimer(signal.ITIMER_REAL, 1e-5 + (k % 60) * 2e-6)
            learner.tell(decisions, np.zeros(3))
            signal.setitimer(signal.ITIMER_REAL, 0)
            told += 3
            assert learner.rounds == told
    finally:
        signal.signal(signal.SIGALRM, before)
    assert looks
    assert looks == sorted(looks)
    assert len(learner.log) == told


def test_numbers_are_drawn_again_after_two_interrupts(monkeypatch):
    """The second one comes while the first is taken care of."""
    contexts = np.arange(6)
    learner, twin = (ps.Uniform(POLICIES, PROBLEM, rng=0) for _ in range(2))
    for one in (learner, twin):
        one.ask(contexts)
    rewind, calls = Asking._rewind, []

    def interrupted(self):
        calls.append(1)
        if len(calls) > 1:
            raise Interrupt
        rewind(self)

    def stop(*_arguments):
        raise Interrupt

    with monkeypatch.context() as patch:
        patch.setattr(Asking, "_rewind", interrupted)
        patch.setattr(type(learner.exploration), "_choose", stop)
        with pytest.raises(Interrupt):
            learner.ask(contexts)
    assert len(calls) == 2
    copied = copy.deepcopy(learner)
    expected = twin.ask(contexts)
    for one in (learner, copied):
        np.testing.assert_array_equal(one.ask(contexts).actions, expected.actions)
