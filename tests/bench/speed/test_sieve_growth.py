import numpy as np
import pytest

from policysieve.bench.speed import sieve_growth as module
from policysieve.bench.speed.playing import KINDS, Played


def test_what_grows(monkeypatch):
    """A clock in place of the learner: slopes are those of the seconds, parts those of rounds."""
    parts = []

    def play(learner, world, rounds, *, rng=0):
        parts.append(rounds)
        k, c, p = learner.problem.n_actions, world.n_contexts, learner.policies.n_policies
        seconds = rounds * p * np.sqrt(k) * c**0.25 * (1 + rng)
        return Played(rounds, np.array([seconds]), np.zeros(1))

    monkeypatch.setattr(module, "play", play)
    result = module.sieve_growth(
        n_policies=(4, 40, 400),
        n_actions=(10, 100),
        n_contexts=(20, 40),
        n_rounds=(30, 60, 120),
        rounds=50,
        repeats=1,
    )
    assert tuple(result) == KINDS
    for grown in result.values():
        slopes = [grown[name]["slope"] for name in ("policies", "actions", "contexts")]
        assert slopes == pytest.approx([1.0, 0.5, 0.25])
        assert grown["rounds"]["sizes"] == [30, 60, 120]
        first, second, third = grown["rounds"]["seconds"]
        assert (second, third) == pytest.approx((2 * first, 3 * first))
    assert parts[-3:] == [30, 30, 60]


def test_the_sieve_is_what_is_timed():
    sizes = {"n_policies": (5, 10), "n_actions": (5, 10), "n_contexts": (5, 10)}
    result = module.sieve_growth(**sizes, n_rounds=(40, 80), rounds=60, repeats=1)
    seconds = [grown[name]["seconds"] for grown in result.values() for name in grown]
    assert np.shape(seconds) == (8, 2)
    assert np.all(np.array(seconds) > 0)
