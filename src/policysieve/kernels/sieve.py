"""Slates of the Sieve: uniform over what survivors would show, mixed with a policy of the design.

Legend: K actions, m items a slate; survivors and support are policy numbers; u (n, m + 2) uniforms:
a coin, the policy, the subset.
"""

import numba as nb
import numpy as np

from policysieve.kernels.subsets import draw_subset


@nb.njit(cache=True, nogil=True)
def sieve_slates(
    u, gamma, K, table, rows, survivors, support, shares, accept, alias, slates, propensities
):
    """Fill slates and propensities (n, m): W = gamma m/|A(x)| 1[j in A(x)] + (1-gamma) Q(x, j).

    A(x) is the set of actions that any survivor shows at x.
    """
    n, m = slates.shape
    allowed = np.empty(K, np.int64)
    seen = np.full(K, -1, np.int64)
    deck = np.empty(K, np.int64)
    swapped = np.empty(m, np.int64)
    picked = np.empty(m, np.int64)
    q = np.zeros(K)
    for i in range(n):
        row = table[rows[i]]
        size = 0
        for k in range(len(survivors)):
            for j in range(m):
                a = row[survivors[k], j]
                if seen[a] != i:
                    seen[a] = i
                    allowed[size] = a
                    deck[size] = size
                    q[a] = 0.0
                    size += 1
        for k in range(len(support)):
            for j in range(m):
                q[row[support[k], j]] += shares[k]
        if u[i, 0] < gamma:
            draw_subset(u[i, 2:], size, deck, swapped, picked)
            for j in range(m):
                slates[i, j] = allowed[picked[j]]
        else:
            place = u[i, 1] * len(support)
            k = min(int(place), len(support) - 1)
            if place - k >= accept[k]:
                k = alias[k]
            for j in range(m):
                slates[i, j] = row[support[k], j]
        for j in range(m):
            share = gamma * m / size + (1.0 - gamma) * q[slates[i, j]]
            propensities[i, j] = min(share, 1.0)


@nb.njit(cache=True, nogil=True)
def choices(table, rows, survivors, K, out):
    """How many different actions survivors show at each of the rows."""
    m = table.shape[2]
    seen = np.full(K, -1, np.int64)
    for i in range(len(rows)):
        size = 0
        for k in range(len(survivors)):
            for j in range(m):
                a = table[rows[i], survivors[k], j]
                if seen[a] != i:
                    seen[a] = i
                    size += 1
        out[i] = size
