"""What a round costs that is asked and told alone."""

import gc
import tracemalloc

import numpy as np
import pytest

import policysieve as ps
from policysieve.exploration import LEARNERS
from tests.exploration.test_interrupts import POLICIES, rewards

MOST = 200  # bytes a round, without explorations and the candidates' answers


def held():
    """Bytes that are held, without garbage that waits to be collected."""
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def test_bytes_of_a_round_with_answers():
    """Open rounds of candidates that were called: their answers, and room to grow, come on top."""
    rules = ps.FunctionPolicies([lambda x, k=k: (x + k) % 4 for k in range(30)], n_actions=4)
    learner = ps.Uniform(rules, ps.Problem(n_actions=4, epsilon=0.1, delta=0.1), rng=0)
    for _ in range(100):
        learner.ask([1])
    tracemalloc.start()
    try:
        before = held()
        for _ in range(1000):
            learner.ask([1])
        used = held() - before
    finally:
        tracemalloc.stop()
    assert used / 1000 <= MOST + 2 * 30


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("told", [True, False], ids=["told", "open"])
def test_bytes_of_a_round(name, told):
    problem = ps.Problem(n_actions=4, epsilon=1e-4, delta=0.1)
    sizes = {"explore_rounds": 10**6} if hasattr(LEARNERS[name], "_find_design") else {}
    learner = LEARNERS[name](POLICIES, problem, rng=0, **sizes)
    rng = np.random.default_rng(0)

    def play(n):
        for _ in range(n):
            decisions = learner.ask(rng.integers(0, 6, 1))
            if told:
                learner.tell(decisions, rewards(decisions))

    play(1000)
    tracemalloc.start()
    try:
        before = held()
        play(1000)
        used = held() - before
    finally:
        tracemalloc.stop()
    evidence = getattr(learner, "evidence", None)
    kept = evidence.nbytes / 2000 if evidence is not None and told else 0
    assert used / 1000 <= MOST + 2 * kept  # what evidence keeps, and room to grow, come on top
    assert kept < 100
    assert len(learner.open_decisions()) == (0 if told else 2000)
