"""The Sieve: one loop that explores, eliminates, redesigns, certifies and stops."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from policysieve.checks import integer, number
from policysieve.errors import InvalidArgumentError
from policysieve.evidence import Evidence, ValueIntervals, rewarded_events
from policysieve.evidence.record import Block, merge_blocks
from policysieve.exploration.base import Explorer
from policysieve.exploration.decisions import Recommendation
from policysieve.exploration.hedge import AveragedHedge, HedgeSettings
from policysieve.exploration.ledger import Origin
from policysieve.kernels.pairs import add_differences
from policysieve.kernels.sieve import choices, sieve_slates
from policysieve.kernels.subsets import alias_table, shown_marginals
from policysieve.log import Log
from policysieve.policies import Policies
from policysieve.problem import Problem

__all__ = ["Sieve"]

Goal = Literal["certify", "best"]
Array = npt.NDArray[np.float64]

_MIXINGS: dict[str, tuple[float, ...]] = {"certify": (1.0, 0.75, 0.5, 0.35, 0.25), "best": (0.1,)}
_EPOCH = 1.3  # growth of the rounds between redesigns
_LOOK = 1.05  # and between looks at the evidence
_STEP = 0.5  # of Hedge, as a share of the largest that is stable


@dataclass(frozen=True, eq=False)
class _Design:
    """What is played for an epoch, fixed before its contexts are seen."""

    survivors: npt.NDArray[np.int32]
    support: npt.NDArray[np.int32]
    shares: Array
    accept: Array
    alias: npt.NDArray[np.int32]
    mixing: float
    floor: float
    ranges: Array


class Sieve(Explorer):
    """Explore by the low-variance principle, and let go of what is proved to be no better.

    The exploration stays fixed for an epoch: with some probability, the mixing, a uniform slate of
    the actions that any surviving policy would show at the context, else the slate of a policy
    drawn from a design. When the rounds have grown by a factor, the survivors get a new design,
    made by Hedge from all rewarded rounds so far, and the mixing that promises the earliest
    certificate (docs/maths.md, "The Sieve"). A betting certificate eliminates policies on the way.
    Exploration is always fixed before the contexts it is used on, so certificates are valid at any
    time.

    Parameters
    ----------
    policies, problem, rng
        As for every learner; at least two policies.
    goal : {"certify", "best"}
        Fewest rounds to a certificate, or the best policy for a given number of rounds.
        Certificates want more uniform exploration, because the smallest propensity limits what one
        round can prove; picking the best wants little of it.
    rounds : int, optional
        Rounds after which to stop, certified or not. Without them a Sieve for the best never stops
        by itself.
    mixing : float, optional
        Share of uniform exploration after the first epoch. By default chosen at each redesign to
        certify, and 0.1 for the best.
    """

    def __init__(
        self,
        policies: Policies,
        problem: Problem,
        *,
        goal: Goal = "certify",
        rounds: int | None = None,
        mixing: float | None = None,
        rng: Any = None,
    ) -> None:
        super().__init__(policies, problem, rng=rng)
        if goal not in get_args(Goal):
            raise InvalidArgumentError(f"goal must be one of {get_args(Goal)}, got {goal!r}")
        self.goal = goal
        self.max_rounds = None if rounds is None else integer("rounds", rounds, low=1)
        self._mixings = _MIXINGS[goal]
        if mixing is not None:
            self._mixings = (number("mixing", mixing, above=0, below=1, closed=True),)
        self.evidence = Evidence(policies, problem)
        self._certificate = self.evidence.certificate()
        self._design = self._first_design()
        self._designs: dict[int, _Design] = {}  # by the number of the batch that was asked with it
        self._next_epoch = max(50, 2 * problem.n_actions // problem.slate_size)
        self._next_look = self._next_epoch

    @property
    def finished(self) -> bool:
        """Whether epsilon is certified, or the rounds are used up; for "best" only the latter."""
        if self.max_rounds is not None and self.rounds >= self.max_rounds:
            return True
        return self._certificate.certified and self.goal == "certify"

    @property
    def ask_limit(self) -> int | None:
        """Rounds up to the next look at the evidence, which wants their answers, or to the end."""
        left = self._next_look - self.rounds - self._ledger.unlearnt
        if self.max_rounds is not None:
            left = min(left, self.max_rounds - self.rounds - self._ledger.unlearnt)
        return max(0, left)

    @property
    def mixing(self) -> float:
        """Share of uniform exploration in the current epoch."""
        return self._design.mixing

    @property
    def survivors(self) -> npt.NDArray[np.intp]:
        """Numbers of the policies that can still be the best."""
        return self.evidence.survivors

    def recommend(self) -> Recommendation:
        """The surviving policy with the largest estimate, and the latest certificate about it."""
        proof = self.evidence.certificate(pending=self.pending)
        intervals = self.intervals()
        bound = proof.suboptimality_bound
        sure = f"with probability at least {1 - self.problem.delta:g}"
        return Recommendation(
            policy=proof.leader,
            value=float(intervals.values[proof.leader]),
            lower=float(intervals.lower[proof.leader]),
            upper=float(intervals.upper[proof.leader]),
            suboptimality_bound=bound,
            certified=proof.certified,
            rounds=self.rounds,
            guarantee=f"Within {bound:.3g} of the best policy {sure}, whenever you look.",
        )

    def intervals(self) -> ValueIntervals:
        """Estimates and limits that hold at any time; those of eliminated policies are too low."""
        return self.evidence.intervals()

    @property
    def _draws_per_round(self) -> int:
        return self.problem.slate_size + 2

    def _choose(self, contexts: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int32], Array]:
        n, design = len(contexts), self._design
        table, rows = self.policies.action_rows(contexts)
        slates = np.empty((n, self.problem.slate_size), dtype=np.int32)
        propensities = np.empty(slates.shape)
        sieve_slates(
            self._uniforms(n),
            design.mixing,
            self.problem.n_actions,
            table,
            rows,
            design.survivors,
            design.support,
            design.shares,
            design.accept,
            design.alias,
            slates,
            propensities,
        )
        self._designs[self._ledger.batches_issued] = design
        return slates, propensities

    def _learn(self, rounds: Log, origin: Origin) -> None:
        edges = np.flatnonzero(np.diff(origin.batches)) + 1
        if len(edges):
            rewarded_events(rounds, self.policies)  # a policy that fails must do so before any part
        for start, end in zip([0, *edges], [*edges, len(rounds)], strict=True):
            design = self._designs[int(origin.batches[start])]
            self.evidence.add(rounds[start:end], floor=design.floor, ranges=design.ranges)
        for batch in [b for b in self._designs if b < self._ledger.oldest_batch]:
            del self._designs[batch]
        n = self.evidence.rounds
        if n >= self._next_look:
            self._certificate = self.evidence.certificate()
            self._next_look = int(_LOOK * n) + 1
        if n >= self._next_epoch:
            self._design = self._redesign()
            self._next_epoch = int(_EPOCH * n) + 1

    def _first_design(self) -> _Design:
        return self._make(np.full(self.policies.n_policies, 1 / self.policies.n_policies), 1.0)

    def _redesign(self) -> _Design:
        """Hedge among the survivors on all rewarded rounds, weighted by their propensities."""
        blocks = merge_blocks(self.evidence.record.blocks)
        mixing = float(np.mean(self._mixings))
        largest = max(block.largest for block in blocks) / mixing
        hedge = AveragedHedge(
            HedgeSettings(
                n_policies=self.policies.n_policies,
                n_actions=self.problem.n_actions,
                slate_size=self.problem.slate_size,
                mixing=mixing,
                learning_rate=_STEP / largest,
                horizon=self.evidence.rounds,
            ),
            among=self.survivors,
        )
        for block in blocks:
            hedge.add(block.events)
        p_hat = hedge.design()
        designs = [self._make(p_hat, mixing) for mixing in self._mixings]
        if len(designs) == 1:
            return designs[0]
        return min(designs, key=lambda design: self._rounds_needed(design, blocks))

    def _rounds_needed(self, design: _Design, blocks: list[Block]) -> float:
        """Rounds that this design would take to certify, by the estimates so far, up to a factor.

        A rival at distance gap takes about 2 V/(eps + gap)^2 + B/(eps + gap): V the second moment
        of Z = R(leader) - R(rival) under the design, reweighted from past rewards, B the rival's
        range.
        """
        leader = self._certificate.leader
        n_policies, n_actions = self.policies.n_policies, self.problem.n_actions
        total, square = np.zeros(n_policies), np.zeros(n_policies)
        for block in blocks:
            e = block.events
            shown = np.empty(e.actions.shape)
            covered = np.zeros(len(e.rows))
            choices(e.table, e.rows, design.survivors, n_actions, covered)
            shown_marginals(
                e.table, e.rows, design.support, design.shares, n_actions, e.actions, shown
            )
            w = design.mixing * self.problem.slate_size / covered[:, None]
            w = w + (1 - design.mixing) * shown
            gains = e.rewards / np.sqrt(e.propensities * w)
            add_differences(e.table, e.rows, e.actions, gains, n_actions, leader, total, square)
        rivals = self.survivors[self.survivors != leader]
        if not len(rivals):
            return 0.0
        values = self.evidence.estimates.values
        room = self.problem.epsilon + np.maximum(values[leader] - values[rivals], 0.0)
        second = square[rivals] / self.evidence.rounds
        return float((2 * second / room**2 + design.ranges[rivals] / room).max())

    def _make(self, p_hat: Array, mixing: float) -> _Design:
        q = self.problem
        survivors = self.survivors.astype(np.int32)
        support = np.flatnonzero(p_hat).astype(np.int32)
        shares = p_hat[support] / p_hat[support].sum()
        accept, alias = np.empty(len(shares)), np.empty(len(shares), np.int32)
        alias_table(shares, accept, alias)
        floor = mixing * q.slate_size / self._most_choices(survivors)
        ranges = q.reward_cap / (floor + (1 - mixing) * p_hat)
        return _Design(survivors, support, shares, accept, alias, mixing, floor, ranges)

    def _most_choices(self, survivors: npt.NDArray[np.int32]) -> int:
        """Bound on the actions that survivors show at a context, known before it is drawn."""
        q = self.problem
        bound = min(q.n_actions, q.slate_size * len(survivors))
        n_contexts = self.policies.n_contexts
        if n_contexts is None or len(survivors) < 2:
            return bound
        table, rows = self.policies.action_rows(np.arange(n_contexts))
        sizes = np.empty(n_contexts)
        choices(table, rows, survivors, q.n_actions, sizes)
        return int(sizes.max())
