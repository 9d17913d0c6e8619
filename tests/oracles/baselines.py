"""The baselines, round by round and policy by policy. Plain Python and numpy, nothing of ours.

slates[t][p] is the slate of policy p at the context of round t; shown[t] and rewards[t] are what
round t showed and what it earned.
"""

import math

import numpy as np


def epsilon_greedy(slates, shown, rewards, K, mixing, batch):
    """Leader before each round, which moves between batches, and propensities of what was shown."""
    P, m = len(slates[0]), len(shown[0])
    totals, leader = [0.0] * P, 0
    leaders, propensities = [], []
    for t in range(len(shown)):
        if t % batch == 0:
            leader = max(range(P), key=lambda p: (totals[p], -p))
        leaders.append(leader)
        row = [mixing * m / K + (1 - mixing) * (j in slates[t][leader]) for j in shown[t]]
        propensities.append(row)
        for p in range(P):
            for j, r, w in zip(shown[t], rewards[t], row, strict=True):
                if j in slates[t][p]:
                    totals[p] += r / w
    return leaders, np.array(propensities)


def rewarded_items(slates, shown, rewards):
    """For each rewarded item: its reward, and which policies show it (0 or 1)."""
    gains, shows = [], []
    for t in range(len(shown)):
        for j, r in zip(shown[t], rewards[t], strict=True):
            if r > 0:
                gains.append(float(r))
                shows.append([float(j in slate) for slate in slates[t]])
    return np.array(gains), np.array(shows).reshape(len(gains), len(slates[0]))


def potential(p, gains, shows, floor, mixing):
    """-sum r ln W over rewarded items, with rewards scaled to sum to one."""
    return -sum(
        r / gains.sum() * math.log(floor + (1 - mixing) * float(row @ p))
        for r, row in zip(gains, shows, strict=True)
    )


def expectation_step(p, gains, shows, floor, mixing):
    """One EM step for the shares of a mixture one of whose parts, the uniform one, is fixed."""
    responsibility = np.zeros(len(p))
    for r, row in zip(gains, shows, strict=True):
        parts = (1 - mixing) * p * row
        responsibility += r * parts / (floor + parts.sum())
    return responsibility / responsibility.sum()


def duality_gap(p, gains, shows, floor, mixing):
    """How far the linearised potential can still fall on the simplex."""
    slope = np.zeros(len(p))
    for r, row in zip(gains, shows, strict=True):
        slope -= r / gains.sum() * (1 - mixing) * row / (floor + (1 - mixing) * float(row @ p))
    return float(slope @ p - slope.min())


def draw_list(slates, shown, rewards, size, rate, uniforms):
    """The list, from one uniform number per draw."""
    P = len(slates[0])
    weights, listed = [1.0] * P, []
    numbers = iter(uniforms)
    for t in range(len(shown)):
        for j, r in zip(shown[t], rewards[t], strict=True):
            if r == 0 or any(j in slates[t][p] for p in listed) or len(listed) == size:
                continue
            left = next(numbers) * math.fsum(weights)
            drawn = 0
            while drawn < P - 1 and left >= weights[drawn]:
                left -= weights[drawn]
                drawn += 1
            if drawn not in listed:
                listed.append(drawn)
            for p in range(P):
                if j in slates[t][p]:
                    weights[p] *= math.exp(rate * r)
    return listed


def list_propensities(slates_here, listed, K, m, mixing):
    """W(x, j) for all items j at one context."""
    items = {j for p in listed for j in slates_here[p]} or set(range(K))
    return np.array(
        [mixing * m / K + (1 - mixing) * m / len(items) * (j in items) for j in range(K)]
    )


def weighted_estimates(samples, weights):
    """Estimates of all policies from R[i][p], round i counting with weights[i]."""
    return (samples * np.array(weights)[:, None]).sum(axis=0) / sum(weights)
