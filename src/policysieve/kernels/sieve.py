"""Slates of the Sieve: by need among what survivors would show, mixed with a policy of the design.

Legend: K actions, m items a slate, A(x) the set of actions that any survivor shows at x; survivors
(S,) and support are policy numbers, need (S,) positive weights. The need v(x, j) of an item is the
largest of the survivors that show it, and it is included with probability pi(x, j) = m v / sum v:
at most one, as the survivor with the largest need shows m items of that need. Its propensity is
W(x, j) = gamma pi(x, j) + (1-gamma) Q(x, j), Q the share of the support that shows it.
"""

import numba as nb
import numpy as np


@nb.njit(cache=True, nogil=True)
def _inclusion(row, survivors, need, mark, seen, allowed, pi):
    """Fill pi[a] for the actions in A(x), listed in allowed; return their number.

    seen[a] == mark says that a is listed.
    """
    m = row.shape[1]
    size = 0
    for k in range(len(survivors)):
        for j in range(m):
            a = row[survivors[k], j]
            if seen[a] != mark:
                seen[a] = mark
                allowed[size] = a
                size += 1
                pi[a] = need[k]
            elif need[k] > pi[a]:
                pi[a] = need[k]
    total = 0.0
    for i in range(size):
        total += pi[allowed[i]]
    for i in range(size):
        pi[allowed[i]] *= m / total
    return size


@nb.njit(cache=True, nogil=True)
def _followed(row, support, shares, q):
    """Fill q with Q(x, .)."""
    q[:] = 0.0
    for k in range(len(support)):
        for j in range(row.shape[1]):
            q[row[support[k], j]] += shares[k]


@nb.njit(cache=True, nogil=True)
def _systematic(u, allowed, size, pi, out):
    """Draw m items with inclusion probabilities pi, which sum to m, from one uniform u.

    Of the points u, u + 1, ..., u + m - 1, each picks the item in whose stretch it falls.
    """
    m = len(out)
    picked, end = 0, 0.0
    for i in range(size):
        end += pi[allowed[i]]
        # Rounding may leave the end a hair short: then the last items are taken.
        if picked < m and (end > u + picked or size - i == m - picked):
            out[picked] = allowed[i]
            picked += 1


@nb.njit(cache=True, nogil=True)
def sieve_slates(
    u, gamma, K, table, rows, survivors, need, support, shares, accept, alias, slates, propensities
):
    """Fill slates and propensities (n, m) from u (n, 3): a coin, the policy, the items."""
    n, m = slates.shape
    seen, allowed = np.full(K, -1, np.int64), np.empty(K, np.int64)
    pi, q = np.zeros(K), np.zeros(K)
    for i in range(n):
        row = table[rows[i]]
        size = _inclusion(row, survivors, need, i, seen, allowed, pi)
        _followed(row, support, shares, q)
        if u[i, 0] < gamma:
            _systematic(u[i, 2], allowed, size, pi, slates[i])
        else:
            place = u[i, 1] * len(support)
            k = min(int(place), len(support) - 1)
            if place - k >= accept[k]:
                k = alias[k]
            for j in range(m):
                slates[i, j] = row[support[k], j]
        for j in range(m):
            a = slates[i, j]
            propensities[i, j] = min(gamma * pi[a] + (1.0 - gamma) * q[a], 1.0)


@nb.njit(cache=True, nogil=True)
def sieve_propensities(gamma, K, table, rows, survivors, need, support, shares, actions, out):
    """W of the items actions (n, m') into out (n, m'); 0 where no survivor shows them."""
    seen, allowed = np.full(K, -1, np.int64), np.empty(K, np.int64)
    pi, q = np.zeros(K), np.zeros(K)
    for i in range(len(rows)):
        row = table[rows[i]]
        _inclusion(row, survivors, need, i, seen, allowed, pi)
        _followed(row, support, shares, q)
        for j in range(actions.shape[1]):
            a = actions[i, j]
            out[i, j] = gamma * pi[a] + (1.0 - gamma) * q[a] if seen[a] == i else 0.0


@nb.njit(cache=True, nogil=True)
def smallest_propensities(gammas, K, table, rows, survivors, need, support, shares, out):
    """The smallest W of what each survivor shows at any of the rows, into out (S, G), G gammas."""
    m, G = table.shape[2], len(gammas)
    seen, allowed = np.full(K, -1, np.int64), np.empty(K, np.int64)
    pi, q = np.zeros(K), np.zeros(K)
    out[:] = 1.0
    for i in range(len(rows)):
        row = table[rows[i]]
        _inclusion(row, survivors, need, i, seen, allowed, pi)
        _followed(row, support, shares, q)
        for k in range(len(survivors)):
            for j in range(m):
                a = row[survivors[k], j]
                for g in range(G):
                    out[k, g] = min(out[k, g], gammas[g] * pi[a] + (1.0 - gammas[g]) * q[a])
