"""Random slates: uniform subsets, and mixtures of them with a policy drawn from a design."""

import numba as nb
import numpy as np


@nb.njit(cache=True, nogil=True)
def draw_subset(u, K, deck, swapped, out):
    """One uniformly random ordered subset of len(u) of the deck's K cards; the deck is restored.

    A Fisher-Yates shuffle stopped after m swaps, which are then undone: O(m).
    """
    m = len(u)
    for k in range(m):
        j = k + min(int(u[k] * (K - k)), K - k - 1)
        swapped[k] = j
        deck[k], deck[j] = deck[j], deck[k]
        out[k] = deck[k]
    for k in range(m - 1, -1, -1):
        j = swapped[k]
        deck[k], deck[j] = deck[j], deck[k]


@nb.njit(cache=True, nogil=True)
def uniform_subsets(u, K, out):
    """Turn uniforms u (n, m) into uniformly random ordered m-subsets of range(K), into out (n, m).

    Exactly m uniforms per row: the result does not depend on how rows are batched.
    """
    if u.shape[1] == 1:
        for i in range(len(u)):
            out[i, 0] = min(int(u[i, 0] * K), K - 1)
        return
    deck = np.arange(K)
    swapped = np.empty(u.shape[1], np.int64)
    for i in range(len(u)):
        draw_subset(u[i], K, deck, swapped, out[i])


@nb.njit(cache=True, nogil=True)
def alias_table(p, accept, alias):
    """Walker's tables for drawing from the weights p in constant time (Vose's construction)."""
    n = len(p)
    total = p.sum()
    stack = np.empty(n, np.int64)  # small ones from the left, large ones from the right
    small, large = 0, n
    for i in range(n):
        accept[i] = p[i] * n / total
        alias[i] = i
        if accept[i] < 1.0:
            stack[small] = i
            small += 1
        else:
            large -= 1
            stack[large] = i
    while small > 0 and large < n:
        small -= 1
        i = stack[small]
        j = stack[large]
        alias[i] = j
        accept[j] -= 1.0 - accept[i]
        if accept[j] < 1.0:
            large += 1
            stack[small] = j
            small += 1
    while small > 0:  # rounding left these a hair below one
        small -= 1
        accept[stack[small]] = 1.0


@nb.njit(cache=True, nogil=True)
def mixed_subsets(u, gamma, K, table, rows, support, accept, alias, out):
    """With probability gamma a uniform m-subset, else the slate of a policy drawn by alias tables.

    u (n, m + 2): a coin, the policy, the subset. support maps table entries to policies.
    """
    n, m = out.shape
    deck = np.arange(K)
    swapped = np.empty(m, np.int64)
    for i in range(n):
        if u[i, 0] < gamma:
            if m == 1:
                out[i, 0] = min(int(u[i, 2] * K), K - 1)
            else:
                draw_subset(u[i, 2:], K, deck, swapped, out[i])
            continue
        place = u[i, 1] * len(support)
        k = min(int(place), len(support) - 1)
        if place - k >= accept[k]:
            k = alias[k]
        for j in range(m):
            out[i, j] = table[rows[i], support[k], j]


@nb.njit(cache=True, nogil=True)
def marginals(table, rows, support, p, out):
    """Q(x, j) = sum of p over the policies that show j at x, into out (n, K), which starts at 0."""
    m = table.shape[2]
    for i in range(len(rows)):
        row = table[rows[i]]
        for k in range(len(support)):
            for j in range(m):
                out[i, row[support[k], j]] += p[k]


@nb.njit(cache=True, nogil=True)
def shown_marginals(table, rows, support, p, K, actions, out):
    """Q(x, j) at the shown items actions (n, m) only, into out (n, m)."""
    m = table.shape[2]
    q = np.zeros(K)
    for i in range(len(rows)):
        row = table[rows[i]]
        for k in range(len(support)):
            for j in range(m):
                q[row[support[k], j]] += p[k]
        for j in range(actions.shape[1]):
            out[i, j] = q[actions[i, j]]
        q[:] = 0.0


@nb.njit(cache=True, nogil=True)
def look_up(known, rows, actions, out):
    """out[i, k] = known[rows[i], actions[i, k]]."""
    for i in range(len(rows)):
        for k in range(actions.shape[1]):
            out[i, k] = known[rows[i], actions[i, k]]
