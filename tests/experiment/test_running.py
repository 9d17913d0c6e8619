import json
from dataclasses import replace

import numpy as np
import pytest

import policysieve as ps
from policysieve.experiment import LearnerResult, Proof, SeedResult, make_experiment
from policysieve.worlds import SparseSynthetic
from tests.experiment.configurations import small
from tests.report.results import made_up_result


@pytest.fixture(scope="module")
def experiment():
    return make_experiment(small())


@pytest.fixture(scope="module")
def result(experiment):
    return experiment.run()


def test_every_learner_with_every_seed(experiment, result):
    assert [learner.name for learner in result.learners] == ["Sieve", "Uniform"]
    for learner in result.learners:
        assert [one.seed for one in learner.seeds] == [0, 1]
        for one in learner.seeds:
            assert one.result.problem == experiment.problem
            assert [proof.rounds for proof in one.proofs] == [
                checkpoint.recommendation.rounds for checkpoint in one.result.history
            ]
    assert {one.result.rounds for one in result.learners[1].seeds} == {400}
    assert result.seeds == (0, 1)


def test_every_run_as_a_data_frame(result):
    frame = result.to_frame("pyarrow").to_pylist()
    assert [(row["learner"], row["seed"]) for row in frame] == [
        (name, seed) for name in ("Sieve", "Uniform") for seed in (0, 1)
    ]
    one = result.learners[1].seeds[1]
    assert frame[3]["rounds"] == one.result.rounds == 400
    assert frame[3]["certified_rounds"] == one.certified_rounds
    assert frame[3]["suboptimality_bound"] == one.proofs[-1].suboptimality_bound
    assert frame[3]["name"] == one.result.recommendation.policy_name


def test_the_same_again(experiment, result):
    assert experiment.run().to_dict() == result.to_dict()


def test_a_run_is_that_of_the_library(experiment, result):
    learner = ps.Uniform(experiment.policies, experiment.problem, rounds=400, rng=1)
    alone = ps.run(learner, experiment.world, 400, batch_size=50, checkpoints=60, rng=1)
    assert result.learners[1].seeds[1].result.to_dict() == alone.to_dict()


def test_a_learner_with_evidence_is_asked(result):
    for one in result.learners[0].seeds:
        best = one.result.recommendation
        assert one.proofs[-1].suboptimality_bound == best.suboptimality_bound
        assert one.proofs[-1].certified == best.certified


def test_any_other_is_judged_by_its_log(experiment, result):
    """The last proof is that of a selection from the whole log."""
    learner = ps.Uniform(experiment.policies, experiment.problem, rounds=400, rng=0)
    ps.run(learner, experiment.world, 400, batch_size=50, checkpoints=60, rng=0)
    chosen = ps.select(
        learner.log,
        experiment.policies,
        experiment.problem,
        exploration=learner.exploration,
    )
    proof = result.learners[1].seeds[0].proofs[-1]
    assert proof.rounds == 400
    assert proof.certified == chosen.certificate.certified
    assert proof.suboptimality_bound == pytest.approx(
        chosen.certificate.suboptimality_bound, rel=1e-9
    )


def test_logs_with_falling_propensities_can_be_judged():
    learners = [{"kind": name} for name in ("Exp4", "ExplorationByOptimization")]
    result = make_experiment(small(learner=learners, run__seeds=1)).run()
    for learner in result.learners:
        assert all(0 <= proof.suboptimality_bound <= 1 for proof in learner.seeds[0].proofs)


def test_learners_with_the_same_seed_meet_the_same_world(experiment):
    class Witnessed(SparseSynthetic):
        def __init__(self):
            settings = {k: v for k, v in small()["world"].items() if k != "kind"}
            super().__init__(**settings)
            self.met = []

        def _draw(self, n, rng):
            draw = super()._draw(n, rng)
            self.met.append(draw.contexts)
            return draw

    def met(setting, seed):
        world = Witnessed()
        replace(experiment, world=world, learners=(setting,), seeds=(seed,)).run()
        return np.concatenate(world.met)

    sieve, uniform = experiment.learners
    common = len(met(sieve, 0))
    np.testing.assert_array_equal(met(sieve, 0), met(uniform, 0)[:common])
    assert not np.array_equal(met(uniform, 0), met(uniform, 1))


def test_progress_hears_of_every_checkpoint(experiment):
    heard = []
    result = experiment.run(lambda *news: heard.append(news))
    assert heard == [
        (learner.name, one.seed, proof)
        for learner in result.learners
        for one in learner.seeds
        for proof in one.proofs
    ]


def test_complaints_while_playing_name_the_learner():
    learners = [{"kind": "Uniform"}, {"kind": "ExplorationByOptimization"}]
    experiment = make_experiment(small(world__fractional=True, learner=learners))
    with pytest.raises(ps.InvalidArgumentError, match=r"^learner\[1\]: rewards must be 0 or 1"):
        experiment.run()


@pytest.mark.parametrize("rounds", [1, 400])
def test_json(rounds):
    result = make_experiment(small(run__rounds=rounds)).run()
    data = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert data["configuration"] == small(run__rounds=rounds)
    sieve = data["learners"][0]
    assert sieve["name"] == "Sieve"
    assert [one["seed"] for one in sieve["seeds"]] == [0, 1]
    assert sieve["seeds"][0]["history"][-1]["rounds"] == sieve["seeds"][0]["rounds"]
    assert len(sieve["leaders"]) == 10
    assert sieve["leaders"][0]["description"] is None


def seed_result(seed, certified, distance):
    """A made-up run of 10,000 rounds that proves epsilon after so many, or never."""
    stops = (100, 300, 1000, 3000, 10_000)
    proofs = tuple(
        Proof(
            rounds=stop,
            suboptimality_bound=0.05 if certified is not None and stop >= certified else 0.5,
            certified=certified is not None and stop >= certified,
            survivors=3,
        )
        for stop in stops
    )
    run = replace(made_up_result(stops=stops), suboptimality=distance)
    return SeedResult(seed=seed, result=run, proofs=proofs)


class TestSummary:
    def learner(self, *seeds):
        runs = (seed_result(number, *seed) for number, seed in enumerate(seeds))
        return LearnerResult(name="made up", seeds=tuple(runs))

    def test_over_seeds(self):
        learner = self.learner((300, 0.1), (3000, 0.0), (1000, 0.02))
        assert learner.certified_rounds == 1000
        assert learner.n_certified == 3
        assert learner.median_bound == 0.05
        assert (learner.median_suboptimality, learner.worst_suboptimality) == (0.02, 0.1)
        assert learner.recommendation == learner.seeds[0].result.recommendation

    def test_seeds_without_a_proof(self):
        learner = self.learner((300, 0.1), (None, 0.0), (1000, 0.02))
        assert (learner.certified_rounds, learner.n_certified) == (1000, 2)
        assert learner.to_dict()["certified_share"] == pytest.approx(2 / 3)
        half = self.learner((300, 0.1), (None, 0.0))
        assert (half.certified_rounds, half.n_certified) == (None, 1)

    def test_unknown_truth(self):
        learner = self.learner((300, None), (300, None))
        assert learner.median_suboptimality is None
        assert learner.worst_suboptimality is None


def test_what_exploring_costs_is_limited_as_the_file_says():
    settings = {"problem__against": 3, "problem__traffic": 0.5, "problem__max_loss": 20.0}
    experiment = make_experiment(small(**settings, learner__1__kind="EpsilonGreedy"))
    assert (experiment.problem.traffic, experiment.problem.max_loss) == (0.5, 20.0)
    result = experiment.run()
    for learner in json.loads(json.dumps(result.to_dict()))["learners"]:
        for seed in learner["seeds"]:
            assert seed["finished"]
            assert seed["rounds"] < 400
            assert seed["cost"]["today"]["policy_name"] == "policy 3"
            assert seed["cost"]["today"]["upper"] <= 20
    with pytest.raises(ps.InvalidArgumentError, match=r"problem: traffic needs the policy"):
        make_experiment(small(problem__traffic=0.5))
    with pytest.raises(ps.InvalidArgumentError, match=r"problem\.max_loss: must be a number"):
        make_experiment(small(problem__against=3, problem__max_loss="little"))
