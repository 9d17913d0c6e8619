"""Classes without end, listed. Plain numpy, nothing of ours; slow on purpose."""

import itertools

import numpy as np


def functions(n_contexts, K):
    """All maps from contexts to actions: equal priors, actions (n_contexts, K ** n_contexts)."""
    table = np.array(list(itertools.product(range(K), repeat=n_contexts))).T
    return np.full(table.shape[1], 1 / table.shape[1]), table


def trees(points, n_bins, depth, K):
    """All written trees on rows of bins `points` (n, F): priors (P,), actions (n, P).

    A node is a leaf or a split by the toss of a coin while splits are left and possible; each split
    of its cell is as likely as another, and so is each action of a leaf.
    """

    def subtrees(members, cell, d):
        splits = [(f, t) for f, (low, high) in enumerate(cell) for t in range(low, high)]
        stop = 1.0 if d == 0 or not splits else 0.5
        found = [(stop / K, dict.fromkeys(members, a)) for a in range(K)]
        if stop == 1.0:
            return found
        for f, t in splits:
            low, high = cell[f]
            sides = []
            for bounds in ((low, t), (t + 1, high)):
                inside = [i for i in members if bounds[0] <= points[i][f] <= bounds[1]]
                sides.append(subtrees(inside, [*cell[:f], bounds, *cell[f + 1 :]], d - 1))
            for (p, one), (q, other) in itertools.product(*sides):
                found.append((0.5 / len(splits) * p * q, one | other))
        return found

    every = subtrees(range(len(points)), [(0, n - 1) for n in n_bins], depth)
    priors = np.array([p for p, _ in every])
    table = np.array([[tree[i] for _, tree in every] for i in range(len(points))])
    return priors, table


class Weights:
    """Exponential weights on a listed class, and the sum over rounds of their marginals."""

    def __init__(self, priors, table, K):
        self.log_p, self.table, self.K = np.log(priors), table, K
        self.sums = np.zeros((len(table), K))

    def p(self):
        p = np.exp(self.log_p - self.log_p.max())
        return p / p.sum()

    def marginals(self):
        out = np.zeros((len(self.table), self.K))
        for x, row in enumerate(self.table):
            np.add.at(out[x], row, self.p())
        return out

    def wait(self, rounds):
        self.sums += rounds * self.marginals()

    def add(self, x, a, step):
        self.log_p = self.log_p + step * (self.table[x] == a)


def largest_sum(table, contexts, actions, weights):
    """Max over the class of the weights of the events agreed with."""
    return max(
        sum(w for x, a, w in zip(contexts, actions, weights, strict=True) if policy[x] == a)
        for policy in table.T
    )
