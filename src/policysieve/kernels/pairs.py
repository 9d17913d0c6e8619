"""Differences between one policy and all others, rewarded rounds only."""

import numba as nb
import numpy as np

from policysieve.kernels.hits import find_hits


@nb.njit(cache=True, nogil=True)
def add_differences(table, rows, actions, gains, K, leader, total, square):
    """Add Z_i(pi) = R_i(leader) - R_i(pi) to total[pi] and its square to square[pi].

    R_i(pi) is the sum of gains[i, k] = r/W over the shown items actions[i, k] that pi would show
    too. table (., P, m) holds the policies' slates, rows[i] the row of event i's context in it;
    actions, gains (n, m'); total, square (P,). What the policies that miss all rewarded items have
    in common is added once, at the end; with one rewarded item only its hits are touched.
    """
    P, m = table.shape[1], table.shape[2]
    gain = np.zeros(K)
    hits = np.empty(P, np.int32)
    missed, missed_square = 0.0, 0.0
    for i in range(len(rows)):
        row = table[rows[i]]
        rewarded, last = 0, 0
        for k in range(actions.shape[1]):
            gain[actions[i, k]] = gains[i, k]
            if gains[i, k] > 0.0:
                rewarded += 1
                last = k
        own = 0.0  # R_i(leader), which is Z_i of a policy that misses
        for k in range(m):
            own += gain[row[leader, k]]
        missed += own
        missed_square += own * own
        if rewarded == 1:
            g = gains[i, last]
            change = g * g if own == 0.0 else -g * g
            for h in range(find_hits(row.reshape(P * m), actions[i, last], m, 0, hits, 0)):
                total[hits[h]] -= g
                square[hits[h]] += change
        else:
            for p in range(P):
                g = 0.0
                for k in range(m):
                    g += gain[row[p, k]]
                if g > 0.0:
                    total[p] -= g
                    square[p] += g * (g - 2.0 * own)
        for k in range(actions.shape[1]):
            gain[actions[i, k]] = 0.0
    for p in range(P):
        total[p] += missed
        square[p] += missed_square
