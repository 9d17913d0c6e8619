"""Capped scores of one round, the model, and wealth. Plain Python, nothing of ours.

Scores, caps and wealth are exact fractions; votes, rates, sums and logarithms are floats. A context
is gone once policies have said their slates: slates[p] are the items of policy p. w and mean map
items to their propensity and to the model's reward, seen maps shown items to what they earned.
"""

import math
import struct
from fractions import Fraction
from itertools import pairwise

from tests.oracles.classical import boundary

SLACK = Fraction("0.99")
STAKES = [Fraction(k, 1000) for k in (1, 3, 10, 25, 60, 120, 250, 500, 750)]  # on single values
FIXED = [Fraction(k, 1000) for k in (3, 10, 30, 100, 300, 750)]  # on differences,
SHARES = [Fraction(1, 10), Fraction(3, 10), Fraction(9, 10)]  # and of a typical propensity
N_STAKES = len(FIXED) + len(SHARES)
EDGES = [0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97]
PRIOR = [0.8 * edge for edge in (0.0, *EDGES)]  # expected rewards by the share of votes,
PRIOR_WEIGHT = 5  # as if so many items had been seen
DELTA = {"elimination": 0.5, "retrospect": 0.45, "incumbents": 0.05}
BET_ON = 32  # survivors whose values are bet on


# --- one round ---------------------------------------------------------------------------------


def least_cap(minus, w, mean, mu, c):
    """sum f + mu c with f = max(mean, 1 - c w): what D- can lose at most."""
    return sum(max(mean[j], 1 - c * w[j]) for j in minus) + mu * c


def largest_c(minus, w, mean, mu, tau):
    """The largest c up to where nothing is raised with least_cap(c) <= tau.

    The left side is linear between the c at which an item begins to be raised, so all of these and
    all crossings of tau between two neighbours are tried. It needs exact numbers.
    """
    edges = sorted({Fraction(0), *((1 - mean[j]) / w[j] for j in minus if w[j] > 0)})
    tried = list(edges)
    for low, high in pairwise(edges):
        at_low, at_high = (least_cap(minus, w, mean, mu, c) for c in (low, high))
        if (at_low - tau) * (at_high - tau) < 0:
            tried.append(low + (tau - at_low) * (high - low) / (at_high - at_low))
    return max(c for c in tried if least_cap(minus, w, mean, mu, c) <= tau)


def score(leader, rival, w, mean, seen, sparsity, tau):
    """Z of the leader's slate against the rival's; either may be empty."""
    plus = [j for j in leader if j not in rival]
    minus = [j for j in rival if j not in leader]
    mu = min(sparsity, len(minus))
    c = largest_c(minus, w, mean, mu, tau)
    f = {j: max(mean[j], 1 - c * w[j]) for j in minus}
    left = tau - sum(f.values())
    if len(leader) > 1:  # else the two items are never shown together
        left -= mu * c
    can = [j for j in plus if w[j] > 0]
    asked = sum(mean[j] * (1 / w[j] - 1) for j in can)
    share = 1 if asked <= left else left / asked
    f.update({j: share * mean[j] if w[j] > 0 else Fraction(0) for j in plus})
    h = {j: f[j] + (seen[j] - f[j]) / w[j] if j in seen else f[j] for j in f}
    return sum((h[j] for j in plus), Fraction(0)) - sum(h[j] for j in minus)


def score_of_single(b, a, w, mean, seen, tau):
    """Z of a leader's action b against a rival's a != b, each with its own formula; all w > 0."""
    f = mean[a]
    if w[a] < 1:
        f = max(f, (1 / w[a] - tau) / (1 / w[a] - 1))
    f_leader = mean[b]
    if w[b] < 1:
        f_leader = min(f_leader, (tau - f) / (1 / w[b] - 1))
    z = f_leader - f
    if b in seen:
        z += (seen[b] - f_leader) / w[b]
    if a in seen:
        z -= (seen[a] - f) / w[a]
    return z


def robust(slate, w, mean, seen):
    """The doubly robust score of a slate; an item that cannot be shown counts nothing."""
    return sum(
        mean[j] + ((seen[j] - mean[j]) / w[j] if j in seen else 0) for j in slate if w[j] > 0
    )


def earned(slate, w, seen):
    return sum(seen[j] / w[j] for j in slate if j in seen)


def missed(slate, w, seen):
    return sum((1 - seen[j]) / w[j] for j in slate if j in seen)


def cost(slate, w):
    return sum(1 / w[j] for j in slate if w[j] > 0)


# --- the model ---------------------------------------------------------------------------------


def bin_of(share):
    """How many edges lie below a share of the votes."""
    return sum(edge < share for edge in EDGES)


def share_of(item, slates, votes):
    share = 0.0
    for policy, vote in votes.items():
        if item in slates[policy]:
            share += vote
    return share


def votes_of(values, errors, leader, cap):
    """exp(-gap/max(.02 cap, error)), normalised; values and errors map survivors to numbers."""
    raw = {p: math.exp(-(values[leader] - values[p]) / max(0.02 * cap, errors[p])) for p in values}
    total = sum(raw.values())
    return {p: vote / total for p, vote in raw.items()}


def rates_of(tally):
    """Reward of each bin, shrunk and monotone; tally has the sums of r/w and of 1/w."""
    rates, largest = [], 0.0
    for (rewards, weights), prior in zip(tally, PRIOR, strict=True):
        rate = (rewards + PRIOR_WEIGHT * prior) / (weights + PRIOR_WEIGHT)
        largest = max(largest, min(rate, 1.0))
        rates.append(largest)
    return rates


def single_precision(x):
    """As the past keeps the model's rewards."""
    return struct.unpack("f", struct.pack("f", x))[0]


# --- wealth ------------------------------------------------------------------------------------


class Wealth:
    """An exact product, as numerator and denominator that are never reduced."""

    def __init__(self, numerator=1, denominator=1):
        self.numerator, self.denominator = numerator, denominator

    def times(self, factor):
        assert factor > 0
        return Wealth(self.numerator * factor.numerator, self.denominator * factor.denominator)

    @property
    def log(self):
        return math.log(self.numerator) - math.log(self.denominator)


def log_mean(logs):
    top = max(logs)
    return top + math.log(sum(math.exp(x - top) for x in logs) / len(logs))


# --- limits ------------------------------------------------------------------------------------


def smallest(passes, low, high):
    """Where a condition begins to hold between low and high, by bisection; high if nowhere."""
    if passes(low):
        return low
    for _ in range(40):
        middle = (low + high) / 2
        if passes(middle):
            high = middle
        else:
            low = middle
    return high


def least_mean(total, square, n, log_term):
    """Stitched lower limit on the mean of scores that are not negative."""
    return (total - float(boundary(square, math.exp(-log_term), 0, 0.01))) / n
