"""What rounds say of few policies: bets on many values of each, or on many distances to a leader.

The legend is that of `capped`.
"""

import numpy as np

from policysieve.kernels import kernel
from policysieve.kernels.capped import (
    add_leader_scores,
    capped_score,
    compare,
    rival_scores,
    set_stakes,
    single_scores,
)

BELOW, ABOVE, AGAINST = range(3)  # what values are bet on: limits of a policy's own, or a distance
_FAR = 1e200  # from one, or its inverse: then the logarithm of a product is taken


@kernel
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
    scales,
    leader,
    sparsity,
    cap,
    fixed,
    shares,
    kind,
    grid,
    lists,
    log_wealth,
):
    """Add bets on many values v in grid (S, V) to log_wealth (S, G, V), for a few policies.

    The kinds are ln(1 + lam (h - v)), BELOW, and ln(1 + lam (v - h)), ABOVE, with h the capped
    score of a policy's own items, v at most cap: in the first case they are all in D+, with room
    for v, in the second all in D-. And ln(1 + lam (Z + v)), AGAINST the column of a leader.
    Logarithms are taken of products of many rounds, which is as exact and much faster.
    """
    S, m, V, G = len(columns), table.shape[2], grid.shape[1], len(fixed) + len(shares)
    mu, scale, sign = min(sparsity, 1.0), np.nan, -1.0 if kind == BELOW else 1.0
    of_g, of_k, marks = np.zeros((4, G)), np.zeros((3, K)), np.zeros((3, K), np.bool_)
    stakes, taus, rooms, z = of_g[0], of_g[1], of_g[2], of_g[3]
    w_at, mean_at, reward = of_k[0], of_k[1], of_k[2]
    seen, ours, theirs = marks[0], marks[1], marks[2]
    agreed = np.zeros((1, S), np.int64)[0]
    product, span = np.zeros((S * G, V)), np.zeros((1, S))[0]
    for s in range(S):
        span[s] = 1.0
        for g in range(G):
            for v in range(V):
                product[s * G + g, v] = 1.0
    for i in range(len(rows) + 1):
        if i == len(rows) or scales[i] != scale:
            for s in range(S):
                for g in range(G if agreed[s] else 0):
                    for v in range(V):
                        log_wealth[s, g, v] += agreed[s] * np.log1p(stakes[g] * grid[s, v])
                agreed[s] = 0
            if i == len(rows):
                break
            scale = scales[i]
            set_stakes(fixed, shares, scale, stakes, taus)
        for k in range(offsets[i], offsets[i + 1]):
            w_at[items[k]], mean_at[items[k]] = w[k], mean[k]
        for k in range(shown.shape[1]):
            seen[shown[i, k]], reward[shown[i, k]] = True, rewards[i, k]
        row = table[rows[i]]
        if kind == AGAINST:
            for k in range(m):
                ours[row[leader, k]] = True
        for s in range(S):
            column, agrees = columns[s], False
            if lists is None:
                a, b = row[column, 0], row[leader, 0]
                agrees = kind == AGAINST and a == b
                if kind == ABOVE:
                    rival_scores(w_at[a], mean_at[a], seen[a], reward[a], mu, taus, z, rooms)
                elif kind == BELOW:
                    for g in range(G):
                        z[g], rooms[g] = 0.0, taus[g] - cap
                    add_leader_scores(w_at[a], mean_at[a], seen[a], reward[a], rooms, z)
                elif not agrees:
                    single_scores(a, b, w_at, mean_at, seen, reward, mu, taus, rooms, z)
            else:
                plus, minus, room = lists[0], lists[1], cap if kind == BELOW else 0.0
                n_plus, n_minus = m if kind == BELOW else 0, m if kind == ABOVE else 0
                if kind == AGAINST:
                    n_plus, n_minus = compare(row, ours, column, leader, theirs, plus, minus)
                    agrees = n_minus == 0
                else:
                    for k in range(m):
                        plus[k], minus[k] = row[column, k], row[column, k]
                for g in range(0 if agrees else G):
                    z[g] = capped_score(
                        plus,
                        n_plus,
                        minus,
                        n_minus,
                        w_at,
                        mean_at,
                        seen,
                        reward,
                        sparsity,
                        taus[g] - room,
                    )
            if agrees:
                agreed[s] += 1
                continue
            least, most = 1.0, 1.0
            for g in range(G):
                z[g] = 1.0 + stakes[g] * z[g]
                least = min(least, z[g] + min(sign * stakes[g] * cap, 0.0))
                most = max(most, z[g] + stakes[g] * cap)
            farthest = max(most, 1.0 / least)
            if span[s] * farthest > _FAR:
                for g in range(G):
                    for v in range(V):
                        log_wealth[s, g, v] += np.log(product[s * G + g, v])
                        product[s * G + g, v] = 1.0
                span[s] = 1.0
            span[s] *= farthest
            values = grid[s]
            for g in range(G):
                products, base, slope = product[s * G + g], z[g], sign * stakes[g]
                for v in range(V):
                    products[v] *= base + slope * values[v]
        if kind == AGAINST:
            for k in range(m):
                ours[row[leader, k]] = False
        for k in range(shown.shape[1]):
            seen[shown[i, k]], reward[shown[i, k]] = False, 0.0
    for s in range(S):
        for g in range(G):
            for v in range(V):
                log_wealth[s, g, v] += np.log(product[s * G + g, v])
