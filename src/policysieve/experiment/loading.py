"""From a file of settings to an experiment: its world, its policies, its learners."""

import inspect
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy.typing as npt

from policysieve import worlds
from policysieve.checks import integer
from policysieve.errors import InvalidArgumentError
from policysieve.experiment.running import Experiment, LearnerSetting
from policysieve.experiment.settings import SettingsTable, can_be_set, read_toml, within
from policysieve.exploration import LEARNERS
from policysieve.policies import EstimatorPolicies, Policies, PolicyTable
from policysieve.worlds import (
    Availability,
    Classification,
    Dataset,
    FiniteWorld,
    Multilabel,
    World,
    load_dataset,
    make_pool,
)
from policysieve.worlds.catalogue import CATALOGUE

__all__ = ["Track", "load_experiment", "make_experiment", "world_kinds"]

Track = Callable[[Iterable[int]], Iterable[int]]

_GIVEN = ("policies", "problem", "rng")  # to every learner
_AVAILABLE = "available"  # a key of the table [world]
_POLICIES = {kind: kind for kind in ("world", "pool", "table")}


@dataclass(frozen=True, kw_only=True)
class _Plan:
    """The table ``[run]``."""

    rounds: int = 20_000
    seeds: int | list[int] = 5
    batch_size: int | None = None

    def __post_init__(self) -> None:
        integer("rounds", self.rounds, low=1)
        if self.batch_size is not None:
            integer("batch_size", self.batch_size, low=1)
        if isinstance(self.seeds, int):
            integer("seeds", self.seeds, low=1, hint="or a list of them")
        elif not self.seeds or min(self.seeds) < 0 or len(set(self.seeds)) < len(self.seeds):
            raise InvalidArgumentError(
                f"seeds must be different whole numbers >= 0, at least one, got {self.seeds}"
            )

    @property
    def all_seeds(self) -> tuple[int, ...]:
        return tuple(range(self.seeds) if isinstance(self.seeds, int) else self.seeds)


def load_experiment(path: str | os.PathLike[str], *, track: Track = iter) -> Experiment:
    """Make the experiment that a TOML file describes (docs/configuration.md).

    Everything is made and checked here, training included; nothing is played yet.

    Parameters
    ----------
    path : path
        Paths in the file are relative to its folder.
    track : callable
        Wraps the loop over classifiers to be trained, for instance to show progress.

    Raises
    ------
    InvalidArgumentError
        If a key is unknown or missing, or its value breaks a rule; the message names the key.
    FileFormatError
        If the file is not TOML.
    """
    return make_experiment(read_toml(path), folder=Path(path).parent, track=track)


def make_experiment(
    configuration: Mapping[str, Any],
    *,
    folder: str | os.PathLike[str] = ".",
    track: Track = iter,
) -> Experiment:
    """Make the experiment that a file with these contents describes.

    Parameters
    ----------
    configuration : mapping
        As read from a TOML file.
    folder : path
        Paths in the configuration are relative to it.
    track : callable
        Wraps the loop over classifiers to be trained, for instance to show progress.
    """
    file = SettingsTable("", configuration)
    file.check_keys(["world", "policies", "problem", "learner", "run"])
    plan_table = file.table("run", optional=True)
    plan_arguments = plan_table.arguments(_Plan)
    with within(plan_table.name):
        plan = _Plan(**plan_arguments)
    learners = _learners(file.tables("learner"), plan.rounds)
    asked = file.table("problem")
    found = _candidates(file.table("world"), file.table("policies"), Path(folder), track)
    found = _limited(file.table("world"), found)
    aims = asked.arguments(found.world.problem)
    with within(asked.name):
        problem = found.world.problem(**aims)
    with within("policies"):
        found.policies.check_fits(problem)
    for learner in learners:
        learner.make(found.policies, problem, plan.all_seeds[0])
    return Experiment(
        world=found.world,
        policies=found.policies,
        problem=problem,
        learners=learners,
        rounds=plan.rounds,
        seeds=plan.all_seeds,
        batch_size=plan.batch_size,
        descriptions=found.descriptions,
        configuration=configuration,
    )


def _learners(tables: list[SettingsTable], rounds: int) -> tuple[LearnerSetting, ...]:
    """One for each table; a learner that plans its rounds plans those of the run."""
    known = {name: kind for name, kind in LEARNERS.items() if can_be_set(kind, *_GIVEN)}
    kinds = [table.choice("kind", known) for table in tables]
    often = Counter(kinds)
    settings: list[LearnerSetting] = []
    for table, kind in zip(tables, kinds, strict=True):
        parameters = table.arguments(kind, *_GIVEN, beside=["kind"])
        name = kind.__name__
        if often[kind] > 1 and parameters:
            name += f"({', '.join(f'{key}={value!r}' for key, value in parameters.items())})"
        for other in settings:
            if other.name == name:
                raise InvalidArgumentError(
                    f"{table.name}: the same as {other.table}; remove it or change a parameter"
                )
        if "rounds" in inspect.signature(kind).parameters:
            parameters.setdefault("rounds", rounds)
        settings.append(
            LearnerSetting(name=name, table=table.name, kind=kind, parameters=parameters)
        )
    return tuple(settings)


@dataclass(frozen=True)
class _Candidates:
    """A world, policies for it, and what they are in words, if that is known."""

    world: World
    policies: Policies
    descriptions: tuple[str, ...] | None = None


def world_kinds() -> dict[str, type[World]]:
    """The worlds that can be made from plain values, by their names."""
    known = {name: getattr(worlds, name) for name in worlds.__all__}
    return {
        name: kind
        for name, kind in known.items()
        if inspect.isclass(kind)
        and issubclass(kind, World)
        and not inspect.isabstract(kind)
        and can_be_set(kind)
    }


def _candidates(
    world: SettingsTable, policies: SettingsTable, folder: Path, track: Track
) -> _Candidates:
    """What the tables ``[world]`` and ``[policies]`` describe; paths are relative to `folder`."""
    kind = policies.choice("kind", _POLICIES)
    if "dataset" in world:
        if "kind" in world:
            raise InvalidArgumentError(
                f"{world.key('kind')}: a world is either made up or of a data set; remove it or "
                f"{world.key('dataset')}"
            )
        return _in_dataset(world, policies, kind, folder, track)
    if kind == "pool":
        raise InvalidArgumentError(
            f"{policies.key('kind')}: 'pool' trains classifiers on a data set; give "
            f"{world.key('dataset')}, or choose 'world' or 'table'"
        )
    make = world.choice("kind", world_kinds())
    arguments = world.arguments(make, beside=["kind", _AVAILABLE])
    with within(world.name):
        made = make(**arguments)
    if kind == "table":
        return _Candidates(made, _from_file(policies, made, folder))
    policies.check_keys(["kind"])
    if not hasattr(made, "pool"):
        raise InvalidArgumentError(
            f"{policies.key('kind')}: {make.__name__} has no policies of its own; choose 'table'"
        )
    return _Candidates(made, PolicyTable(made.pool, n_actions=made.n_actions))


def _limited(world: SettingsTable, found: _Candidates) -> _Candidates:
    """The same where each action is available with a probability that the table may have.

    What a policy would show and cannot gives way to the available action of the lowest number.
    """
    if _AVAILABLE not in world:
        return found
    kept = SettingsTable(world.name, {_AVAILABLE: world.values[_AVAILABLE]})

    def limited(available: float) -> Availability:
        return Availability(found.world, available)

    arguments, table = kept.arguments(limited), found.policies
    assert isinstance(table, PolicyTable)
    with within(world.key(_AVAILABLE)):
        made = limited(**arguments)
    order = range(table.n_actions)
    policies = PolicyTable(table.table, table.n_actions, names=table.names, fallback=order)
    return _Candidates(made, policies, found.descriptions)


def _trained_pool(
    dataset: Dataset,
    *,
    n: int,
    training_rows: int,
    seed: int = 0,
    slate_size: int = 1,
    track: Track = iter,
) -> tuple[Policies, tuple[str, ...]]:
    """Train n classifiers on the first rows of a data set.

    Returns
    -------
    tuple
        Their answers at the other rows as a `PolicyTable` with names, and the classifiers in words.
    """
    training_rows = integer(
        "training_rows",
        training_rows,
        low=2,
        high=dataset.n_rows - 1,
        hint="the other rows are the world",
    )
    seed = integer("seed", seed, low=0)
    features, labels = dataset.X[:training_rows], dataset.y[:training_rows]
    pool = make_pool(features, labels, n, seed, track=track)
    models = EstimatorPolicies(pool, n_actions=dataset.n_classes, slate_size=slate_size)
    actions = models.actions(dataset.X[training_rows:])
    names = [model.name for model in pool]
    answers = PolicyTable(actions, n_actions=dataset.n_classes, names=names)
    return answers, tuple(model.description for model in pool)


def _in_dataset(
    world: SettingsTable, policies: SettingsTable, kind: str, folder: Path, track: Track
) -> _Candidates:
    """A world of the rows of a data set, which the policies know by their numbers."""
    if kind == "world":
        raise InvalidArgumentError(
            f"{policies.key('kind')}: a data set has no policies of its own; choose 'pool' or "
            "'table'"
        )
    dataset = load_dataset(world.choice("dataset", {name: name for name in CATALOGUE}))
    make = Multilabel if dataset.is_multilabel else Classification
    for name in ("slate_size", "sparsity"):
        if name in world and not dataset.is_multilabel:
            raise InvalidArgumentError(
                f"{world.key(name)}: only for data with several labels per row, and "
                f"{dataset.name} has one; remove it"
            )
    beside = ["dataset", _AVAILABLE]
    shape = world.arguments(make, "X", "y", "Y", "n_actions", "contexts", beside=beside)

    def world_of(labels: npt.NDArray[Any]) -> FiniteWorld:
        with within(world.name):
            if dataset.is_multilabel:
                return Multilabel(None, labels, **shape, contexts="rows")
            return Classification(None, labels, n_actions=dataset.n_classes, contexts="rows")

    if kind == "table":
        whole = world_of(dataset.y)
        return _Candidates(whole, _from_file(policies, whole, folder))
    if dataset.is_text:
        raise InvalidArgumentError(
            f"{policies.key('kind')}: 'pool' is trained on numbers, and {dataset.name} is text; "
            "choose 'table'"
        )
    settings = policies.arguments(_trained_pool, "dataset", "slate_size", "track", beside=["kind"])
    slate_size = world_of(dataset.y).slate_size  # a world that cannot be is found before training
    with within(policies.name):
        answers, descriptions = _trained_pool(
            dataset, **settings, slate_size=slate_size, track=track
        )
    rest = dataset.y[settings["training_rows"] :]
    return _Candidates(world_of(rest), answers, descriptions)


def _from_file(policies: SettingsTable, world: World, folder: Path) -> Policies:
    def load(file: str, names: list[str] | None = None) -> PolicyTable:
        table = PolicyTable.load(folder / file, world.n_actions, names=names)
        if isinstance(world, FiniteWorld) and table.n_contexts != world.n_contexts:
            raise InvalidArgumentError(
                f"file must have a row for each of the world's {world.n_contexts} contexts, got "
                f"{table.n_contexts}"
            )
        return table

    arguments = policies.arguments(load, beside=["kind"])
    with within(policies.name):
        return load(**arguments)
