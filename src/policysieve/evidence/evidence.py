"""Evidence: rounds in, a certificate out."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from policysieve.checks import as_rewards, integer
from policysieve.errors import InvalidArgumentError
from policysieve.evidence.betting import log_mean_exp
from policysieve.evidence.certificate import Certificate, Proof, delta_shares
from policysieve.evidence.estimates import ValueIntervals
from policysieve.evidence.events import check_comparable, check_log_fits
from policysieve.evidence.past import Past
from policysieve.evidence.standing import BIN_EDGES, Standing, log_factors
from policysieve.evidence.values import policy_intervals
from policysieve.log import AnyLog, Log
from policysieve.policies import Policies, Slates
from policysieve.problem import Problem

__all__ = ["MEMORY_LIMIT", "Decider", "Evidence"]

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.intp]

MEMORY_LIMIT = 1 << 30  # bytes of rounds, by default
_FIRST_LOOK = 20  # rounds
_LOOK = 1.05  # growth of the rounds between looks
_SAME = 1e-6  # relative difference of propensities that were written and read
_DENSE = 1 << 22  # propensities that are worked with at once


class Decider(Protocol):
    """What evidence needs of an exploration."""

    @property
    def policies(self) -> Any:
        """The class that it was made for."""

    def propensities(self, contexts: Any) -> Array:
        """Those of all actions at contexts, or at answers of the policies."""


class Evidence:
    """What rounds prove about the policies of a list, where all propensities are known.

    Give it rounds in the order of their decisions with `add`, and ask for a `certificate` as often
    as you like: it holds at all times at once, with probability 1 - delta in all, whatever explored
    and whenever you stop. The propensities of every action must have been fixed before the round.
    No floor is needed: an action that could not be shown costs rounds, never validity
    (docs/maths.md, "Capped scores").

    The evidence looks at itself when its rounds have grown by a twentieth: it eliminates policies,
    and fixes the leader and the model of rewards that later rounds are judged with. Questions
    change nothing.

    Parameters
    ----------
    policies : Policies
        At least two.
    problem : Problem
    memory_limit : int
        Bytes of rounds to keep. A certificate in retrospect needs all of them; once they take more,
        they are forgotten, and a leader is certified by the rounds since it leads.
    """

    def __init__(
        self, policies: Policies, problem: Problem, *, memory_limit: int = MEMORY_LIMIT
    ) -> None:
        check_comparable(policies, problem)
        self.policies = policies
        self.problem = problem
        self.memory_limit = integer("memory_limit", memory_limit, low=0)
        self.rounds = 0
        self.next_look = _FIRST_LOOK
        self.standing = Standing.first(problem, policies.n_policies)
        self._past = Past(policies, len(BIN_EDGES) + 1)
        self._incumbent: _Incumbent | None = None
        self.at_look = copy(self)

    @property
    def survivors(self) -> Numbers:
        """Numbers of the policies that were not eliminated when it last looked."""
        return self.standing.survivors

    @property
    def nbytes(self) -> int:
        """Memory that the rounds take which are kept."""
        return self._past.nbytes

    def add(self, log: AnyLog, exploration: Decider | None = None) -> None:
        """Take in the next rounds, in the order of their decisions; all or nothing.

        Parameters
        ----------
        log : Log, LogFile, path or paths
            With distributions, unless the exploration is given.
        exploration : Exploration, optional
            What decided the rounds.

        Raises
        ------
        InvalidArgumentError
            If the log does not fit, has no distributions, or has other propensities than the
            exploration, or if the rewards of a round exceed the sparsity.
        """
        log = Log.load(log)
        check_log_fits(log, self.policies)
        as_rewards(log.rewards, len(log), log.slate_size, self.problem.sparsity)
        answers, distributions = self.policies.answers(log.contexts), log.distributions
        if exploration is not None:
            same = exploration.policies is self.policies  # others are asked again
            at = answers.take if same else log.contexts.__getitem__
            self.take(log, answers, partial(_by_exploration, log, exploration, at))
        elif distributions is not None:
            k = self.policies.n_actions
            plain = log.without_distributions()
            self.take(plain, answers, lambda rows: distributions[rows].dense(k))
        else:
            raise InvalidArgumentError(
                "log must have distributions, the propensities of all actions, or be given with "
                "the exploration that decided; if only those of shown actions are known, use "
                "FloorEvidence with the smallest that was possible"
            )

    def take(self, rounds: Log, answers: Slates, propensities: Callable[[slice], Array]) -> None:
        """`add` for rounds that are known to keep its rules.

        Parameters
        ----------
        rounds : Log
        answers : Slates
            What the policies say at the contexts.
        propensities : callable
            From a slice of the rounds to the propensities of all actions, shape (n, n_actions).
        """
        then, start = copy(self), 0
        size = max(1, _DENSE // self.policies.n_actions)
        while start < len(rounds):
            end = min(len(rounds), start + size, start + then.next_look - then.rounds)
            rows = slice(start, end)
            then._past = then._past.plus(
                rounds[rows], answers.take(rows), propensities(rows), then.standing.model
            )
            then.rounds += end - start
            if then.rounds == then.next_look:
                then._look()
            start = end
        self.__dict__.update(then.__dict__)

    def certificate(self, *, pending: int = 0) -> Certificate:
        """What is proved now; `pending` rounds were left out because they have no answer yet."""
        standing, incumbent = self._now()
        q, leader = self.problem, standing.leader
        proof = self._proof(standing, incumbent)
        certified = q.epsilon >= q.reward_cap or proof.holds(q.epsilon)
        low, high = (0.0, min(q.epsilon, q.reward_cap)) if certified else (q.epsilon, q.reward_cap)
        if incumbent is None:
            find_bound: Callable[[], float] = partial(proof.smallest_epsilon, low, high)
        else:
            find_bound = partial(incumbent.smallest_epsilon, proof.rivals, q.reward_cap)
        eliminated = np.ones(self.policies.n_policies, dtype=np.bool_)
        eliminated[standing.survivors] = False
        return Certificate(
            leader=leader,
            certified=certified,
            eliminated=eliminated,
            rounds=self.rounds,
            pending=pending,
            log_threshold=proof.log_threshold,
            method="capped",
            find_bound=find_bound,
        )

    def proof(self) -> Proof:
        """The bets behind the certificate: those on the leader against each rival."""
        return self._proof(*self._now())

    def intervals(self) -> ValueIntervals:
        """Estimates of all policies, with limits that hold simultaneously and at any time.

        Those of eliminated policies are as they were then.
        """
        return policy_intervals(self._now()[0], self._past)

    def interval(self, policy: int) -> tuple[float, float, float]:
        """Estimate and limits of one policy, which may have been chosen by the data.

        Those that `intervals` has for the survivors of the largest estimates.
        """
        policy = integer("policy", policy, low=0, high=self.policies.n_policies - 1)
        standing = self._now()[0]
        which = np.array([policy]) if policy in standing.survivors else np.empty(0, np.intp)
        found = policy_intervals(standing, self._past, which)
        return float(found.values[policy]), float(found.lower[policy]), float(found.upper[policy])

    def _now(self) -> tuple[Standing, "_Incumbent | None"]:
        """How things stand after all rounds, as a look would find them."""
        new = self.rounds - self.standing.rounds
        standing = self.standing.after(self._past, new)
        incumbent = self._incumbent
        if incumbent is not None:
            incumbent = incumbent.after(self._past, new, standing)
        return standing, incumbent

    def _proof(self, standing: Standing, incumbent: "_Incumbent | None") -> Proof:
        rivals = standing.rivals(self.policies)
        if incumbent is None:
            return _in_retrospect(self.policies.n_policies, standing, self._past, rivals)
        return incumbent.proof(rivals)

    def _look(self) -> None:
        """Fix what later rounds are judged with, and let go of what is not needed any more."""
        self.standing, self._incumbent = self._now()
        self._past = self._past.kept_for(self.standing.survivors)
        if self._incumbent is None and self._past.nbytes > self.memory_limit:
            self._incumbent = _Incumbent.first(self.policies.n_policies, self.standing, self._past)
        if self._incumbent is not None:
            self._past = self._past.forgotten()
        self.next_look = int(_LOOK * self.rounds) + 1
        self.__dict__.pop("at_look", None)  # a look does not keep the looks before it
        self.at_look = copy(self)


def _by_exploration(
    log: Log, exploration: Decider, contexts: Callable[[slice], Any], rows: slice
) -> Array:
    """Propensities of all actions, if those of the log are among them, else raise."""
    found = exploration.propensities(contexts(rows))
    shown = np.take_along_axis(found, log.actions[rows].astype(np.intp), axis=1)
    wrong = ~np.isclose(shown, log.propensities[rows], rtol=_SAME, atol=0.0).all(axis=1)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise InvalidArgumentError(
            "propensities of the log must be those of the exploration that decided, got "
            f"{log.propensities[rows][row].tolist()} where it has {shown[row].tolist()}, in row "
            f"{rows.start + row}; if several explorations decided, log the propensities of all "
            "actions with each round"
        )
    return found


def _in_retrospect(n_policies: int, standing: Standing, past: Past, rivals: Numbers) -> Proof:
    """Bets on the leader at hand in all rounds, as if it had always led."""
    problem = standing.problem

    def log_wealth(some: Numbers, epsilon: float) -> Array:
        found = log_factors(problem, past, standing.leader, some, np.array([epsilon]), len(past))
        return log_mean_exp(found[:, 0])

    threshold = delta_shares.log_retrospect(problem.delta, n_policies)
    return Proof(rivals, threshold, log_wealth)


@dataclass(frozen=True, eq=False)
class _Incumbent:
    """Bets on a leader since it leads, continued from those of the elimination. A value.

    Attributes
    ----------
    standing : Standing
        Whose leader it is, after the rounds behind the wealth.
    log_threshold : float
    number : int
        Of the leader among those that led since the past was forgotten; the first, 0, is the one
        whose bets had begun in retrospect.
    epsilons : float array
        From the problem's on, each twice the one before.
    log_wealth : float array of shape (n_survivors, n_epsilons, n_stakes)
    """

    standing: Standing
    log_threshold: float
    number: int
    epsilons: Array
    log_wealth: Array

    @classmethod
    def first(cls, n_policies: int, standing: Standing, past: Past) -> "_Incumbent":
        """The leader when the past is forgotten, with its wealth in retrospect."""
        problem = standing.problem
        epsilons, cap = [problem.epsilon], problem.reward_cap
        while 2 * epsilons[-1] < cap:
            epsilons.append(2 * epsilons[-1])
        grid = np.array(epsilons)
        wealth = log_factors(problem, past, standing.leader, standing.survivors, grid, len(past))
        threshold = delta_shares.log_retrospect(problem.delta, n_policies)
        return cls(standing, threshold, 0, grid, wealth)

    def after(self, past: Past, new: int, standing: Standing) -> "_Incumbent":
        """After the last `new` rounds of the past, which `standing` has seen as well."""
        problem, before = standing.problem, self.standing
        if standing.leader != before.leader:
            number = self.number + 1
            wealth = np.empty((len(standing.survivors), *self.log_wealth.shape[1:]))
            wealth[:] = log_mean_exp(standing.log_wealth)[:, None, None]
            threshold = delta_shares.log_incumbent(problem.delta, number)
            return _Incumbent(standing, threshold, number, self.epsilons, wealth)
        wealth = self.log_wealth + log_factors(
            problem, past, before.leader, before.survivors, self.epsilons, new
        )
        stays = np.isin(before.survivors, standing.survivors)
        return _Incumbent(standing, self.log_threshold, self.number, self.epsilons, wealth[stays])

    def proof(self, rivals: Numbers) -> Proof:
        """At the epsilons for which there are bets."""

        def log_wealth(some: Numbers, epsilon: float) -> Array:
            places = np.searchsorted(self.standing.survivors, some)
            place = int(np.searchsorted(self.epsilons, epsilon))
            return log_mean_exp(self.log_wealth[places, place])

        return Proof(rivals, self.log_threshold, log_wealth)

    def smallest_epsilon(self, rivals: Numbers, cap: float) -> float:
        """Among those for which there are bets, else the cap; 0 if nobody else is left."""
        if not len(rivals):
            return 0.0
        proof = self.proof(rivals)
        return next((float(e) for e in self.epsilons if proof.holds(e)), cap)
