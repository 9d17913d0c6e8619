"""Rounds to a certificate and to its stages."""

from math import log

import numpy as np
import pytest

import policysieve as ps
from policysieve.bench.rounds import DELTA, Game, Task, proving
from policysieve.bench.scaling import growth
from policysieve.bench.scaling.growth import COUNTS, GROWTHS, median_rounds
from policysieve.bench.scaling.worlds import sparse_synthetic

SETTINGS = {"profile": "clusters", "n_actions": 20, "n_policies": 50, "epsilon": 0.1}
WORLD = {name: value for name, value in SETTINGS.items() if name != "epsilon"}
TASK = Task("", "", lambda seed: sparse_synthetic(seed, **WORLD), epsilon=0.1)


@pytest.fixture(scope="module")
def found():
    return median_rounds(SETTINGS, 3)


def test_certified_as_in_the_race(found):
    race = proving(TASK, "Sieve", seeds=3, most=10_000)
    assert (found["rounds"]["certified"], found["false"]) == (race["median"], race["false"])


def test_stages_come_before_the_certificate(found):
    rounds = found["rounds"]
    assert set(rounds) == set(COUNTS) == set(found["rates"]) == set(found["log_thresholds"])
    assert 20 <= rounds["without_union"] < rounds["certified"] < rounds["incumbent"]
    assert 20 <= rounds["eliminated"] < rounds["certified"]


def test_without_the_union_as_recounted():
    """From all rounds at once: the wealth of bets on the leader passes 1/delta_r."""
    made = sparse_synthetic(1, **WORLD)
    count = growth._remembering(Task("", "", lambda _: made, epsilon=0.1), 1)
    game = Game.of(TASK, 1)
    learner = ps.Sieve(game.policies, game.problem, rng=1)
    passed = []
    while not learner.finished:
        game.advance(learner, learner.evidence.next_look)
        proof = learner.evidence.proof()
        least = proof.log_wealth(proof.rivals, np.array([0.1])).min(initial=np.inf)
        assert (least >= proof.log_threshold) == learner.finished
        if least >= log(1 / (0.45 * DELTA)):
            passed.append(learner.rounds)
    assert (count["without_union"], count["certified"]) == (passed[0], passed[-1])


def test_what_each_count_pays(found):
    """Only certificates in retrospect pay a logarithm of the class."""
    larger = {**found["log_thresholds"], "certified": log(49 / (0.45 * 0.05))}
    assert found["log_thresholds"] == pytest.approx(larger)
    term = 1 / 0.1**2 + 20 / 0.1
    for count, ell in found["log_thresholds"].items():
        assert found["rates"][count] == pytest.approx(term * ell)


def test_what_most_runs_do_not_reach_is_unknown(monkeypatch):
    monkeypatch.setattr(growth, "_MOST", 30)
    rounds = median_rounds({**SETTINGS, "epsilon": 0.01}, 1)["rounds"]
    assert (rounds["certified"], rounds["incumbent"]) == (None, None)


@pytest.mark.parametrize("one", GROWTHS.values(), ids=list(GROWTHS))
def test_points(one):
    for full in (False, True):
        points = one.points(full=full)
        xs = [x for x, _ in points]
        assert len(xs) >= 3
        assert xs == sorted(set(xs))
        assert all(set(at) == set(SETTINGS) for _, at in points)
