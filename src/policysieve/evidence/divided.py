"""Evidence whose wealth and past are with the shares of a class."""

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from policysieve.availability import Available
from policysieve.columns import Columns
from policysieve.evidence.certificate import Proof
from policysieve.evidence.comparing import capped_difference
from policysieve.evidence.divided_answers import DividedAnswers, new_key
from policysieve.evidence.divided_standing import (
    DividedStanding,
    Everywhere,
    past_of,
    slates_of,
)
from policysieve.evidence.estimates import ValueIntervals
from policysieve.evidence.evidence import DENSE, Evidence, look_after
from policysieve.evidence.exchanged import Judged, Period, Sums, Weights
from policysieve.evidence.guardrails import Guards
from policysieve.evidence.held_past import Shape
from policysieve.evidence.incumbents import Incumbent
from policysieve.evidence.past import Model, Past
from policysieve.evidence.retrospect import FEW, Retrospect, log_wealth_in_retrospect
from policysieve.evidence.shares import Node, Shares
from policysieve.evidence.standing import BIN_EDGES
from policysieve.evidence.values import best_survivors, policy_interval, policy_intervals
from policysieve.kernels.listing import list_summed
from policysieve.log import Log
from policysieve.policies import Policies, Slates
from policysieve.policies.base import action_dtype
from policysieve.problem import Problem

__all__ = ["DividedEvidence"]

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.intp]


class _Recent(Past):
    """The rounds since the last look, without answers, and the tally of all rounds."""

    def plus_summed(self, rounds: Log, sums: Sums, propensities: Array, model: Model) -> Self:
        """These, and rounds that came next, by the sums of the model's votes."""
        most, votes = int(sums.sizes.sum()), (sums.sizes, sums.named, sums.shares)
        return self._listed(list_summed, votes, most, rounds, propensities, model)

    def period(self, rounds: Log, leader: int, slates: npt.NDArray[Any], scale: float) -> Period:
        """All of them, as shares are told of them."""
        (offsets,), costs = self._offsets.arrays, self._rounds.arrays[3]
        items, w, means = self._lists.arrays
        return Period(rounds, (offsets, items, w, means), costs, scale, leader, slates)


class DividedEvidence(Evidence):
    """`Evidence` on a class in shares, each of which keeps the wealth and the past of its policies.

    Shares eliminate by themselves. Here are the rounds, with what all shares need to know of them,
    and for each survivor its number and vote. Everything is found as `Evidence` finds it: what is
    one policy's alone depends on no other, and votes are summed one share after the other, in the
    order of the policies. So all numbers are the same, to the last bit.

    Parameters
    ----------
    policies : Policies
        With `holders`.
    problem : Problem
        That names no policy that runs today, and declares no outcomes.
    """

    standing: DividedStanding
    _past: _Recent
    _log: Log | None  # the rounds since the last look,
    _said: DividedAnswers | None  # what was said there,
    _led: Columns  # and what the leader said

    def __init__(self, policies: Policies, problem: Problem) -> None:
        super().__init__(policies, problem)
        self.shares, self._owner = Shares(policies, problem.unit), _Owner()
        self.shares.released_with(self._owner, self._owner.key)
        self.standing = DividedStanding.beginning(self.shares)
        self._past = _Recent(Shape.of(policies), len(BIN_EDGES) + 1)  # type: ignore[arg-type]
        self._now_found: tuple[int, DividedStanding] | None = None
        self._verdicts: dict[tuple[Any, int], bool] = {}
        self._forget_recent()
        del self.__dict__["at_look"]
        self.at_look = copy(self)

    def _forget_recent(self) -> None:
        nothing = np.empty((0, self.problem.slate_size), action_dtype(self.problem.n_actions))
        self._log, self._said, self._led = None, None, Columns(nothing)
        self._past = self._past.last(0)

    @property
    def nbytes(self) -> int:
        """Memory that is kept here from look to look: for rounds, and for each policy."""
        found, node = self._past.nbytes + self.standing.nbytes, self.standing.node
        if node is None:
            return found
        fresh = sum(one.scores.nbytes + one.slates.nbytes for one in list(node.fresh))
        return found + fresh + sum(one.nbytes for one in node.periods)

    def answers_at(
        self, contexts: Any, exploration: Any, available: Available | None, uniforms: Array
    ) -> DividedAnswers:
        """Ask the survivors of an exploration; what they say is kept by the shares."""
        leader, drawn = self.standing.leader, exploration.voters(uniforms)
        return self.shares.asked(contexts, available, exploration.weighed, leader, drawn)

    def take(self, rounds: Log, answers: Any, propensities: Callable[[slice], Array]) -> None:
        """`add` for rounds that are known to keep its rules."""
        then, start = copy(self), 0
        if isinstance(answers, Slates):
            answers = self.shares.pushed(answers, self.survivors)
        rounds = rounds.without_units()
        size = max(1, DENSE // self.policies.n_actions)
        while start < len(rounds):
            end = min(len(rounds), start + size, start + then.next_look - then.rounds)
            rows = slice(start, end)
            then._plus(rounds[rows], answers.take(rows), propensities(rows))
            then.rounds += end - start
            if then.rounds == then.next_look:
                then._look(own=False)
            start = end
        self.__dict__.update(then.__dict__)

    def _plus(self, rounds: Log, said: DividedAnswers, propensities: Array) -> None:
        """Take in rounds before the next look."""
        model, leader = self.standing.model, self.standing.leader
        if self.standing.node is not None:
            self.standing.node.fresh.clear()  # what it is from now on shares know
        sums = said.summed(Weights(model.voters, None, model.votes))
        self._past = self._past.plus_summed(rounds, sums, propensities, model)
        self._led = self._led.plus(said.slates_of(leader).astype(self._led.arrays[0].dtype))
        self._log = rounds.copy() if self._log is None else self._log.plus(rounds)
        self._said = said if self._said is None else self._said.plus(said)

    def _now(self, own: bool = False) -> tuple[DividedStanding, Incumbent | None, Guards | None]:
        """How things stand after all rounds, as a look would find them."""
        standing = self.standing
        if standing.rounds < self.rounds:
            if self._now_found is None or self._now_found[0] != self.rounds:
                self._now_found = self.rounds, standing.judged_by(self._judge, self._past)
            standing = self._now_found[1]
        return standing, None, None

    def _judge(self) -> tuple[Node, dict[int, Judged]]:
        """Let all shares judge the rounds since the last look."""
        standing, log, said, shares = self.standing, self._log, self._said, self.shares
        assert log is not None
        assert said is not None
        given = log, standing.leader, self._led.arrays[0], standing.model.scale
        pieces = ((said.batches[key].said, rows) for key, rows in said.sources)
        known = tuple((len(rows), one and one.take(rows)) for one, rows in pieces)
        period, before = self._past.period(*given)._replace(pieces=known), standing.node
        key = (self._owner.key, new_key())
        parts = shares.owners(standing.survivors)
        sent, sources = period.sent(), said.sources
        found, _ = shares.call(
            "look",
            {
                share: (before and before.key, key, shares.start(share), sent, sources)
                for share in parts
            },
            batches=said.batches,
            node=before,
        )
        left = [one.left[0] for one in found.values()]
        survivors = np.setdiff1d(standing.survivors, np.concatenate(left), assume_unique=True)
        periods = (*(() if before is None else before.periods), period)
        judged = dict(sorted(found.items()))
        return Node(key, before and before.key, survivors, periods, [*judged.values()]), judged

    def _look_at(self, standing: Any, incumbent: Incumbent | None, guards: Guards | None) -> None:
        self.standing = standing
        self._verdicts = {}
        self._forget_recent()
        self.next_look = look_after(self.rounds)
        self.__dict__.pop("at_look", None)
        self.at_look = copy(self)

    def _holds_in_retrospect(self, standing: Any) -> bool:
        node, leader = standing.node, standing.leader
        if node is None:
            return not len(standing.all_rivals(self.policies))
        if (node.key, leader) not in self._verdicts:
            parts = self.shares.owners(standing.survivors)
            same = standing.survivors[self.policies.same_as(leader, standing.survivors)]
            slates = self._slates_of_leader(standing)
            given = dict.fromkeys(parts, (node.key, node.before, leader, slates, same))
            found, _ = self.shares.call("holds", given, node=node)
            self._verdicts = {(node.key, leader): all(found.values())}
        return self._verdicts[node.key, leader]

    def _slates_of_leader(self, standing: DividedStanding) -> npt.NDArray[Any]:
        """What the leader said in all rounds, shape (n, slate_size)."""
        assert standing.node is not None
        for one in list(standing.node.fresh):
            if one.leader == standing.leader:
                return one.slates
        return slates_of(standing, np.array([standing.leader]))[:, 0]

    def _proof_in_retrospect(self, past: Past, standing: Any) -> Proof:
        cohorts, leader = standing.cohorts, standing.leader

        def log_wealth(rivals: Numbers, epsilons: Array) -> Array:
            few = len(rivals) <= FEW or standing.node is None
            rounds = past_of(standing, [*rivals, leader]) if few else Everywhere(standing)
            return log_wealth_in_retrospect(cohorts, rounds, leader, rivals, epsilons)

        return Proof(standing.all_rivals(self.policies), cohorts.log_retrospect(leader), log_wealth)

    def _least_difference(self, standing: Any) -> Callable[[int, int, float], float]:
        kept = self.survivors

        def least(first: int, second: int, log_term: float) -> float:
            past = past_of(standing, [first, second])
            return capped_difference(standing, past, kept, first, second, log_term)

        return least

    def times_to_proof(self) -> float | None:
        """As `Evidence.times_to_proof`."""
        standing, cohorts = self._now()[0], self.standing.cohorts
        if standing.node is None:
            return super().times_to_proof()
        bets = Retrospect.first(cohorts, standing.leader)
        return bets.times_to_proof(Everywhere(standing), standing, self.policies)

    def intervals(self) -> ValueIntervals:
        """As `Evidence.intervals`."""
        standing = self._now()[0]
        gathered, past = standing.gathered(), past_of(standing, best_survivors(standing))
        found = policy_intervals(gathered, past)
        return replace(found, names=self.policies.names).in_units(self.problem.scale)

    def interval(self, policy: int | str) -> tuple[float, float, float]:
        """As `Evidence.interval`."""
        number, scale = self.policies.number_of(policy), self.problem.scale
        standing = self._now()[0]
        found = policy_interval(standing, past_of(standing, [number]), number)
        return scale.value(found[0]), *scale.limits(*found[1:])


class _Owner:
    """Whose states the shares keep, as long as it lives."""

    def __init__(self) -> None:
        self.key = new_key()
