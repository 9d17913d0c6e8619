import inspect
import tomllib
from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import pytest

import policysieve as ps
from policysieve.experiment import load_experiment, loading, make_experiment
from policysieve.experiment.loading import world_kinds
from policysieve.exploration import LEARNERS
from policysieve.worlds import Dataset
from tests.experiment.configurations import small
from tests.test_docs import blocks


def test_the_small_one():
    experiment = make_experiment(small())
    assert isinstance(experiment.world, ps.worlds.SparseSynthetic)
    assert experiment.policies.n_policies == 12
    assert experiment.problem == experiment.world.problem(epsilon=0.2, delta=0.1)
    assert [setting.name for setting in experiment.learners] == ["Sieve", "Uniform"]
    assert (experiment.rounds, experiment.seeds, experiment.batch_size) == (400, (0, 1), 50)
    assert repr(experiment) == ("Experiment(Sieve, Uniform; 12 policies, 400 rounds, seeds [0, 1])")
    with pytest.raises(FrozenInstanceError):
        experiment.rounds = 3


def test_run_has_defaults():
    experiment = make_experiment(small(run=None))
    assert (experiment.rounds, experiment.seeds) == (20_000, (0, 1, 2, 3, 4))
    assert experiment.batch_size is None  # as each learner advises


@pytest.mark.parametrize("name", sorted(LEARNERS))
def test_every_registered_learner_can_be_named(name):
    made = make_experiment(small(learner=[{"kind": name}])).learners[0]
    assert made.kind is LEARNERS[name]


def test_learners_plan_the_rounds_of_the_run_unless_told():
    experiment = make_experiment(
        small(
            learner=[
                {"kind": "Uniform"},
                {"kind": "Exp4", "rounds": 70},
                {"kind": "LowVarianceExploration"},
            ]
        )
    )
    assert [dict(one.parameters) for one in experiment.learners] == [
        {"rounds": 400},
        {"rounds": 70},
        {},
    ]


def test_costs_are_minimised_if_the_problem_says_so():
    made = make_experiment(small(problem={**small()["problem"], "objective": "minimize"}))
    assert (made.problem.objective, made.problem.sparsity) == ("minimize", None)


def test_learners_of_one_kind_are_told_apart():
    kinds = [{"kind": "Sieve"}, {"kind": "Sieve", "goal": "best", "mixing": 0.2}]
    experiment = make_experiment(small(learner=kinds))
    assert [one.name for one in experiment.learners] == [
        "Sieve",
        "Sieve(goal='best', mixing=0.2)",
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"worlds": {}}, "worlds: unknown key, did you mean world?"),
        ({"world": None}, "world: missing"),
        ({"problem": 3}, "problem: must be a table [problem], got 3"),
        ({"learner": {"kind": "Sieve"}}, "learner: must be one or more tables, each headed [["),
        ({"learner__1__mixng": 0.1}, "learner[1].mixng: unknown key, known: kind, rounds"),
        ({"learner__0__mixng": 0.1}, "learner[0].mixng: unknown key, did you mean mixing?"),
        ({"learner__0__mixing": "much"}, "learner[0].mixing: must be a number, got 'much'"),
        ({"learner__0__mixing": 2}, "learner[0]: mixing must be a number with 0 < mixing <= 1"),
        ({"learner__0__goal": "win"}, "learner[0].goal: must be one of 'certify', 'best', 'beat'"),
        ({"learner__0__rng": 1}, "learner[0].rng: unknown key"),
        ({"learner__0__kind": "Seive"}, "learner[0].kind: unknown 'Seive', did you mean Sieve?"),
        ({"learner__0__kind": None}, "learner[0].kind: missing"),
        ({"learner__0__kind": "Uniform"}, "learner[1]: the same as learner[0]; remove it or"),
        ({"world__dataset": "digits"}, "world.kind: a world is either made up or of a data set"),
        ({"world__kind": "Classification"}, "world.kind: unknown 'Classification', known: Hidden"),
        ({"world__kind": "FiniteWorld"}, "world.kind: unknown 'FiniteWorld'"),
        ({"world__n_actions": None}, "world.n_actions: missing"),
        ({"world__n_actions": 2.5}, "world.n_actions: must be a whole number, got 2.5"),
        ({"world__n_actions": 1}, "world: n_actions must be a whole number >= 2, got 1"),
        ({"world__fractional": "yes"}, "world.fractional: must be true or false, got 'yes'"),
        ({"world__noice": 0.1}, "world.noice: unknown key, did you mean noise?"),
        ({"world": {"dataset": "digit"}}, "policies.kind: a data set has no policies of its own"),
        (
            {"world": {"dataset": "digit"}, "policies": {"kind": "pool"}},
            "world.dataset: unknown 'digit', did you mean digits?",
        ),
        ({"policies__kind": "pool"}, "policies.kind: 'pool' trains classifiers on a data set"),
        ({"policies__kind": "word"}, "policies.kind: unknown 'word', did you mean world?"),
        ({"policies__n": 3}, "policies.n: unknown key"),
        ({"problem__epsilon": 2}, "problem: epsilon must be a number with 0 < epsilon < 1"),
        ({"problem__delta": None}, "problem.delta: missing"),
        ({"problem__n_actions": 3}, "problem.n_actions: unknown key"),
        ({"run__rounds": 0}, "run: rounds must be a whole number >= 1, got 0"),
        ({"run__batchsize": 5}, "run.batchsize: unknown key, did you mean batch_size?"),
        ({"run__seeds": 0}, "run: seeds must be a whole number >= 1, got 0"),
        ({"run__seeds": []}, "run: seeds must be different whole numbers >= 0, at least one"),
        ({"run__seeds": [1, 1]}, "run: seeds must be different"),
        ({"run__seeds": [-1]}, "run: seeds must be different"),
        ({"run__seeds": "three"}, "run.seeds: must be a whole number or a list of whole numbers"),
        ({"world__n_policies": 1}, "learner[0]: evidence compares policies"),
    ],
)
def test_every_complaint_names_the_key(changes, message):
    with pytest.raises(ps.InvalidArgumentError) as error:
        make_experiment(small(**changes))
    assert str(error.value).startswith(message)


@pytest.fixture
def file(tmp_path):
    """A file whose policies are in another one beside it."""
    folder = tmp_path / "far away"
    folder.mkdir()
    np.save(folder / "actions.npy", np.tile(np.arange(4), (2, 1)))
    path = folder / "mine.toml"
    path.write_text(
        """
        world = { kind = "RareContext", n_actions = 4, epsilon = 0.2, rng = 3 }
        policies = { kind = "table", file = "actions.npy" }
        problem = { epsilon = 0.1, delta = 0.1 }
        learner = [{ kind = "Uniform" }]
        """
    )
    return path


class TestPoliciesFromAFile:
    def test_paths_are_relative_to_the_file(self, file):
        experiment = load_experiment(file)
        assert experiment.policies.n_policies == 4
        assert experiment.configuration == tomllib.loads(file.read_text())

    def test_rows_are_the_contexts_of_the_world(self, file):
        np.save(file.parent / "actions.npy", np.zeros((3, 4), dtype=int))
        with pytest.raises(ps.InvalidArgumentError, match=r"policies: file .* 2 contexts, got 3"):
            load_experiment(file)

    def test_actions_are_those_of_the_world(self, file):
        np.save(file.parent / "actions.npy", np.full((2, 4), 9))
        with pytest.raises(ps.InvalidArgumentError, match=r"policies: actions must lie in \[0, 3"):
            load_experiment(file)

    def test_a_file_that_is_not_there(self, file):
        (file.parent / "actions.npy").unlink()
        with pytest.raises(FileNotFoundError, match=r"actions\.npy"):
            load_experiment(file)


def made_up_dataset(**changes):
    rng = np.random.default_rng(0)
    parts = {"X": rng.normal(size=(60, 4)), "y": rng.integers(3, size=60), "classes": tuple("abc")}
    about = dict.fromkeys(("name", "description", "source", "licence"), "made up")
    return Dataset(**{**about, **parts, **changes})


class TestDataSets:
    CONFIGURATION = small(
        world={"dataset": "digits"},
        policies={"kind": "pool", "n": 4, "training_rows": 20, "seed": 5},
    )

    @pytest.fixture
    def use(self, monkeypatch, tmp_path):
        monkeypatch.setenv("POLICYSIEVE_CACHE", str(tmp_path / "cache"))

        def use(dataset):
            monkeypatch.setattr(loading, "load_dataset", lambda _name: dataset)

        return use

    def test_some_rows_train_and_the_others_are_the_world(self, use):
        pytest.importorskip("sklearn")
        dataset = made_up_dataset()
        use(dataset)
        experiment = make_experiment(self.CONFIGURATION)
        assert experiment.world.n_contexts == 40
        assert experiment.policies.n_policies == len(experiment.descriptions) == 4
        answers = experiment.policies.table[:, :, 0]
        values = (answers == dataset.y[20:, None]).mean(axis=0)
        np.testing.assert_allclose(experiment.world.values(experiment.policies), values)

    def test_several_labels_make_slates(self, use):
        pytest.importorskip("sklearn")
        labels = np.random.default_rng(1).random((60, 5)) < 0.4
        use(made_up_dataset(y=labels.astype(np.uint8), classes=tuple("abcde")))
        with pytest.raises(ps.InvalidArgumentError, match=r"^world\.slate_size: missing"):
            make_experiment(self.CONFIGURATION)
        changed = {**self.CONFIGURATION, "world": {"dataset": "digits", "slate_size": 2}}
        experiment = make_experiment(changed)
        assert isinstance(experiment.world, ps.worlds.Multilabel)
        assert experiment.problem.slate_size == experiment.policies.slate_size == 2

    def test_a_table_knows_all_rows(self, use, tmp_path):
        use(made_up_dataset())
        np.save(tmp_path / "table.npy", np.zeros((60, 2), dtype=int))
        changed = {**self.CONFIGURATION, "policies": {"kind": "table", "file": "table.npy"}}
        assert make_experiment(changed, folder=tmp_path).world.n_contexts == 60

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"training_rows": 60}, r"^policies: training_rows must be .* \[2, 59\], got 60"),
            ({"n": 0}, "^policies: n must be a whole number >= 1"),
            ({"seed": -1}, "^policies: seed must be a whole number >= 0, got -1"),
            ({"training": 3}, r"^policies\.training: unknown key, did you mean training_rows"),
        ],
    )
    def test_complaints(self, use, change, message):
        pytest.importorskip("sklearn")
        use(made_up_dataset())
        changed = {"policies": {**self.CONFIGURATION["policies"], **change}}
        with pytest.raises(ps.InvalidArgumentError, match=message):
            make_experiment({**self.CONFIGURATION, **changed})

    @pytest.mark.parametrize("key", ["slate_size", "sparsity"])
    def test_one_label_makes_no_slates(self, use, key):
        use(made_up_dataset())
        changed = {**self.CONFIGURATION, "world": {"dataset": "digits", key: 2}}
        with pytest.raises(ps.InvalidArgumentError, match=rf"^world\.{key}: only for data with"):
            make_experiment(changed)

    def test_text_needs_a_table(self, use):
        use(made_up_dataset(X=np.array(["word"] * 60, dtype=object)))
        with pytest.raises(ps.InvalidArgumentError, match=r"^policies\.kind: 'pool' is trained on"):
            make_experiment(self.CONFIGURATION)


GIVEN = ("policies", "problem", "rng")


class TestDocumentation:
    PAGE = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text(encoding="utf-8")
    COMPLETE, *PARTS = (tomllib.loads(text) for text in blocks(PAGE, "toml"))

    def test_the_complete_file_is_understood(self):
        experiment = make_experiment(self.COMPLETE)
        assert [one.name for one in experiment.learners][1] == "Sieve(goal='best', mixing=0.2)"

    @pytest.mark.parametrize("part", PARTS, ids=lambda part: part["policies"]["kind"])
    def test_parts_are_understood(self, part, tmp_path, monkeypatch):
        pytest.importorskip("sklearn")
        monkeypatch.setenv("POLICYSIEVE_CACHE", str(tmp_path / "cache"))
        np.save(tmp_path / "actions.npy", np.zeros((200, 3), dtype=np.uint8))
        make_experiment({**self.COMPLETE, **part}, folder=tmp_path)

    def test_every_learner_and_world_is_named(self):
        for name, kind in LEARNERS.items():
            keys = [key for key in inspect.signature(kind).parameters if key not in GIVEN]
            assert f"| `{name}` | {', '.join(f'`{key}`' for key in keys)} |\n" in self.PAGE
        for name in world_kinds():
            assert f"`{name}`" in self.PAGE


def test_a_policy_to_be_better_than():
    experiment = make_experiment(small(problem__against=3))
    assert experiment.problem.against == 3
    with pytest.raises(ps.InvalidArgumentError, match=r"policies: against must be .* got 12"):
        make_experiment(small(problem__against=12))
    with pytest.raises(ps.InvalidArgumentError, match=r"problem\.against: must be"):
        make_experiment(small(problem__against=[3]))


def test_not_everything_need_be_available():
    experiment = make_experiment(small(world__available=0.6))
    assert isinstance(experiment.world, ps.worlds.Availability)
    assert experiment.world.share == 0.6
    assert experiment.policies.fallback.tolist() == list(range(experiment.problem.n_actions))
    assert experiment.world.values(experiment.policies).max() > 0
    for bad, message in ((1.5, r"world\.available: share must be"), ("a", "must be a number")):
        with pytest.raises(ps.InvalidArgumentError, match=message):
            make_experiment(small(world__available=bad))
