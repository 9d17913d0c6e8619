"""The design of a class that cannot be listed, known by its marginals."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.checks import integer
from policysieve.errors import InvalidArgumentError
from policysieve.exploration.designs.base import Array
from policysieve.exploration.designs.mixture import MixedExploration
from policysieve.exploration.designs.parts import check_weights, uniform_slates
from policysieve.kernels.slates import draw_actions, look_up
from policysieve.policies.weights import UnlistedWeights, checked_marginals

__all__ = ["MarginalExploration"]

_BLOCK = 1 << 21  # probabilities held at once
_SLACK = 1e-6  # relative, of sums over rounds


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
        check_weights(self.weights, self.policies, UnlistedWeights)
        rounds = integer("rounds", self.rounds, low=1)
        waited = self.weights.rounds
        if not abs(waited - rounds) <= _SLACK * rounds:
            raise InvalidArgumentError(
                f"rounds must be those that the weights have waited for, {waited:g}, got {rounds}"
            )
        self.__dict__.update(rounds=rounds)

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
        return checked_marginals(self.weights.totals(answers) / self.rounds)

    def __repr__(self) -> str:
        return (
            f"MarginalExploration({self.policies!r}, mixing={self.mixing:.3g}, "
            f"variance_bound={self.variance_bound:.3g})"
        )
