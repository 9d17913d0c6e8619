"""Exact sums and maxima over all axis-aligned trees of bounded depth, cell by cell.

Legend (docs/maths.md, "Stumps and trees"): C cells, boxes of bins; D depth; K actions. A cell has
up to D constraints: low <= bin of feature <= high, feature -1 for none. Cells that can be reached
with at most D - d splits, the first ends[D - d], may hold a subtree of depth d. The splits of cell
c are numbered start[c]..start[c + 1] - 1 and lead to the cells left and right.
"""

import numpy as np

from policysieve.kernels import kernel

_LOG_HALF = np.log(0.5)
_ROUNDING = 1e-13  # relative, within which sums count as equal
_TINY = 1e-280  # the least share of an action in a cell: none ever vanishes


@kernel
def cells_at(x, feature, low, high, found):
    """Write the cells that contain the bins x (F,) to found; return their number."""
    n = 0
    for c in range(len(feature)):
        inside = True
        for k in range(feature.shape[1]):
            f = feature[c, k]
            if f < 0:
                break
            if x[f] < low[c, k] or x[f] > high[c, k]:
                inside = False
                break
        if inside:
            found[n] = c
            n += 1
    return n


@kernel
def tree_sums(leaf, start, left, right, ends, log_z):
    """Log of Z(c, d), the prior mean over subtrees of depth d of exp(sum of steps), into (D+1, C).

    leaf (C,) is the log of the mean over actions. Z(c, 0) = leaf, and above that half of the prior
    is a leaf and half a split, each of the cell's splits alike.
    """
    D = len(log_z) - 1
    log_z[0] = leaf
    for d in range(1, D + 1):
        for c in range(ends[D - d]):
            n = start[c + 1] - start[c]
            if n == 0:
                log_z[d, c] = leaf[c]
                continue
            top = leaf[c]
            for j in range(start[c], start[c + 1]):
                top = max(top, log_z[d - 1, left[j]] + log_z[d - 1, right[j]])
            total = 0.0
            for j in range(start[c], start[c + 1]):
                total += np.exp(log_z[d - 1, left[j]] + log_z[d - 1, right[j]] - top)
            log_z[d, c] = top + _LOG_HALF + np.log(np.exp(leaf[c] - top) + total / n)


@kernel
def leaf_chances(leaf, start, left, right, ends, log_z, reach, chance):
    """Probability of each cell to be a leaf of a tree drawn by its weight, into chance (C,).

    reach (D+1, C) is the probability that a node with d splits left under it stands there.
    """
    D = len(log_z) - 1
    reach[:] = 0.0
    reach[D, 0] = 1.0
    chance[:] = 0.0
    for d in range(D, 0, -1):
        for c in range(ends[D - d]):
            here = reach[d, c]
            if here == 0.0:
                continue
            n = start[c + 1] - start[c]
            if n == 0:
                chance[c] += here
                continue
            chance[c] += here * np.exp(_LOG_HALF + leaf[c] - log_z[d, c])
            each = _LOG_HALF - np.log(n) - log_z[d, c]
            for j in range(start[c], start[c + 1]):
                p = here * np.exp(each + log_z[d - 1, left[j]] + log_z[d - 1, right[j]])
                reach[d - 1, left[j]] += p
                reach[d - 1, right[j]] += p
    chance += reach[0]


@kernel
def raise_action(cells, action, step, leaf, soft, waited, summed):
    """Multiply the weight of an action in the cells by exp(step).

    soft (C, K) holds each cell's shares of the actions. What they were shown with since the last
    change, waited (C,), is put into summed (C, K) first.
    """
    grow = np.expm1(step)
    for c in cells:
        if waited[c] > 0.0:
            for a in range(soft.shape[1]):
                summed[c, a] += waited[c] * soft[c, a]
            waited[c] = 0.0
        growth = 1.0 + soft[c, action] * grow
        leaf[c] += np.log(growth)
        soft[c, action] *= 1.0 + grow
        for a in range(soft.shape[1]):
            soft[c, a] = max(soft[c, a] / growth, _TINY)


@kernel
def tree_totals(cells, pending, chance, soft, waited, summed, out):
    """Add to out (K,) what the cells show over all rounds; pending of them are not in waited."""
    for c in cells:
        rounds = waited[c] + pending * chance[c]
        for a in range(len(out)):
            out[a] += summed[c, a] + rounds * soft[c, a]


@kernel
def tree_marginals(cells, chance, soft, out):
    """Add to out (K,) the shares of the actions in the cells, each by its chance to be a leaf."""
    for c in cells:
        for a in range(len(out)):
            out[a] += chance[c] * soft[c, a]


@kernel
def sum_weights(bins, actions, weights, feature, low, high, sums):
    """Add weights[i] to sums[c, actions[i]] of all cells c that contain bins[i]; bins (n, F)."""
    found = np.empty(len(feature), np.int64)
    for i in range(len(bins)):
        for h in range(cells_at(bins[i], feature, low, high, found)):
            sums[found[h], actions[i]] += weights[i]


@kernel
def best_trees(leaf, start, left, right, ends, most, leaves, choice):
    """The largest sum of a subtree of depth d in each cell, most (D+1, C).

    leaf (C,) is the largest sum of one action. choice[d, c] is the split that has it, -1 for a
    leaf; of equals, up to rounding, the one with fewer leaves (D+1, C) is taken.
    """
    D = len(most) - 1
    most[0] = leaf
    leaves[:] = 1
    choice[:] = -1
    for d in range(1, D + 1):
        for c in range(ends[D - d]):
            most[d, c] = leaf[c]
            for j in range(start[c], start[c + 1]):
                value = most[d - 1, left[j]] + most[d - 1, right[j]]
                size = leaves[d - 1, left[j]] + leaves[d - 1, right[j]]
                slack = _ROUNDING * most[d, c]
                better = value > most[d, c] + slack
                if better or (value >= most[d, c] - slack and size < leaves[d, c]):
                    most[d, c] = value
                    leaves[d, c] = size
                    choice[d, c] = j
