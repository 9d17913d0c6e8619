"""Vowpal Wabbit where there are candidates."""

import sys

import numpy as np
import pytest

import policysieve as ps
from policysieve.bench.racers import VowpalVotes
from policysieve.bench.rounds import budgets, picking
from tests.bench.test_rounds import TINY, tiny


def test_learns_by_votes():
    pytest.importorskip("vowpalwabbit")
    found = picking(TINY, "VowpalWabbit", seeds=2, most=500)
    gaps = np.array(found["suboptimality"])
    assert gaps.shape == (len(budgets(500)), 2)
    assert gaps[-1].mean() < gaps[0].mean()


def test_shows_what_policies_would():
    pytest.importorskip("vowpalwabbit")
    world, policies = tiny(0)
    learner = VowpalVotes(policies, world.problem(epsilon=0.2, delta=0.05), rng=0)
    shown = learner.ask(np.arange(20))
    for x in range(20):
        assert shown.actions[x, 0] in policies.actions([x])[0, :, 0]
    assert ((shown.propensities > 0) & (shown.propensities <= 1)).all()
    learner.tell(shown, np.zeros((20, 1)))
    assert learner.rounds == 20
    table = learner.recommend().policy
    assert (table.n_policies, table.n_contexts, table.n_actions) == (1, 20, 4)


def test_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "vowpalwabbit", None)
    world, policies = tiny(0)
    with pytest.raises(ps.MissingExtraError, match=r"policysieve\[peers\]"):
        VowpalVotes(policies, world.problem(epsilon=0.2, delta=0.05))


def test_what_it_recommends_is_what_it_finds_most_probable():
    """The costs are read from its weights."""
    pytest.importorskip("vowpalwabbit")
    world, policies = tiny(0)
    learner = VowpalVotes(policies, world.problem(epsilon=0.2, delta=0.05), rng=0)
    rng = np.random.default_rng(0)
    for _ in range(20):
        draw = world.draw(10, rng)
        shown = learner.ask(draw.contexts)
        learner.tell(shown, draw.rewards(shown.actions))
    best = learner.recommend().policy.actions(np.arange(20))[:, 0, 0]
    for x in range(20):
        offered, lines = learner._votes(x)
        chances = np.asarray(learner._machine.predict(lines))
        assert chances[offered.index(best[x])] == pytest.approx(chances.max(), rel=1e-4)
