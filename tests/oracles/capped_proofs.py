"""All that is proved by capped scores. Plain Python, nothing of ours."""

import math
from fractions import Fraction
from typing import NamedTuple

from tests.oracles.capped import (
    BET_ON,
    N_STAKES,
    SLACK,
    least_mean,
    log_mean,
    score,
    smallest,
)
from tests.oracles.capped_rounds import Rounds


class Proof(NamedTuple):
    leader: int
    survivors: list
    certified: bool
    bound: float
    log_threshold: float


class Fold(Rounds):
    """Rounds in, proofs out."""

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
