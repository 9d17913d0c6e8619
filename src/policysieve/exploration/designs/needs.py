"""What the Sieve plays for an epoch: by need among what survivors would show, and by shares."""

from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.checks import number
from policysieve.errors import InvalidArgumentError
from policysieve.exploration.designs.base import Array, Exploration, frozen_array
from policysieve.exploration.designs.parts import alias_of, checked_numbers, checked_shares
from policysieve.kernels.slates import sieve_propensities, sieve_slates, smallest_propensities

__all__ = ["NeedExploration", "needs_of"]


@dataclass(frozen=True, eq=False)
class NeedExploration(Exploration):
    """With probability `mixing` actions by need, else the slate of a policy drawn by shares.

    By need: a slate of the actions that any survivor shows at the context, each by the largest need
    of a survivor that shows it (docs/maths.md, "The Sieve").

    Attributes
    ----------
    policies : Policies
    problem : Problem
    survivors : integer array of shape (n_survivors,)
        Policies whose actions are shown.
    need : float array of shape (n_survivors,)
        Positive weights.
    support : integer array
        Policies that may have a share, survivors all.
    shares : float array of the same shape
        They sum to one.
    mixing : float
    least : float array of shape (n_survivors,)
        Smallest propensity that an item of each survivor can have, at any context.
    """

    survivors: npt.NDArray[np.int32] = field(kw_only=True)
    need: Array = field(kw_only=True)
    support: npt.NDArray[np.int32] = field(kw_only=True)
    shares: Array = field(kw_only=True)
    mixing: float = field(kw_only=True)
    least: Array = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        survivors = checked_numbers("survivors", self.survivors, self.policies)
        need = frozen_array("need", self.need, np.float64, len(survivors))
        least = frozen_array("least", self.least, np.float64, len(survivors))
        support, shares = checked_shares(self.support, self.shares, self.policies)
        if not len(survivors) or need.min() <= 0:
            raise InvalidArgumentError("need must be positive for at least one survivor")
        if least.min() <= 0 or least.max() > 1 + 1e-9:
            raise InvalidArgumentError(
                f"least must lie in (0, 1], got {least.min():g} to {least.max():g}"
            )
        surviving = np.zeros(self.policies.n_policies, dtype=np.bool_)
        surviving[survivors] = True
        if not surviving[support].all():
            raise InvalidArgumentError("support must be made of survivors")
        fields: dict[str, Any] = {"survivors": survivors, "need": need, "least": least}
        fields |= {"support": support, "shares": shares}
        fields["mixing"] = number("mixing", self.mixing, above=0, below=1, closed=True)
        self.__dict__.update(fields)

    @property
    def draws_per_round(self) -> int:
        """A coin, the policy, the items."""
        return 3

    @cached_property
    def floor(self) -> float:
        """Smallest propensity that an item of a survivor can have."""
        return float(self.least.min())

    @cached_property
    def ranges(self) -> Array:
        """Largest importance-weighted reward of each policy."""
        ranges = np.full(self.policies.n_policies, self.problem.reward_cap / self.floor)
        ranges[self.survivors] = self.problem.reward_cap / self.least
        ranges.flags.writeable = False
        return ranges

    def remixed(self, mixing: float, least: Array) -> "NeedExploration":
        """The same needs and shares with another mixing, and the propensities that it bounds."""
        twin = copy(self)
        least.flags.writeable = False
        twin.__dict__.update(mixing=mixing, least=least)
        return twin

    def shown(self, answers: Any, actions: npt.NDArray[Any], mixing: float) -> Array:
        """Propensities of some items with another mixing; 0 where no survivor shows them."""
        out = np.empty(actions.shape)
        sieve_propensities(
            mixing,
            self.problem.n_actions,
            answers.table,
            answers.rows,
            self.survivors,
            self.need,
            self.support,
            self.shares,
            actions,
            out,
        )
        return out

    @cached_property
    def _alias(self) -> tuple[Array, npt.NDArray[np.int32]]:
        return alias_of(self.shares)

    def _choose(self, answers: Any, uniforms: Array) -> tuple[npt.NDArray[np.int32], Array]:
        slates = np.empty((len(answers), self.problem.slate_size), dtype=np.int32)
        propensities = np.empty(slates.shape)
        sieve_slates(
            uniforms,
            self.mixing,
            self.problem.n_actions,
            answers.table,
            answers.rows,
            self.survivors,
            self.need,
            self.support,
            self.shares,
            *self._alias,
            slates,
            propensities,
        )
        return slates, propensities

    def _propensities(self, answers: Any) -> Array:
        n, k = len(answers), self.problem.n_actions
        everything = np.broadcast_to(np.arange(k, dtype=np.int32), (n, k))
        shown = self.shown(answers, np.ascontiguousarray(everything), self.mixing)
        return np.minimum(shown, 1.0, out=shown)

    def __repr__(self) -> str:
        return (
            f"NeedExploration({len(self.survivors)} of {self.policies.n_policies} policies, "
            f"mixing={self.mixing:.3g})"
        )


def needs_of(
    policies: Any,
    problem: Any,
    *,
    survivors: npt.NDArray[np.intp],
    need: Array,
    p_hat: Array,
    mixings: Array,
    listed: bool,
) -> list[NeedExploration]:
    """Explorations that follow p_hat, made of survivors, and mix in their actions by need.

    One for each mixing. Propensities of what survivors show are bounded from below before a context
    is drawn: exactly if the contexts may be `listed`, else from needs and shares.
    """
    chosen = survivors.astype(np.int32)
    support = np.flatnonzero(p_hat).astype(np.int32)
    shares = p_hat[support] / p_hat[support].sum()
    if listed:
        least = np.empty((len(chosen), len(mixings)))
        slates = policies.answers(np.arange(policies.n_contexts))
        smallest_propensities(
            mixings,
            problem.n_actions,
            slates.table,
            slates.rows,
            chosen,
            need,
            support,
            shares,
            least,
        )
    else:
        total = min(problem.n_actions * need.max(), problem.slate_size * need.sum())
        included = problem.slate_size * need / total
        followed = p_hat[chosen] / p_hat[support].sum()
        least = mixings * included[:, None] + (1 - mixings) * followed[:, None]
    first = NeedExploration(
        policies,
        problem,
        survivors=chosen,
        need=need,
        support=support,
        shares=shares,
        mixing=float(mixings[0]),
        least=least[:, 0].copy(),
    )
    others = zip(mixings[1:].tolist(), least.T[1:], strict=True)
    return [first, *(first.remixed(mixing, column.copy()) for mixing, column in others)]
