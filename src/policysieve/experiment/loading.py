"""From a file of settings to an experiment."""

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

from policysieve.checks import integer
from policysieve.errors import InvalidArgumentError
from policysieve.experiment.candidates import Track, candidates
from policysieve.experiment.running import Experiment, LearnerSetting
from policysieve.experiment.settings import Table, can_be_set, read_toml, within
from policysieve.exploration import LEARNERS

__all__ = ["load_experiment", "make_experiment"]

_GIVEN = ("policies", "problem", "rng")


@dataclass(frozen=True, kw_only=True)
class _Plan:
    """The table ``[run]``."""

    rounds: int = 20_000
    seeds: int | list[int] = 5
    batch_size: int = 100

    def __post_init__(self) -> None:
        integer("rounds", self.rounds, low=1)
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
    file = Table("", configuration)
    file.check_keys(["world", "policies", "problem", "learner", "run"])
    plan_table = file.table("run", optional=True)
    plan_arguments = plan_table.arguments(_Plan)
    with within(plan_table.name):
        plan = _Plan(**plan_arguments)
    learners = _learners(file.tables("learner"), plan.rounds)
    asked = file.table("problem")
    found = candidates(file.table("world"), file.table("policies"), Path(folder), track)
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


def _learners(tables: list[Table], rounds: int) -> tuple[LearnerSetting, ...]:
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
        if "rounds" in signature(kind).parameters:
            parameters.setdefault("rounds", rounds)
        settings.append(
            LearnerSetting(name=name, table=table.name, kind=kind, parameters=parameters)
        )
    return tuple(settings)
