"""Weights on tables and trees, compiled and interpreted."""

import copy

import numpy as np
import pytest

import policysieve as ps
from policysieve.kernels import trees, weights


@pytest.mark.parametrize(
    ("module", "names", "policies"),
    [
        (
            weights,
            ("softmax", "tabular_add", "tabular_totals", "tabular_marginals"),
            ps.TabularPolicies(n_contexts=5, n_actions=3),
        ),
        (
            trees,
            (
                "cells_at",
                "tree_sums",
                "leaf_chances",
                "raise_action",
                "tree_totals",
                "tree_marginals",
                "sum_weights",
                "best_trees",
            ),
            ps.TreePolicies(
                np.random.default_rng(0).random((50, 2)), n_actions=3, depth=2, n_bins=3
            ),
        ),
    ],
    ids=["tabular", "trees"],
)
def test_compiled_equals_interpreted(module, names, policies, monkeypatch):
    rng = np.random.default_rng(1)
    contexts = np.arange(5) if module is weights else rng.random((5, 2))
    x, a = rng.integers(5, size=20), rng.integers(3, size=20)
    steps = rng.random(20)

    def story():
        state = policies.start_weights()
        for i in range(20):
            state.wait(i % 4)
            state.add(contexts[x[i : i + 1]], a[i : i + 1], steps[i : i + 1])
        best = policies.best(contexts[x], a, steps)
        marginals, totals = state.marginals(contexts), state.totals(contexts)
        return copy.deepcopy((marginals, totals)), best.actions(contexts).tolist()

    (marginals, totals), best = story()
    for name in names:
        monkeypatch.setattr(module, name, getattr(module, name).py_func)
    (slow_marginals, slow_totals), slow_best = story()
    np.testing.assert_allclose(slow_marginals, marginals, rtol=1e-12)
    np.testing.assert_allclose(slow_totals, totals, rtol=1e-12)
    assert slow_best == best


def test_softmax_of_far_apart_weights():
    out = np.empty(3)
    weights.softmax(np.array([0.0, 5000.0, -5000.0]), out)
    assert out[1] == pytest.approx(1)
    assert (out > 0).all()
