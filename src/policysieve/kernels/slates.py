"""What to show and how probable it was: uniform slates, and mixtures with what policies would show.

Legend: K actions, m items a slate, n rounds; table (., P, m) the policies' slates, rows[i] the row
of round i's context in it; support and p or shares are the policies of a design and their weights;
gamma is the share of exploration, W(x, j) the propensity of an item, Q(x, j) the weight of the
policies of the design that show it. Uniforms u (n, .) are used row by row: nothing depends on how
rounds are batched.
"""

import numpy as np

from policysieve.kernels import kernel


@kernel
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


@kernel
def uniform_subsets(u, K, out):
    """Turn uniforms u (n, m) into uniformly random ordered m-subsets of range(K), into out (n, m).

    Exactly m uniforms per row: the result does not depend on how rows are batched.
    """
    deck = np.arange(K)
    swapped = np.empty(u.shape[1], np.int64)
    for i in range(len(u)):
        draw_subset(u[i], K, deck, swapped, out[i])


@kernel
def alias_table(p, accept, alias):
    """Walker's tables for drawing from the weights p in constant time (Vose's construction)."""
    n, total = len(p), 0.0
    for i in range(n):
        total += p[i]
    stack = np.zeros((1, n), np.int64)[0]  # small ones from the left, large ones from the right
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


@kernel
def by_alias(u, accept, alias):
    """Draw from the weights behind Walker's tables by one uniform."""
    place = u * len(accept)
    k = min(int(place), len(accept) - 1)
    return k if place - k < accept[k] else alias[k]


@kernel
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
        k = by_alias(u[i, 1], accept, alias)
        for j in range(m):
            out[i, j] = table[rows[i], support[k], j]


@kernel
def _followed(row, support, shares, q):
    """Fill q with Q(x, .)."""
    q[:] = 0.0
    for k in range(len(support)):
        for j in range(row.shape[1]):
            q[row[support[k], j]] += shares[k]


@kernel
def marginals(table, rows, support, p, out):
    """Q(x, j) = sum of p over the policies that show j at x, into out (n, K)."""
    for i in range(len(rows)):
        _followed(table[rows[i]], support, p, out[i])


@kernel
def shown_marginals(table, rows, support, p, K, actions, out):
    """Q(x, j) at the shown items actions (n, m) only, into out (n, m)."""
    q = np.empty(K)
    for i in range(len(rows)):
        _followed(table[rows[i]], support, p, q)
        for j in range(actions.shape[1]):
            out[i, j] = q[actions[i, j]]


@kernel
def look_up(known, rows, actions, out):
    """out[i, k] = known[rows[i], actions[i, k]]."""
    for i in range(len(rows)):
        for k in range(actions.shape[1]):
            out[i, k] = known[rows[i], actions[i, k]]


@kernel
def draw_actions(q, slots, u, actions):
    """Draw actions[i] from the distribution q[slots[i]] by the uniform u[i]."""
    for i in range(len(slots)):
        left = u[i]
        for a in range(q.shape[1]):
            if q[slots[i], a] > 0.0:
                actions[i, 0] = a
                left -= q[slots[i], a]
                if left < 0.0:
                    break


@kernel
def list_slates(u, gamma, K, shown, slates, propensities):
    """Fill slates and propensities (n, m): W = gamma m/K + (1-gamma) m/|A| 1[j in A].

    shown (n, L, m) are the slates of L policies at each context, A the set of their items, and all
    K if L = 0. u (n, m + 1): a coin, the subset.
    """
    n, m = slates.shape
    L = shown.shape[1]
    listed = np.empty(K, np.int64)
    seen = np.full(K, -1, np.int64)
    deck = np.arange(K)
    swapped = np.empty(m, np.int64)
    picked = np.empty(m, np.int64)
    for i in range(n):
        size = 0
        for k in range(L):
            for j in range(m):
                a = shown[i, k, j]
                if seen[a] != i:
                    seen[a] = i
                    listed[size] = a
                    size += 1
        if size == 0 or u[i, 0] < gamma:
            draw_subset(u[i, 1:], K, deck, swapped, picked)
            for j in range(m):
                slates[i, j] = picked[j]
        else:
            draw_subset(u[i, 1:], size, deck, swapped, picked)
            for j in range(m):
                slates[i, j] = listed[picked[j]]
        for j in range(m):
            if size == 0:
                share = m / K
            elif seen[slates[i, j]] == i:
                share = gamma * m / K + (1.0 - gamma) * m / size
            else:
                share = gamma * m / K
            propensities[i, j] = min(share, 1.0)


@kernel
def _inclusion(row, survivors, need, votes, mark, seen, allowed, pi, q):
    """Fill pi[a] and q[a] for the actions in A(x), listed in allowed; return their number.

    A(x) is the set of actions that any of the survivors (S,) shows, need (S,) are positive weights.
    The need v(x, j) of an item is the largest of the survivors that show it, and its inclusion has
    probability pi(x, j) = m v / sum v: at most one, as the survivor with the largest need shows m
    items of that need. q is Q(x, .), by the votes. seen[a] == mark says that a is listed.
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
                q[a] = votes[k]
            else:
                pi[a] = max(pi[a], need[k])
                q[a] += votes[k]
    scale_needs(allowed, size, m, pi)
    return size


@kernel
def scale_needs(allowed, size, m, pi):
    """Turn the needs pi of the listed items into their inclusion probabilities, m v / sum v."""
    total = 0.0
    for i in range(size):
        total += pi[allowed[i]]
    for i in range(size):
        pi[allowed[i]] *= m / total


@kernel
def systematic(u, allowed, size, pi, out):
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


@kernel
def sieve_slates(
    u, gamma, K, table, rows, survivors, need, votes, accept, alias, slates, propensities
):
    """Slates of the Sieve: by need among what survivors show, mixed with a survivor drawn by vote.

    Fill slates and propensities (n, m), W = gamma pi(x, j) + (1-gamma) Q(x, j), from u (n, 3): a
    coin, the policy, the items.
    """
    n, m = slates.shape
    lists, shares = np.zeros((2, K), np.int64), np.zeros((2, K))
    seen, allowed, pi, q = lists[0], lists[1], shares[0], shares[1]
    for i in range(n):
        row = table[rows[i]]
        size = _inclusion(row, survivors, need, votes, i + 1, seen, allowed, pi, q)
        if u[i, 0] < gamma:
            systematic(u[i, 2], allowed, size, pi, slates[i])
        else:
            k = by_alias(u[i, 1], accept, alias)
            for j in range(m):
                slates[i, j] = row[survivors[k], j]
        for j in range(m):
            a = slates[i, j]
            propensities[i, j] = min(gamma * pi[a] + (1.0 - gamma) * q[a], 1.0)


@kernel
def sieve_propensities(gamma, table, rows, survivors, need, votes, out):
    """W of all items into out (n, K); 0 where no survivor shows them."""
    K = out.shape[1]
    lists, shares = np.zeros((2, K), np.int64), np.zeros((2, K))
    seen, allowed, pi, q = lists[0], lists[1], shares[0], shares[1]
    for i in range(len(rows)):
        row = table[rows[i]]
        size = _inclusion(row, survivors, need, votes, i + 1, seen, allowed, pi, q)
        out[i] = 0.0
        for k in range(size):
            a = allowed[k]
            out[i, a] = min(gamma * pi[a] + (1.0 - gamma) * q[a], 1.0)
