"""What the Sieve plays for an epoch: by need among what survivors would show, and by vote."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.availability import Available
from policysieve.checks import integer, number
from policysieve.errors import InvalidArgumentError
from policysieve.evidence.divided_answers import DividedAnswers
from policysieve.evidence.exchanged import Weights
from policysieve.exploration.designs.base import Array, Exploration, frozen_array
from policysieve.exploration.designs.parts import alias_of, checked_shares
from policysieve.kernels.slates import sieve_propensities, sieve_slates
from policysieve.kernels.summing import draw_voters, summed_propensities, summed_slates
from policysieve.policies import Answers

__all__ = ["NeedExploration"]


@dataclass(frozen=True, eq=False)
class NeedExploration(Exploration):
    """With probability `mixing` actions by need, else the slate of a survivor drawn by vote.

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
    votes : float array of shape (n_survivors,)
        Not negative; they sum to one.
    mixing : float
    period : int
        How often the learner that published it had let candidates in or had begun anew.
    """

    survivors: npt.NDArray[np.int32] = field(kw_only=True)
    need: Array = field(kw_only=True)
    votes: Array = field(kw_only=True)
    mixing: float = field(kw_only=True)
    period: int = field(kw_only=True, default=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        survivors, votes = checked_shares(
            self.survivors, self.votes, self.policies, names=("survivors", "votes")
        )
        need = frozen_array("need", self.need, np.float64, len(survivors))
        if need.min() <= 0:
            raise InvalidArgumentError(f"need must be positive, got {need.min():g} at least")
        mixing = number("mixing", self.mixing, above=0, below=1, closed=True)
        if need.max() > np.finfo(np.float64).max / max(len(need), self.problem.n_actions):
            raise InvalidArgumentError(f"need must have a finite sum, got {need.max():g} at most")
        period = integer("period", self.period, low=0)
        self.__dict__.update(
            survivors=survivors, need=need, votes=votes, mixing=mixing, period=period
        )
        self._check_floor()

    @property
    def _draws(self) -> int:
        """A coin, the policy, the items."""
        return 3

    @cached_property
    def _floor(self) -> float:
        """A number that no propensity of an item of a survivor is below, whatever the context."""
        q, need = self.problem, self.need
        total = min(q.n_actions * need.max(), q.slate_size * need.sum())
        least = self.mixing * q.slate_size * need / total + (1 - self.mixing) * self.votes
        return float(least.min())

    @property
    def consulted(self) -> npt.NDArray[np.int32]:
        """The survivors: whoever is eliminated stays so."""
        return self.survivors

    @cached_property
    def _alias(self) -> tuple[Array, npt.NDArray[np.int32]]:
        return alias_of(self.votes)

    def _answers_at(self, contexts: Any, available: Available | None) -> Answers:
        """Answers of the survivors alone: nobody else needs to be asked.

        But for the policy that runs today, if only a share of the rounds explores.
        """
        asked: npt.NDArray[np.integer] = self.survivors
        if self.problem.traffic < 1:
            asked = np.union1d(asked, self._today)
        answers: Answers = self.policies.answers_at(contexts, asked, available)
        return answers

    def _given(self, answers: Answers) -> Answers:
        return answers if isinstance(answers, DividedAnswers) else super()._given(answers)

    def _choose(self, answers: Any, uniforms: Array) -> tuple[npt.NDArray[np.int32], Array]:
        slates = np.empty((len(answers), self.problem.slate_size), dtype=np.int32)
        propensities = np.empty(slates.shape)
        if isinstance(answers, DividedAnswers):
            by_vote, voters = self.voters(uniforms)
            slates[by_vote] = answers.following(by_vote, voters)
            summed_slates(
                uniforms, self.mixing, *answers.summed(self.weighed), slates, propensities
            )
            return slates, propensities
        sieve_slates(
            uniforms,
            self.mixing,
            self.problem.n_actions,
            answers.table,
            answers.rows,
            self.survivors,
            self.need,
            self.votes,
            *self._alias,
            slates,
            propensities,
        )
        return slates, propensities

    def _propensities(self, answers: Any) -> Array:
        shown = np.empty((len(answers), self.problem.n_actions))
        if isinstance(answers, DividedAnswers):
            m, sums = self.problem.slate_size, answers.summed(self.weighed)
            summed_propensities(self.mixing, m, *sums, shown)
            return shown
        sieve_propensities(
            self.mixing,
            answers.table,
            answers.rows,
            self.survivors,
            self.need,
            self.votes,
            shown,
        )
        return shown

    @property
    def weighed(self) -> Weights:
        """As the shares of a class take them."""
        return Weights(self.survivors, self.need, self.votes)

    def voters(self, uniforms: Array) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.int32]]:
        """The rounds that follow a survivor drawn by vote, and these survivors."""
        rounds = np.flatnonzero(uniforms[:, 0] >= self.mixing)
        drawn = np.empty(len(rounds), np.intp)
        draw_voters(uniforms[rounds, 1], *self._alias, drawn)
        return rounds, self.survivors[drawn]

    def __repr__(self) -> str:
        return (
            f"NeedExploration({len(self.survivors)} of {self.policies.n_policies} policies, "
            f"mixing={self.mixing:.3g})"
        )
