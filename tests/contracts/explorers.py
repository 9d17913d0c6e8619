"""Learners, small problems and rewards for their contracts."""

import copy

import numpy as np

import policysieve as ps


class BrokenError(Exception):
    """Raised by a policy on demand."""


class Explorers:
    """What contracts of learners have in common."""

    slates = True

    def make(self, policies, problem, seed):
        raise NotImplementedError

    # --- helpers -------------------------------------------------------------------------------

    def problem(self, m=1):
        sparsity = 1.0 if m == 1 else 2.0
        return ps.Problem(n_actions=6, slate_size=m, sparsity=sparsity, epsilon=0.2, delta=0.1)

    def policies(self, m=1, n_policies=7, n_contexts=5):
        rng = np.random.default_rng(3)
        keys = rng.random((n_contexts, n_policies, 6))
        return ps.PolicyTable(keys.argsort(axis=-1)[..., :m], n_actions=6)

    def learner(self, m=1, seed=0):
        return self.make(self.policies(m), self.problem(m), seed)

    def pytest_generate_tests(self, metafunc):
        if "m" in metafunc.fixturenames:
            metafunc.parametrize("m", [1, 3] if self.slates else [1])

    def rewards(self, decisions, seed=0):
        """A fixed function of context and action: item j is rewarded iff (x + j) % 6 < 2."""
        good = (np.asarray(decisions.contexts)[:, None] + decisions.actions) % 6 < 2
        return good.astype(float) if decisions.actions.shape[1] > 1 else good * 0.5

    def contexts(self, n, seed=0):
        return np.random.default_rng(seed).integers(0, 5, n)

    def snapshot(self, learner):
        """Everything a user can see, and what it would do next."""
        twin = copy.deepcopy(learner)
        ahead = twin.ask(self.contexts(20, seed=9))
        return (
            learner.recommend().to_dict(),
            learner.rounds,
            learner.pending,
            learner.finished,
            learner.log.rewards.tolist(),
            np.nan_to_num(learner.intervals().values, nan=-1).tolist(),
            ahead.actions.tolist(),
            ahead.propensities.tolist(),
        )
