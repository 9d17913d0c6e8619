"""Importance-weighted sums over the policy class, rewarded rounds only."""

import numba as nb
import numpy as np


@nb.njit(cache=True, nogil=True)
def add_gains(table, rows, actions, gains, K, total, square):  # type: ignore[no-untyped-def]
    """Add R_i(pi) to total[pi] and its square to square[pi], for each event i and policy pi.

    R_i(pi) is the sum of gains[i, k] = r/W over the shown items actions[i, k] that pi would show
    too. table (., P, m) holds the policies' slates, rows[i] the row of event i's context in it;
    actions, gains (n, m'); total, square (P,).
    """
    P, m = table.shape[1], table.shape[2]
    gain = np.zeros(K)
    for i in range(len(rows)):
        for k in range(actions.shape[1]):
            gain[actions[i, k]] = gains[i, k]
        row = table[rows[i]]
        for p in range(P):
            g = 0.0
            for k in range(m):
                g += gain[row[p, k]]
            if g > 0.0:
                total[p] += g
                square[p] += g * g
        for k in range(actions.shape[1]):
            gain[actions[i, k]] = 0.0
