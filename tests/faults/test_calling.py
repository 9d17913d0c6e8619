"""Threads, interrupts and clocks do not change what a learner does."""

import os

import pytest

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
