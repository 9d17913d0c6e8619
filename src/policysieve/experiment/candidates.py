"""The world of an experiment and the policies to choose from."""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy.typing as npt

from policysieve import worlds
from policysieve.checks import integer
from policysieve.errors import InvalidArgumentError
from policysieve.experiment.settings import Table, can_be_set, within
from policysieve.policies import EstimatorPolicies, Policies, PolicyTable
from policysieve.worlds import (
    Classification,
    Dataset,
    FiniteWorld,
    Multilabel,
    World,
    load_dataset,
    make_pool,
)
from policysieve.worlds.catalogue import CATALOGUE

__all__ = ["Candidates", "Track", "candidates", "world_kinds"]

Track = Callable[[Iterable[int]], Iterable[int]]

_KINDS = {kind: kind for kind in ("world", "pool", "table")}


@dataclass(frozen=True)
class Candidates:
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


def candidates(world: Table, policies: Table, folder: Path, track: Track) -> Candidates:
    """What the tables ``[world]`` and ``[policies]`` describe; paths are relative to `folder`."""
    kind = policies.choice("kind", _KINDS)
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
    arguments = world.arguments(make, beside=["kind"])
    with within(world.name):
        made = make(**arguments)
    if kind == "table":
        return Candidates(made, _from_file(policies, made, folder))
    policies.check_keys(["kind"])
    if not hasattr(made, "pool"):
        raise InvalidArgumentError(
            f"{policies.key('kind')}: {make.__name__} has no policies of its own; choose 'table'"
        )
    return Candidates(made, PolicyTable(made.pool, n_actions=made.n_actions))


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
        Their answers at the other rows as a `PolicyTable`, and the classifiers in words.
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
    answers = PolicyTable(actions, n_actions=dataset.n_classes)
    return answers, tuple(model.description for model in pool)


def _in_dataset(world: Table, policies: Table, kind: str, folder: Path, track: Track) -> Candidates:
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
    shape = world.arguments(make, "X", "y", "Y", "n_actions", "contexts", beside=["dataset"])

    def world_of(labels: npt.NDArray[Any]) -> FiniteWorld:
        with within(world.name):
            if dataset.is_multilabel:
                return Multilabel(None, labels, **shape, contexts="rows")
            return Classification(None, labels, n_actions=dataset.n_classes, contexts="rows")

    if kind == "table":
        whole = world_of(dataset.y)
        return Candidates(whole, _from_file(policies, whole, folder))
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
    return Candidates(world_of(rest), answers, descriptions)


def _from_file(policies: Table, world: World, folder: Path) -> Policies:
    def load(file: str) -> PolicyTable:
        table = PolicyTable.load(folder / file, world.n_actions)
        if isinstance(world, FiniteWorld) and table.n_contexts != world.n_contexts:
            raise InvalidArgumentError(
                f"file must have a row for each of the world's {world.n_contexts} contexts, got "
                f"{table.n_contexts}"
            )
        return table

    arguments = policies.arguments(load, beside=["kind"])
    with within(policies.name):
        return load(**arguments)
