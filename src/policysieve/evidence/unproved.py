"""What a log says where nothing is known of the propensities that it did not meet."""

from functools import partial
from math import inf, log

import numpy as np

from policysieve.checks import as_rewards
from policysieve.evidence.certificate import Certificate
from policysieve.evidence.estimates import Estimates, ValueIntervals
from policysieve.evidence.events import check_comparable, check_log_fits, rewarded_events
from policysieve.evidence.values import limits_from_sums
from policysieve.log import AnyLog, Log
from policysieve.policies import Policies
from policysieve.problem import Problem

__all__ = ["UnprovedEvidence"]


class UnprovedEvidence:
    """Estimates and their limits from a log that has only the propensities of what was shown.

    How policies differ is not proved: that would need a floor under all propensities, or those of
    all actions. Limits on single values need neither, because what a policy earned and what it
    missed are not negative (docs/maths.md, "Values of single policies").

    Parameters
    ----------
    policies : Policies
    problem : Problem
    """

    def __init__(self, policies: Policies, problem: Problem) -> None:
        check_comparable(policies, problem)
        self.policies = policies
        self.problem = problem
        self._earned = self._missed = Estimates(policies.n_policies)

    @property
    def rounds(self) -> int:
        """Rounds taken in."""
        return self._earned.rounds

    def add(self, log: AnyLog) -> None:
        """Take in the next rounds, of a log or of files; all or nothing."""
        log = Log.load(log)
        check_log_fits(log, self.policies)
        as_rewards(log.rewards, len(log), log.slate_size, self.problem.sparsity)
        answers = self.policies.answers(log.contexts)
        lost = Log.trusted(log.contexts, log.actions, log.propensities, 1 - log.rewards)
        self.__dict__.update(
            _earned=self._earned.plus(rewarded_events(log, self.policies, answers)),
            _missed=self._missed.plus(rewarded_events(lost, self.policies, answers)),
        )

    def certificate(self, *, pending: int = 0) -> Certificate:
        """Nothing is proved about the leader."""
        names, leader = self.policies.names, self._earned.leader
        return Certificate(
            leader=leader,
            certified=False,
            eliminated=np.zeros(self.policies.n_policies, dtype=np.bool_),
            rounds=self.rounds,
            pending=pending,
            log_threshold=inf,
            method="none",
            find_bound=partial(float, self.problem.reward_cap),
            name=None if names is None else names[leader],
        )

    def intervals(self) -> ValueIntervals:
        """Estimates of all policies, with limits that hold simultaneously and at any time."""
        problem, n_policies = self.problem, self.policies.n_policies
        cap = problem.reward_cap
        if not self.rounds:
            limits = np.zeros(n_policies), np.full(n_policies, cap)
            return ValueIntervals(self._earned.values, *limits, names=self.policies.names)
        weight = np.full(n_policies, float(self.rounds))
        log_term = log(2 * n_policies / problem.delta)
        earned, missed = ((kind.totals, kind.squares) for kind in (self._earned, self._missed))
        limits = limits_from_sums(problem, earned, missed, weight, log_term)
        return ValueIntervals(self._earned.values, *limits, names=self.policies.names)
