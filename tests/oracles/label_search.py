"""Where labels are looked for, one pair and one round at a time. Plain Python, nothing of ours."""

import math


def cosine(x, y, centre):
    a = [u - c for u, c in zip(x, centre, strict=True)]
    b = [v - c for v, c in zip(y, centre, strict=True)]
    return sum(u * v for u, v in zip(a, b, strict=True)) / (math.hypot(*a) * math.hypot(*b))


def open_to(x, tries, centre, shown, offset, slope, n_labels, surest):
    """Chance of each label not to be ruled out at x by tries, pairs of a row and a wrong label."""
    chances = [1.0] * n_labels
    for y, label in tries:
        odds = offset + slope * cosine(x, y, centre) - math.log(n_labels - 1 + shown[label])
        chances[label] *= 1 - 1 / (1 + math.exp(-min(odds, surest)))
    return chances


def covered(labels, answers, propensities, known, heaviest):
    """Share of the later half of rounds whose label was right before, by importance weights."""
    seen, total, n = set(known), 0.0, len(labels)
    for i in range(n):
        if i >= n // 2 and labels[i] in seen:
            total += min(answers[i] / propensities[i], heaviest)
        if answers[i] > 0:
            seen.add(labels[i])
    return total / (n - n // 2)


def pair_weights(labels, most):
    """Weight of every pair i < j: {True: pairs of the same label, False: others}, sums equal."""
    count = {label: labels.count(label) for label in labels}
    weights = {True: {}, False: {}}
    for i in range(len(labels)):
        for j in range(i):
            a, b = labels[i], labels[j]
            if a == b:
                weights[True][i, j] = min(count[a] - 1, most) / (count[a] * (count[a] - 1) / 2)
            else:
                weights[False][i, j] = 1 / (count[a] * count[b])
    scale = sum(weights[True].values()) / sum(weights[False].values())
    weights[False] = {pair: scale * weight for pair, weight in weights[False].items()}
    return weights


def penalised_loss(theta, cosines, weights, ridge, bins):
    """Of the logistic regression of "same" on the middle of the bin of the cosine."""
    loss = sum(r * t * t / 2 for r, t in zip(ridge, theta, strict=True))
    for same, pairs in weights.items():
        for (i, j), weight in pairs.items():
            place = min(int((cosines[i][j] + 1) * bins / 2), bins - 1)
            z = theta[0] + theta[1] * ((place + 0.5) * 2 / bins - 1)
            loss += weight * math.log1p(math.exp(-z if same else z))
    return loss
