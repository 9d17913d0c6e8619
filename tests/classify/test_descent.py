"""The search for a minimum: as far as any other gets, and further with what it remembers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from policysieve.classify.descent import Memory, descend

EPS = 1e-15


def logistic(n, seed=0):
    """A penalised logistic loss of n rows with features of very different variance."""
    rng = np.random.default_rng(seed)
    mixing, weights = rng.normal(size=(12, 12)) * np.linspace(0.2, 3, 12), rng.normal(size=12)
    X, noise = rng.normal(size=(400, 12))[:n] @ mixing, rng.normal(size=400)[:n]
    signs = np.sign(X @ weights + 10 * noise)

    def objective(w):
        margins = signs * (X @ w)
        slope = -signs / (1 + np.exp(margins))
        return float(np.logaddexp(0, -margins).sum() + w @ w / 2), X.T @ slope + w

    return objective, 1 / (1 + (X**2).sum(axis=0) / 4)


def best(objective):
    found = optimize.minimize(objective, np.zeros(12), jac=True, method="BFGS", tol=1e-8)
    return found.x, found.fun


def nothing():
    return Memory(12, 8, np.float64)


def test_it_finds_the_minimum():
    objective, scales = logistic(300)
    found = descend(
        objective, np.zeros(12), scales, nothing(), steps=(100, 100), close=0.0, rounding=EPS
    )
    np.testing.assert_allclose(found, best(objective)[0], atol=1e-4)


def test_what_it_remembers_saves_steps():
    """From the minimum of 300 rows to that of 330, in four steps."""
    first, scales = logistic(300)
    memory = nothing()
    start = descend(first, np.zeros(12), scales, memory, steps=(100, 100), close=0.0, rounding=EPS)
    objective, _ = logistic(330)
    lowest = best(objective)[1]
    above = [
        objective(descend(objective, start, scales, kept, steps=(4, 4), close=0.0, rounding=EPS))[0]
        - lowest
        for kept in (memory, nothing())
    ]
    assert above[0] < 0.3 * above[1]


def test_a_memory_of_something_else_does_no_harm():
    """That of another loss, and one by which every step led up."""
    objective, scales = logistic(300)
    memory = nothing()
    descend(
        logistic(40, seed=5)[0],
        np.ones(12),
        scales,
        memory,
        steps=(6, 6),
        close=0.0,
        rounding=EPS,
    )
    twisted = memory.changed(np.copy)
    twisted.turned *= -1
    twisted.products *= -1
    for kept in (memory, twisted):
        found = descend(
            objective, np.zeros(12), scales, kept, steps=(100, 100), close=0.0, rounding=EPS
        )
        np.testing.assert_allclose(found, best(objective)[0], atol=1e-3)


@given(st.integers(0, 2**32 - 1), st.integers(0, 20))
def test_directions_are_those_of_the_two_loops(seed, n_steps):
    """Of the last eight steps, as Nocedal and Wright have them, whatever else was remembered."""
    rng = np.random.default_rng(seed)
    curvature = (spread := rng.normal(size=(6, 6))) @ spread.T + np.eye(6)
    steps = rng.normal(size=(n_steps, 6))
    memory = Memory(6, 8, np.float64)
    for step in steps:
        memory.add(step, curvature @ step)
        memory.add(step, -curvature @ step)  # bends upwards, and is left out
    gradient, scales = rng.normal(size=6), rng.uniform(0.5, 2, 6)
    expected, kept, shares = gradient.copy(), steps[-8:], []
    for step in kept[::-1]:
        shares.append(step @ expected / (step @ curvature @ step))
        expected -= shares[-1] * curvature @ step
    expected *= scales
    if len(kept):
        turned = curvature @ kept[-1]
        expected *= kept[-1] @ turned / (turned @ (scales * turned))
    for step, share in zip(kept, shares[::-1], strict=True):
        turned = curvature @ step
        expected += (share - turned @ expected / (step @ turned)) * step
    np.testing.assert_allclose(memory.direction(gradient, scales), -expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_it_never_goes_up(scale):
    """However wrong the scales are, which stand for one over the second derivatives."""
    objective, scales = logistic(100)
    values = [objective(np.zeros(12))[0]]
    for steps in range(1, 12):
        found = descend(
            objective,
            np.zeros(12),
            scale * scales,
            nothing(),
            steps=(steps, steps),
            close=0.0,
            rounding=EPS,
        )
        values.append(objective(found)[0])
    assert (np.diff(values) <= 2e-6 * np.abs(values[:-1])).all()
    assert values[-1] < values[0]


def test_it_ends_where_little_is_left_to_gain():
    objective, scales = logistic(300)
    lowest, calls = best(objective)[1], []

    def counted(w):
        calls.append(w)
        return objective(w)

    found = descend(
        counted, np.zeros(12), scales, nothing(), steps=(2, 100), close=0.5, rounding=EPS
    )
    assert 0 < objective(found)[0] - lowest < 1
    assert 3 <= len(calls) < 20


def test_where_nothing_falls_it_stays():
    objective, scales = logistic(100)
    lowest = best(objective)[0]
    memory = nothing()
    found = descend(
        lambda w: (1.0 + abs(w - lowest).sum(), np.ones(12)),
        lowest,
        scales,
        memory,
        steps=(5, 5),
        close=0.0,
        rounding=EPS,
    )
    np.testing.assert_array_equal(found, lowest)
    assert not memory.order
