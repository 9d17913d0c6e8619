"""Which policies are proved to break a guardrail, and which to keep all of them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import log
from typing import Self

import numpy as np
import numpy.typing as npt

from policysieve.evidence.betting import log_mean_exp
from policysieve.evidence.capped_bets import N_STAKES, log_factors, shrinkage
from policysieve.evidence.comparing import least_difference, log_wealth_of_difference
from policysieve.evidence.outcomes import Outcomes, of_one_outcome
from policysieve.evidence.past import Past
from policysieve.evidence.standing import Standing
from policysieve.evidence.verdicts import Guardrail, guardrail_of, scaled_amount
from policysieve.kernels.capped import SLACK
from policysieve.policies import Policies
from policysieve.problem import Problem

__all__ = ["Guards", "log_bar", "log_limit"]

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.intp]

_PRIOR = 0.5  # the score of an item before any was seen, worth one that was


def log_bar(problem: Problem) -> float:
    """ln(1/level) at which a policy is barred: the best one must not be, so there is no union.

    It would be barred wrongly by any of the guardrails (docs/maths.md, "Guardrails").
    """
    return log(2 * len(problem.guardrails or {}) / problem.delta_of_guardrails)


def log_limit(problem: Problem, n_policies: int) -> float:
    """The same of limits on both sides of all policies' differences, in all guarded outcomes."""
    count = 2 * len(problem.guardrails or {}) * (n_policies - 1)
    return log(2 * count / problem.delta_of_guardrails)


@dataclass(frozen=True, eq=False)
class Guards:
    """Bets that policies break guardrails, and that they keep them, by capped scores. A value.

    For each survivor and each guardrail the wealth of bets that its outcome is worse than with the
    policy that runs today by more than the amount, and of bets that it is not; on the rounds in
    which the outcome is known.

    Attributes
    ----------
    problem : Problem
    today : int
        The policy that runs today.
    survivors : integer array of shape (n,)
    counted : dict of int
        Rounds behind the wealth, by the names of guardrails.
    log_wealth : dict of float arrays of shape (n, 2, n_stakes)
    out : integer array
        Policies that were barred.
    """

    problem: Problem
    today: int
    survivors: Numbers
    counted: Mapping[str, int]
    log_wealth: Mapping[str, Array]
    out: Numbers

    @classmethod
    def first(cls, policies: Policies, problem: Problem) -> Self | None:
        """The guards before any round; None if there are no guardrails."""
        if problem.guardrails is None:
            return None
        today, everyone = policies.against(problem), np.arange(policies.n_policies)
        assert today is not None
        shape = (policies.n_policies, 2, N_STAKES)
        names = problem.guardrails
        wealth = {name: np.zeros(shape) for name in names}
        return cls(problem, today, everyone, dict.fromkeys(names, 0), wealth, everyone[:0])

    @property
    def least_counted(self) -> int:
        """Rounds that count for every guardrail."""
        return min(self.counted.values())

    @property
    def nbytes(self) -> int:
        """Memory that it takes."""
        return sum(wealth.nbytes for wealth in self.log_wealth.values())

    def after(self, past: Past, rounds: int, outcomes: Outcomes, survivors: Numbers) -> Self:
        """The same with what is known of outcomes in a past, the last of so many rounds."""
        stays = self.survivors.searchsorted(survivors)
        counted, log_wealth, begin = dict(self.counted), {}, rounds - len(past)
        for name, before in self.log_wealth.items():
            log_wealth[name] = before[stays]
            scores, start = outcomes.scores(name)[:rounds], counted[name]
            if start < len(scores) and start >= begin:
                log_wealth[name] = log_wealth[name] + self._earned(
                    name, past, begin, start, scores, survivors
                )
                counted[name] = len(scores)
        return replace(self, survivors=survivors, counted=counted, log_wealth=log_wealth)

    def _earned(
        self, name: str, past: Past, begin: int, start: int, scores: Array, survivors: Numbers
    ) -> Array:
        """Log-wealth from the rounds behind `start`, shape (n, 2, n_stakes).

        For a score and for what it misses, in which the two policies change sides. Bets on a gain g
        have stakes lam/(1 + lam g/.99) and factors as differences have them.
        """
        g, q = scaled_amount(self.problem, name), of_one_outcome(self.problem)
        found = []
        for missed, distance in ((False, g / SLACK - g), (True, g)):
            part = _scored(past, begin, start, scores, missed)
            grid = np.array([distance])
            found.append(log_factors(q, part, self.today, survivors, grid, len(part))[:, 0])
        if g:
            found[0] -= shrinkage(part, q.slate_size, np.array([g]))[:, 0]
        return np.stack(found, axis=1)

    @property
    def barred(self) -> npt.NDArray[np.bool_]:
        """Which survivors are proved to break a guardrail."""
        threshold = log_bar(self.problem)
        broken = [log_mean_exp(each[:, 0]) >= threshold for each in self.log_wealth.values()]
        found = np.any(broken, axis=0)
        found[self.survivors == self.today] = False
        return np.asarray(found)

    def cleared(self, n_policies: int) -> npt.NDArray[np.bool_]:
        """Which survivors are proved to keep all guardrails; who runs today does."""
        threshold = log_limit(self.problem, n_policies)
        kept = [log_mean_exp(each[:, 1]) >= threshold for each in self.log_wealth.values()]
        found = np.all(kept, axis=0)
        found[self.survivors == self.today] = True
        return np.asarray(found)

    def clears(self, policy: int, n_policies: int) -> bool:
        """Whether a survivor is proved to keep all guardrails."""
        return bool(self.cleared(n_policies)[self.survivors.searchsorted(policy)])

    def applied(self, standing: Standing) -> tuple[Self, Standing]:
        """The same and a standing, both without the policies that are barred.

        Policies are eliminated by comparison with one that is proved to keep all guardrails: a
        better one that breaks them would throw out the best of those that do not.
        """
        stays = ~self.barred
        survivors = self.survivors[stays]
        held = replace(
            self,
            survivors=survivors,
            log_wealth={name: wealth[stays] for name, wealth in self.log_wealth.items()},
            out=np.union1d(self.out, self.survivors[~stays]),
        )
        standing = standing.without(~stays)
        cleared = held.cleared(standing.n_policies)
        best = int(np.where(cleared, standing.estimates, -np.inf).argmax())
        return held, replace(standing, comparator=int(survivors[best]))

    def about(
        self, policy: int, past: Past, rounds: int, outcomes: Outcomes
    ) -> tuple[Guardrail, ...]:
        """What is proved of one survivor, from the rounds of a past, the last of so many."""
        q, n_policies = of_one_outcome(self.problem), outcomes.policies.n_policies
        log_term, values, found = log_limit(self.problem, n_policies), outcomes.intervals(), []
        for name, wealth in self.log_wealth.items():
            scores = outcomes.scores(name)[:rounds]
            least, most = -float(q.slate_size), float(q.slate_size)
            if policy == self.today:
                least = most = 0.0
            elif len(scores) and len(past) == rounds:
                least, most = (
                    sign
                    * least_difference(
                        partial(
                            log_wealth_of_difference,
                            q,
                            _scored(past, 0, 0, scores, missed),
                            self.today,
                            policy,
                        ),
                        float(q.slate_size),
                        log_term,
                    )
                    for missed, sign in ((True, 1), (False, -1))
                )
            elif log_mean_exp(wealth[self.survivors.searchsorted(policy), 1]) >= log_term:
                least = -scaled_amount(self.problem, name)
            found.append(
                guardrail_of(
                    self.problem,
                    name,
                    difference=float(values[name].values[policy] - values[name].values[self.today]),
                    least=least,
                    most=max(least, most),
                    rounds=len(scores),
                )
            )
        return tuple(found)


def _scored(past: Past, begin: int, start: int, scores: Array, missed: bool) -> Past:
    """Rounds of a past that begins with round `begin`, from round `start` on, with other rewards.

    What is expected of an item is the mean score of what was shown in earlier rounds: any number
    that was fixed before the round will do.
    """
    n, m = scores.shape
    before = np.concatenate([[0.0], np.cumsum(scores.sum(axis=1))[:-1]])
    means = (before + _PRIOR) / (m * np.arange(n) + 1.0)
    rewards = scores[start:]
    if missed:
        rewards, means = 1 - rewards, 1 - means
    return past.with_rewards(start - begin, n - begin, rewards, means[start:])
