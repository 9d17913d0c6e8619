"""Which labels are shown with which probability, label by label. Plain Python, nothing of ours.

Rounds are triples of lists: the labels shown, the answers and the propensities. Sections of the
formulas have the names of the paragraphs in docs/maths.md, "Showing labels".
"""

from math import sqrt

DRAWS = [(0.0, 1 / 2), (0.3, 1 / 8), (0.6, 1 / 8), (0.9, 1 / 8), (1.2, 1 / 8)]  # strength, part


def pairs(rounds):
    """P pairs of right answers, and A that agree, from all pairs one by one."""
    right = [
        (label, r / w)
        for labels, answers, propensities in rounds
        for label, r, w in zip(labels, answers, propensities, strict=True)
        if r > 0
    ]
    if len(right) < 2:
        return 0.0, 0.0
    n = sum(w for _, w in right) ** 2 / sum(w * w for _, w in right)
    every = same = 0.0
    for i, (a, v) in enumerate(right):
        for b, w in right[:i]:
            every += v * w
            same += v * w if a == b else 0.0
    return n * (n - 1) / 2, n * (n - 1) / 2 * same / every


def totals(rounds, k):
    """How often label k was shown, and right."""
    shown = right = 0.0
    for labels, answers, _ in rounds:
        for label, r in zip(labels, answers, strict=True):
            shown += label == k
            right += r if label == k else 0.0
    return shown, right


def exploration_by_counts(rounds, K, smallest):
    """u_k of every label, gamma_0, and R/(10K + R)."""
    P, A = pairs(rounds)
    high = min((0.3 * K + P) / (0.3 + A), K)
    low = min(max(P / (1 + A), K / 10), K)
    unknown, R = [], 0.0
    for k in range(K):
        shown, right = totals(rounds, k)
        unknown.append(1 / (1 + right * low / K + shown / (8 * K)))
        R += right
    return unknown, max(smallest, 2 * high / (2 * high + R)), R / (10 * K + R)


def capped(weights, m):
    """min(1, s w_k) with the s at which they add up to m: as few labels are full as can be."""
    order = sorted(range(len(weights)), key=lambda k: -weights[k])
    for n_full in range(m + 1):
        rest = sum(weights[k] for k in order[n_full:])
        found = [1.0] * len(weights)
        for k in order[n_full:]:
            found[k] = (m - n_full) * weights[k] / rest
        if max(found) <= 1 + 1e-15:
            return found
    raise AssertionError("m labels are full at most")


def inclusion(z, sd, rounds, probabilities, m, smallest, normal):
    """Probability of every label at one context, with logits z of standard deviation sd.

    `probabilities` makes those of being right out of logits; normal[j] holds the standard normal
    numbers of the j-th draw, that of strength 0 left out.
    """
    K = len(z)
    unknown, gamma, search = exploration_by_counts(rounds, K, smallest)
    matching, p = [0.0] * K, [1e-9] * K
    for (strength, part), numbers in zip(DRAWS, [[0.0] * K, *normal], strict=True):
        drawn = [z[k] + strength * sd[k] * numbers[k] for k in range(K)]
        for k in sorted(range(K), key=lambda k: -drawn[k])[:m]:
            matching[k] += part
        for k, value in enumerate(probabilities(drawn)):
            p[k] += part * value
    missing = sum(p[k] * unknown[k] ** 4 for k in range(K)) / sum(p)
    gamma += (1 - gamma) * search * sqrt(missing)
    looked_for = capped([unknown[k] ** 4 * sqrt(p[k]) for k in range(K)], m)
    return [
        (1 - gamma) * matching[k] + gamma * (0.2 * m / K + 0.8 * looked_for[k]) for k in range(K)
    ]
