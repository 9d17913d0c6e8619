"""Learners that let go of policies on the way: epochs, looks at the evidence, elimination."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.checks import integer
from policysieve.evidence import Evidence, ValueIntervals, rewarded_events
from policysieve.exploration.base import Explorer
from policysieve.exploration.decisions import Recommendation
from policysieve.exploration.ledger import Origin
from policysieve.kernels.sieve import sieve_slates, smallest_propensities
from policysieve.kernels.subsets import alias_table
from policysieve.log import Log
from policysieve.policies import Policies
from policysieve.problem import Problem

__all__ = ["Array", "EpochDesign", "SiftingExplorer"]

Array = npt.NDArray[np.float64]

_LOOK = 1.05  # growth of the rounds between looks at the evidence
_FIRST_EPOCH = 20  # rounds
_CHEAP = 2_000_000  # slates that may be looked through without further thought


@dataclass(frozen=True, eq=False)
class EpochDesign:
    """What is played for an epoch, fixed before its contexts are seen.

    With probability `mixing` a slate of the actions that any survivor shows at the context, each
    by the largest `need` of a survivor that shows it, else the slate of a policy drawn from
    `support` by `shares`.
    """

    survivors: npt.NDArray[np.int32]
    need: Array
    support: npt.NDArray[np.int32]
    shares: Array
    accept: Array
    alias: npt.NDArray[np.int32]
    mixing: float
    floor: float
    ranges: Array


class SiftingExplorer(Explorer):
    """Play a fixed design for an epoch, look at the evidence, eliminate, and design anew.

    A betting certificate eliminates policies that are proved to be no better than a leader, and
    exploration keeps to what the others would show (docs/maths.md, "Elimination"). Designs are
    fixed before the contexts they are used on, so certificates are valid at any time.

    A subclass implements `_redesign`.

    Parameters
    ----------
    policies, problem, rng
        As for every learner; at least two policies.
    rounds : int or None
        Rounds after which to stop, certified or not.
    first_mixing : float
        Share of uniform exploration in the first epoch; the rest follows all policies alike.
    growth : float
        Factor by which the rounds grow from one design to the next.
    """

    def __init__(
        self,
        policies: Policies,
        problem: Problem,
        *,
        rounds: int | None,
        first_mixing: float,
        growth: float,
        rng: Any,
    ) -> None:
        super().__init__(policies, problem, rng=rng)
        self.max_rounds = None if rounds is None else integer("rounds", rounds, low=1)
        self.evidence = Evidence(policies, problem)
        self._certificate = self.evidence.certificate()
        everyone = np.full(policies.n_policies, 1 / policies.n_policies)
        (self._design,) = self._make(everyone, [first_mixing])
        self._designs: dict[int, EpochDesign] = {}  # by the batch that was asked with it
        self._growth = growth
        self._next_epoch = self._next_look = _FIRST_EPOCH

    @property
    def finished(self) -> bool:
        """Whether epsilon is certified, or the rounds are used up."""
        return self._certificate.certified or self._used_up

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

    @abstractmethod
    def _redesign(self) -> EpochDesign:
        """What to play in the next epoch, from everything learnt so far."""

    @property
    def _used_up(self) -> bool:
        return self.max_rounds is not None and self.rounds >= self.max_rounds

    @property
    def _draws_per_round(self) -> int:
        return 3

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
            design.need,
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
        n = self.evidence.rounds + len(rounds)
        # Only what may fail after a part of it is done needs a way back.
        risky = len(edges) > 0 or n >= min(self._next_look, self._next_epoch)
        before = (self.evidence.mark(), self._certificate) if risky else None
        try:
            for start, end in zip([0, *edges], [*edges, len(rounds)], strict=True):
                design = self._designs[int(origin.batches[start])]
                self.evidence.add(rounds[start:end], floor=design.floor, ranges=design.ranges)
            if n >= self._next_look:
                self._certificate = self.evidence.certificate()
            if n >= self._next_epoch:
                self._design = self._redesign()
        except BaseException:  # rounds that were not learnt must not count twice later
            if before is not None:
                mark, self._certificate = before
                self.evidence.return_to(mark)
            raise
        if n >= self._next_look:
            self._next_look = int(_LOOK * n) + 1
        if n >= self._next_epoch:
            self._next_epoch = int(self._growth * n) + 1
        for batch in [b for b in self._designs if b < self._ledger.oldest_batch]:
            del self._designs[batch]

    def _make(
        self, p_hat: Array, mixings: Sequence[float], need: Array | None = None
    ) -> list[EpochDesign]:
        """Designs that follow p_hat, made of survivors, and mix in their actions by need.

        One for each mixing.
        """
        q = self.problem
        survivors = self.survivors.astype(np.int32)
        need = np.ones(len(survivors)) if need is None else need
        support = np.flatnonzero(p_hat).astype(np.int32)
        shares = p_hat[support] / p_hat[support].sum()
        accept, alias = np.empty(len(shares)), np.empty(len(shares), np.int32)
        alias_table(shares, accept, alias)
        smallest = self._smallest(survivors, need, support, shares, np.array(mixings))
        designs = []
        for mixing, least in zip(mixings, smallest.T, strict=True):
            floor = float(least.min())
            ranges = np.full(self.policies.n_policies, q.reward_cap / floor)
            ranges[survivors] = q.reward_cap / least
            designs.append(
                EpochDesign(survivors, need, support, shares, accept, alias, mixing, floor, ranges)
            )
        return designs

    def _smallest(
        self,
        survivors: npt.NDArray[np.int32],
        need: Array,
        support: npt.NDArray[np.int32],
        shares: Array,
        mixings: Array,
    ) -> Array:
        """Bounds from below on the propensities of what each survivor shows, at any context.

        One column for each mixing. They are known before a context is drawn: exactly if the
        contexts can be listed at a cost that the rounds so far have had as well, else from needs.
        """
        q, n_contexts = self.problem, self.policies.n_contexts
        out = np.empty((len(survivors), len(mixings)))
        if n_contexts is not None and (
            n_contexts <= self.evidence.rounds or n_contexts * len(survivors) <= _CHEAP
        ):
            table, rows = self.policies.action_rows(np.arange(n_contexts))
            smallest_propensities(
                mixings, q.n_actions, table, rows, survivors, need, support, shares, out
            )
            return out
        total = min(q.n_actions * need.max(), q.slate_size * need.sum())
        followed = np.zeros(self.policies.n_policies)
        followed[support] = shares
        included = q.slate_size * need / total
        return np.asarray(
            mixings * included[:, None] + (1 - mixings) * followed[survivors][:, None]
        )
