"""No exploration: what the policy that runs today would show."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.availability import Available
from policysieve.errors import InvalidArgumentError
from policysieve.exploration.designs.base import Array, Exploration
from policysieve.policies import Answers

__all__ = ["TodayExploration"]


@dataclass(frozen=True, eq=False)
class TodayExploration(Exploration):
    """Show what the problem's `against` would, with propensity one: nothing is explored.

    Other items have propensity zero, so such rounds say nothing of what other policies would earn.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.problem.against is None:
            raise InvalidArgumentError(
                "against must be set to show what the policy that runs today would, got a problem "
                "without; give its number or name as Problem(against=...)"
            )

    @property
    def _draws(self) -> int:
        """None: nothing is drawn."""
        return 0

    @property
    def _floor(self) -> float:
        """Zero: other items cannot be shown."""
        return 0.0

    def _answers_at(self, contexts: Any, available: Available | None) -> Answers:
        answers: Answers = self.policies.answers_at(contexts, np.array([self._today]), available)
        return answers

    def _choose(self, answers: Answers, uniforms: Array) -> tuple[npt.NDArray[np.int32], Array]:
        slates = self._slates_of_today(answers)
        return slates, np.ones(slates.shape)

    def _propensities(self, answers: Answers) -> Array:
        shown = np.zeros((len(answers), self.problem.n_actions))
        shown[np.arange(len(shown))[:, None], self._slates_of_today(answers)] = 1.0
        return shown

    def __repr__(self) -> str:
        return f"TodayExploration({self.policies.name_of(self._today)})"
