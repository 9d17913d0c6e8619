"""Random rounds for kernels and their slow twins."""

from fractions import Fraction

import numpy as np

SPECIAL = [0.0, 1e-16, 1e-6, 1.0]  # propensities


def fractions(array):
    return {j: Fraction(float(x)) for j, x in enumerate(array)}


class Rounds:
    """Random rounds: slates of policies, lists of what they show, and what was shown.

    Propensities and means are any numbers; what has propensity 0 is not shown. Types are those that
    the package has, so that its machine code is tested, and nothing is compiled for tests alone.
    """

    def __init__(self, seed, *, m, K=7, n=40, n_policies=6, sparsity=None):
        rng = np.random.default_rng(seed)
        self.m, self.K, self.n = m, K, n
        self.sparsity = float(m if sparsity is None else sparsity)
        self.room = None if m == 1 else np.empty((2, m), np.int64)
        self.table = rng.random((4, n_policies, K)).argsort(axis=-1)[..., :m].astype(np.uint8)
        self.rows = rng.integers(0, 4, n)
        self.columns = np.sort(rng.choice(n_policies, n_policies - 1, replace=False))
        self.leader = int(rng.choice(self.columns))
        self.W = rng.uniform(0.02, 1, (n, K))
        odd = rng.random((n, K)) < 0.3
        self.W[odd] = rng.choice(SPECIAL, odd.sum())
        self.M = rng.random((n, K))
        odd = rng.random((n, K)) < 0.3
        self.M[odd] = rng.choice([0.0, 1.0], odd.sum())
        self.M = self.M.astype(np.float32)
        self.shown = np.array([rng.permutation(np.flatnonzero(w))[:m] for w in self.W], np.int32)
        rewards = rng.choice([0.0, 0.0, 0.25, 0.7, 1.0], (n, m))
        over = np.maximum(rewards.sum(axis=1, keepdims=True) / self.sparsity, 1)
        self.rewards = rewards / over
        lists = [
            rng.permutation(np.unique(self.table[x, self.columns])).astype(np.uint8)
            for x in self.rows
        ]
        for array in (self.table, self.rows):
            array.setflags(write=False)
        self.offsets = np.cumsum([0, *map(len, lists)])
        self.items = np.concatenate(lists)
        at = np.repeat(np.arange(n), np.diff(self.offsets))
        self.w, self.mean = self.W[at, self.items], self.M[at, self.items]

    def arguments(self, **more):
        """Those that kernels have in common, by name."""
        return {
            "table": self.table,
            "rows": self.rows,
            "columns": self.columns,
            "shown": self.shown,
            "rewards": self.rewards,
            "offsets": self.offsets,
            "items": self.items,
            "w": self.w,
            "mean": self.mean,
            "K": self.K,
            **more,
        }

    def given(self, i):
        """w, mean and seen of round i, for the twin."""
        seen = zip(self.shown[i].tolist(), self.rewards[i].tolist(), strict=True)
        return fractions(self.W[i]), fractions(self.M[i]), {j: Fraction(r) for j, r in seen}

    def slate(self, i, p):
        return tuple(self.table[self.rows[i], p].tolist())
