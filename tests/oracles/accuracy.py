"""Accuracy from a log, round by round. Plain Python, nothing of ours."""

import math

STAKES = [1e-4 * (0.95 / 1e-4) ** (g / 11) for g in range(12)]


def least_mean(scores, delta):
    """The largest v, by bisection, at which the mean wealth of 12 stakes reaches 1/delta."""
    low, high = 0.0, 1.0
    while high - low > 1e-4:
        v = (low + high) / 2
        logs = [sum(math.log(1 + stake * (h - v)) for h in scores) for stake in STAKES]
        top = max(logs)
        wealth = top + math.log(sum(math.exp(one - top) for one in logs) / len(logs))
        if wealth >= math.log(1 / delta):
            low = v
        else:
            high = v
    return low


def accuracy(shown, propensities, answers, said, delta):
    """Estimate and limits of the share of the labels in said[i] that are right."""
    hits, misses = [], []
    for labels, w, r, own in zip(shown, propensities, answers, said, strict=True):
        both = [place for place, label in enumerate(labels) if label in own]
        hits.append(sum(r[place] / w[place] for place in both) / len(own))
        misses.append(sum((1 - r[place]) / w[place] for place in both) / len(own))
    h, e = sum(hits), sum(misses)
    lower = least_mean(hits, delta / 2)
    upper = max(lower, 1 - least_mean(misses, delta / 2))
    return min(max(h / (h + e), lower), upper), lower, upper
