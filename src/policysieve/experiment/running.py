"""Play every learner with every seed, and see what its rounds prove."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from policysieve.evidence import Evidence
from policysieve.experiment.results import ExperimentResult, LearnerResult, Proof, SeedResult
from policysieve.experiment.settings import within
from policysieve.exploration import Exploration, Explorer
from policysieve.exploration.designs import TodayExploration
from policysieve.log import Log
from policysieve.policies import Policies
from policysieve.problem import Problem
from policysieve.simulate import Checkpoint, run
from policysieve.worlds import World

if TYPE_CHECKING:
    from policysieve.scale import RayEngine

__all__ = ["Experiment", "LearnerSetting", "Progress"]

Progress = Callable[[str, int, Proof], None]
"""Is told at each checkpoint: the learner's name, the seed, what is proved."""

_CHECKPOINTS = 60


@dataclass(frozen=True, kw_only=True)
class LearnerSetting:
    """A learner to be made anew for each seed.

    Attributes
    ----------
    name : str
        What tells it from the others.
    table : str
        What the configuration calls it.
    kind : type of Explorer
    parameters : mapping
        Arguments of its constructor beside the policies, the problem and the seed.
    """

    name: str
    table: str
    kind: type[Explorer]
    parameters: Mapping[str, Any]

    def make(self, policies: Policies, problem: Problem, seed: int) -> Explorer:
        """The learner with this seed."""
        with within(self.table):
            return self.kind(policies, problem, **self.parameters, rng=seed)


@dataclass(frozen=True, kw_only=True, repr=False)
class Experiment:
    """Learners that play in the same world, each with the same seeds.

    Attributes
    ----------
    world : World
    policies : Policies
    problem : Problem
    learners : tuple of LearnerSetting
    rounds : int
        Rounds that a learner can play at most.
    seeds : tuple of int
        Each is the seed of a learner and that of what the world draws for it, which is then the
        same for every learner.
    batch_size : int or None
        Contexts asked for at once; None for as many as each learner advises.
    descriptions : sequence of str or None
        The policies in words, where there are such.
    configuration : mapping
        What the experiment was made from.
    """

    world: World
    policies: Policies
    problem: Problem
    learners: tuple[LearnerSetting, ...]
    rounds: int
    seeds: tuple[int, ...]
    batch_size: int | None
    descriptions: Sequence[str] | None
    configuration: Mapping[str, Any]

    def __repr__(self) -> str:
        names = ", ".join(setting.name for setting in self.learners)
        return (
            f"Experiment({names}; {self.policies.n_policies:,} policies, {self.rounds:,} rounds, "
            f"seeds {list(self.seeds)})"
        )

    def run(
        self, progress: Progress | None = None, engine: "RayEngine | None" = None
    ) -> ExperimentResult:
        """Let every learner play with every seed.

        Parameters
        ----------
        progress : callable, optional
            Called at each checkpoint with the learner's name, the seed and what is proved; on a
            cluster at the end of each run.
        engine : RayEngine, optional
            A cluster that plays them at the same time; the results are the same.
        """
        runs = [_Run(k, seed) for k in range(len(self.learners)) for seed in self.seeds]
        found: dict[_Run, SeedResult] = {}
        if engine is None:
            for one in runs:
                found[one] = self._play(self.learners[one.learner], one.seed, progress)
        else:
            shared = engine.share(self, "the experiment")
            with closing(engine.as_done(_play_there, runs, shared, name=self._name)) as played:
                for one, found[one] in played:
                    if progress is not None:
                        name, proof = self.learners[one.learner].name, found[one].proofs[-1]
                        progress(name, one.seed, proof)
        return ExperimentResult(
            learners=tuple(
                LearnerResult(
                    name=setting.name,
                    seeds=tuple(found[_Run(k, seed)] for seed in self.seeds),
                )
                for k, setting in enumerate(self.learners)
            ),
            problem=self.problem,
            rounds=self.rounds,
            descriptions=self.descriptions,
            configuration=self.configuration,
        )

    def _name(self, one: "_Run") -> str:
        return f"{self.learners[one.learner].name} with seed {one.seed}"

    def _play(self, setting: LearnerSetting, seed: int, progress: Progress | None) -> SeedResult:
        learner = setting.make(self.policies, self.problem, seed)
        witness = _Witness(learner, self.policies)
        proofs: list[Proof] = []

        def look(_checkpoint: Checkpoint) -> None:
            proofs.append(witness.proof())
            if progress is not None:
                progress(setting.name, seed, proofs[-1])

        with within(setting.table):
            result = run(
                learner,
                self.world,
                self.rounds,
                batch_size=self.batch_size,
                checkpoints=_CHECKPOINTS,
                progress=False,
                on_checkpoint=look,
                on_batch=witness.see,
                rng=seed,
            )
        return SeedResult(seed=seed, result=result, proofs=tuple(proofs))


class _Run(NamedTuple):
    """A learner, by its place, with a seed."""

    learner: int
    seed: int


def _play_there(one: _Run, experiment: Experiment) -> SeedResult:
    """On a worker of a cluster."""
    return experiment._play(experiment.learners[one.learner], one.seed, None)


class _Witness:
    """Sees what a learner plays, so that all learners are judged by the same kind of proof.

    A learner that keeps evidence is asked; for any other it is made here, of the same rounds.
    """

    def __init__(self, learner: Explorer, policies: Policies) -> None:
        kept: Evidence | None = getattr(learner, "evidence", None)
        self._learner, self._keeps = learner, kept is not None
        self._own = Evidence(policies, learner.problem)

    def see(self, rounds: Log, exploration: Exploration) -> None:
        if not self._keeps and not isinstance(exploration, TodayExploration):
            self._own.add(rounds, exploration)

    def proof(self) -> Proof:
        learner: Any = self._learner
        certificate = (learner.evidence if self._keeps else self._own).certificate()
        return Proof(
            rounds=certificate.rounds,
            suboptimality_bound=certificate.suboptimality_bound,
            certified=certificate.certified,
            survivors=int((~certificate.eliminated).sum()),
            expected=learner.forecast().proof_expected if self._keeps else None,
        )
