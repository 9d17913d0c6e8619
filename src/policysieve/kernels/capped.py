"""Capped scores of a leader against its rivals: what a round says, as no stake can lose it all.

Legend (docs/maths.md, "Capped scores"): n rounds, S rivals, m items a slate, G stakes lam, E values
of epsilon. table (., C, m) holds slates, rows[i] the row of round i's context in it, columns[k] the
column of rival k. The list of round i is offsets[i] .. offsets[i+1]: items, their propensities w
and the model's rewards mean; it names every item that a rival or the leader shows there. shown and
rewards (n, m') are what was played. D+ are the items of the leader that a rival does not show, D-
those of the rival that the leader does not show, mu = min(s, |D-|), tau = .99/lam. Stakes are fixed
ones, in increasing order, and shares of the scale (n,) of a round, which was known before its
context; none is above the last fixed one.

Much of the code is about what is fast to compile. Arrays are filled entry by entry, and made by one
function for each type. lists (2, m) is room to work in for slates, and None for single items, for
which what concerns slates is not compiled at all.
"""

import numpy as np

from policysieve.kernels import kernel

SLACK = 0.99  # of what could lose everything in one round; the rest is room for rounding
BELOW, ABOVE, AGAINST = range(3)  # what values are bet on: limits of a policy's own, or a distance
_FAR = 1e200  # from one, or its inverse: then the logarithm of a product is taken
_TILE = 256  # policies whose totals stay in the nearest cache
_ROUNDS = 8  # whose terms are worked out at once, at least,
_TERMS = 1 << 15  # or as many as stay in the next cache,
_ITEMS = 1 << 20  # and no more than have so many actions together
_LANES = 16  # terms that are added at once


@kernel
def capped_score(plus, n_plus, minus, n_minus, w, mean, seen, reward, sparsity, tau):
    """Z of a leader's slate against a rival's, at least -tau, with mean at most the rewards'.

    Z = sum over D+ of h_j - sum over D- of h_j, h_j = f_j + 1[j shown] (r_j - f_j)/w_j. On D- f is
    the model's mean, raised to 1 - c w_j for the largest c with mu c + sum f <= tau: that is convex
    in c, so c is found from above in at most |D-| steps. On D+ f is the mean, scaled down to what
    is left. An item that cannot be shown (w = 0) has f = 1 on D- and f = 0 on D+: the worst is
    assumed.
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
    z, most = 0.0, mu * c
    for k in range(n_minus):
        j = minus[k]
        f = max(mean[j], 1.0 - c * w[j])
        z -= f
        most += f
        if seen[j] and w[j] > 0.0:
            z -= min((1.0 - mean[j]) / w[j], c) - (1.0 - reward[j]) / w[j]
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


@kernel
def rival_scores(w, mean, seen, reward, mu, taus, z, f):
    """Write -h and f of a rival's single item, for each tau: f is the mean, raised to -h >= -tau.

    Without branches within the loop: it is most of what few policies cost.
    """
    if w <= 0.0:
        for g in range(len(taus)):
            z[g], f[g] = -1.0, 1.0
        return
    largest, lost = (1.0 - mean) / w, (1.0 - reward) / w
    inverse = 1.0 / (mu - w) if mu > w else 0.0  # if not, the mean need not be raised
    for g in range(len(taus)):
        capped = mean + mu * largest > taus[g]
        c = (taus[g] - 1.0) * inverse if capped else largest
        f[g] = 1.0 - c * w if capped else mean
        z[g] = -f[g] - c + lost if seen else -f[g]


@kernel
def add_leader_scores(w, mean, seen, reward, rooms, z):
    """Add h of a leader's single item for each room: f is the mean, lowered to h >= -room.

    The leader's and a rival's single items are never shown together.
    """
    if w <= 0.0:
        return
    asked, inverse = mean * (1.0 / w - 1.0), 1.0 / w
    for g in range(len(rooms)):
        f = mean * max(rooms[g], 0.0) / asked if asked > rooms[g] else mean
        z[g] += f + (reward - f) * inverse if seen else f


@kernel
def _set_stakes(fixed, shares, scale, stakes, taus):
    """The stakes of a round of this scale, and what each may lose."""
    F = len(fixed)
    for g in range(F + len(shares)):
        stakes[g] = fixed[g] if g < F else min(shares[g - F] * scale, fixed[F - 1])
        taus[g] = SLACK / stakes[g]


@kernel
def _compare(row, ours, column, leader, theirs, plus, minus):
    """Fill D+ and D- of a column against the leader's, whose items are marked in ours."""
    n_plus, n_minus, m = 0, 0, row.shape[1]
    for k in range(m):
        j = row[column, k]
        if not ours[j]:
            minus[n_minus] = j
            n_minus += 1
    if n_minus > 0:
        for k in range(m):
            theirs[row[column, k]] = True
        for k in range(m):
            j = row[leader, k]
            if not theirs[j]:
                plus[n_plus] = j
                n_plus += 1
        for k in range(m):
            theirs[row[column, k]] = False
    return n_plus, n_minus


@kernel
def _single_scores(a, b, w, mean, seen, reward, mu, taus, rooms, z):
    """Write Z of a leader's single item b against a rival's a != b, for each tau."""
    rival_scores(w[a], mean[a], seen[a], reward[a], mu, taus, z, rooms)
    for g in range(len(taus)):
        rooms[g] = taus[g] - rooms[g]
    add_leader_scores(w[b], mean[b], seen[b], reward[b], rooms, z)


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
            _single_scores(a, b, w, mean, seen, reward, min(sparsity, 1.0), taus, rooms, z)
    else:
        plus, minus = lists[0], lists[1]
        n_plus, n_minus = _compare(row, ours, column, leader, theirs, plus, minus)
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
            _set_stakes(fixed, shares, scales[i], stakes[c], taus[c])
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
                for g in range(G):
                    for v in range(V):
                        quiet = agreed[s] * np.log1p(stakes[g] * grid[s, v]) if agreed[s] else 0.0
                        log_wealth[s, g, v] += quiet + np.log(product[s * G + g, v])
                        product[s * G + g, v] = 1.0
                agreed[s], span[s] = 0, 1.0
            if i == len(rows):
                break
            scale = scales[i]
            _set_stakes(fixed, shares, scale, stakes, taus)
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
                    _single_scores(a, b, w_at, mean_at, seen, reward, mu, taus, rooms, z)
            else:
                plus, minus, room = lists[0], lists[1], cap if kind == BELOW else 0.0
                n_plus, n_minus = m if kind == BELOW else 0, m if kind == ABOVE else 0
                if kind == AGAINST:
                    n_plus, n_minus = _compare(row, ours, column, leader, theirs, plus, minus)
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
