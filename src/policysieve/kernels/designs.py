"""Designs that estimate every policy well: Hedge for low-variance exploration, and the log barrier.

Legend (docs/maths.md, "Low-variance exploration"): P policies, m items a slate, c = sum over
earlier rounds of the weight of the policies that show an item, u = an item's variance reward,
eta = learning rate. The columns of state (P, 4) and the entries of clock (3,) are named below. Only
rewarded rounds touch Hedge. A cell of the log barrier is a context and an item that was rewarded
there; p (P,) are the weights of the design.
"""

import numpy as np

from policysieve.kernels import kernel
from policysieve.kernels.hits import find_hits

WEIGHT = 0  # unnormalised weight w
AVERAGE = 1  # sum over rounds of w/Z, up to date at the policy's own clock
CLOCK = 2  # the clock G when AVERAGE was last brought up to date
GAIN = 3  # sum over rounds of u(pi)

TOTAL = 0  # Z, the sum of all weights
TIME = 1  # G, the sum over rounds of 1/Z
DONE = 2  # rounds that G counts

_GROWTH = 64.0  # weights are rescaled before G loses more than two digits
_EVENTS = 4096  # and often enough for Z, which is kept by increments, not to drift


@kernel
def settle(state, clock, rounds):
    """Let time run up to `rounds`, bring all averages up to date and rescale the weights."""
    P = len(state)
    G = clock[TIME] + (rounds - clock[DONE]) / clock[TOTAL]
    Z = 0.0
    for p in range(P):
        Z += state[p, WEIGHT]
    total = 0.0
    for p in range(P):
        state[p, AVERAGE] += state[p, WEIGHT] * (G - state[p, CLOCK])
        state[p, CLOCK] = 0.0
        state[p, WEIGHT] *= P / Z
        total += state[p, WEIGHT]
    clock[TOTAL] = total
    clock[TIME] = 0.0
    clock[DONE] = rounds


@kernel
def _gather(slates, actions, gains, G, state, hits, start, c):
    """Find the policies that show each rewarded item, and sum their averages into c.

    Their numbers go to hits[start[k] : start[k + 1]] for item k; slates (P, m).
    """
    m = slates.shape[1]
    row = slates.reshape(slates.size)
    n = 0
    for k in range(len(actions)):
        c[k] = 0.0
        if gains[k] > 0.0:
            begin = n
            n = find_hits(row, actions[k], m, 0, hits, begin)
            for h in range(begin, n):
                p = hits[h]
                c[k] += state[p, AVERAGE] + state[p, WEIGHT] * (G - state[p, CLOCK])
        start[k + 1] = n


@kernel
def _scatter(G, eta, u, state, hits, start):
    """Bring the hit policies up to date, then grow their weights; return the growth of Z."""
    growth = 0.0
    for k in range(len(u)):
        grow = np.expm1(eta * u[k])
        for h in range(start[k], start[k + 1]):
            p = hits[h]
            w = state[p, WEIGHT]
            state[p, AVERAGE] += w * (G - state[p, CLOCK])
            state[p, CLOCK] = G
            state[p, GAIN] += u[k]
            state[p, WEIGHT] = w + w * grow
            growth += w * grow
    return growth


@kernel
def hedge_events(table, rows, rounds, actions, gains, floor, scale, eta, state, clock):
    """Run Hedge through events, exactly as if every round had been visited.

    Event i happens in round rounds[i] (increasing, from 0) at the context of table[rows[i]] and
    shows actions[i] with variance gains[i]: g(r) times the importance of the item, 0 where it was
    not rewarded. u_k = gains[i, k] / (floor + scale * c_k), where c_k sums the averages of the
    policies that show item k over the rounds before this one; weights grow by exp(eta * u_k).

    In one thread: an event needs the sums of all policies before any of them is updated, so threads
    would meet twice in each event, and wait there for whatever else the machine does.
    """
    P, width = table.shape[1], actions.shape[1]
    hits = np.empty(P * width, np.int32)
    start = np.zeros(width + 1, np.int64)
    c = np.zeros(width)
    for i in range(len(rows)):
        if clock[TOTAL] > _GROWTH * P or i % _EVENTS == _EVENTS - 1:
            settle(state, clock, clock[DONE])
        G = clock[TIME] + (rounds[i] - clock[DONE]) / clock[TOTAL]
        _gather(table[rows[i]], actions[i], gains[i], G, state, hits, start, c)
        u = gains[i] / (floor + scale * c)
        G += 1.0 / clock[TOTAL]  # this round's own weights are those before the update
        clock[TOTAL] += _scatter(G, eta, u, state, hits, start)
        clock[TIME] = G
        clock[DONE] = rounds[i] + 1.0


@kernel
def hit_lists(table, rows, items):
    """Return starts (n + 1,) and hits for the cells (rows[c], items[c]); table (., P, m).

    The policies that show cell c are hits[starts[c]:starts[c + 1]].
    """
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


@kernel
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
