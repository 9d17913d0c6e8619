"""Rounds folded one by one: who leads, and what is won by betting on it. Nothing of ours."""

import math
from fractions import Fraction
from typing import NamedTuple

from tests.oracles.capped import (
    DELTA,
    FIXED,
    N_STAKES,
    PRIOR,
    SHARES,
    SLACK,
    STAKES,
    Wealth,
    bin_of,
    cost,
    earned,
    log_mean,
    missed,
    rates_of,
    robust,
    score,
    share_of,
    single_precision,
    votes_of,
)


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


class Rounds:
    """Rounds in, wealth of every pair that counts out.

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
