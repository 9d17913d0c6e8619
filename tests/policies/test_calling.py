"""Candidates that are slow or fail: called at once, again, and not forever."""

import asyncio
import threading
import time

import numpy as np
import pytest

import policysieve as ps
from policysieve.policies import looping
from tests.contracts.policies_contract import PoliciesContract
from tests.policies.candidates import Failing, counts, pair, plain, thrice


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(looping, "_PAUSE", 0.0)


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
