"""Capped scores, and all that is proved by them, round by round. Plain Python, nothing of ours.

Scores, caps and wealth are exact fractions; votes, rates, sums and logarithms are floats. A context
is gone once policies have said their slates: slates[p] are the items of policy p. w and mean map
items to their propensity and to the model's reward, seen maps shown items to what they earned.
"""

import math
import struct
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

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


# --- the fold ----------------------------------------------------------------------------------


class Round(NamedTuple):
    """A round with what was expected of its items, as it was decided."""

    number: int
    slates: list
    w: dict
    mean: dict
    seen: dict
    stakes: list
    cost: float


class Standing(NamedTuple):
    rounds: int
    wealth: dict  # of survivors, one for each stake
    sums: list  # for each policy of scores and squares: robust (weighted), earned, missed; costs
    weights: list  # for each policy the sums of weights and of their squares
    counted: list
    leader: int

    @property
    def survivors(self):
        return list(self.wealth)

    def value(self, p):
        return self.sums[p][0] / (self.weights[p][0] or 1.0)


class Incumbent(NamedTuple):
    """Bets on a leader since it leads, at several epsilons."""

    leader: int
    number: int
    log_threshold: float
    log_wealth: dict  # of survivors: for each epsilon a list over stakes


class Proof(NamedTuple):
    leader: int
    survivors: list
    certified: bool
    bound: float
    log_threshold: float


class Fold:
    """Rounds in, proofs out.

    forget_at is the look, by its round, at which the past is forgotten; same[p] are the policies
    that are known to be policy p under another number. Policies may join additions times; rounds
    may name the slates of those that have not joined yet.
    """

    def __init__(
        self,
        n_policies,
        slate_size,
        n_actions,
        sparsity,
        epsilon,
        delta,
        *,
        forget_at=None,
        same=None,
        additions=0,
    ):
        self.n_policies, self.m = n_policies, slate_size
        self.sparsity = Fraction(slate_size if sparsity is None else sparsity)
        self.cap = float(min(self.sparsity, slate_size))
        self.epsilon, self.delta, self.forget_at = epsilon, delta, forget_at
        self.same = same or [{p} for p in range(100)]
        self.parts, self.sizes = additions + 1, [n_policies]
        self.cohort, self.since = [0] * n_policies, [0] * n_policies
        self.stakes = [stake / slate_size for stake in STAKES]
        self.taus = [SLACK / stake for stake in self.stakes]
        everyone = range(n_policies)
        self.standing = Standing(
            0,
            {p: [Wealth()] * N_STAKES for p in everyone},
            [[0.0] * 7 for p in everyone],
            [[0.0] * 2 for p in everyone],
            [0] * n_policies,
            0,
        )
        self.votes = dict.fromkeys(everyone, 1 / n_policies)
        self.rates = PRIOR
        self.scale = slate_size / n_actions
        self.tally = [[0.0, 0.0] for _ in PRIOR]
        self.kept, self.new, self.next_look = [], [], 20
        self.incumbent, self.scores = None, {}

    def take(self, slates, w, seen):
        """One more round: w has the propensity of every item, seen what was shown and earned."""
        listed = {j for p in self.votes for j in slates[p]}
        shares = {j: share_of(j, slates, self.votes) for j in listed}
        bins = {j: bin_of(share) for j, share in shares.items()}
        for j, reward in seen.items():
            if j in listed:
                self.tally[bins[j]][0] += reward / w[j]
                self.tally[bins[j]][1] += 1 / w[j]
        new = Round(
            self.standing.rounds + len(self.new),
            slates,
            {j: Fraction(w[j]) for j in listed},
            {j: Fraction(single_precision(self.rates[bins[j]])) for j in listed},
            {j: Fraction(reward) for j, reward in seen.items()},
            self.stakes_now(),
            math.fsum(share / w[j] for j, share in shares.items() if w[j] > 0),
        )
        self.kept.append(new)
        self.new.append(new)
        if self.standing.rounds + len(self.new) == self.next_look:
            self.look()

    def join(self, size, unseen=False):
        """So many policies more, for which earlier rounds count if they are unseen."""
        if self.new:
            self.look()
        standing, new = self.standing, range(self.n_policies, self.n_policies + size)
        self.n_policies += size
        self.sizes.append(size)
        self.cohort += [len(self.sizes) - 1] * size
        self.since += [0 if unseen else standing.rounds] * size
        if unseen:
            self.kept = [self.with_items_of(i, new) for i in self.kept]
        mean_cost = math.fsum(i.cost for i in self.kept) / max(len(self.kept), 1) / self.m
        weight = 1 / math.sqrt(max(mean_cost, 1.0))
        for p in new:
            counted = self.kept if unseen else []
            sums = [0.0] * 7
            for i in counted:
                self.add_to(sums, i, p, weight)
            standing.sums.append(sums)
            standing.weights.append([len(counted) * weight, len(counted) * weight**2])
            standing.counted.append(len(counted))
            standing.wealth[p] = [Wealth()] * N_STAKES
        if unseen:
            self.standing = standing._replace(leader=self.lead(standing, standing.survivors))
        self.guess()
        if self.incumbent is not None:
            nothing = [[0.0] * N_STAKES] * len(self.epsilons)
            self.incumbent.log_wealth.update(dict.fromkeys(new, nothing))
        self.next_look = int(1.05 * standing.rounds) + 1

    @staticmethod
    def with_items_of(i, policies):
        """A round whose lists have the items of some policies: of new ones the worst is assumed."""
        items = {j for p in policies for j in i.slates[p]} - set(i.w)
        w, mean = ({**known, **dict.fromkeys(items, Fraction(0))} for known in (i.w, i.mean))
        return i._replace(w=w, mean=mean, seen={j: r for j, r in i.seen.items() if j not in items})

    def lead(self, standing, survivors):
        """The largest estimate; less an error for those with fewer rounds, once anybody joined."""
        if len(self.sizes) == 1:
            return max(survivors, key=lambda p: (standing.sums[p][0], -p))
        scores = {
            p: standing.value(p) - (self.error(p, standing) if self.since[p] else 0.0)
            for p in survivors
        }
        return max(scores, key=lambda p: (scores[p], -p))

    def counting(self, *policies):
        """Rounds that count for all of these."""
        return self.kept[max(self.since[p] for p in policies) :]

    def retrospect_threshold(self, leader):
        """Any pair of a cohort that has the best and of a leader's, and any leader of that."""
        size, parts = self.sizes[self.cohort[leader]], self.parts
        leaders = size - 1 if parts == 1 else parts**2 * size
        return math.log(leaders / (DELTA["retrospect"] * self.delta))

    def stakes_now(self):
        """Fixed ones, and shares of the scale that are no larger."""
        shares = [min(share * Fraction(self.scale), FIXED[-1]) for share in SHARES]
        return [stake / self.m for stake in (*FIXED, *shares)]

    def look(self):
        self.standing, self.incumbent = self.now()
        shown = [float(w) for i in self.new for w in i.w.values() if w > 0]
        if shown:
            self.scale = len(shown) / math.fsum(1 / w for w in shown)
        self.new = []
        rounds, leader = self.standing.rounds, self.standing.leader
        survivors = self.standing.survivors
        self.guess()
        if rounds == self.forget_at:
            threshold = self.retrospect_threshold(leader)
            wealth = {
                p: [self.log_wealths(self.counting(leader, p), leader, p, e) for e in self.epsilons]
                for p in survivors
            }
            self.incumbent = Incumbent(leader, 0, threshold, wealth)
        if self.incumbent is not None:
            self.kept = []
        self.next_look = int(1.05 * rounds) + 1

    def guess(self):
        """What is expected of items from now on."""
        survivors, leader = self.standing.survivors, self.standing.leader
        values = {p: self.standing.value(p) for p in survivors}
        errors = {p: self.error(p, self.standing) for p in survivors}
        self.votes = votes_of(values, errors, leader, self.cap)
        self.rates = rates_of(self.tally)

    def error(self, p, standing):
        """Standard error of a survivor's estimate, with a least variance."""
        weight, squared = standing.weights[p]
        if not weight:
            return self.cap
        variance = standing.sums[p][1] - squared * standing.value(p) ** 2
        return math.sqrt(max(variance, 0.05 * self.cap**2 * standing.sums[p][6])) / weight

    def add_to(self, sums, i, p, weight):
        """Add a round to the seven sums of a policy."""
        scores = (
            weight * robust(i.slates[p], i.w, i.mean, i.seen),
            *(kind(i.slates[p], i.w, i.seen) for kind in (earned, missed)),
        )
        for k, x in enumerate(map(float, scores)):
            sums[2 * k] += x
            sums[2 * k + 1] += x * x
        sums[6] += weight**2 * float(cost(i.slates[p], i.w)) / self.m

    @property
    def epsilons(self):
        """At which incumbents bet: each twice the one before, below what a round can earn."""
        found = [self.epsilon]
        while 2 * found[-1] < self.cap:
            found.append(2 * found[-1])
        return found

    def now(self):
        """How things stand with all rounds so far; changes nothing."""
        before = self.standing
        if not self.new:
            return before, self.incumbent
        wealth, sums, counted = {}, [list(s) for s in before.sums], list(before.counted)
        weights = [list(pair) for pair in before.weights]
        mean_cost = math.fsum(i.cost for i in self.new) / len(self.new) / self.m
        weight = 1 / math.sqrt(max(mean_cost, 1.0))
        for p in before.survivors:
            counted[p] += len(self.new)
            weights[p][0] += len(self.new) * weight
            weights[p][1] += len(self.new) * weight**2
            for i in self.new:
                self.add_to(sums[p], i, p, weight)
            wealth[p] = list(before.wealth[p])
            for i in self.new:
                for g, z in enumerate(self.scores_of(i, before.leader, p)):
                    wealth[p][g] = wealth[p][g].times(1 + i.stakes[g] * z)
        threshold = math.log(self.parts / (DELTA["elimination"] * self.delta))
        wealth = {
            p: w
            for p, w in wealth.items()
            if p == before.leader or log_mean([x.log for x in w]) < threshold
        }
        rounds = before.rounds + len(self.new)
        standing = Standing(rounds, wealth, sums, weights, counted, before.leader)
        standing = standing._replace(leader=self.lead(standing, standing.survivors))
        return standing, self.incumbent and self.incumbent_after(standing)

    def incumbent_after(self, standing):
        before = self.incumbent
        if standing.leader == before.leader:
            wealth = {
                p: [
                    [a + b for a, b in zip(held, more, strict=True)]
                    for held, more in zip(
                        before.log_wealth[p],
                        (self.log_wealths(self.new, standing.leader, p, e) for e in self.epsilons),
                        strict=True,
                    )
                ]
                for p in standing.survivors
            }
            return before._replace(log_wealth=wealth)
        number = before.number + 1
        wealth = {
            p: [[log_mean([x.log for x in standing.wealth[p]])] * N_STAKES] * len(self.epsilons)
            for p in standing.survivors
        }
        shares = self.parts * number * (number + 1)
        threshold = math.log(shares / (DELTA["incumbents"] * self.delta))
        return Incumbent(standing.leader, number, threshold, wealth)

    def scores_of(self, i, leader, rival):
        """Z of a round for each stake."""
        b, a = tuple(i.slates[leader]), tuple(i.slates[rival])
        key = i.number, b, a
        if key not in self.scores:
            given = i.w, i.mean, i.seen, self.sparsity
            self.scores[key] = [score(b, a, *given, SLACK / lam) for lam in i.stakes]
        return self.scores[key]

    def log_wealths(self, rounds, leader, rival, epsilon):
        """For each stake, in floats: of many epsilons there are too many exact products."""
        bets = [
            [(float(lam), float(z)) for lam, z in zip(i.stakes, scores, strict=True)]
            for i, scores in ((i, self.scores_of(i, leader, rival)) for i in rounds)
        ]
        return [
            math.fsum(math.log1p(row[g][0] * (row[g][1] + epsilon)) for row in bets)
            for g in range(N_STAKES)
        ]

    def exact_log_wealths(self, rounds, leader, rival, epsilon):
        """For each stake, as exact products."""
        found = []
        for g in range(N_STAKES):
            wealth = Wealth()
            for i in rounds:
                z = self.scores_of(i, leader, rival)[g]
                wealth = wealth.times(1 + i.stakes[g] * (z + Fraction(epsilon)))
            found.append(wealth.log)
        return found

    def proof(self):
        """The certificate."""
        standing, incumbent = self.now()
        leader = standing.leader
        rivals = [p for p in standing.survivors if p not in self.same[leader]]
        if incumbent is not None:
            threshold = incumbent.log_threshold
            passing = [
                epsilon
                for k, epsilon in enumerate(self.epsilons)
                if all(log_mean(incumbent.log_wealth[p][k]) >= threshold for p in rivals)
            ]
            certified = self.epsilon in passing
            bound = min(passing, default=self.cap) if rivals else 0.0
            return Proof(leader, standing.survivors, certified, bound, threshold)
        threshold = self.retrospect_threshold(leader)

        def passes(epsilon):
            counting = ((self.counting(leader, p), p) for p in rivals)
            found = (self.log_wealths(rounds, leader, p, epsilon) for rounds, p in counting)
            return all(log_mean(logs) >= threshold for logs in found)

        certified = all(
            log_mean(self.exact_log_wealths(self.counting(leader, p), leader, p, self.epsilon))
            >= threshold
            for p in rivals
        )
        bound = smallest(passes, 0.0, self.cap)
        return Proof(leader, standing.survivors, certified, bound, threshold)

    def intervals(self, log_term=None, which=None):
        """(value, lower, upper) of every policy, and those by betting alone of some survivors."""
        standing, incumbent = self.now()
        terms = [
            log_term or math.log(4 * self.parts * self.sizes[self.cohort[p]] / self.delta)
            for p in range(self.n_policies)
        ]
        found = []
        for p, log_term in enumerate(terms):
            n, sums = standing.counted[p], standing.sums[p]
            if not n:
                found.append((math.nan, 0.0, self.cap))
                continue
            lower = least_mean(sums[2], sums[3], n, log_term)
            upper = self.m - least_mean(sums[4], sums[5], n, log_term)
            lower, upper = (min(max(x, 0.0), self.cap) for x in (lower, upper))
            found.append((standing.value(p), lower, max(lower, upper)))
        if incumbent is not None:
            return found, {}
        if which is None:
            order = sorted(standing.survivors, key=lambda p: (-standing.value(p), p))
            which = [p for p in order[:BET_ON] if standing.counted[p]]
        return found, {p: self.betting_limits(p, terms[p]) for p in which}

    def betting_limits(self, p, log_term):
        """The largest v that is too low, and the smallest that is too high, from all rounds."""
        caps = [tau - Fraction(self.cap) for tau in self.taus]
        below, above = [], []
        for i in self.counting(p):
            own, given = tuple(i.slates[p]), (i.w, i.mean, i.seen, self.sparsity)
            if (i.number, own) not in self.scores:
                self.scores[i.number, own] = (
                    [float(score(own, (), *given, cap)) for cap in caps],
                    [float(score((), own, *given, tau)) for tau in self.taus],
                )
            for scores, found in zip((below, above), self.scores[i.number, own], strict=True):
                scores.append(found)
        lams = [float(lam) for lam in self.stakes]

        def passes(scores, v):
            return log_term <= log_mean(
                [
                    math.fsum(math.log1p(lam * (z[g] + v)) for z in scores)
                    for g, lam in enumerate(lams)
                ]
            )

        lower = -smallest(lambda v: passes(below, v), -self.cap, 0.0)
        upper = smallest(lambda v: passes(above, v), 0.0, self.cap)
        return lower, upper

    def log_wealth_of_difference(self, first, second, difference):
        """Of bets that first - second is larger, with stakes that shrink so that none loses all."""
        found = []
        for g in range(N_STAKES):
            wealth = []
            for i in self.counting(first, second):
                stake, z = i.stakes[g], self.scores_of(i, first, second)[g]
                if difference > 0:
                    stake = stake / (1 + stake * Fraction(difference) / SLACK)
                wealth.append(math.log1p(float(stake * (z - Fraction(difference)))))
            found.append(math.fsum(wealth))
        return log_mean(found)

    def least_difference(self, first, second, log_term):
        """The largest difference that is too low, from all rounds."""

        def passes(distance):
            return self.log_wealth_of_difference(first, second, -distance) >= log_term

        return -smallest(passes, -self.cap, self.cap)


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
