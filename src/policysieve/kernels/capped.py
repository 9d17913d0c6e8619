"""Capped scores of a leader against its rivals: what a round says, as no stake can lose it all.

Legend (docs/maths.md, "Capped scores"): n rounds, S rivals, m items a slate, G stakes lam, E values
of epsilon. table (., C, m) holds slates, rows[i] the row of round i's context in it, columns[k] the
column of rival k. The list of round i is offsets[i] .. offsets[i+1]: items, their propensities w
and the model's rewards mean; it names every item that a rival or the leader shows there. shown and
rewards (n, m') are what was played. D+ are the items of the leader that a rival does not show, D-
those of the rival that the leader does not show, mu = min(s, |D-|), tau = .99/lam.
"""

import numba as nb
import numpy as np

SLACK = 0.99  # of what could lose everything in one round; the rest is room for rounding
_RUN = 16  # rounds whose factors are multiplied before a logarithm is taken


@nb.njit(cache=True, nogil=True)
def capped_score(plus, n_plus, minus, n_minus, w, mean, seen, reward, sparsity, alone, tau):
    """Z of a leader against a rival, at least -tau, with mean at most that of the rewards.

    Z = sum over D+ of h_j - sum over D- of h_j, h_j = f_j + 1[j shown] (r_j - f_j)/w_j. On D- f is
    the model's mean, raised to 1 - c w_j for the largest c with mu c + sum f <= tau: that is convex
    in c, so c is found from above in at most |D-| steps. On D+ f is the mean, scaled down to what
    is left; of a slate of one (alone), D+ and D- are never shown together. An item that cannot be
    shown (w = 0) has f = 1 on D- and f = 0 on D+: the worst is assumed.
    """
    mu = min(sparsity, float(n_minus))
    c = 0.0
    for k in range(n_minus):
        j = minus[k]
        if w[j] > 0.0:
            c = max(c, (1.0 - mean[j]) / w[j])
    total = 0.0
    for _ in range(n_minus + 1):
        total, slope = 0.0, mu
        for k in range(n_minus):
            j = minus[k]
            if 1.0 - c * w[j] > mean[j]:
                total += 1.0
                slope -= w[j]
            else:
                total += mean[j]
        if total + slope * c <= tau:
            break
        c = max((tau - total) / slope, 0.0)
    z, most = 0.0, 0.0
    for k in range(n_minus):
        j = minus[k]
        f = max(mean[j], 1.0 - c * w[j])
        z -= f
        most += f
        if seen[j]:
            z -= min((1.0 - mean[j]) / w[j], c) - (1.0 - reward[j]) / w[j]
    if not alone:
        most += mu * c
    room, asked = max(tau - most, 0.0), 0.0
    for k in range(n_plus):
        j = plus[k]
        if w[j] > 0.0:
            asked += mean[j] * (1.0 / w[j] - 1.0)
    share = 1.0 if asked <= room else room / asked
    for k in range(n_plus):
        j = plus[k]
        if w[j] > 0.0:
            z += share * mean[j]
            if seen[j]:
                z += (reward[j] - share * mean[j]) / w[j]
    return z


@nb.njit(cache=True, nogil=True)
def add_log_factors(
    table,
    rows,
    columns,
    shown,
    rewards,
    offsets,
    items,
    w,
    mean,
    K,
    scales,
    leader,
    sparsity,
    fixed,
    shares,
    epsilons,
    wealth,
):
    """Add ln(1 + lam (Z + eps)) of each round to wealth (S, E, G); leader is a column.

    Stakes are fixed ones, in increasing order, and shares of the scale (n,) of a round, which was
    known before its context; none is above the last fixed one.
    Of single items a score depends on the rival's action only, so it is worked out once for each
    distinct one.
    """
    S, m, E, F = len(columns), table.shape[2], len(epsilons), len(fixed)
    G = F + len(shares)
    stakes, scale = np.empty(G), np.nan
    stakes[:F] = fixed
    w_at, mean_at, reward = np.zeros(K), np.zeros(K), np.zeros(K)
    seen, ours = np.zeros(K, np.bool_), np.zeros(K, np.bool_)
    theirs = np.zeros(K, np.bool_)
    plus, minus = np.empty(m, np.int64), np.empty(m, np.int64)
    agree, common = np.empty((E, G)), np.zeros((E, G))
    factors, known = np.empty((K if m == 1 else 1, E, G)), np.full(K, -1)
    for i in range(len(rows)):
        if scales[i] != scale:
            scale = scales[i]
            stakes[F:] = np.minimum(shares * scale, fixed[F - 1])
            for e in range(E):
                for g in range(G):
                    agree[e, g] = np.log1p(stakes[g] * epsilons[e])
        common += agree
        for k in range(offsets[i], offsets[i + 1]):
            w_at[items[k]], mean_at[items[k]] = w[k], mean[k]
        for k in range(shown.shape[1]):
            seen[shown[i, k]], reward[shown[i, k]] = True, rewards[i, k]
        row = table[rows[i]]
        for k in range(m):
            ours[row[leader, k]] = True
        for s in range(S):
            n_minus, n_plus, slot = 0, 0, 0
            for k in range(m):
                j = row[columns[s], k]
                if not ours[j]:
                    minus[n_minus] = j
                    n_minus += 1
            if n_minus == 0:
                continue
            if m == 1:
                slot = minus[0]
                plus[0], n_plus = row[leader, 0], 1
            else:
                for k in range(m):
                    theirs[row[columns[s], k]] = True
                for k in range(m):
                    j = row[leader, k]
                    if not theirs[j]:
                        plus[n_plus] = j
                        n_plus += 1
                for k in range(m):
                    theirs[row[columns[s], k]] = False
            if m > 1 or known[slot] != i:
                known[slot] = i
                for g in range(G):
                    z = capped_score(
                        plus,
                        n_plus,
                        minus,
                        n_minus,
                        w_at,
                        mean_at,
                        seen,
                        reward,
                        sparsity,
                        m == 1,
                        SLACK / stakes[g],
                    )
                    for e in range(E):
                        factor = np.log1p(stakes[g] * (z + epsilons[e]))
                        factors[slot, e, g] = factor - agree[e, g]
            for e in range(E):
                for g in range(G):
                    wealth[s, e, g] += factors[slot, e, g]
        for k in range(m):
            ours[row[leader, k]] = False
        for k in range(shown.shape[1]):
            seen[shown[i, k]], reward[shown[i, k]] = False, 0.0
    for s in range(S):
        wealth[s] += common


@nb.njit(cache=True, nogil=True)
def add_scores(table, rows, columns, shown, rewards, offsets, items, w, mean, K, sums):
    """Add three scores of each policy, their squares, and what they cost, to sums (7, S).

    The doubly robust one, sum over its items of mean + 1[shown] (r - mean)/w; what it earned,
    sum of 1[shown] r/w; and what it missed, sum of 1[shown] (1 - r)/w. The cost is the sum of 1/w.
    An item that cannot be shown counts 0 in all of them.
    """
    m = table.shape[2]
    robust, cost, earned, missed = np.zeros(K), np.zeros(K), np.zeros(K), np.zeros(K)
    for i in range(len(rows)):
        for k in range(offsets[i], offsets[i + 1]):
            j = items[k]
            robust[j], cost[j] = (mean[k], 1.0 / w[k]) if w[k] > 0.0 else (0.0, 0.0)
            for q in range(shown.shape[1]):
                if shown[i, q] == j and w[k] > 0.0:
                    robust[j] = mean[k] + (rewards[i, q] - mean[k]) / w[k]
                    earned[j], missed[j] = rewards[i, q] / w[k], (1.0 - rewards[i, q]) / w[k]
        row = table[rows[i]]
        for s in range(len(columns)):
            h, c, r, e = 0.0, 0.0, 0.0, 0.0
            for k in range(m):
                j = row[columns[s], k]
                h += robust[j]
                c += cost[j]
                r += earned[j]
                e += missed[j]
            sums[0, s] += h
            sums[1, s] += h * h
            sums[6, s] += c
            if r != 0.0:
                sums[2, s] += r
                sums[3, s] += r * r
            if e != 0.0:
                sums[4, s] += e
                sums[5, s] += e * e
        for k in range(shown.shape[1]):
            earned[shown[i, k]], missed[shown[i, k]] = 0.0, 0.0


@nb.njit(cache=True, nogil=True)
def add_value_factors(
    table,
    rows,
    columns,
    shown,
    rewards,
    offsets,
    items,
    w,
    mean,
    K,
    sparsity,
    cap,
    stakes,
    above,
    grid,
    log_wealth,
):
    """Add ln(1 + lam (h - v)), or ln(1 + lam (v - h)) if above, to log_wealth (S, V, G).

    For the values v in grid (S, V), at most cap, with h the capped score of a policy's own items:
    in the first case they are all in D+, with room for v, in the second all in D-. Logarithms are
    taken of products of some rounds, which is as exact and much faster.
    """
    S, m, V, G = len(columns), table.shape[2], grid.shape[1], len(stakes)
    w_at, mean_at, reward = np.zeros(K), np.zeros(K), np.zeros(K)
    seen, own, none = np.zeros(K, np.bool_), np.empty(m, np.int64), np.empty(0, np.int64)
    product = np.ones((S, V, G))
    for i in range(len(rows)):
        for k in range(offsets[i], offsets[i + 1]):
            w_at[items[k]], mean_at[items[k]] = w[k], mean[k]
        for k in range(shown.shape[1]):
            seen[shown[i, k]], reward[shown[i, k]] = True, rewards[i, k]
        for s in range(S):
            for k in range(m):
                own[k] = table[rows[i], columns[s], k]
            for g in range(G):
                tau, lam = SLACK / stakes[g], stakes[g]
                if above:
                    z = capped_score(
                        none, 0, own, m, w_at, mean_at, seen, reward, sparsity, True, tau
                    )
                    for v in range(V):
                        product[s, v, g] *= 1.0 + lam * (z + grid[s, v])
                else:
                    z = capped_score(
                        own, m, none, 0, w_at, mean_at, seen, reward, sparsity, True, tau - cap
                    )
                    for v in range(V):
                        product[s, v, g] *= 1.0 + lam * (z - grid[s, v])
        for k in range(shown.shape[1]):
            seen[shown[i, k]], reward[shown[i, k]] = False, 0.0
        if i % _RUN == _RUN - 1 or i == len(rows) - 1:
            for s in range(S):
                for v in range(V):
                    for g in range(G):
                        log_wealth[s, v, g] += np.log(product[s, v, g])
                        product[s, v, g] = 1.0


@nb.njit(cache=True, nogil=True)
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
    was shown. The tally has the sums of r/w and 1/w for each bin, of what any rival shows. The cost
    of a round is the sum of share/w of all items that can be shown, a voter's mean 1/w.
    """
    K, m = propensities.shape[1], table.shape[2]
    share, listed = np.zeros(K), np.zeros(K, np.bool_)
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
                bin = np.searchsorted(edges, share[j])
                tally[0, bin] += rewards[i, k] / shown_w[i, k]
                tally[1, bin] += 1.0 / shown_w[i, k]
        for k in range(start, end):
            j = items[k]
            w[k] = propensities[i, j]
            mean[k] = rates[np.searchsorted(edges, share[j])] if share[j] > 0.0 else 0.0
            if w[k] > 0.0:
                costs[i] += share[j] / w[k]
            share[j], listed[j] = 0.0, False
        offsets[i + 1] = end
