"""Slow, obvious twins of the classical bounds. Plain Python and numpy, nothing of ours.

Paths of z are arrays (n_paths, n_rounds), one difference a round; bounds are returned after every
round. `ranges` broadcasts to that shape and says how negative a difference can be.
"""

import math

import numpy as np

ZETA = sum(k**-1.4 for k in range(1, 2_000_001)) + 2_000_000.5**-0.4 / 0.4


def milestones(n):
    found, at = [], 64
    while at <= n:
        found.append(at)
        at = at + at // 4
    return found


def empirical_bernstein(z, ranges, cap, delta):
    """Round by round, with the prediction and the bet of each round's stretch."""
    ranges = np.broadcast_to(ranges, z.shape)
    n_paths, n_rounds = z.shape
    starts = [0, *milestones(n_rounds)]
    log_term = math.log(1 / delta)
    gain, weight = np.zeros(n_paths), np.zeros(n_paths)
    out = np.empty(z.shape)
    for i in range(n_rounds):
        largest = ranges[:, i]
        if i in starts:
            first = i
            mean = np.clip(z[:, :i].mean(axis=1), -cap, cap) if i else np.zeros(n_paths)
            spread = z[:, :i].var(axis=1) * i if i else np.zeros(n_paths)
        variance = (largest**2 + spread) / (first + largest / cap)
        end = first + first // 4 if first else 64
        c = largest + np.maximum(mean, 0)
        lam = np.minimum(c * np.sqrt(8 * log_term / (variance * end * math.log(1 + end))), 0.4)
        gain += lam / c * z[:, i] - (-np.log(1 - lam) - lam) * ((z[:, i] - mean) / c) ** 2
        weight += lam / c
        out[:, i] = (gain - log_term) / weight
    return out


def boundary(v, delta, c, start):
    """The polynomial stitched boundary of Howard et al. (2021), eta = 2 and s = 1.4."""
    eta = 2.0
    v = np.maximum(v, start)
    length = 1.4 * np.log(np.log2(v / start) + 1) + math.log(ZETA / delta)
    k1 = (eta**0.25 + eta**-0.25) / math.sqrt(2)
    k2 = (math.sqrt(eta) + 1) / 2
    return np.sqrt(k1**2 * v * length + k2**2 * c**2 * length**2) + k2 * c * length


def stitched(z, ranges, delta):
    y = z / ranges
    v = np.cumsum(y**2, axis=1)
    weight = np.cumsum(np.broadcast_to(1 / np.asarray(ranges), z.shape), axis=1)
    return (np.cumsum(y, axis=1) - boundary(v, delta, 1, 10)) / weight


def maurer_pontil(z, width, delta):
    """Lower limit from all rounds, for variables that vary by at most `width`."""
    n, log_term = z.shape[1], math.log(2 / delta)
    radius = np.sqrt(2 * z.var(axis=1, ddof=1) * log_term / n) + 7 * width * log_term / (
        3 * (n - 1)
    )
    return z.mean(axis=1) - radius


def checkpoints(z, widths, delta):
    """`widths` broadcasts like ranges; the largest one so far counts."""
    widths = np.broadcast_to(widths, z.shape)
    out = np.full(z.shape, -np.inf)
    for k, n in enumerate(milestones(z.shape[1]), start=1):
        bound = maurer_pontil(z[:, :n], widths[:, :n].max(axis=1), delta / (k * (k + 1)))
        out[:, n - 1 :] = bound[:, None]
    return out


def value_limits(r, ranges, cap, delta):
    """Estimates, lower and upper limits of all policies after each round; r (n_policies, n)."""
    y = r / ranges
    v, level = np.cumsum(y**2, axis=1), delta / (2 * len(r))
    weight = np.cumsum(np.broadcast_to(1 / np.asarray(ranges), r.shape), axis=1)
    total = np.cumsum(y, axis=1)
    lower = np.clip((total - boundary(v, level, 0, 0.01)) / weight, 0, cap)
    upper = np.clip((total + boundary(v, level, 1, 10)) / weight, 0, cap)
    return total / weight, lower, upper
