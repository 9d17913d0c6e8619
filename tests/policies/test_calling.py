"""Candidates that are slow or fail: called at once, again, not forever, and in order."""

import _thread
import asyncio
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import policysieve as ps
from policysieve.policies import looping
from tests.contracts.policies_contract import PoliciesContract


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(looping, "_PAUSE", 0.0)


async def thrice(x):
    await asyncio.sleep(0.001 * (int(x) % 3))  # later ones come earlier
    return int(3 * x) % 5


def plain(x):
    return int(x + 1) % 5


async def pair(x):
    return [int(x) % 5, int(x + 2) % 5]


class TestAsyncFunctions(PoliciesContract):
    kind = ps.FunctionPolicies

    @pytest.fixture
    def policies(self):
        return ps.FunctionPolicies(
            [thrice, plain], n_actions=5, vectorized=False, calls=ps.Calls(at_once=3)
        )

    @pytest.fixture
    def contexts(self):
        return np.arange(7)

    def test_values(self, policies, contexts):
        expected = np.stack([3 * contexts % 5, (contexts + 1) % 5], axis=1)
        np.testing.assert_array_equal(policies.actions(contexts)[:, :, 0], expected)


class TestAsyncSlates(PoliciesContract):
    kind = ps.FunctionPolicies

    @pytest.fixture
    def policies(self):
        return ps.FunctionPolicies([pair, pair], n_actions=5, slate_size=2, calls=ps.Calls())

    @pytest.fixture
    def contexts(self):
        return np.arange(4)


class Counting:
    """A candidate that knows how many of its kind are at work; plain or async."""

    def __init__(self):
        self.now, self.most, self.lock = 0, 0, threading.Lock()

    def enter(self, step):
        with self.lock:
            self.now += step
            self.most = max(self.most, self.now)

    def plain(self, x):
        self.enter(1)
        time.sleep(0.002)
        self.enter(-1)
        return 0

    async def awaited(self, x):
        self.enter(1)
        await asyncio.sleep(0.002)
        self.enter(-1)
        return 0


@pytest.mark.parametrize("at_once", [1, 4])
def test_no_more_at_once_than_allowed_over_all_candidates(at_once):
    work = Counting()
    policies = ps.FunctionPolicies(
        [work.plain, work.awaited, work.plain],
        n_actions=2,
        vectorized=False,
        calls=ps.Calls(at_once=at_once),
    )
    policies.actions(np.arange(20))
    assert 1 <= work.most <= at_once
    if at_once > 1:
        assert work.most > 1


class Failing:
    """Fails so many times at each context."""

    def __init__(self, times, error=None):
        self.times, self.error, self.asked = times, error or ConnectionError("down"), {}

    async def __call__(self, x):
        self.asked[int(x)] = self.asked.get(int(x), 0) + 1
        if self.asked[int(x)] <= self.times:
            raise self.error
        return 1


def counts(policies, policy=0):
    one = policies.usage().candidates[policy]
    return one.calls, one.contexts, one.retries, one.timeouts, one.fallbacks


def test_a_call_that_failed_is_repeated():
    policies = ps.FunctionPolicies([Failing(2)], n_actions=2, calls=ps.Calls(retries=2))
    assert policies.actions(np.arange(3))[:, 0, 0].tolist() == [1, 1, 1]
    assert counts(policies) == (9, 3, 6, 0, 0)


def test_pauses_double(monkeypatch):
    monkeypatch.setattr(looping, "_PAUSE", 0.25)
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    monkeypatch.setattr(looping.asyncio, "sleep", sleep)
    policies = ps.FunctionPolicies([Failing(9)], n_actions=2, calls=ps.Calls(retries=9))
    policies.actions([0])
    assert slept == [0.25, 0.5, 1, 2, 4, 8, 16, 30, 30]


def test_without_a_fallback_the_batch_fails_and_nothing_is_changed():
    broken = []

    async def shaky(x):
        if x == 17 and broken:
            raise ConnectionError("down")
        return int(x) % 3

    async def steady(x):
        return 0

    policies = ps.FunctionPolicies([steady, shaky], n_actions=3, calls=ps.Calls(retries=1))
    problem = ps.Problem(n_actions=3, epsilon=0.1, delta=0.1)
    learner, twin = (ps.Sieve(policies, problem, rng=0) for _ in range(2))
    broken.append(True)
    with pytest.raises(
        ps.PolicyFailureError,
        match=r"policy 1 gave no answer at context 2, .*17.*, after 1 retries: .*Error: down",
    ) as caught:
        learner.ask(np.arange(15, 20))
    assert caught.value.policy == 1
    assert learner.pending == 0
    broken.clear()
    one, other = (each.ask(np.arange(20)) for each in (learner, twin))
    np.testing.assert_array_equal(one.actions, other.actions)


@pytest.mark.parametrize("fallback", [2, np.int64(2)])
def test_a_fallback_is_the_answer_of_last_resort(fallback):
    policies = ps.FunctionPolicies(
        [Failing(9), thrice], n_actions=5, calls=ps.Calls(retries=1, fallback=fallback)
    )
    assert policies.actions([1, 2])[:, :, 0].tolist() == [[2, 3], [2, 1]]
    assert counts(policies) == (4, 2, 2, 0, 2)
    assert counts(policies, 1) == (2, 2, 0, 0, 0)


def test_names_of_candidates_and_actions():
    policies = ps.FunctionPolicies(
        {"shaky": Failing(9)},
        actions=["shoes", "hats"],
        calls=ps.Calls(retries=0, fallback="hats"),
    )
    assert policies.actions([1])[0].tolist() == [[1]]
    assert policies.usage().candidates[0].name == "shaky"
    with pytest.raises(ps.InvalidArgumentError, match="or by name, got 'coats'"):
        ps.FunctionPolicies([thrice], actions=["shoes", "hats"], calls=ps.Calls(fallback="coats"))
    policies = ps.FunctionPolicies({"shaky": Failing(9)}, n_actions=2, calls=ps.Calls(retries=0))
    with pytest.raises(ps.PolicyFailureError, match="policy 'shaky' gave no answer at context 0"):
        policies.actions([1])


def test_a_slate_as_fallback():
    policies = ps.FunctionPolicies(
        [Failing(9)], n_actions=5, slate_size=2, calls=ps.Calls(retries=0, fallback=[4, 1])
    )
    assert policies.actions([1])[0].tolist() == [[4, 1]]


@pytest.mark.parametrize("fallback", [5, -1, [0, 1], 0.5, "none"])
def test_bad_fallbacks(fallback):
    with pytest.raises(ps.InvalidArgumentError, match=r"fallback must be an action of the 5"):
        ps.FunctionPolicies([thrice], n_actions=5, calls=ps.Calls(fallback=fallback))


def test_what_takes_too_long_is_cancelled_or_left_alone():
    cancelled, free = [], threading.Event()

    async def endless(x):
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            cancelled.append(int(x))
            raise

    def stuck(x):
        free.wait(60)
        return 0

    policies = ps.FunctionPolicies(
        [endless, stuck, plain],
        n_actions=5,
        vectorized=False,
        calls=ps.Calls(at_once=2, retries=1, timeout=0.02, fallback=3),
    )
    said = policies.actions([0, 1])[:, :, 0].tolist()
    free.set()
    assert [row[:2] for row in said] == [[3, 3], [3, 3]]
    assert sorted(cancelled) == [0, 0, 1, 1]
    assert counts(policies) == counts(policies, 1) == (4, 2, 2, 4, 2)


def test_a_timeout_of_the_candidate_itself_counts_as_one():
    policies = ps.FunctionPolicies(
        [Failing(1, TimeoutError("of the client"))], n_actions=2, calls=ps.Calls()
    )
    policies.actions([0])
    assert counts(policies) == (2, 1, 1, 1, 0)


def test_what_is_no_answer_is_not_asked_for_again():
    """A mistake of the program is seen, fallback or not."""
    asked = []

    async def from_one(x):
        asked.append(x)
        return 5

    policies = ps.FunctionPolicies([from_one], n_actions=5, calls=ps.Calls(fallback=0))
    with pytest.raises(ps.PolicyFailureError, match="policy 0 returned action 5"):
        policies.actions([1])
    assert len(asked) == 1


def test_a_function_of_other_arguments_fails_like_any():
    async def of_two(x, y):
        return 0

    policies = ps.FunctionPolicies([of_two], n_actions=2, calls=ps.Calls(retries=0))
    with pytest.raises(ps.PolicyFailureError, match=r"after 0 retries: TypeError: .*of_two\(\)"):
        policies.actions([1])


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


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"at_once": 0}, "at_once"),
        ({"retries": -1}, "retries"),
        ({"timeout": 0}, "timeout"),
        ({"timeout": float("inf")}, "timeout"),
        ({"at_once": 2.5}, "at_once"),
    ],
)
def test_bad_calls(how, message):
    with pytest.raises(ps.InvalidArgumentError, match=message):
        ps.Calls(**how)


def test_functions_that_do_not_fit_calls():
    with pytest.raises(ps.InvalidArgumentError, match=r"as policy 1 is: pass calls=ps\.Calls\(\)"):
        ps.FunctionPolicies([plain, thrice], n_actions=5)
    with pytest.raises(ps.InvalidArgumentError, match="vectorized=False"):
        ps.FunctionPolicies([thrice, plain], n_actions=5, calls=ps.Calls())
    with pytest.raises(ps.InvalidArgumentError, match="calls must be such as"):
        ps.FunctionPolicies([thrice], n_actions=5, calls=8)
