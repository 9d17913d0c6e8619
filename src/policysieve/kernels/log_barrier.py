"""The log-barrier potential on rewarded cells, a cell being a context and an item shown there.

Legend: P policies, m items a slate, n cells; p (P,) weights of the design. The policies that show
cell c are hits[starts[c]:starts[c + 1]].
"""

import numba as nb
import numpy as np

from policysieve.kernels.hits import find_hits


@nb.njit(cache=True, nogil=True)
def hit_lists(table, rows, items):
    """Return starts (n + 1,) and hits for the cells (rows[c], items[c]); table (., P, m)."""
    P, m = table.shape[1], table.shape[2]
    found = np.empty(P, np.int32)
    starts = np.zeros(len(rows) + 1, np.int64)
    for c in range(len(rows)):
        row = table[rows[c]].reshape(P * m)
        starts[c + 1] = starts[c] + find_hits(row, items[c], m, 0, found, 0)
    hits = np.empty(starts[-1], np.int32)
    for c in range(len(rows)):
        row = table[rows[c]].reshape(P * m)
        find_hits(row, items[c], m, 0, hits[starts[c] : starts[c + 1]], 0)
    return starts, hits


@nb.njit(cache=True, nogil=True)
def barrier_gradient(starts, hits, gains, floor, follow, p, gradient):
    """gradient[pi] = sum of gains[c] / W_c over the cells c that pi shows, W = floor + follow Q(p).

    Into gradient (P,); times -follow it is the gradient of -sum_c gains[c] ln W_c.
    """
    gradient[:] = 0.0
    for c in range(len(gains)):
        q = 0.0
        for h in range(starts[c], starts[c + 1]):
            q += p[hits[h]]
        share = gains[c] / (floor + follow * q)
        for h in range(starts[c], starts[c + 1]):
            gradient[hits[h]] += share
