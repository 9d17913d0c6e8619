"""The design of a class that cannot be listed, known by its marginals."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.checks import integer
from policysieve.exploration.designs.base import Array
from policysieve.exploration.designs.mixture import MixedExploration
from policysieve.exploration.designs.parts import uniform_slates
from policysieve.kernels.slates import draw_actions, look_up
from policysieve.policies.weights import UnlistedWeights

__all__ = ["MarginalExploration"]

_BLOCK = 1 << 21  # probabilities held at once


@dataclass(frozen=True, eq=False)
class MarginalExploration(MixedExploration):
    """With probability `mixing` a uniform action, else one drawn from Q(x, .) of p_hat.

    p_hat is the average of Hedge's weights over the rounds; drawing a policy from it and doing what
    that does is the same as drawing from its marginal Q(x, .), which is all that can be computed
    (docs/maths.md, "Classes without end"). Single actions only.

    Attributes
    ----------
    policies : ImplicitPolicies
    problem : Problem
    weights : UnlistedWeights
        After all rounds.
    rounds : int
        How many the weights have waited for.
    mixing, variance_bound : float
    """

    weights: UnlistedWeights = field(kw_only=True)
    rounds: int = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        integer("rounds", self.rounds, low=1)

    def _choose(self, answers: Any, uniforms: Array) -> tuple[npt.NDArray[np.int32], Array]:
        n, k = len(answers), self.problem.n_actions
        actions, shown = np.empty((n, 1), dtype=np.int32), np.empty((n, 1))
        block = max(1, _BLOCK // k)
        for start in range(0, n, block):
            part = slice(start, start + block)
            design = self._marginals(answers.take(part))
            rows = np.arange(len(design))
            draw_actions(design, rows, uniforms[part, 1], actions[part])
            evenly = uniform_slates(uniforms[part, 2:], k)
            uniform = uniforms[part, 0] < self.mixing
            actions[part][uniform] = evenly[uniform]
            look_up(design, rows, actions[part], shown[part])
        return actions, self._mixed(shown)

    def _marginals(self, answers: Any) -> Array:
        return self.weights.totals(answers) / self.rounds

    def __repr__(self) -> str:
        return (
            f"MarginalExploration({self.policies!r}, mixing={self.mixing:.3g}, "
            f"variance_bound={self.variance_bound:.3g})"
        )
