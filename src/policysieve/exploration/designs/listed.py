"""Explore uniformly among what a short list of policies would show."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.exploration.designs.base import Array
from policysieve.exploration.designs.mixture import MixedExploration
from policysieve.exploration.designs.parts import checked_numbers, spread
from policysieve.kernels.slates import list_slates

__all__ = ["ListExploration"]


@dataclass(frozen=True, eq=False)
class ListExploration(MixedExploration):
    """With probability `mixing` a uniform slate, else a uniform slate of what a list would show.

    A(x) is the set of items that listed policies show at x. Item j is shown with propensity
    W(x, j) = mixing m/K + (1-mixing) m/|A(x)| 1[j in A(x)] (docs/maths.md, "List by multiplicative
    weights"). For an empty list all slates are uniform.

    Attributes
    ----------
    listed : integer array
        The policies of the list, in the order of their draws.
    """

    listed: npt.NDArray[np.int32] = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        listed = checked_numbers("listed", self.listed, self.policies)
        object.__setattr__(self, "listed", listed)

    def _shown(self, answers: Any) -> npt.NDArray[Any]:
        """Slates of the list, shape (n, len(listed), m)."""
        return np.asarray(answers.table[answers.rows[:, None], self.listed[None, :]])

    def _choose(self, answers: Any, uniforms: Array) -> tuple[npt.NDArray[np.int32], Array]:
        slates = np.empty((len(answers), self.problem.slate_size), dtype=np.int32)
        propensities = np.empty(slates.shape)
        shown, k, available = self._shown(answers), self.problem.n_actions, answers.available
        if available is None:
            list_slates(uniforms[:, 1:], self.mixing, k, shown, slates, propensities)
            return slates, propensities
        list_slates(uniforms[:, 1:], 0.0, k, shown, slates, propensities)
        evenly = (uniforms[:, 1] < self.mixing) | (not len(self.listed))
        spread(slates, evenly, uniforms[:, 2:], available)
        return slates, np.take_along_axis(self._propensities(answers), slates, axis=1)

    def _marginals(self, answers: Any) -> Array:
        found = np.zeros((len(answers), self.problem.n_actions))
        if not len(self.listed):
            found[:] = 1.0 if answers.available is None else answers.available.dense()
        found[np.arange(len(answers))[:, None, None], self._shown(answers)] = 1.0
        found *= self.problem.slate_size / found.sum(axis=1, keepdims=True)
        return found

    def __repr__(self) -> str:
        return (
            f"ListExploration({len(self.listed)} of {self.policies.n_policies} policies, "
            f"mixing={self.mixing:.3g})"
        )
