"""What the Sieve needs of the survivors' slates, summed share by share of the survivors.

Legend (docs/maths.md, "Evidence in shards"): n rounds, K actions, m items a slate. For each round
sizes (n,) and named (n, K) list the items that anybody shows, in the order in which they are met;
largest and shares (n, K) have for each the largest need and the sum of the votes of who shows it.
Survivors are added one after the other, so that the sums are those of one pass over all of them.
"""

from policysieve.kernels import kernel
from policysieve.kernels.slates import by_alias, scale_needs, systematic


@kernel
def sum_answers(table, columns, need, votes, sizes, named, largest, shares):
    """Add the slates table[i, columns] (n, ., m) of some survivors, whose needs are positive."""
    for i in range(len(table)):
        size = sizes[i]
        for k in range(len(columns)):
            for j in range(table.shape[2]):
                a = table[i, columns[k], j]
                if largest[i, a] == 0.0:
                    named[i, size] = a
                    size += 1
                    largest[i, a] = need[k]
                    shares[i, a] = votes[k]
                else:
                    largest[i, a] = max(largest[i, a], need[k])
                    shares[i, a] += votes[k]
        sizes[i] = size


@kernel
def draw_voters(u, accept, alias, out):
    """Places of policies drawn by Walker's tables, one for each uniform."""
    for i in range(len(u)):
        out[i] = by_alias(u[i], accept, alias)


@kernel
def summed_slates(u, gamma, sizes, named, largest, shares, slates, propensities):
    """`sieve_slates` by sums; slates has what who is drawn by vote shows where u >= gamma."""
    n, m = slates.shape
    for i in range(n):
        pi = largest[i].copy()
        scale_needs(named[i], sizes[i], m, pi)
        if u[i, 0] < gamma:
            systematic(u[i, 2], named[i], sizes[i], pi, slates[i])
        for j in range(m):
            a = slates[i, j]
            propensities[i, j] = min(gamma * pi[a] + (1.0 - gamma) * shares[i, a], 1.0)


@kernel
def summed_propensities(gamma, m, sizes, named, largest, shares, out):
    """`sieve_propensities` by sums."""
    for i in range(len(out)):
        pi = largest[i].copy()
        scale_needs(named[i], sizes[i], m, pi)
        out[i] = 0.0
        for k in range(sizes[i]):
            a = named[i, k]
            out[i, a] = min(gamma * pi[a] + (1.0 - gamma) * shares[i, a], 1.0)
