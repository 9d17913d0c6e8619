"""Small worlds with known propensities of all items, for evidence and for its slow twin."""

import numpy as np

import policysieve as ps
from tests.oracles.capped_proofs import Fold


class Column:
    """One policy of a table, as a function that can be pickled."""

    def __init__(self, column):
        self.column = column

    def __call__(self, contexts):
        return self.column[contexts]


class World:
    """A table of policies from good to bad, and rounds of a made-up exploration.

    Slates are drawn from a few, each round from others, so that propensities of all items are known
    and some are 0. Two items of a context are often right, the first more so, or none (right=0).
    Rewards are fractions and sum to at most the sparsity. `table` has what the policies say.
    """

    def __init__(
        self,
        seed,
        *,
        m=1,
        K=5,
        n_policies=6,
        n_contexts=9,
        n=150,
        sparsity=1.0,
        epsilon=0.25,
        delta=0.2,
        right=0.85,
    ):
        rng = np.random.default_rng(seed)
        self.problem = ps.Problem(
            n_actions=K, slate_size=m, sparsity=sparsity, epsilon=epsilon, delta=delta
        )
        order = rng.random((n_contexts, K)).argsort(axis=1)  # the right items come first
        self.table = rng.random((n_contexts, n_policies, K)).argsort(axis=-1)[..., :m]
        for p in range(n_policies):
            knows = rng.random(n_contexts) < 1 - p / n_policies
            self.table[knows, p] = order[knows, :m]
        self.table = rng.permutation(self.table, axis=1)
        self.policies = ps.PolicyTable(self.table, n_actions=K)
        contexts = rng.integers(0, n_contexts, n)
        self.W, shown = np.zeros((n, K)), np.empty((n, m), int)
        for i in range(n):
            candidates = np.arange(K)[:, None]
            if m > 1:
                candidates = rng.random((6, K)).argsort(axis=1)[:, :m]
            shares = rng.multinomial(32, rng.dirichlet(np.full(len(candidates), 4.0))) / 32
            for slate, share in zip(candidates, shares, strict=True):
                self.W[i, slate] += share
            shown[i] = candidates[rng.choice(len(shares), p=shares)]
        rewards = np.zeros((n, K))
        for i, x in enumerate(contexts):
            for k in range(2):
                item = order[x, k] if rng.random() < right else rng.integers(K)
                left = (2.0 if sparsity is None else sparsity) - rewards[i].sum()
                rewards[i, item] += min(rng.choice([0.25, 0.75, 1.0]), left, 1 - rewards[i, item])
        self.log = ps.Log(
            contexts=contexts,
            actions=shown,
            propensities=np.take_along_axis(self.W, shown, axis=1),
            rewards=np.take_along_axis(rewards, shown, axis=1),
        )

    @property
    def unlisted(self):
        """The same policies as functions."""
        return ps.FunctionPolicies(
            [Column(column) for column in self.table.swapaxes(0, 1)],
            n_actions=self.problem.n_actions,
            slate_size=self.problem.slate_size,
        )

    def evidence(self, policies=None, **arguments):
        """Evidence of the world's policies before the first round."""
        return ps.Evidence(policies or self.policies, self.problem, **arguments)

    def feed(self, evidence, start, end):
        """Give rounds to the evidence, all at once."""
        log, W = self.log[start:end], self.W[start:end]
        evidence.take(log, evidence.policies.answers(log.contexts), lambda rows: W[rows])

    def fold(self, *, known_same=True, **arguments):
        """The slow twin before the first round; of functions it is not known which are the same."""
        q, P = self.problem, self.policies.n_policies
        sets = np.sort(self.table, axis=-1)
        if known_same:
            arguments["same"] = [
                {r for r in range(P) if (sets[:, r] == sets[:, p]).all()} for p in range(P)
            ]
        return Fold(P, q.slate_size, q.n_actions, q.sparsity, q.epsilon, q.delta, **arguments)

    def feed_fold(self, fold, start, end):
        for i in range(start, end):
            slates = self.table[self.log.contexts[i]].tolist()
            shown = self.log.actions[i].tolist(), self.log.rewards[i].tolist()
            fold.take(slates, self.W[i].tolist(), dict(zip(*shown, strict=True)))
