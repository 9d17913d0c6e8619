"""Uniform exploration: every item with the same propensity."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.availability import Available
from policysieve.exploration.designs.base import Array, Exploration
from policysieve.exploration.designs.parts import even_share, uniform_slates
from policysieve.policies import Answers, ContextAnswers

__all__ = ["UniformExploration"]


@dataclass(frozen=True, eq=False)
class UniformExploration(Exploration):
    """Uniformly random slates: every item has propensity m/K.

    Of K(x) available items each has propensity m/K(x). The policies are not asked, but for the one
    that runs today if only a share of rounds explores.
    """

    @property
    def _draws(self) -> int:
        """One for each item."""
        return self.problem.slate_size

    @property
    def _floor(self) -> float:
        """m/K: more where not everything is available."""
        return self.problem.slate_size / self.problem.n_actions

    def _given(self, answers: Answers) -> Answers:
        return answers if self.problem.traffic == 1 else super()._given(answers)

    def _answers_at(self, contexts: Any, available: Available | None) -> Answers:
        if self.problem.traffic == 1:
            return ContextAnswers(contexts, available)
        answers: Answers = self.policies.answers_at(contexts, np.array([self._today]), available)
        return answers

    def _choose(self, answers: Answers, uniforms: Array) -> tuple[npt.NDArray[np.int32], Array]:
        slates = uniform_slates(uniforms, self.problem.n_actions, answers.available)
        return slates, np.full(slates.shape, even_share(self.problem, answers.available))

    def _propensities(self, answers: Answers) -> Array:
        shape, available = (len(answers), self.problem.n_actions), answers.available
        shares = np.full(shape, even_share(self.problem, available))
        return shares if available is None else shares * available.dense()

    def __repr__(self) -> str:
        q = self.problem
        return f"UniformExploration({q.n_actions} actions, slate_size={q.slate_size})"
