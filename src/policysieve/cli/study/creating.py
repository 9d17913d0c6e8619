"""``policysieve study create``."""

from dataclasses import replace
from typing import Any

import click

from policysieve.cli.options import (
    CandidatesOptions,
    against_option,
    candidates_options,
    json_option,
    range_option,
    traffic_option,
    version_option,
)
from policysieve.cli.options.values import Number, OneOf
from policysieve.cli.study.status import print_status
from policysieve.cli.study.where import name_argument, study_command, url_argument

__all__ = ["create"]


def _learners() -> list[str]:
    from policysieve.exploration.learners import LEARNERS

    return list(LEARNERS)


@study_command(
    short_help="A new study in a database.",
    examples=(
        "policysieve study create sqlite:///shop.db homepage --policies table.npy --actions 10 "
        "--epsilon 0.05 --deadline 2h",
    ),
)
@url_argument
@name_argument
@candidates_options
@click.option(
    "--learner",
    default="Sieve",
    show_default=True,
    type=OneOf(_learners),
    help="What learns and says what to show, such as Sieve or Uniform.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="An argument of the learner, such as goal=best; may be repeated.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    help="Random seed: the same seed and the same calls decide the same.",
)
@click.option(
    "--deadline",
    metavar="DURATION",
    help="How long a reward may take, such as 90s, 15m, 2h or 3d.",
)
@range_option("Least and largest reward of an item; 0 and 1 by default.")
@click.option(
    "--no-answer",
    type=Number(),
    help="Reward of an item that has no answer by its deadline; 0 by default.",
)
@against_option()
@traffic_option
@click.option("--hash-contexts", is_flag=True, help="Keep a hash of each context, not the context.")
@click.option(
    "--if-missing",
    is_flag=True,
    help="If there is a study NAME with these policies, leave it as it is, and do not complain.",
)
@version_option("version")
@json_option("the study")
def create(
    url: str,
    name: str,
    candidates: CandidatesOptions,
    learner: str,
    settings: tuple[str, ...],
    seed: int | None,
    deadline: str | None,
    reward_range: tuple[float, float] | None,
    no_answer: float | None,
    against: str | None,
    traffic: float,
    hash_contexts: bool,
    if_missing: bool,
    version: str | None,
    as_json: bool,
) -> None:
    """Create the study NAME in the database at URL, which is made if it is a new SQLite file."""
    from policysieve.cli.loading import policy_given
    from policysieve.study import Study

    policies, problem = candidates.load(1, reward_range)
    if if_missing and _is_there(url, name):
        print_status(Study.open(url, name, policies, version=version, learn=False), as_json)
        return
    today = None if against is None else policy_given(against, policies)
    problem = replace(problem, against=today, traffic=traffic, no_answer=no_answer)
    made = Study.create(
        url,
        name,
        policies,
        problem,
        learner=learner,
        settings=dict(map(_setting, settings)),
        seed=seed,
        deadline=deadline,
        keep_contexts=not hash_contexts,
        version=version,
    )
    print_status(made, as_json)


def _is_there(url: str, name: str) -> bool:
    """Whether a database has a study of that name."""
    from policysieve.study import summaries

    try:
        return name in (one.name for one in summaries(url))
    except FileNotFoundError:
        return False


def _setting(text: str) -> tuple[str, Any]:
    """An argument of a learner, as a number if it is one."""
    name, equals, value = text.partition("=")
    if not equals:
        raise click.UsageError(f"--set must be KEY=VALUE, got {text!r}")
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            continue
    return name, None if value == "none" else value
