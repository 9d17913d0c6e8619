"""Where candidates are called: loops, threads and processes, and what interrupts them."""

import _thread
import asyncio
import os
import pickle
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import policysieve as ps
from policysieve.policies import looping
from tests.policies.candidates import counts, pair, plain, thrice


def test_within_a_running_loop():
    policies = ps.FunctionPolicies([thrice], n_actions=5, calls=ps.Calls())

    async def cell():
        return policies.actions([1, 2])[:, 0, 0].tolist()

    assert asyncio.run(cell()) == [3, 1]


def test_all_batches_share_one_loop():
    """Clients keep connections, which belong to a loop."""
    loops = []

    async def noted(x):
        loops.append(asyncio.get_running_loop())
        return 0

    policies = ps.FunctionPolicies([noted], n_actions=2, calls=ps.Calls())
    policies.actions([1])
    policies.actions([2])
    assert loops[0] is loops[1]


def test_a_plain_function_may_return_what_is_awaited():
    policies = ps.FunctionPolicies(
        [lambda x: thrice(x)], n_actions=5, vectorized=False, calls=ps.Calls()
    )
    assert policies.actions([1, 2])[:, 0, 0].tolist() == [3, 1]


@pytest.fixture
def patient(monkeypatch):
    """Waits for what is cancelled, however busy the machine is, and has Ctrl-C interrupt it."""
    monkeypatch.setattr(looping, "_PATIENCE", 600.0)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may ignore it
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("patient")
def test_an_interrupt_cancels_what_runs():
    started, ended = [], []

    async def endless(x):
        started.append(x)
        if len(started) == 3:
            _thread.interrupt_main()
        try:
            await asyncio.sleep(3600)
        finally:
            ended.append(x)

    policies = ps.FunctionPolicies([endless], n_actions=2, calls=ps.Calls(at_once=3))
    problem = ps.Problem(n_actions=2, epsilon=0.1, delta=0.1)
    learner = ps.Uniform(policies, problem, rounds=100, rng=0)
    with pytest.raises(KeyboardInterrupt):
        learner.ask(np.arange(10))
    assert len(started) == len(ended) == 3
    assert learner.pending == 0


def test_an_interrupt_before_anything_runs_is_not_waited_for(monkeypatch):
    """The calls are cancelled in the same moment in which they would begin."""
    free, waited = threading.Event(), []

    class Interrupted:
        def put(self, outcome):
            raise AssertionError("nothing may come")

        def get(self, timeout):
            raise KeyboardInterrupt

    class Ended(threading.Event):
        def wait(self, timeout=None):
            free.set()
            waited.append(super().wait(timeout))

    looping._own_loop().call_soon_threadsafe(free.wait)
    monkeypatch.setattr(looping, "SimpleQueue", Interrupted)
    monkeypatch.setattr(looping.threading, "Event", Ended)
    monkeypatch.setattr(looping, "_PATIENCE", 30.0)
    policies = ps.FunctionPolicies([thrice], n_actions=5, calls=ps.Calls())
    with pytest.raises(KeyboardInterrupt):
        policies.actions([1])
    assert waited == [True]
    assert policies.usage().candidates == ()


def test_a_candidate_that_takes_no_notice_of_a_cancellation():
    """It is not called for the next contexts."""
    started = []

    async def stubborn(x):
        started.append(x)
        if x == 1:
            raise ConnectionError("down")
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            return 0

    policies = ps.FunctionPolicies([stubborn], n_actions=2, calls=ps.Calls(at_once=2, retries=0))
    with pytest.raises(ps.PolicyFailureError, match="context 1"):
        policies.actions(np.arange(50))
    assert len(started) <= 3


def test_an_answer_after_the_time_limit_is_none():
    """Also of a candidate that takes no notice of its cancellation."""

    async def stubborn(x):
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            return 1

    policies = ps.FunctionPolicies(
        [stubborn], n_actions=3, calls=ps.Calls(retries=0, timeout=0.01, fallback=2)
    )
    assert policies.actions([0])[0, 0, 0] == 2
    assert counts(policies) == (1, 1, 0, 1, 1)


class SpeechlessError(Exception):
    def __str__(self):
        raise RuntimeError("nothing to say")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (SpeechlessError, "SpeechlessError, whose text raises RuntimeError"),
        (asyncio.CancelledError, "RuntimeError: the call was cancelled"),
    ],
)
@pytest.mark.parametrize("kind", ["plain", "async"])
def test_whatever_a_candidate_raises_is_its_failure(error, told, kind):
    def plain(x):
        raise error

    async def awaited(x):
        raise error

    policies = ps.FunctionPolicies(
        [plain if kind == "plain" else awaited],
        n_actions=2,
        vectorized=False,
        calls=ps.Calls(retries=0),
    )
    with pytest.raises(ps.PolicyFailureError, match=f"after 0 retries: {told}"):
        policies.actions([0])


def test_an_async_candidate_that_asks_another_class_must_not_wait_for_itself():
    inner = ps.FunctionPolicies([thrice], n_actions=5, calls=ps.Calls())

    async def stuck(x):
        return inner.actions([x])[0, 0, 0]

    async def free(x):
        return (await asyncio.to_thread(inner.actions, [x]))[0, 0, 0]

    calls = ps.Calls(retries=0)
    with pytest.raises(ps.PolicyFailureError, match="BusyError: an async candidate must not"):
        ps.FunctionPolicies([stuck], n_actions=5, calls=calls).actions([1])
    assert ps.FunctionPolicies([free], n_actions=5, calls=calls).actions([1])[0, 0, 0] == 3


def test_what_ends_a_program_is_passed_on():
    def leave(x):
        raise SystemExit(3)

    policies = ps.FunctionPolicies(
        [leave], n_actions=2, vectorized=False, calls=ps.Calls(fallback=0)
    )
    with pytest.raises(SystemExit):
        policies.actions([0])


def test_many_threads_at_once():
    policies = ps.FunctionPolicies([thrice, plain], n_actions=5, vectorized=False, calls=ps.Calls())
    found = {}

    def work(k):
        found[k] = policies.actions(np.arange(k, k + 20))[:, :, 0]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(5):
        x = np.arange(k, k + 20)
        np.testing.assert_array_equal(found[k], np.stack([3 * x % 5, (x + 1) % 5], axis=1))
    assert policies.usage().total.contexts == 200


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_calls_in_a_loop_of_its_own():
    policies = ps.FunctionPolicies([thrice], n_actions=5, calls=ps.Calls())
    policies.actions([1])
    child = os.fork()
    if child == 0:
        os._exit(int(policies.actions([2])[0, 0, 0]))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


def test_a_thread_that_is_stuck_does_not_keep_the_process():
    program = """
import time, policysieve as ps
def stuck(x):
    time.sleep(3600)
policies = ps.FunctionPolicies(
    [stuck], n_actions=2, vectorized=False, calls=ps.Calls(retries=0, timeout=0.01, fallback=1)
)
print(policies.actions([0])[0, 0, 0])
"""
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", program], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")


def test_calls_travel_with_a_learner():
    policies = ps.FunctionPolicies([thrice, pair], n_actions=5, calls=ps.Calls(at_once=2))
    assert pickle.loads(pickle.dumps(policies)).calls == ps.Calls(at_once=2)
    assert pickle.loads(pickle.dumps(policies)).usage().candidates == ()
