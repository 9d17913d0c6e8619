"""What evidence keeps of a round: the items that policies would show, and what to expect of them.

Legend: n rounds, S voters, K actions, m items a slate, B bins. table (., C, m) holds slates,
rows[i] the row of round i's context in it, columns[s] the column of voter s.
"""

import numpy as np

from policysieve.kernels import kernel


@kernel
def _bin_of(share, edges):
    """How many of the edges lie below a share of the votes."""
    bin = 0
    while bin < len(edges) and edges[bin] < share:
        bin += 1
    return bin


@kernel
def list_items(
    table,
    rows,
    columns,
    votes,
    propensities,
    shown,
    shown_w,
    rewards,
    edges,
    rates,
    offsets,
    items,
    w,
    mean,
    costs,
    tally,
):
    """Write the lists and costs of n rounds, and add what was shown to the tally (2, B) of B bins.

    The model's mean of an item is rates[bin], 0 without a vote: its bin is that of its share of the
    votes (S,) among the edges. propensities (n, K) are those of all items, shown_w (n, m') of what
    was shown. The tally has the sums of r/w and 1/w for each bin, of what any voter shows. The cost
    of a round is the sum of share/w of all items that can be shown, a voter's mean 1/w.
    """
    K, m = propensities.shape[1], table.shape[2]
    share, listed = np.zeros((1, K))[0], np.zeros((1, K), np.bool_)[0]
    end = 0
    offsets[0] = 0
    for i in range(len(rows)):
        row, start, costs[i] = table[rows[i]], end, 0.0
        for s in range(len(columns)):
            for k in range(m):
                j = row[columns[s], k]
                if not listed[j]:
                    listed[j] = True
                    items[end] = j
                    end += 1
                share[j] += votes[s]
        for k in range(shown.shape[1]):
            j = shown[i, k]
            if listed[j]:
                bin = _bin_of(share[j], edges)
                tally[0, bin] += rewards[i, k] / shown_w[i, k]
                tally[1, bin] += 1.0 / shown_w[i, k]
        for k in range(start, end):
            j = items[k]
            w[k] = propensities[i, j]
            mean[k] = rates[_bin_of(share[j], edges)] if share[j] > 0.0 else 0.0
            if w[k] > 0.0:
                costs[i] += share[j] / w[k]
            share[j], listed[j] = 0.0, False
        offsets[i + 1] = end
