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
def _expect(
    share, listed, items, propensities, shown, shown_w, rewards, edges, rates, w, mean, cost, tally
):
    """Write w and mean of the items of a round and add to its cost and the tally.

    share is that of the votes; items that are listed are not any more afterwards.
    """
    for k in range(len(shown)):
        j = shown[k]
        if listed[j]:
            bin = _bin_of(share[j], edges)
            tally[0, bin] += rewards[k] / shown_w[k]
            tally[1, bin] += 1.0 / shown_w[k]
    for k in range(len(items)):
        j = items[k]
        w[k] = propensities[j]
        mean[k] = rates[_bin_of(share[j], edges)] if share[j] > 0.0 else 0.0
        if w[k] > 0.0:
            cost[0] += share[j] / w[k]
        listed[j] = False


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
        _expect(
            share,
            listed,
            items[start:end],
            propensities[i],
            shown[i],
            shown_w[i],
            rewards[i],
            edges,
            rates,
            w[start:end],
            mean[start:end],
            costs[i : i + 1],
            tally,
        )
        for k in range(start, end):
            share[items[k]] = 0.0
        offsets[i + 1] = end


@kernel
def list_summed(
    sizes,
    named,
    shares,
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
    """The same where the sums of votes are known: sizes, named and shares of `sum_answers`."""
    listed, end = np.zeros((1, propensities.shape[1]), np.bool_)[0], 0
    offsets[0] = 0
    for i in range(len(sizes)):
        start, costs[i] = end, 0.0
        for k in range(sizes[i]):
            listed[named[i, k]] = True
            items[end] = named[i, k]
            end += 1
        _expect(
            shares[i],
            listed,
            items[start:end],
            propensities[i],
            shown[i],
            shown_w[i],
            rewards[i],
            edges,
            rates,
            w[start:end],
            mean[start:end],
            costs[i : i + 1],
            tally,
        )
        offsets[i + 1] = end
