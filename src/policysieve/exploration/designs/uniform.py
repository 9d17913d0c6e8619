"""Uniform exploration: every item with the same propensity."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.exploration.designs.base import Array, Exploration
from policysieve.exploration.designs.parts import uniform_slates
from policysieve.policies import Answers, ContextAnswers

__all__ = ["UniformExploration"]


@dataclass(frozen=True, eq=False)
class UniformExploration(Exploration):
    """Uniformly random slates: every item has propensity m/K.

    The policies are not asked, but for the one that runs today if only a share of rounds explores.
    """

    @property
    def _draws(self) -> int:
        """One for each item."""
        return self.problem.slate_size

    @property
    def _floor(self) -> float:
        """m/K."""
        return self.problem.slate_size / self.problem.n_actions

    def _answers(self, contexts: Any) -> Answers:
        if isinstance(contexts, Answers):
            return contexts
        x = self.policies.check_contexts(contexts)
        if self.problem.traffic == 1:
            return ContextAnswers(x)
        answers: Answers = self.policies.answers_at(x, np.array([self._today]))
        return answers

    def _choose(self, answers: Answers, uniforms: Array) -> tuple[npt.NDArray[np.int32], Array]:
        slates = uniform_slates(uniforms, self.problem.n_actions)
        return slates, np.full(slates.shape, self._floor)

    def _propensities(self, answers: Answers) -> Array:
        return np.full((len(answers), self.problem.n_actions), self._floor)

    def __repr__(self) -> str:
        q = self.problem
        return f"UniformExploration({q.n_actions} actions, slate_size={q.slate_size})"
