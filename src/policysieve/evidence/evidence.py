"""Evidence: rounds in, a certificate out."""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from policysieve.arrays import shown
from policysieve.checks import integer
from policysieve.errors import InvalidArgumentError
from policysieve.evidence.certificate import Certificate, Proof
from policysieve.evidence.comparing import (
    Comparison,
    capped_difference,
    chosen_among,
    compared,
    gain_over,
    times_to_gain,
)
from policysieve.evidence.estimates import ValueIntervals
from policysieve.evidence.events import check_comparable, check_log_fits, load_unit
from policysieve.evidence.guardrails import Guards
from policysieve.evidence.incumbents import Incumbent
from policysieve.evidence.outcomes import Outcomes
from policysieve.evidence.past import Past
from policysieve.evidence.retrospect import Retrospect, proof_in_retrospect
from policysieve.evidence.standing import BIN_EDGES, Standing
from policysieve.evidence.values import policy_interval, policy_intervals
from policysieve.evidence.verdicts import Guardrail
from policysieve.log import AnyLog, Log
from policysieve.log.returning import Met, first_rounds
from policysieve.policies import Answers, Policies, Slates
from policysieve.policies.union import check_joins, union_of
from policysieve.problem import Problem

__all__ = ["DENSE", "MEMORY_LIMIT", "Decider", "Evidence", "check_decider", "look_after"]

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.intp]

MEMORY_LIMIT = 1 << 30  # bytes of rounds, by default
_FIRST_LOOK = 20  # rounds
_LOOK = 1.05  # growth of the rounds between looks
_SAME = 1e-6  # relative difference of propensities that were written and read
DENSE = 1 << 22  # propensities that are worked with at once


class Decider(Protocol):
    """What evidence needs of an exploration."""

    @property
    def policies(self) -> Any:
        """The class that it was made for."""

    def propensities(self, contexts: Any, *, available: Any = None) -> Array:
        """Those of all actions at contexts, or at answers of the policies."""


def check_decider(exploration: Any) -> None:
    """Raise unless it is an exploration, or None."""
    if exploration is not None and not hasattr(exploration, "propensities"):
        raise InvalidArgumentError(
            f"exploration must be what decided the rounds, got {shown(exploration)}"
        )


class Evidence:
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
    def survivors(self) -> Numbers:
        """Numbers of the policies that were not eliminated when it last looked."""
        return self.standing.survivors

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
            then.take(log, answers, partial(_by_exploration, log, exploration, said))
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

    def certificate(self, *, pending: int = 0) -> Certificate:
        """What is proved now; `pending` rounds were left out because they have no answer yet."""
        standing, incumbent, guards = self._now()
        q, past, policies, leader = self.problem.unit, self._past, self.policies, standing.leader
        if incumbent is None:
            certified = self._holds_in_retrospect(standing)
            threshold = standing.cohorts.log_retrospect(leader)
        else:
            proof = incumbent.proof(policies)
            certified, threshold = proof.holds(q.epsilon), proof.log_threshold
        certified = certified or q.epsilon >= q.reward_cap
        low, high = (0.0, min(q.epsilon, q.reward_cap)) if certified else (q.epsilon, q.reward_cap)

        def find_bound() -> float:
            if incumbent is not None:
                return incumbent.smallest_epsilon(policies)
            return self._proof_in_retrospect(past, standing).smallest_epsilon(low, high)

        against = policies.against(q)
        least = self._least_difference(standing)
        eliminated = np.ones(self.policies.n_policies, dtype=np.bool_)
        eliminated[standing.survivors] = False
        return Certificate(
            leader=leader,
            certified=certified,
            eliminated=eliminated,
            rounds=self.rounds,
            pending=pending,
            log_threshold=threshold,
            method="capped",
            find_bound=find_bound,
            name=None if policies.names is None else policies.names[leader],
            against=None if against is None else policies.name_of(against),
            find_gain=partial(
                gain_over, policies, q, leader, least, standing.cohorts.leaders(leader)
            ),
            barred=None if guards is None else guards.out,
            cleared=guards is None or guards.clears(standing.leader, policies.n_policies),
        ).in_units(self.problem.scale)

    def proof(self) -> Proof:
        """The bets behind the certificate: those on the leader against each rival.

        Their epsilons are those of rewards in [0, 1].
        """
        standing, incumbent, _ = self._now()
        if incumbent is not None:
            return incumbent.proof(self.policies)
        return self._proof_in_retrospect(self._past, standing)

    def _holds_in_retrospect(self, standing: Standing) -> bool:
        """Whether all rounds prove the problem's epsilon of the leader of a standing."""
        return self._retrospect.after(self._past, standing, self.policies).holds

    def _proof_in_retrospect(self, past: Past, standing: Standing) -> Proof:
        """The bets on the leader of a standing in all rounds."""
        return proof_in_retrospect(past, standing, self.policies)

    def _least_difference(self, standing: Standing) -> Callable[[int, int, float], float]:
        """How lower limits on differences are found, from two policies and a level."""
        return partial(capped_difference, standing, self._past, self.survivors)

    def times_to_proof(self) -> float | None:
        """How many times the rounds so far it takes to certify the leader at the problem's epsilon.

        If bets go on as they did; a forecast, and nothing that is guaranteed. None if it takes more
        than a hundred times, or if rounds were forgotten.
        """
        standing, incumbent, _ = self._now()
        if incumbent is not None:
            return None
        return self._retrospect.times_to_proof(self._past, standing, self.policies)

    def times_to_gain(self) -> float | None:
        """The same to prove that the leader is better than the policy that runs today.

        None, too, if that one leads, or the problem names none.
        """
        standing, incumbent, _ = self._now()
        today = self.policies.against(self.problem)
        if incumbent is not None or today is None or today == standing.leader:
            return None
        return times_to_gain(standing, self._past, standing.leader, today)

    @property
    def forgets(self) -> bool:
        """Whether rounds took more memory than they may, so that they are forgotten."""
        return self._incumbent is not None

    def intervals(self) -> ValueIntervals:
        """Estimates of all policies, with limits that hold simultaneously and at any time.

        Those of eliminated policies are as they were then.
        """
        found = policy_intervals(self._now()[0], self._past)
        return replace(found, names=self.policies.names).in_units(self.problem.scale)

    def interval(self, policy: int | str) -> tuple[float, float, float]:
        """Estimate and limits of one policy, by number or name; the data may have chosen it.

        Those that `intervals` has for the survivors of the largest estimates.
        """
        number, scale = self.policies.number_of(policy), self.problem.scale
        value, lower, upper = policy_interval(self._now()[0], self._past, number)
        return scale.value(value), *scale.limits(lower, upper)

    def compare(
        self, first: int | str, second: int | str, *, named_beforehand: bool = False
    ) -> Comparison:
        """How much better one policy is than another, both by number or name, at any time.

        By bets on the difference, if both are in the race and no rounds were forgotten. Of an
        eliminated policy later rounds say nothing, so it is compared by limits on the two values,
        which are much wider (docs/maths.md, "Differences"); `keep` those that you will ask about.

        Parameters
        ----------
        first, second : int or str
        named_beforehand : bool
            Whether this pair was chosen before the rounds were seen, and is the only one: then the
            interval is narrower. By default all pairs hold at once, so the data may have chosen.

        Raises
        ------
        InvalidArgumentError
            If there is no such policy, or both are the same.
        """
        return self.compare_among(first, second, chosen_among(self.policies, named_beforehand))

    def compare_among(self, first: int | str, second: int | str, among: int) -> Comparison:
        """`compare` for a pair that the data may have chosen among so many policies."""
        standing = self._now()[0]
        cohorts, pairs = standing.cohorts, None
        if cohorts.additions and among > 2:
            numbers = (self.policies.number_of(policy) for policy in (first, second))
            pairs = cohorts.pairs(*numbers)
        return compared(
            self.policies,
            self.problem,
            first,
            second,
            estimate_of=lambda policy: standing.of_one(policy)[0],
            least=self._least_difference(standing),
            rounds=self.rounds,
            among=among,
            when="whenever you look",
            pairs=pairs,
        )

    def guardrails(self) -> tuple[Guardrail, ...]:
        """What is proved of the leader and each guardrail, whenever you look.

        Empty if there are none, or no outcome was told.
        """
        standing, _, guards = self._now()
        if guards is None or self.outcomes is None:
            return ()
        return guards.about(standing.leader, self._past, self.rounds, self.outcomes)

    def now(self) -> Self:
        """The same with all rounds looked at, for several questions."""
        then = copy(self)
        then.standing, then._incumbent, then._guards = self._now()
        return then

    def led_by(self, policy: int | str) -> Self:
        """The same with all rounds looked at, as if a survivor led them.

        Certificates in retrospect hold for every leader at once, so this one may be chosen, too. If
        rounds were forgotten there are none, and the leader stays who it is.

        Raises
        ------
        InvalidArgumentError
            If there is no such policy, or it was eliminated.
        """
        policy, then = self.policies.number_of(policy), self.now()
        if policy not in then.survivors:
            raise InvalidArgumentError(
                f"policy must be in the race to be said to lead, got {policy}, which was "
                "eliminated; keep it when the evidence is made"
            )
        if then._incumbent is None:
            then.standing = replace(then.standing, leader=policy)
        return then

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


def _by_exploration(log: Log, exploration: Decider, answers: Slates | None, rows: slice) -> Array:
    """Propensities of all actions, if those of the log are among them, else raise."""
    if answers is not None:
        found = exploration.propensities(answers.take(rows))
    elif log.available is None:
        found = exploration.propensities(log.contexts[rows])
    else:
        found = exploration.propensities(log.contexts[rows], available=log.available[rows])
    mine = np.take_along_axis(found, log.actions[rows].astype(np.intp), axis=1)
    wrong = ~np.isclose(mine, log.propensities[rows], rtol=_SAME, atol=0.0).all(axis=1)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise InvalidArgumentError(
            "propensities of the log must be those of the exploration that decided, got "
            f"{log.propensities[rows][row].tolist()} where it has {mine[row].tolist()}, in row "
            f"{rows.start + row}; if several explorations decided, log the propensities of all "
            "actions with each round"
        )
    return found
