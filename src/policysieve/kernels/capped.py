"""Capped scores of a leader against its rivals: what a round says, as no stake can lose it all.

Legend (docs/maths.md, "Capped scores"): n rounds, S rivals, m items a slate, G stakes lam, E values
of epsilon. table (., C, m) holds slates, rows[i] the row of round i's context in it, columns[k] the
column of rival k. The list of round i is offsets[i] .. offsets[i+1]: items, their propensities w
and the model's rewards mean; it names every item that a rival or the leader shows there. shown and
rewards (n, m') are what was played. D+ are the items of the leader that a rival does not show, D-
those of the rival that the leader does not show, mu = min(s, |D-|), tau = .99/lam. Stakes are fixed
ones, in increasing order, and shares of the scale (n,) of a round, which was known before its
context; none is above the last fixed one.

Much of the code, here and in `capped_terms` and `capped_values`, is about what is fast to compile.
Arrays are filled entry by entry, and made by one function for each type. lists (2, m) is room to
work in for slates, and None for single items, for which what concerns slates is not compiled at
all.
"""

from policysieve.kernels import kernel

SLACK = 0.99  # of what could lose everything in one round; the rest is room for rounding


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
def set_stakes(fixed, shares, scale, stakes, taus):
    """The stakes of a round of this scale, and what each may lose."""
    F = len(fixed)
    for g in range(F + len(shares)):
        stakes[g] = fixed[g] if g < F else min(shares[g - F] * scale, fixed[F - 1])
        taus[g] = SLACK / stakes[g]


@kernel
def compare(row, ours, column, leader, theirs, plus, minus):
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
def single_scores(a, b, w, mean, seen, reward, mu, taus, rooms, z):
    """Write Z of a leader's single item b against a rival's a != b, for each tau."""
    rival_scores(w[a], mean[a], seen[a], reward[a], mu, taus, z, rooms)
    for g in range(len(taus)):
        rooms[g] = taus[g] - rooms[g]
    add_leader_scores(w[b], mean[b], seen[b], reward[b], rooms, z)
