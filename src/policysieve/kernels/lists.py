"""Slates made of what a list of policies would show, mixed with uniform ones."""

import numba as nb
import numpy as np

from policysieve.kernels.subsets import draw_subset


@nb.njit(cache=True, nogil=True)
def list_slates(u, gamma, K, shown, slates, propensities):
    """Fill slates and propensities (n, m): W = gamma m/K + (1-gamma) m/|A| 1[j in A].

    shown (n, L, m) are the slates of L policies at each context, A the set of their items, and all
    K if L = 0. u (n, m + 1): a coin, the subset.
    """
    n, m = slates.shape
    L = shown.shape[1]
    listed = np.empty(K, np.int64)
    seen = np.full(K, -1, np.int64)
    deck = np.arange(K)
    swapped = np.empty(m, np.int64)
    picked = np.empty(m, np.int64)
    for i in range(n):
        size = 0
        for k in range(L):
            for j in range(m):
                a = shown[i, k, j]
                if seen[a] != i:
                    seen[a] = i
                    listed[size] = a
                    size += 1
        if size == 0 or u[i, 0] < gamma:
            draw_subset(u[i, 1:], K, deck, swapped, picked)
            for j in range(m):
                slates[i, j] = picked[j]
        else:
            draw_subset(u[i, 1:], size, deck, swapped, picked)
            for j in range(m):
                slates[i, j] = listed[picked[j]]
        for j in range(m):
            if size == 0:
                share = m / K
            elif seen[slates[i, j]] == i:
                share = gamma * m / K + (1.0 - gamma) * m / size
            else:
                share = gamma * m / K
            propensities[i, j] = min(share, 1.0)
