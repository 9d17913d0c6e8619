"""Accuracy from a log, round by round. Plain Python, nothing of ours."""

from tests.oracles.classical import boundary


def accuracy(shown, propensities, answers, said, delta):
    """Estimate and limits of the share of the labels in said[i] that are right."""
    hits, misses = [], []
    for labels, w, r, own in zip(shown, propensities, answers, said, strict=True):
        both = [place for place, label in enumerate(labels) if label in own]
        hits.append(sum(r[place] / w[place] for place in both) / len(own))
        misses.append(sum((1 - r[place]) / w[place] for place in both) / len(own))
    n, h, e = len(hits), sum(hits), sum(misses)
    least = (h - float(boundary(sum(x * x for x in hits), delta / 2, 0, 0.01))) / n
    wrong = (e - float(boundary(sum(x * x for x in misses), delta / 2, 0, 0.01))) / n
    lower, upper = (min(max(limit, 0), 1) for limit in (least, 1 - wrong))
    return min(max(h / (h + e), lower), upper), lower, upper
