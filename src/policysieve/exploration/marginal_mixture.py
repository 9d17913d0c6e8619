"""The exploration of a class that cannot be listed: its design is known by its marginals."""

from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.exploration.mixture import MixedExploration
from policysieve.kernels.subsets import look_up, uniform_subsets
from policysieve.kernels.weights import draw_actions
from policysieve.policies import ClassWeights, ImplicitPolicies
from policysieve.problem import Problem

__all__ = ["MarginalExploration"]

_BLOCK = 1 << 21  # probabilities held at once


class MarginalExploration(MixedExploration):
    """With probability `mixing` a uniform action, else one drawn from Q(x, .) of p_hat.

    p_hat is the average of Hedge's weights over the rounds; drawing a policy from it and doing what
    that does is the same as drawing from its marginal Q(x, .), which is all that can be computed
    (docs/maths.md, "Classes without end"). Single actions only.

    Parameters
    ----------
    policies, problem
    weights : ClassWeights
        After all rounds.
    rounds : int
        How many the weights have waited for.
    mixing, variance_bound : float
    rng : seed or numpy Generator
    """

    def __init__(
        self,
        policies: ImplicitPolicies,
        problem: Problem,
        *,
        weights: ClassWeights,
        rounds: int,
        mixing: float,
        variance_bound: float,
        rng: Any = None,
    ) -> None:
        super().__init__(policies, problem, mixing=mixing, variance_bound=variance_bound, rng=rng)
        self._weights = weights
        self._rounds = rounds

    def propensities(self, contexts: Any) -> npt.NDArray[np.float64]:
        """W(x, a) of every action at the contexts, shape (n, n_actions); rows sum to one."""
        return self._mixed(self._marginals(self.policies.check_contexts(contexts)))

    def choose(
        self, contexts: npt.NDArray[Any], uniforms: npt.NDArray[np.float64]
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]:
        """Actions and propensities at checked contexts, from (n, 3) uniforms."""
        n, k = len(contexts), self.problem.n_actions
        actions, shown = np.empty((n, 1), dtype=np.int32), np.empty((n, 1))
        block = max(1, _BLOCK // k)
        for start in range(0, n, block):
            part = slice(start, start + block)
            design = self._marginals(contexts[part])
            rows = np.arange(len(design))
            draw_actions(design, rows, uniforms[part, 1], actions[part])
            evenly = np.empty((len(design), 1), dtype=np.int32)
            uniform_subsets(uniforms[part, 2:], k, evenly)
            uniform = uniforms[part, 0] < self.mixing
            actions[part][uniform] = evenly[uniform]
            look_up(design, rows, actions[part], shown[part])
        return actions, self._mixed(shown)

    def __repr__(self) -> str:
        return (
            f"MarginalExploration({self.policies!r}, mixing={self.mixing:.3g}, "
            f"variance_bound={self.variance_bound:.3g})"
        )

    def _marginals(self, contexts: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        return self._weights.totals(contexts) / self._rounds
