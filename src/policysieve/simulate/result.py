"""What came out of a run: its recommendation, and how it got there."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from policysieve.evidence import ValueIntervals
from policysieve.exploration import ExploringCost, Loss, Recommendation
from policysieve.policies import Usage
from policysieve.problem import Problem
from policysieve.reported import Reported
from policysieve.tabling import FrameKind, frame_of

if TYPE_CHECKING:
    from policysieve.policies import MarginalPolicy, Policy, RandomizedPolicy

__all__ = ["Checkpoint", "RunResult"]


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """The learner's recommendation at some round, and how good it really was.

    Attributes
    ----------
    recommendation : Recommendation
    suboptimality : float or None
        True distance to the best policy in expected reward; None where it is not known.
    lost : Loss or None
        What exploring had cost, compared with the policy that runs today; None if none is named.
    """

    recommendation: Recommendation
    suboptimality: float | None
    lost: Loss | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            **self.recommendation.to_dict(),
            "suboptimality": self.suboptimality,
            "lost": None if self.lost is None else self.lost.to_dict(),
        }


@dataclass(frozen=True, kw_only=True, repr=False)
class RunResult(Reported):
    """What came out of `run`.

    Attributes
    ----------
    learner : str
        Name of the learner's class.
    recommendation : Recommendation
        The last one.
    rounds : int
        Rounds played and told.
    history : tuple of Checkpoint
        From early to late; the last one is the end of the run.
    suboptimality : float or None
        True distance of the recommended policy to the best one; None where it is not known: the
        world cannot know it, or every candidate would be called at every context for it.
    problem : Problem
        What was asked.
    intervals : ValueIntervals
        Final estimate and limits of every policy.
    true_values : array or None
        Exact value of every policy, where it is known.
    finished : bool
        Whether the learner had finished; False if the rounds ran out before.
    configuration : mapping
        What `run` was called with, in words; the seed is None if a generator was given.
    usage : Usage or None
        What asking the candidates has cost in these rounds; None if nobody was called.
    cost : ExploringCost or None
        What all rounds of the learner have earned, and what exploring has cost.
    """

    learner: str
    recommendation: Recommendation
    rounds: int
    history: tuple[Checkpoint, ...]
    suboptimality: float | None
    finished: bool
    problem: Problem
    intervals: ValueIntervals = field(repr=False, compare=False)
    true_values: npt.NDArray[np.float64] | None = field(repr=False, compare=False)
    configuration: Mapping[str, Any] = field(repr=False, compare=False)
    usage: Usage | None = field(default=None, repr=False, compare=False)
    cost: ExploringCost | None = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        known = "" if self.suboptimality is None else f", suboptimality {self.suboptimality:.4g}"
        return (
            f"RunResult({self.learner}, {self.rounds:,} rounds, {self.policy_name}"
            f"{known}, {len(self.history)} checkpoints)"
        )

    @property
    def chosen(self) -> "int | Policy | RandomizedPolicy | MarginalPolicy":
        """The recommended policy."""
        return self.recommendation.policy

    @property
    def policy_name(self) -> str:
        """The recommended policy in words."""
        return self.recommendation.policy_name

    def leaders(self, count: int = 10) -> list[dict[str, Any]]:
        """The policies with the best estimates, with their limits and, if known, true values."""
        return self.intervals.leaders(count, self.true_values)

    def to_frame(self, backend: FrameKind | None = None) -> Any:
        """A data frame with one row for each checkpoint of the history.

        Its columns are rounds, policy (the number, if it has one), name, value, lower, upper,
        suboptimality_bound, certified and suboptimality, the true one.

        Parameters
        ----------
        backend : "pandas", "polars" or "pyarrow", optional
            By default pandas if it is installed, else polars.
        """
        seen = [checkpoint.recommendation for checkpoint in self.history]
        return frame_of(
            {
                "rounds": [one.rounds for one in seen],
                "policy": [one.policy if isinstance(one.policy, int) else None for one in seen],
                "name": [one.policy_name for one in seen],
                "value": [one.value for one in seen],
                "lower": [one.lower for one in seen],
                "upper": [one.upper for one in seen],
                "suboptimality_bound": [one.suboptimality_bound for one in seen],
                "certified": [one.certified for one in seen],
                "suboptimality": [checkpoint.suboptimality for checkpoint in self.history],
            },
            backend,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        best = self.recommendation.to_dict()
        return {
            "learner": self.learner,
            "policy": best["policy"],
            "policy_name": best["policy_name"],
            "rounds": self.rounds,
            "finished": self.finished,
            "problem": asdict(self.problem),
            "suboptimality": self.suboptimality,
            "recommendation": best,
            "leaders": self.leaders(),
            "history": [checkpoint.to_dict() for checkpoint in self.history],
            "usage": None if self.usage is None else self.usage.to_dict(),
            "cost": None if self.cost is None else self.cost.to_dict(),
        }
