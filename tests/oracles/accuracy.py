"""Accuracy from a log, round by round. Plain Python, nothing of ours."""

import math


def least_average(scores, delta, most):
    """The largest v at which the mean of 14 products of (1 + lam s)/(1 + lam v) reaches 1/delta."""
    multiples = [1e-4 * (20 / 1e-4) ** (g / 13) for g in range(14)]
    low, high = 0.0, most
    while high - low > 1e-4:
        v = (low + high) / 2
        logs = [sum(math.log((1 + lam * s) / (1 + lam * v)) for s in scores) for lam in multiples]
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
    lower = least_average(hits, delta / 2, 1.0)
    upper = max(lower, 1 - least_average(misses, delta / 2, 1.0))
    return min(max(h / (h + e), lower), upper), lower, upper


def gain(shown, propensities, answers, said, others, delta):
    """Estimate and limits of the accuracy of said[i] less that of others[i], label by label."""

    def scores_of(first, second):
        scores = []
        for labels, w, r, own, rival in zip(
            shown, propensities, answers, first, second, strict=True
        ):
            score = len(set(own) & set(rival)) / len(own)
            for place, label in enumerate(labels):
                if label in own and label not in rival:
                    score += r[place] / w[place] / len(own)
                if label in rival and label not in own:
                    score += (1 - r[place]) / w[place] / len(own)
            scores.append(score)
        return scores

    def accuracy_where_alone(first, second):
        pairs = [
            (r[place] / w[place], 1 / w[place])
            for labels, w, r, own, rival in zip(
                shown, propensities, answers, first, second, strict=True
            )
            for place, label in enumerate(labels)
            if label in own and label not in rival
        ]
        return sum(hit for hit, _ in pairs) / sum(weight for _, weight in pairs)

    lower = least_average(scores_of(said, others), delta / 2, 2.0) - 1
    upper = max(lower, 1 - least_average(scores_of(others, said), delta / 2, 2.0))
    apart = [
        1 - len(set(own) & set(rival)) / len(own) for own, rival in zip(said, others, strict=True)
    ]
    better = accuracy_where_alone(said, others) - accuracy_where_alone(others, said)
    return min(max(better * sum(apart) / len(apart), lower), upper), lower, upper
