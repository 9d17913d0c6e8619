"""Finding hits compiled, interpreted, and against a plain search."""

import numpy as np
import pytest

from policysieve.kernels.hits import find_hits

both = pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "interpreted"])


@both
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
@pytest.mark.parametrize("m", [1, 3])
def test_hits(compiled, dtype, m):
    """Any alignment, any length, any place of the item, in every dtype."""
    kernel = find_hits if compiled else find_hits.py_func
    rng = np.random.default_rng(m)
    store = rng.integers(0, 7, 400).astype(dtype)
    for offset in range(9):
        for n_policies in (0, 1, 2, 7, 8, 9, 30):
            row = store[offset : offset + n_policies * m]
            row = (
                np.array([rng.permutation(7)[:m] for _ in range(n_policies)], dtype=dtype).reshape(
                    -1
                )
                if m > 1
                else row
            )
            hits = np.full(4 + n_policies, -1, np.int32)
            with np.errstate(over="ignore"):
                n = kernel(row, np.int32(3), m, 100, hits, 2)
            slates = row.reshape(n_policies, m)
            expected = [100 + p for p in range(n_policies) if 3 in slates[p]]
            assert hits[2:n].tolist() == expected
            assert hits[:2].tolist() == [-1, -1]


@both
def test_hits_of_extreme_items(compiled):
    kernel = find_hits if compiled else find_hits.py_func
    for dtype, items in ((np.uint8, (0, 127, 128, 255)), (np.uint16, (0, 32767, 32768, 65535))):
        row = np.array([*items, 1, *items, 129, *items, 0, 1, 2], dtype=dtype)
        for item in items:
            hits = np.empty(len(row), np.int32)
            with np.errstate(over="ignore"):
                n = kernel(row, np.int32(item), 1, 0, hits, 0)
            assert hits[:n].tolist() == np.flatnonzero(row == item).tolist()
