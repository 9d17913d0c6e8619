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


def search_share(z, right, chances):
    """Share of rounds that look for unknown labels; chances are those of all labels at rows."""
    known = [k for k, r in enumerate(right) if r > 0]
    missing = [k for k, r in enumerate(right) if not r > 0]
    if not known or not missing:
        return float(not known)
    odds = sum(math.exp(z[k]) for k in missing) / sum(math.exp(z[k]) for k in known)
    of_missing = sum(row[k] for row in chances for k in missing) / len(chances)
    find = of_missing / len(missing) ** 2
    best = max(known, key=lambda k: z[k])
    unsure = sum(row[best] * (1 - row[best]) for row in chances) / len(chances)
    show = unsure / (3 + right[best])
    odds *= min(max(2 * find / show, 0.02), 16)
    return odds**2 / (1 + odds**2)


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
