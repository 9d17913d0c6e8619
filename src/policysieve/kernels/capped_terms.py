"""What rounds say of many policies: bets on a leader against each, and sums of their scores.

The legend is that of `capped`.
"""

import numpy as np

from policysieve.kernels import kernel
from policysieve.kernels.capped import capped_score, compare, set_stakes, single_scores

_TILE = 256  # policies whose totals stay in the nearest cache
_ROUNDS = 8  # whose terms are worked out at once, at least,
_TERMS = 1 << 15  # or as many as stay in the next cache,
_ITEMS = 1 << 20  # and no more than have so many actions together
_LANES = 16  # terms that are added at once


@kernel
def _add_sums(row, column, w, mean, seen, reward, weight, term, at):
    """Write seven numbers about a policy's slate behind term[at]; weight is that of the period.

    The doubly robust score, sum over its items of mean + 1[shown] (r - mean)/w, times the weight,
    and its square; what it earned, sum of 1[shown] r/w, and its square; what it missed, sum of
    1[shown] (1 - r)/w, and its square; and its cost, the mean of 1/w, times the squared weight. An
    item that cannot be shown counts 0 in all of them.
    """
    m = row.shape[1]
    h, earned, missed, cost = 0.0, 0.0, 0.0, 0.0
    for k in range(m):
        j = row[column, k]
        if w[j] > 0.0:
            h += mean[j]
            cost += 1.0 / w[j]
            if seen[j]:
                h += (reward[j] - mean[j]) / w[j]
                earned += reward[j] / w[j]
                missed += (1.0 - reward[j]) / w[j]
    h *= weight
    term[at], term[at + 1] = h, h * h
    term[at + 2], term[at + 3] = earned, earned * earned
    term[at + 4], term[at + 5] = missed, missed * missed
    term[at + 6] = cost * weight * weight / m


@kernel
def _write_bets(
    row,
    column,
    leader,
    ours,
    theirs,
    lists,
    w,
    mean,
    seen,
    reward,
    sparsity,
    stakes,
    taus,
    epsilons,
    agree,
    of_g,
    term,
):
    """Write ln(1 + lam (Z + eps)) of a column against the leader's, less that of agreement.

    ours has the leader's items; of_g (2, G) is room to work in.
    """
    G, z, rooms, agrees = len(stakes), of_g[0], of_g[1], False
    if lists is None:
        a, b = row[column, 0], row[leader, 0]
        agrees = a == b
        if not agrees:
            single_scores(a, b, w, mean, seen, reward, min(sparsity, 1.0), taus, rooms, z)
    else:
        plus, minus = lists[0], lists[1]
        n_plus, n_minus = compare(row, ours, column, leader, theirs, plus, minus)
        agrees = n_minus == 0
        for g in range(0 if agrees else G):
            z[g] = capped_score(
                plus, n_plus, minus, n_minus, w, mean, seen, reward, sparsity, taus[g]
            )
    for e in range(len(epsilons)):
        for g in range(G):
            at = e * G + g
            term[at] = 0.0
            if not agrees:
                term[at] = np.log1p(stakes[g] * (z[g] + epsilons[e])) - agree[at]


@kernel
def _add_terms(row, columns, place, terms, tile):
    """Add to each row of the tile the terms of its policy's first item."""
    for s in range(len(columns)):
        total, term = tile[s], terms[place[row[columns[s], 0]]]
        for k in range(len(total)):
            total[k] += term[k]


@kernel
def add_terms(
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
    weight,
    lists,
    totals,
):
    """Add ln(1 + lam (Z + eps)) of each round to totals (S, E G), and seven sums if it is wider.

    These are in the order of epsilons, then stakes; leader is a column. The sums are those of
    `_add_sums`.

    Terms of single items depend on the action only, so they are worked out once for each distinct
    one, and the rest is additions: some rounds of a tile of policies after the other, so that both
    stay in caches. No sum depends on the other policies.
    """
    S, m, n, width = len(columns), table.shape[2], len(rows), totals.shape[1]
    E, G = len(epsilons), len(fixed) + len(shares)
    bets, longest = E * G, 1
    scored, wide = width > bets, (width + _LANES - 1) // _LANES * _LANES
    for i in range(n):
        longest = max(longest, offsets[i + 1] - offsets[i])
    many = max(1, min(n, max(_ROUNDS, _TERMS // (longest * wide)), _ITEMS // K))
    common, terms = np.zeros((1, bets))[0], np.zeros((many * longest, wide))
    tile, of_g = np.zeros((min(S, _TILE), wide)), np.zeros((2, G))
    stakes, taus, agree = np.zeros((many, G)), np.zeros((many, G)), np.zeros((many, bets))
    w_at, mean_at, reward = np.zeros((many, K)), np.zeros((many, K)), np.zeros((many, K))
    known, seen = np.zeros((many, K), np.bool_), np.zeros((many, K), np.bool_)
    place, marks = np.zeros((many, K), np.int64), np.zeros((2, K), np.bool_)
    ours, theirs = marks[0], marks[1]
    for start in range(0, n, many):
        here = min(many, n - start)
        for c in range(here):
            i = start + c
            set_stakes(fixed, shares, scales[i], stakes[c], taus[c])
            for e in range(E):
                for g in range(G):
                    if c > 0 and scales[i] == scales[i - 1]:
                        agree[c, e * G + g] = agree[c - 1, e * G + g]
                    else:
                        agree[c, e * G + g] = np.log1p(stakes[c, g] * epsilons[e])
                    common[e * G + g] += agree[c, e * G + g]
            for k in range(offsets[i], offsets[i + 1]):
                j = items[k]
                w_at[c, j], mean_at[c, j], known[c, j] = w[k], mean[k], False
                place[c, j] = c * longest + (k - offsets[i] if lists is None else 0)
            for k in range(shown.shape[1]):
                seen[c, shown[i, k]], reward[c, shown[i, k]] = True, rewards[i, k]
        for first in range(0, S, _TILE):
            last = min(S, first + _TILE)
            for c in range(here):
                row = table[rows[start + c]]
                for k in range(m):
                    ours[row[leader, k]] = True
                for s in range(first, last):
                    column = columns[s]
                    a = row[column, 0]
                    if known[c, a]:
                        continue
                    known[c, a] = lists is None
                    term = terms[place[c, a]]
                    _write_bets(
                        row,
                        column,
                        leader,
                        ours,
                        theirs,
                        lists,
                        w_at[c],
                        mean_at[c],
                        seen[c],
                        reward[c],
                        sparsity,
                        stakes[c],
                        taus[c],
                        epsilons,
                        agree[c],
                        of_g,
                        term,
                    )
                    if scored:
                        _add_sums(
                            row,
                            column,
                            w_at[c],
                            mean_at[c],
                            seen[c],
                            reward[c],
                            weight,
                            term,
                            bets,
                        )
                    if lists is not None:
                        _add_terms(row, columns[s : s + 1], place[c], terms, tile[s - first :])
                if lists is None:
                    _add_terms(row, columns[first:last], place[c], terms, tile)
                for k in range(m):
                    ours[row[leader, k]] = False
            for s in range(first, last):
                for k in range(width):
                    totals[s, k] += tile[s - first, k]
                for k in range(wide):
                    tile[s - first, k] = 0.0
        for c in range(here):
            for k in range(shown.shape[1]):
                seen[c, shown[start + c, k]], reward[c, shown[start + c, k]] = False, 0.0
    for s in range(S):
        for k in range(bets):
            totals[s, k] += common[k]
