"""Votes compiled, interpreted, and counted item by item."""

import numpy as np
import pytest

from policysieve.kernels.votes import count_votes
from tests.oracles.votes import winners


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "interpreted"])
@pytest.mark.parametrize(("K", "m"), [(1, 1), (7, 1), (7, 3), (7, 7), (300, 2)])
@pytest.mark.parametrize("S", [1, 2, 9])
def test_votes_are_counted(compiled, K, m, S):
    """Weights are eighths, so that sums are exact and ties are many; some voters have none."""
    kernel = count_votes if compiled else count_votes.py_func
    rng = np.random.default_rng(K + m)
    slates = rng.random((12, S, K)).argsort(axis=-1)[..., :m].astype(np.min_scalar_type(K - 1))
    shares = rng.integers(0, 5, (4, S)) / 8
    shares[np.arange(4), rng.integers(0, S, 4)] = 0.5
    out = np.full((12, 4, m), 255, slates.dtype)
    kernel(slates, shares, K, out)
    for i in range(12):
        for v in range(4):
            assert out[i, v].tolist() == winners(slates[i], shares[v])


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "interpreted"])
def test_nothing_to_count(compiled):
    kernel = count_votes if compiled else count_votes.py_func
    for n, V in ((0, 3), (4, 0)):
        out = np.empty((n, V, 1), np.uint8)
        kernel(np.zeros((n, 2, 1), np.uint8), np.ones((V, 2)), 5, out)
