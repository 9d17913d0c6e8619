"""Evidence: rounds in, a certificate out."""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.arrays import shown
from policysieve.checks import integer
from policysieve.errors import InvalidArgumentError
from policysieve.evidence.deciders import Decider, check_decider, propensities_by
from policysieve.evidence.events import check_comparable, check_log_fits, load_unit
from policysieve.evidence.guardrails import Guards
from policysieve.evidence.incumbents import Incumbent
from policysieve.evidence.outcomes import Outcomes
from policysieve.evidence.past import Past
from policysieve.evidence.proving import Proving
from policysieve.evidence.retrospect import Retrospect
from policysieve.evidence.standing import BIN_EDGES, Standing
from policysieve.log import AnyLog, Log
from policysieve.log.returning import Met, first_rounds
from policysieve.policies import Answers, Policies, Slates
from policysieve.policies.union import check_joins, union_of
from policysieve.problem import Problem

__all__ = ["DENSE", "MEMORY_LIMIT", "Evidence", "look_after"]

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.intp]

MEMORY_LIMIT = 1 << 30  # bytes of rounds, by default
_FIRST_LOOK = 20  # rounds
_LOOK = 1.05  # growth of the rounds between looks
DENSE = 1 << 22  # propensities that are worked with at once


class Evidence(Proving):
    """What rounds prove about the policies of a list, where all propensities are known.

    Give it rounds in the order of their decisions with `add`, and ask for a `certificate` as often
    as you like: it holds at all times at once, with probability 1 - delta in all, whatever explored
    and whenever you stop. The propensities of every action must have been fixed before the round.
    No floor is needed: an action that could not be shown costs rounds, never validity
    (docs/maths.md, "Capped scores"). Where a log names its units, the first round of each counts.

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
    keep : sequence of int or str
        Policies that are never eliminated, so that they can be compared with others for good. The
        one that the problem names as `against` is kept anyway.
    additions : int
        How often candidates may join later, by `add_policies`. Delta is split for so many times,
        whether or not it comes to that.
    """

    def __init__(
        self,
        policies: Policies,
        problem: Problem,
        *,
        memory_limit: int = MEMORY_LIMIT,
        keep: Sequence[int | str] = (),
        additions: int = 0,
    ) -> None:
        check_comparable(policies, problem)
        against = policies.against(problem)
        kept = _numbers_of(policies, keep, () if against is None else (against,))
        self.policies = policies
        self.problem = problem
        self.memory_limit = integer("memory_limit", memory_limit, low=0)
        self.rounds = 0
        self.next_look = _FIRST_LOOK
        often = integer("additions", additions, low=0)
        if often and problem.outcomes is not None:
            raise InvalidArgumentError(
                f"additions must be 0 where the problem declares outcomes, got {often}: what they "
                "are with candidates that join later cannot be told yet; start again with all"
            )
        self.standing = Standing.first(problem.unit, policies.n_policies, kept, often)
        self.outcomes: Outcomes | None = None  # of these rounds, or more if somebody gives them
        self._guards = Guards.first(policies, problem)
        if self._guards is not None:
            self.standing = replace(self.standing, comparator=self._guards.today)
        self._past = Past(policies, len(BIN_EDGES) + 1)
        self._retrospect = Retrospect.first(self.standing.cohorts)
        self._incumbent: Incumbent | None = None
        self._met: Met | None = None
        self.at_look = copy(self)

    @property
    def nbytes(self) -> int:
        """Memory that is kept from look to look: for rounds, and for each policy."""
        guards = 0 if self._guards is None else self._guards.nbytes
        return self._past.nbytes + self.standing.nbytes + self._retrospect.nbytes + guards

    def add(
        self, log: AnyLog, exploration: Decider | None = None, answers: Slates | None = None
    ) -> None:
        """Take in the next rounds, in the order of their decisions; all or nothing.

        Parameters
        ----------
        log : Log, LogFile, path or paths
            With distributions, unless the exploration is given.
        exploration : Exploration, optional
            What decided the rounds.
        answers : Slates, optional
            What the policies said at their contexts; by default they are asked now.

        Raises
        ------
        InvalidArgumentError
            If the log does not fit, has no distributions, or has other propensities than the
            exploration, or if the rewards of a round exceed the sparsity.
        """
        check_decider(exploration)
        log = load_unit(log, self.policies, self.problem)
        check_log_fits(log, self.policies)
        then, which = copy(self), None
        if answers is None:
            log, then._met = first_rounds(log, self._met, self.rounds)
            # An exploration may ask for answers of policies that were eliminated here.
            which = self.survivors if exploration is None else None
            x = self.policies.check_contexts(log.contexts)
            allowed = self.policies.check_available(log.available, len(x))
            answers = self.policies.answers_at(x, which, allowed)
        distributions = log.distributions
        if self.problem.outcomes is not None:
            told = self.outcomes or Outcomes(self.policies, self.problem)
            then.outcomes = told.plus(log, answers, which=which)
        if exploration is not None:
            same = exploration.policies is self.policies  # others are asked again
            said = answers if same else None
            then.take(log, answers, partial(propensities_by, exploration, log, said))
        elif distributions is not None:
            k = self.policies.n_actions
            plain = log.without_distributions()
            then.take(plain, answers, lambda rows: distributions[rows].dense(k))
        else:
            raise InvalidArgumentError(
                "log must have distributions, the propensities of all actions, or be given with "
                "the exploration that decided; if only those of shown actions are known, use "
                "FloorEvidence with the smallest that was possible"
            )
        self.__dict__.update(then.__dict__)

    def answers_at(
        self, contexts: Any, exploration: Any, available: Any, uniforms: Array
    ) -> Answers | None:
        """What the policies say at contexts, if that is kept with the evidence; here it is not.

        The uniforms are those that the exploration will draw with, as far as is known.
        """
        return None

    def take_answered(
        self,
        log: Log,
        answers: Slates,
        which: Numbers | None,
        *,
        exploration: Decider | None = None,
    ) -> None:
        """`add` for rounds of a log without units, with answers that were sent from elsewhere.

        Of policies `which`, or of all: those that are not among them have left the race.
        """
        self.add(log, exploration, answers.received(self.policies, which))

    def take(self, rounds: Log, answers: Any, propensities: Callable[[slice], Array]) -> None:
        """`add` for rounds that are known to keep its rules.

        Parameters
        ----------
        rounds : Log
            With rewards in [0, 1], of which more is better.
        answers : Slates
            What the policies say at the contexts.
        propensities : callable
            From a slice of the rounds to the propensities of all actions, shape (n, n_actions).
        """
        then, start, own = copy(self), 0, False
        size = max(1, DENSE // self.policies.n_actions)
        while start < len(rounds):
            end = min(len(rounds), start + size, start + then.next_look - then.rounds)
            rows = slice(start, end)
            then._past = then._past.plus(
                rounds[rows], answers.take(rows), propensities(rows), then.standing.model
            )
            then.rounds += end - start
            if then.rounds == then.next_look:
                then._look(own)
                own = True  # a standing that nobody else has seen
            start = end
        self.__dict__.update(then.__dict__)

    def add_policies(
        self, policies: Policies, *, contexts: Any = None, available: Any = None
    ) -> None:
        """Let more candidates in; their numbers go on behind those of the others.

        Only later rounds count for them, because they may have been fitted on the earlier ones, or
        been chosen by them (docs/maths.md, "Candidates that join").

        Parameters
        ----------
        policies : Policies
            For the same actions, slates and contexts, with new names if the others have names.
        contexts : optional
            Those of all rounds so far, if the candidates were neither fitted on these rounds nor
            chosen by them: then these count for them, too, where what they show could be shown.
        available : optional
            What could be shown in these rounds, if not everything.

        Raises
        ------
        InvalidArgumentError
            If they do not fit, if none may join any more, or if rounds were forgotten that should
            count. Nothing is changed then.
        PolicyFailureError
            If a policy cannot answer; nothing is changed.
        """
        self.check_joins(policies, unseen=contexts is not None)
        answers = None
        if contexts is not None:
            x = policies.check_contexts(contexts)
            if len(x) != self.rounds:
                raise InvalidArgumentError(
                    f"contexts must be those of all {self.rounds:,} rounds so far, got {len(x):,}"
                )
            answers = policies.answers_at(x, None, policies.check_available(available, len(x)))
        self.join(union_of(self.policies, policies), answers)

    def check_joins(self, policies: Any, *, unseen: bool) -> None:
        """Raise unless these policies may join now."""
        check_joins(self.policies, policies)
        cohorts = self.standing.cohorts
        if not cohorts.left:
            times = "once" if cohorts.additions == 1 else f"{cohorts.additions} times"
            often = f"that was {times}" if cohorts.additions else "none may"
            raise InvalidArgumentError(
                "candidates may join as often as additions=... said when delta was split, and "
                f"{often}; begin anew with as many as you need, such as additions="
                f"{cohorts.additions + 1}"
            )
        if unseen and policies.fitted_on:
            raise InvalidArgumentError(
                "unseen must be left out for votes that were fitted on rounds, got ones of "
                f"{policies.fitted_on:,}: these would look better in them than they are. If they "
                "were none of these rounds, VotePolicies(policies, votes.weights) says so"
            )
        if unseen and self._incumbent is not None:
            raise InvalidArgumentError(
                "earlier rounds cannot count for candidates that join once they were forgotten: "
                "let them join for later rounds alone, or begin with a larger memory_limit"
            )

    def join(self, policies: Policies, answers: Slates | None) -> None:
        """`add_policies` for a class whose last policies are new, and which `check_joins` lets in.

        With `answers`, what the new ones say in all rounds so far, these count for them, unless
        they were forgotten.
        """
        then = copy(self)
        standing, incumbent, guards = self._now()
        answers = answers if incumbent is None else None
        size = policies.n_policies - self.policies.n_policies
        then.policies = policies
        then._past = self._past.joined(policies, standing.survivors, answers)
        standing = standing.joined(then._past, size, unseen=answers is not None)
        then._retrospect = self._retrospect.joined(standing.cohorts)
        then._look_at(standing, None if incumbent is None else incumbent.joined(standing), guards)
        self.__dict__.update(then.__dict__)

    @property
    def forgets(self) -> bool:
        """Whether rounds took more memory than they may, so that they are forgotten."""
        return self._incumbent is not None

    def up_to_look(self, most: int, waiting: int = 0) -> int:
        """So many rounds or fewer, behind those that wait, so that they end where it looks.

        All of them if it does not look on the way.
        """
        begin, look, size = self.rounds + waiting, self.next_look, most
        while look <= begin + most:
            size = look - begin if look > begin else most
            look = look_after(look)
        return size

    def _now(self, own: bool = False) -> tuple[Standing, Incumbent | None, Guards | None]:
        """How things stand after all rounds, as a look would find them."""
        new = self.rounds - self.standing.rounds
        standing = self.standing.after(self._past, new, own)
        guards, incumbent = self._guards, self._incumbent
        if guards is not None and self.outcomes is not None:
            guards = guards.after(self._past, self.rounds, self.outcomes, standing.survivors)
            guards, standing = guards.applied(standing)
        if incumbent is not None:
            incumbent = incumbent.after(self._past, new, standing)
        return standing, incumbent, guards

    def _look(self, own: bool) -> None:
        """Fix what later rounds are judged with, and let go of what is not needed any more.

        If it is our own, the standing before is used up.
        """
        self._look_at(*self._now(own))

    def _look_at(
        self, standing: Standing, incumbent: Incumbent | None, guards: Guards | None
    ) -> None:
        self.standing, self._incumbent, self._guards = standing, incumbent, guards
        self._past = self._past.kept_for(self.standing.survivors)
        if self._incumbent is None:
            self._retrospect = self._retrospect.after(self._past, self.standing, self.policies)
            if self._past.nbytes > self.memory_limit:
                self._incumbent = Incumbent.first(self.standing, self._past)
        if self._incumbent is not None:
            waiting = 0 if self._guards is None else self.rounds - self._guards.least_counted
            self._past = self._past.last(min(len(self._past), waiting))
            self._retrospect = Retrospect.first(self.standing.cohorts)
        self.next_look = look_after(self.rounds)
        self.__dict__.pop("at_look", None)  # a look does not keep the looks before it
        self.at_look = copy(self)


def _numbers_of(policies: Policies, keep: Any, more: tuple[int, ...]) -> Numbers:
    """Numbers of policies that are given by number or name, and of some more, or raise."""
    if isinstance(keep, str) or not isinstance(keep, Sequence):
        raise InvalidArgumentError(
            f"keep must be a sequence of policy numbers or names, got {shown(keep)}"
        )
    numbers = [policies.number_of(policy, argument="keep") for policy in keep]
    return np.unique(np.array([*numbers, *more], np.intp))


def look_after(rounds: int) -> int:
    """When to look again after a look at so many rounds."""
    return int(_LOOK * rounds) + 1
