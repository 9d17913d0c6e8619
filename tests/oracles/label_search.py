"""Where labels are looked for, one pair and one round at a time. Plain Python, nothing of ours."""

import math

from tests.oracles import label_exploring


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


def last_of_each(labels, most):
    """Places of the last `most` of each label, in order."""
    return [i for i, label in enumerate(labels) if labels[i + 1 :].count(label) < most]


def typical(x, rows, hits, offset, slope, n_labels):
    """Logits at x by the mean direction of each label's right answers, pairs of row and label."""
    n, d = len(rows), len(x)
    centre = [sum(row[j] for row in rows) / n for j in range(d)]
    length = math.sqrt(sum(math.dist(row, centre) ** 2 for row in rows) / n)
    logits = []
    for label in range(n_labels):
        mine = [row for row, right in hits if right == label]
        similar = 0.0
        for row in mine:
            for j in range(d):
                away = (row[j] - centre[j]) / math.dist(row, centre)
                similar += away * (x[j] - centre[j]) / length / len(mine)
        logits.append(offset + slope * similar if mine else 0.0)
    return logits


def search_share(z, right, common, unsure):
    """Share of rounds that look for unknown labels, with means of p and p (1 - p) of all labels."""
    known = [k for k, r in enumerate(right) if r > 0]
    missing = [k for k, r in enumerate(right) if not r > 0]
    if not known or not missing:
        return float(not known)
    odds = sum(math.exp(z[k]) for k in missing) / sum(math.exp(z[k]) for k in known)
    find = 2 * sum(common[k] for k in missing) / len(missing) ** 2
    best = max(known, key=lambda k: z[k])
    odds *= min(max(find * (3 + right[best]) / unsure[best], 0.02), 16)
    return odds**2 / (1 + odds**2)


def inclusion(z, sd, rounds, open_labels, share, probabilities, smallest, normal):
    """Probability of every label at one context where one is right and labels are looked for.

    As that of `label_exploring`, but the best are among labels that were right, and labels are
    weighed by the chance that they are still open here.
    """
    K = len(z)
    unknown, _, _ = label_exploring.exploration_by_counts(rounds, K, smallest)
    known = [k for k in range(K) if label_exploring.totals(rounds, k)[1] > 0] or list(range(K))
    matching, p = [0.0] * K, [1e-9] * K
    for (strength, part), numbers in zip(label_exploring.DRAWS, [[0.0] * K, *normal], strict=True):
        drawn = [z[k] + strength * sd[k] * numbers[k] for k in range(K)]
        matching[max(known, key=lambda k, drawn=drawn: drawn[k])] += part
        for k, value in enumerate(probabilities(drawn)):
            p[k] += part * value
    weights = [unknown[k] ** 4 * math.sqrt(p[k]) * open_labels[k] for k in range(K)]
    gamma = max(share, smallest)
    return [
        (1 - gamma) * matching[k] + gamma * (0.2 / K + 0.8 * weights[k] / sum(weights))
        for k in range(K)
    ]


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
