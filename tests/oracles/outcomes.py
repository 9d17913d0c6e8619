"""Outcomes, differences and guardrails, round by round. Plain Python, nothing of ours."""

import math
from fractions import Fraction

from tests.oracles.capped import FIXED, SHARES, SLACK, score


def sums(slates, shown, propensities, scores):
    """For each policy the sums of s/W and (1-s)/W of its shown items, and of their squares."""
    found = []
    for p in range(len(slates[0])):
        earned = [
            sum(s / w for a, w, s in zip(*row, strict=True) if a in said[p])
            for said, row in zip(slates, zip(shown, propensities, scores, strict=True), strict=True)
        ]
        missed = [
            sum((1 - s) / w for a, w, s in zip(*row, strict=True) if a in said[p])
            for said, row in zip(slates, zip(shown, propensities, scores, strict=True), strict=True)
        ]
        found.append(
            (sum(earned), sum(x * x for x in earned), sum(missed), sum(x * x for x in missed))
        )
    return found


def known(values):
    """How many first rounds have a value for every item."""
    for i, row in enumerate(values):
        if any(math.isnan(value) for value in row):
            return i
    return len(values)


def paired(first, second, seen, w):
    """What only the first shows, r/W; what only the second shows, (1-r)/W - 1."""
    z = 0.0
    for j in first:
        if j not in second and j in seen:
            z += seen[j] / w[j]
    for j in second:
        if j not in first:
            z += ((1 - seen[j]) / w[j] if j in seen else 0.0) - 1
    return z


def log_wealth_of_guardrail(slates, w, seen, scales, today, policy, amount, m, missed):
    """Of each stake: bets that a policy's scores are worse than today's by more than the amount.

    Or, for what is missed, that they are not. `seen` maps what was shown to its score.
    """
    total, count, wealth = Fraction(1, 2), 1, [0.0] * (len(FIXED) + len(SHARES))
    for said, at, got, scale in zip(slates, w, seen, scales, strict=True):
        mean = single(1 - total / count if missed else total / count)
        mine = {j: 1 - s for j, s in got.items()} if missed else got
        stakes = [x / m for x in FIXED]
        stakes += [min(share * Fraction(scale), FIXED[-1]) / m for share in SHARES]
        for k, stake in enumerate(stakes):
            lam = stake if missed else stake / (1 + stake * amount / SLACK)
            z = score(
                said[today], said[policy], at, dict.fromkeys(at, mean), mine, m, SLACK / stake
            )
            wealth[k] += math.log(1 + lam * (z + amount if missed else z - amount))
        total, count = total + sum(got.values()), count + m
    return wealth


def single(x):
    """As a number of single precision has it."""
    import struct

    return Fraction(struct.unpack("f", struct.pack("f", float(x)))[0])
