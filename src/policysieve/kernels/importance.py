"""Importance-weighted sums over the policy class, rewarded rounds only.

Legend: table (., P, m) holds the policies' slates, rows[i] the row of event i's context in it;
actions (n, m') what was shown, gains (n, m') = r/W; total, square (P,). R_i(pi) is the sum of
gains[i, k] over the shown items actions[i, k] that pi would show too. With one rewarded item only
the policies that show it are touched.
"""

import numpy as np

from policysieve.kernels import kernel
from policysieve.kernels.hits import find_hits


@kernel
def add_gains(table, rows, actions, gains, K, total, square):
    """Add R_i(pi) to total[pi] and its square to square[pi], for each event i and policy pi."""
    P, m = table.shape[1], table.shape[2]
    gain = np.zeros(K)
    hits = np.empty(P, np.int32)
    for i in range(len(rows)):
        row = table[rows[i]]
        rewarded, last = 0, 0
        for k in range(actions.shape[1]):
            if gains[i, k] > 0.0:
                rewarded += 1
                last = k
        if rewarded == 1:
            g = gains[i, last]
            for h in range(find_hits(row.reshape(P * m), actions[i, last], m, 0, hits, 0)):
                total[hits[h]] += g
                square[hits[h]] += g * g
            continue
        for k in range(actions.shape[1]):
            gain[actions[i, k]] = gains[i, k]
        for p in range(P):
            g = 0.0
            for k in range(m):
                g += gain[row[p, k]]
            if g > 0.0:
                total[p] += g
                square[p] += g * g
        for k in range(actions.shape[1]):
            gain[actions[i, k]] = 0.0


@kernel
def sum_by_cell(rows, actions, gains, K, sums, used):
    """Sum gains and their squares for each cell row * K + action, into sums (cells, 2).

    Gains are positive. The cells that occur go to used; return their number.
    """
    n = 0
    for i in range(len(rows)):
        cell = rows[i] * K + actions[i]
        if sums[cell, 0] == 0.0:
            used[n] = cell
            n += 1
        sums[cell, 0] += gains[i]
        sums[cell, 1] += gains[i] * gains[i]
    return n


@kernel
def add_cells(table, rows, actions, sums, total, square):
    """Add sums[i] to total[pi] and square[pi] of the policies that show actions[i] at rows[i].

    For single actions: table (., P, 1).
    """
    P = table.shape[1]
    hits = np.empty(P, np.int32)
    for i in range(len(rows)):
        for h in range(find_hits(table[rows[i]].reshape(P), actions[i], 1, 0, hits, 0)):
            total[hits[h]] += sums[i, 0]
            square[hits[h]] += sums[i, 1]


@kernel
def add_differences(table, rows, actions, gains, K, leader, total, square):
    """Add Z_i(pi) = R_i(leader) - R_i(pi) to total[pi] and its square to square[pi].

    What the policies that miss all rewarded items have in common is added once, at the end.
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
