"""How candidates stand, and what they have said, where that is kept by the shares of a class."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from policysieve.evidence.exchanged import Judged
from policysieve.evidence.held_past import HeldPast
from policysieve.evidence.past import Past
from policysieve.evidence.shares import Node, Shares
from policysieve.evidence.standing import Standing
from policysieve.policies.base import action_dtype

__all__ = ["DividedStanding", "Everywhere", "past_of", "slates_of"]

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class DividedStanding(Standing):
    """How candidates stand whose sums are with shares; `totals` has none of them. A value."""

    shares: Shares | None = None
    node: Node | None = None

    @classmethod
    def beginning(cls, shares: Shares) -> "DividedStanding":
        """Before any round."""
        start = Standing.first(shares.problem, shares.n_policies, np.empty(0, np.intp))
        fields = {**start.__dict__, "totals": start.totals[:0].copy()}
        return cls(**fields, shares=shares)

    @property
    def estimates(self) -> Array:
        """Doubly robust estimates of the survivors, which the shares are asked for."""
        return self._asked("estimates", 0) if self.node else np.zeros(len(self.survivors))

    @property
    def errors(self) -> Array:
        """Their standard errors."""
        return self._asked("errors", 1) if self.node else super().errors

    @property
    def sums(self) -> Array:
        """The seven sums of each policy, shape (7, n_policies)."""
        return self.gathered().sums

    def of_one(self, policy: int) -> tuple[float, Array, int]:
        """The estimate of a policy, its seven sums, and the rounds behind them."""
        mine = self.survivors[self.survivors == policy]
        return self._plain(mine, self._totals(mine)).of_one(policy)

    def gathered(self) -> Standing:
        """The same with the sums of all survivors."""
        return self._plain(self.survivors, self._totals(self.survivors))

    def judged_by(self, look: Callable[[], tuple[Node, dict[int, Judged]]], past: Past) -> Self:
        """How they stand after the rounds of the past, which the shares have judged."""
        node, said = look()
        new = len(past)
        cohorts = self.cohorts.after(new, past.cost(0) ** -0.5)
        best = max(said.values(), key=lambda one: one.score)  # of equals the first
        gone = self.gone
        for one in said.values():
            if len(one.left[0]):
                gone = gone.plus(*one.left)
        found = replace(
            self,
            rounds=self.rounds + new,
            survivors=node.survivors,
            cohorts=cohorts,
            gone=gone,
            leader=best.leader,
            node=node,
        )
        return replace(found, model=found._next_model(past, new))

    def _plain(self, survivors: Numbers, totals: Array) -> Standing:
        names = ("problem", "rounds", "cohorts", "gone", "leader", "model", "kept", "comparator")
        fields = {name: getattr(self, name) for name in names}
        return Standing(**fields, survivors=survivors, totals=totals)

    def _totals(self, some: Numbers) -> Array:
        """The sums of some survivors."""
        found = np.zeros((len(some), self.totals.shape[1]))
        if self.node is not None and len(some):
            assert self.shares is not None
            parts = self.shares.owners(some)
            given = {s: (self.node.key, "totals", some[rows]) for s, rows in parts.items()}
            for share, rows in self.shares.call("numbers", given, node=self.node)[0].items():
                found[parts[share]] = rows
        return found

    def _asked(self, what: str, place: int) -> Array:
        """The estimate or the standard error of each survivor, from the shares."""
        assert self.shares is not None
        assert self.node is not None
        fresh = list(self.node.fresh)  # which another thread may clear
        if fresh:
            return np.concatenate([one.scores[place] for one in fresh])
        parts = self.shares.owners(self.survivors)
        given = dict.fromkeys(parts, (self.node.key, what))
        said = self.shares.call("numbers", given, node=self.node)[0]
        return np.concatenate([said[share] for share in sorted(parts)])


class Everywhere(Past):
    """All rounds of a standing: what they say of survivors is asked of the shares."""

    def __init__(self, standing: DividedStanding) -> None:
        self._standing = standing

    def __len__(self) -> int:
        return self._standing.rounds

    def add_terms(
        self, totals: Array, leader: int, policies: Numbers, since: int, *rule: Any
    ) -> None:
        """As `Past.add_terms`, by the shares; their rule is the same but for the epsilons."""
        standing, new, epsilons = self._standing, len(self) - since, rule[3]
        assert standing.shares is not None
        assert standing.node is not None
        parts, node = standing.shares.owners(policies), standing.node
        slates = slates_of(standing, np.array([leader]), since)[:, 0]
        given = {
            share: (node.key, leader, slates, policies[rows], epsilons, new, totals[rows])
            for share, rows in parts.items()
        }
        for share, found in standing.shares.call("bet", given, node=node)[0].items():
            totals[parts[share]] = found


def slates_of(standing: DividedStanding, some: Numbers, since: int = 0) -> npt.NDArray[Any]:
    """What some survivors have said in the later rounds, shape (n, len(some), slate_size)."""
    shares, node = standing.shares, standing.node
    assert shares is not None
    assert node is not None
    problem, parts = standing.problem, shares.owners(some)
    shape = (standing.rounds - since, len(some), problem.slate_size)
    found = np.empty(shape, action_dtype(problem.n_actions))
    given = {share: (node.key, some[rows], since) for share, rows in parts.items()}
    for share, said in shares.call("columns", given, node=node)[0].items():
        found[:, parts[share]] = said
    return found


def past_of(standing: DividedStanding, policies: Any) -> Past:
    """All rounds of a standing with what some policies have said, of those that survive."""
    some = np.intersect1d(policies, standing.survivors)
    past = HeldPast.first(standing.problem, some)
    if standing.node is not None:
        said, start = slates_of(standing, some), 0
        for period in standing.node.periods:
            end = start + len(period.rounds)
            past, start = past.plus_period(period, said[start:end]), end
    return past
