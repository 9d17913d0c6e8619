"""Threads, interrupts and clocks do not change what a learner does."""

import os
import sys
import time

import pytest

import policysieve as ps
from policysieve.bench.faults.calling import clock_jumps, interrupts, threads


def test_rounds_of_eight_threads_are_learnt_once_each():
    found = threads(count=8, seconds=0.5)
    assert found["rounds"] > 0
    assert found["errors"] == []
    assert (found["lost"], found["doubled"], found["wrong"]) == (0, 0, 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no alarms here")
def test_interrupted_calls_leave_the_state_of_those_that_were_not():
    found = interrupts(calls=150)
    assert found["interrupted"] > 0
    assert (found["lost"], found["doubled"], found["different"]) == (0, 0, 0)


def test_ages_do_not_jump_with_the_clock():
    assert clock_jumps(jumps=6) == {"jumps": 6, "wrong": 0, "expired": 0, "kept": 0}


@pytest.mark.skipif(sys.platform != "linux", reason="other clocks may stand still meanwhile")
def test_ages_grow_while_the_machine_sleeps(monkeypatch):
    """Only the clock of the time since boot has gone on when it wakes up."""
    learner = ps.Uniform(
        ps.PolicyTable([[0, 1]], n_actions=2),
        ps.Problem(n_actions=2, epsilon=0.1, delta=0.1),
        rng=0,
    )
    learner.ask([0])
    read = time.clock_gettime
    monkeypatch.setattr(
        time, "clock_gettime", lambda of: read(of) + 3600 * (of == time.CLOCK_BOOTTIME)
    )
    assert 3600 <= learner.open_decisions().ages[0] < 7200
    assert len(learner.expire(older_than=3600)) == 1
