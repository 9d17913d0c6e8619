"""Uniformly random m-subsets of K actions."""

import numba as nb
import numpy as np


@nb.njit(cache=True, nogil=True)
def uniform_subsets(u, K, out):  # type: ignore[no-untyped-def]
    """Turn uniforms u (n, m) into uniformly random ordered m-subsets of range(K), into out (n, m).

    A Fisher-Yates shuffle stopped after m swaps, undone after each row so that a row costs O(m).
    Exactly m uniforms per row: the result does not depend on how rows are batched.
    """
    n, m = u.shape
    deck = np.arange(K)
    swapped = np.empty(m, np.int64)
    for i in range(n):
        for k in range(m):
            j = k + min(int(u[i, k] * (K - k)), K - k - 1)
            swapped[k] = j
            deck[k], deck[j] = deck[j], deck[k]
            out[i, k] = deck[k]
        for k in range(m - 1, -1, -1):
            j = swapped[k]
            deck[k], deck[j] = deck[j], deck[k]
