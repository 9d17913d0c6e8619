"""What learners know as plain arrays, and back to the same bits."""

from copy import deepcopy
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import policysieve as ps
from policysieve.exploration.learners.freezing import frozen, restore

K, N = 5, 12
PROBLEM = ps.Problem(n_actions=K, epsilon=0.1, delta=0.05, against=1)
COSTS = ps.Problem(
    n_actions=K, epsilon=2, delta=0.05, against=1, reward_range=(-5, 15), objective="minimize",
    traffic=0.6,
)  # fmt: skip
WEIGHTS = np.random.default_rng(7).normal(size=(N, K, 4))
TABLE = np.random.default_rng(1).integers(K, size=(30, N))


def classes():
    return {
        "linear": ps.LinearPolicies(WEIGHTS),
        "table": ps.PolicyTable(TABLE, n_actions=K, fallback=[4, 0, 1, 2, 3]),
    }


def drawn(policies, n, rng):
    if isinstance(policies, ps.PolicyTable):
        return rng.integers(30, size=n)
    return rng.normal(size=(n, 4))


def play(learner, n, rng, *, restricted=False):
    """Rounds in which what policy 3 would show is best, and perhaps not everything can be shown."""
    x, available = drawn(learner.policies, n, rng), None
    if restricted:
        available = rng.random((n, K)) < 0.7
        available[:, 2] = True
    decisions = learner.ask(x, available=available)
    right = decisions.actions[:, 0] == learner.policies.actions(x)[:, 3, 0]
    earned = (rng.random(n) < np.where(right, 0.8, 0.1)).astype(float)
    scale = learner.problem.scale
    learner.tell(decisions, scale.low + scale.span * (1 - earned if scale.minimize else earned))


def assert_same(one, two):
    assert one.recommend() == two.recommend()
    assert one.finished == two.finished
    assert one.cost().to_dict() == two.cost().to_dict()
    assert one.exploration.same_as(two.exploration)
    mine, theirs = one.intervals(), two.intervals()
    for name in ("values", "lower", "upper"):
        np.testing.assert_array_equal(getattr(mine, name), getattr(theirs, name))


@pytest.mark.parametrize(
    ("problem", "restricted"), [(PROBLEM, False), (COSTS, False), (PROBLEM, True)],
    ids=["rewards", "costs on a share", "not everything available"],
)  # fmt: skip
@pytest.mark.parametrize("kind", classes())
@pytest.mark.parametrize(
    ("learner", "options"),
    [
        (ps.Sieve, {}),
        (ps.Sieve, {"goal": "best"}),
        (ps.Sieve, {"goal": "beat"}),
        (ps.Sieve, {"goal": "best", "memory_limit": 3_000}),  # the past is forgotten on the way
        (ps.PolicyElimination, {}),
        (ps.Uniform, {"rounds": 700}),
    ],
    ids=str,
)
def test_a_learner_goes_on_with_the_same_bits(learner, options, kind, problem, restricted):
    policies, rng = classes()[kind], np.random.default_rng(2)
    one, pasts, size = learner(policies, problem, rng=0, **options), [], 0
    for number, n in enumerate((1, 19, 3, 40, 90, 7, 200, 30)):
        play(one, n, rng, restricted=restricted and number > 2)
        found = frozen(one, size)
        if found is None:  # it was finished by a look before the last: folded from the last one
            assert one.finished
            continue
        pasts = [] if found.whole else pasts
        pasts, size = [*pasts, *([] if found.past is None else [found.past])], found.size
        two = learner(policies, problem, rng=0, **options)
        restore(two, found.state, pasts)
        assert_same(one, two)
        two._rng.bit_generator.state = one._rng.bit_generator.state
        first, second = np.random.default_rng(n), np.random.default_rng(n)
        twin = deepcopy(one)
        play(twin, 60, first, restricted=restricted)
        play(two, 60, second, restricted=restricted)
        assert_same(twin, two)


def test_others_are_not_kept():
    learner = ps.Exp4(ps.LinearPolicies(WEIGHTS), PROBLEM, rounds=10, rng=0)
    assert frozen(learner) is None


def test_what_they_hold_beside_is_not_kept():
    policies, rng = classes()["linear"], np.random.default_rng(4)
    stopped, grown, anew = (ps.Sieve(policies, PROBLEM, rng=0, additions=1) for _ in range(3))
    for learner in (stopped, grown, anew):
        play(learner, 30, rng)
        assert frozen(learner) is not None
    stopped.stop_exploring()
    grown.add(ps.LinearPolicies(-WEIGHTS))
    anew.restart()
    sold = ps.Sieve(policies, replace(PROBLEM, outcomes={"sale": (0, 1)}), rng=0)
    assert [frozen(learner) for learner in (stopped, grown, anew, sold)] == [None] * 4


@pytest.mark.parametrize("kind", classes())
def test_parts_of_any_size_leave_the_same_bits_of_learners_that_say_so(kind):
    policies, rng = classes()[kind], np.random.default_rng(3)
    for learner in (ps.Sieve, ps.PolicyElimination):
        assert learner.splits_freely
        one = learner(policies, PROBLEM, rng=0)
        play(one, 400, rng)
        log, first = one.log, learner(policies, PROBLEM).exploration
        twins = []
        for cuts in ([0, 400], [0, 1, 20, 21, 22, 150, 399, 400], range(401)):
            twin = learner(policies, PROBLEM, rng=0)
            for low, high in pairwise(cuts):
                twin.learn(log[low:high], first)
            twins.append(twin)
        for twin in twins[1:]:
            assert_same(twins[0], twin)
            assert twin._mass == twins[0]._mass
            assert twin._spending == twins[0]._spending
