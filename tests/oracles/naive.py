"""Slow, obvious twins. Plain Python and numpy, nothing of ours."""

from itertools import combinations, permutations

import numpy as np


def importance_weighted(policy_slates, shown, propensities, rewards):
    """R[i][p] = sum of r/w over the items of shown[i] that policy p would show too.

    policy_slates[i][p] is the slate of policy p in round i.
    """
    n, n_policies = len(shown), len(policy_slates[0])
    out = np.zeros((n, n_policies))
    for i in range(n):
        for p in range(n_policies):
            for item, w, r in zip(shown[i], propensities[i], rewards[i], strict=True):
                if item in policy_slates[i][p]:
                    out[i, p] += r / w
    return out


def uniform_subset_propensity(n_actions, slate_size):
    """Share of all m-subsets that hold a given item, by enumeration."""
    subsets = list(combinations(range(n_actions), slate_size))
    return sum(0 in subset for subset in subsets) / len(subsets)


def all_ordered_subsets(n_actions, slate_size):
    """Every ordered choice of m different actions out of K."""
    return list(permutations(range(n_actions), slate_size))


def maurer_pontil(samples, largest, n_policies, delta):
    """Two-sided empirical Bernstein radius for the mean of samples in [0, largest]."""
    scaled = np.asarray(samples) / largest
    n = len(scaled)
    log_term = np.log(4 * n_policies / delta)
    return largest * (
        np.sqrt(2 * np.var(scaled, ddof=1) * log_term / n) + 7 * log_term / (3 * (n - 1))
    )
