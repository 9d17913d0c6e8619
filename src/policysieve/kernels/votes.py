"""What weighted votes of policies show.

Legend (docs/maths.md, "Votes"): slates (n, S, m) are those of S voters, shares (V, S) their weights
in V votes, K the number of actions.
"""

import numpy as np

from policysieve.kernels import kernel


@kernel
def count_votes(slates, shares, K, out):
    """The m items with the largest sums of shares, largest first, into out (n, V, m).

    Each vote has a voter with a positive share, so m items have votes. Ties go to the lower number.
    """
    n, S, m = slates.shape
    total = np.zeros(K)
    listed = np.empty(min(K, S * m), np.int64)
    for i in range(n):
        for v in range(len(shares)):
            size = 0
            for s in range(S):
                if shares[v, s] > 0.0:
                    for j in range(m):
                        a = slates[i, s, j]
                        if total[a] == 0.0:
                            listed[size] = a
                            size += 1
                        total[a] += shares[v, s]
            for k in range(size):
                a = listed[k]
                j = min(k, m)
                while j > 0:
                    b = out[i, v, j - 1]
                    if total[a] < total[b] or (total[a] == total[b] and a > b):
                        break
                    if j < m:
                        out[i, v, j] = b
                    j -= 1
                if j < m:
                    out[i, v, j] = a
            for k in range(size):
                total[listed[k]] = 0.0
