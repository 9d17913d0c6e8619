"""The cone programme against a general optimiser, and the closed forms against it."""

import sys

import numpy as np
import pytest

from policysieve.errors import InvalidArgumentError, MissingExtraError
from policysieve.theory.conic import conic_reference
from policysieve.theory.objective import exploration_value
from policysieve.theory.solvers import closed_form, second_tier
from tests.oracles import by_optimization as oracle


@pytest.mark.parametrize(
    ("K", "ratio", "s"),
    [
        (3, 1.0, 1.0),
        (3, 1.2, 1.5),
        (3, 4.0, 0.6),
        (3, 30.0, 1.0),
        (4, 1.2, 1.0),
        (4, 4.0, 2.5),
        (5, 1.5, 1.0),
    ],
)
def test_agrees_with_a_general_optimiser(K, ratio, s):
    """The paper's own convex form, one constraint for each best action and vertex."""
    w = np.random.default_rng(K).dirichlet(np.full(K, 2.0))
    solution = conic_reference(w, ratio * K, s)
    found = oracle.minimum(w, ratio * K, s, starts=1)
    assert solution.value == pytest.approx(found, rel=3e-6)
    assert oracle.worst_case(solution.p, solution.q, solution.xi, w, ratio * K, s) == pytest.approx(
        solution.value, rel=1e-9
    )


@pytest.mark.parametrize("ratio", [1.0, 1.5, 4.0, 32.0, 1e3, 1e4])
@pytest.mark.parametrize("concentration", [np.inf, 1.0, 0.5])
def test_the_tiers_are_in_order(ratio, concentration):
    """Optimum <= second tier <= closed form, at every price; equal where weights are uniform."""
    rng = np.random.default_rng(0)
    for K, s in ((3, 1.0), (6, 1.0), (6, 2.5), (12, 0.5)):
        uniform = np.full(K, 1 / K)
        w = uniform
        if np.isfinite(concentration):
            w = 0.99 * rng.dirichlet(np.full(K, concentration)) + 0.01 * uniform
        G = ratio * K
        one, two, best = (solve(w, G, s) for solve in (closed_form, second_tier, conic_reference))
        assert best.value <= two.value * (1 + 2e-5)
        assert two.value <= one.value
        assert best.value >= 0.1 * one.value
        if concentration == np.inf and s <= 1:
            assert best.value == pytest.approx(two.value, rel=2e-5)


def test_nothing_nearby_is_better():
    """The value is a minimum: moving p, q or xi a little never helps."""
    rng = np.random.default_rng(5)
    w, G, s = rng.dirichlet(np.ones(4)), 14.0, 1.5
    best = conic_reference(w, G, s)
    for _ in range(300):
        p, q = (0.999 * x + 0.001 * rng.dirichlet(np.ones(4)) for x in (best.p, best.q))
        xi = best.xi + rng.normal(0, 1e-3, best.xi.shape)
        assert exploration_value(p, q, xi, w, G, s) >= best.value * (1 - 1e-6)


def test_actions_of_no_weight_are_left_out():
    w = np.array([0.0, 0.5, 0.3, 0.0, 0.2])
    full, part = conic_reference(w, 12, 1.5), conic_reference(w[w > 0], 12, 1.5)
    assert full.value == pytest.approx(part.value, rel=1e-6)
    assert not full.q[w == 0].any()
    assert not full.p[w == 0].any()
    with_room = oracle.worst_case(
        full.p, full.q, np.where(w[:, None, None] > 0, full.xi, 500.0), w, 12, 1.5
    )
    assert with_room == pytest.approx(full.value, rel=1e-9)


def test_a_point_mass():
    solution = conic_reference([0, 1, 0], 5, 1)
    assert solution.value == 0
    assert solution.q.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.5, 0.6], 4, 1), "w must sum to 1"),
        (([0.5, 0.5], 1, 1), "gamma must be at least"),
        (([0.5, 0.5], 4, 5), "sparsity"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(InvalidArgumentError, match=message):
        conic_reference(*arguments)


def test_without_clarabel(monkeypatch):
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(MissingExtraError, match=r"conic_reference needs clarabel.*\[exact\]"):
        conic_reference([0.5, 0.5], 4, 1)
