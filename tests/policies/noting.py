"""Candidates that write down what they are asked."""

import numpy as np

import policysieve as ps


class Candidate:
    """Writes down what it is asked; at the top of a module, so that it pickles."""

    def __init__(self, p, m=1):
        self.p, self.m, self.asked = p, m, []

    def __call__(self, x):
        self.asked.extend(np.asarray(x).tolist())
        base = np.arange(len(x)) if np.asarray(x).dtype == object else np.asarray(x)
        if base.ndim == 2:
            base = base.sum(axis=1).astype(int)
        first = (base.astype(int) + self.p) % 7
        return np.stack([(first + j) % 7 for j in range(self.m)], axis=1)


def functions(n=3, m=1):
    return ps.FunctionPolicies([Candidate(p, m) for p in range(n)], n_actions=7, slate_size=m)


def asked(policies):
    return [candidate.asked for candidate in policies.functions]
