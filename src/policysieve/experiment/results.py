"""What comes out of an experiment: learners compared over seeds, in one world."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from statistics import median
from typing import Any

from policysieve.exploration import Recommendation
from policysieve.problem import Problem
from policysieve.reported import Reported
from policysieve.simulate import RunResult
from policysieve.tabling import FrameKind, frame_of

__all__ = ["ExperimentResult", "LearnerResult", "Proof", "SeedResult"]


@dataclass(frozen=True, kw_only=True)
class Proof:
    """What a learner's rounds prove at a checkpoint, by betting and whenever one looks.

    Attributes
    ----------
    rounds : int
    suboptimality_bound : float
        How much better than the leader the best policy can be at most.
    certified : bool
        Whether that proves the problem's epsilon.
    survivors : int
        Policies that can still be the best.
    expected : int or None
        Rounds in all at which the proof is expected; None if that cannot be said.
    """

    rounds: int
    suboptimality_bound: float
    certified: bool
    survivors: int
    expected: int | None = None


@dataclass(frozen=True, kw_only=True)
class SeedResult:
    """One learner with one seed.

    Attributes
    ----------
    seed : int
    result : RunResult
    proofs : tuple of Proof
        One for each checkpoint of the result's history.
    """

    seed: int
    result: RunResult
    proofs: tuple[Proof, ...]

    @property
    def certified_rounds(self) -> int | None:
        """Rounds at the first checkpoint that proves epsilon; None if none does."""
        return next((proof.rounds for proof in self.proofs if proof.certified), None)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "seed": self.seed,
            "rounds": self.result.rounds,
            "finished": self.result.finished,
            "certified_rounds": self.certified_rounds,
            "suboptimality": self.result.suboptimality,
            "recommendation": self.result.recommendation.to_dict(),
            "cost": None if self.result.cost is None else self.result.cost.to_dict(),
            "history": [
                {**asdict(proof), "suboptimality": checkpoint.suboptimality}
                for proof, checkpoint in zip(self.proofs, self.result.history, strict=True)
            ],
        }


@dataclass(frozen=True, kw_only=True)
class LearnerResult:
    """One learner with all seeds.

    Attributes
    ----------
    name : str
        What tells it from the others.
    seeds : tuple of SeedResult
    """

    name: str
    seeds: tuple[SeedResult, ...]

    @property
    def recommendation(self) -> Recommendation:
        """That of the first seed."""
        return self.seeds[0].result.recommendation

    @property
    def n_certified(self) -> int:
        """How many of the seeds proved epsilon."""
        return sum(one.certified_rounds is not None for one in self.seeds)

    @property
    def certified_rounds(self) -> float | None:
        """Median over seeds of the rounds that proved epsilon; None if half of them did not."""
        rounds = [one.certified_rounds for one in self.seeds]
        middle = median(float("inf") if one is None else one for one in rounds)
        return None if middle == float("inf") else float(middle)

    @property
    def median_suboptimality(self) -> float | None:
        """Median over seeds of the true distance to the best policy; None if it is not known."""
        return None if self._distances is None else median(self._distances)

    @property
    def worst_suboptimality(self) -> float | None:
        """The largest one over seeds."""
        return None if self._distances is None else max(self._distances)

    @property
    def median_bound(self) -> float:
        """Median over seeds of what is proved at the end."""
        return median(one.proofs[-1].suboptimality_bound for one in self.seeds)

    @cached_property
    def _distances(self) -> list[float] | None:
        known = [one.result.suboptimality for one in self.seeds]
        return None if None in known else [value for value in known if value is not None]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "name": self.name,
            "certified_share": self.n_certified / len(self.seeds),
            "certified_rounds": self.certified_rounds,
            "median_bound": self.median_bound,
            "median_suboptimality": self.median_suboptimality,
            "worst_suboptimality": self.worst_suboptimality,
            "recommendation": self.recommendation.to_dict(),
            "seeds": [one.to_dict() for one in self.seeds],
        }


@dataclass(frozen=True, kw_only=True)
class ExperimentResult(Reported):
    """What came out of `Experiment.run`.

    Attributes
    ----------
    learners : tuple of LearnerResult
    problem : Problem
    rounds : int
        Rounds that a learner could play.
    descriptions : tuple of str or None
        The policies in words, where there are such.
    configuration : mapping
        What the experiment was made from.
    """

    learners: tuple[LearnerResult, ...]
    problem: Problem
    rounds: int
    descriptions: Sequence[str] | None = field(repr=False)
    configuration: Mapping[str, Any] = field(repr=False)

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds that every learner had."""
        return tuple(one.seed for one in self.learners[0].seeds)

    def leaders(self, learner: LearnerResult, count: int = 10) -> list[dict[str, Any]]:
        """What `RunResult.leaders` says for the first seed, and each policy in words if known."""
        words = self.descriptions
        return [
            {**row, "description": None if words is None else words[row["policy"]]}
            for row in learner.seeds[0].result.leaders(count)
        ]

    def to_frame(self, backend: FrameKind | None = None) -> Any:
        """A data frame with one row for each run, a learner with a seed.

        Its columns are learner, seed, rounds, finished, certified_rounds, suboptimality_bound (what
        is proved at the end), suboptimality (the true one), survivors, policy (the number, if it
        has one) and name.

        Parameters
        ----------
        backend : "pandas", "polars" or "pyarrow", optional
            By default pandas if it is installed, else polars.
        """
        runs = [(learner.name, one) for learner in self.learners for one in learner.seeds]
        best = [one.result.recommendation for _, one in runs]
        return frame_of(
            {
                "learner": [name for name, _ in runs],
                "seed": [one.seed for _, one in runs],
                "rounds": [one.result.rounds for _, one in runs],
                "finished": [one.result.finished for _, one in runs],
                "certified_rounds": [one.certified_rounds for _, one in runs],
                "suboptimality_bound": [one.proofs[-1].suboptimality_bound for _, one in runs],
                "suboptimality": [one.result.suboptimality for _, one in runs],
                "survivors": [one.proofs[-1].survivors for _, one in runs],
                "policy": [one.policy if isinstance(one.policy, int) else None for one in best],
                "name": [one.policy_name for one in best],
            },
            backend,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "problem": asdict(self.problem),
            "rounds": self.rounds,
            "learners": [
                {**learner.to_dict(), "leaders": self.leaders(learner)} for learner in self.learners
            ],
            "configuration": dict(self.configuration),
        }
