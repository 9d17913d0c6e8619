"""``policysieve study``: durable ask and tell as files."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from policysieve.cli.decide import parts_of, read_contexts, write_decisions
from policysieve.cli.options import (
    CandidatesOptions,
    candidates_options,
    from_option,
    grouped,
    json_option,
    map_option,
    max_bytes_option,
    range_option,
)
from policysieve.cli.output import command_line, print_json, print_table, print_text

if TYPE_CHECKING:
    from policysieve.log import Rounds
    from policysieve.study import Study

__all__ = ["study"]

_BATCH = 10_000  # contexts asked for at once


@dataclass(frozen=True, kw_only=True)
class _Where:
    """Which study, and the policies that it was created with."""

    url: str
    name: str
    policies: str
    version: str | None

    def open(self, *, learn: bool = False) -> "Study":
        from policysieve.cli.loading import policies_of
        from policysieve.study import Study, record_of

        policies = policies_of(record_of(self.url, self.name), self.policies)
        return Study.open(self.url, self.name, policies, version=self.version, learn=learn)


_version_option = click.option(
    "--class-version", "version", help="What you call the policies, if they have a version."
)
_url_argument = click.argument("url")
_name_argument = click.argument("name")
_where = grouped(
    "where",
    _Where,
    _url_argument,
    _name_argument,
    click.option(
        "--policies",
        required=True,
        help="The policies that the study was created with, as create took them.",
    ),
    _version_option,
)


@click.group(short_help="Durable ask and tell in a database.")
def study() -> None:
    """Ask, tell and learn through a database, from any number of processes.

    URL is that of a database, such as sqlite:///shop.db or postgresql://user@host/shop; NAME is
    that of a study in it.
    """


@study.command()
@_url_argument
@_name_argument
@candidates_options
@click.option(
    "--learner", default="Sieve", show_default=True, help="What learns, such as Sieve or Uniform."
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="An argument of the learner, such as goal=best; several times for several.",
)
@click.option("--seed", type=click.IntRange(0), help="For the same bits again.")
@click.option("--deadline", help="How long a reward may take, such as 90s, 15m, 2h or 3d.")
@range_option("Least and largest reward of an item; 0 and 1 by default.")
@click.option(
    "--no-answer",
    type=float,
    help="Reward of an item that has no answer by its deadline; 0 by default.",
)
@click.option("--against", metavar="POLICY", help="Name or number of the policy that runs today.")
@click.option(
    "--traffic",
    default=1.0,
    show_default=True,
    type=float,
    help="Share of the rounds that explore; the others show what --against would.",
)
@click.option("--hash-contexts", is_flag=True, help="Keep a hash of each context, not the context.")
@_version_option
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
    version: str | None,
    as_json: bool,
) -> None:
    """Create the study NAME in the database at URL.

    For example: policysieve study create sqlite:///shop.db homepage --policies table.npy
    --actions 10 --epsilon 0.05 --delta 0.05 --deadline 2h
    """
    from policysieve.cli.loading import policy_given
    from policysieve.study import Study

    policies, problem = candidates.load(1, reward_range)
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
    _show(made, as_json)


@study.command("list")
@_url_argument
@json_option("the studies")
def list_(url: str, as_json: bool) -> None:
    """List the studies of the database at URL."""
    from policysieve.study import summaries

    found = summaries(url)
    if as_json:
        print_json([one.to_dict() for one in found])
        return
    print_table(
        f"{len(found)} studies",
        ["study", "learner", "rounds", "settled", "archived"],
        [
            (one.name, one.learner, f"{one.rounds:,}", f"{one.settled:,}", str(one.archived))
            for one in found
        ],
        words=(0, 1, 4),
    )


@study.command()
@_where
@json_option("the status")
def show(where: _Where, as_json: bool) -> None:
    """Show where a study stands: what is open, settled and learnt, and what it recommends."""
    _show(where.open(), as_json)


@study.command()
@_where
@click.option(
    "--contexts",
    required=True,
    multiple=True,
    type=click.Path(dir_okay=False),
    help="A .npy array, or a file of contexts; if it has ids, these are the ids of the decisions.",
)
@from_option("the contexts")
@map_option
@max_bytes_option
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the decisions here, to a new file: .parquet or .csv.",
)
@json_option("the decisions")
def ask(
    where: _Where,
    contexts: tuple[str, ...],
    format: str | None,
    columns: str | None,
    max_bytes: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Decide what to show at contexts; the decisions are in the database when it ends.

    The file is a log with ids whose rewards are missing: fill them in, and tell takes it.
    """
    from policysieve.policies.policy_class import names_of_actions

    if out is None and not as_json:
        raise click.UsageError("--out or --json is needed: where should the decisions go?")
    opened = where.open()
    names = names_of_actions(opened.policies, opened.problem)
    pieces = read_contexts(contexts, format, columns, max_bytes, names)
    decisions = _asked(opened, parts_of(pieces, _BATCH, _BATCH))
    if out is not None:
        rounds, _ = write_decisions(decisions, out)
        if as_json:
            print_json({"rounds": rounds, "out": str(out)})
        else:
            print_text(f"{rounds:,} decisions, whose rewards are to be told.")
            click.echo(f"Decisions: {out}")
        return
    print_json(
        [
            {"id": id, "actions": actions, "propensities": propensities}
            for rounds in decisions
            for id, actions, propensities in zip(
                [] if rounds.ids is None else rounds.ids.tolist(),
                rounds.plain_actions(),
                rounds.propensities.tolist(),
                strict=True,
            )
        ]
    )


@study.command()
@_where
@click.argument("rewards", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False))
@click.option("--no-learn", is_flag=True, help="Leave learning to another process.")
@json_option("what became of them")
def tell(where: _Where, rewards: tuple[str, ...], no_learn: bool, as_json: bool) -> None:
    """Tell the rewards in files: tables with the columns id and reward, or logs with ids.

    Rounds whose reward is missing are left open. Telling the same again changes nothing.
    """
    from policysieve.cli.rewards import read_rewards
    from policysieve.errors import DecisionsError, InvalidArgumentError

    opened = where.open(learn=not no_learn)
    late: list[str] = []
    counted, again, missing = 0, 0, 0
    for path in rewards:
        for ids, told, left_out in read_rewards(path, opened.problem.slate_size):
            try:
                done = opened.tell(ids, told)
            except (DecisionsError, InvalidArgumentError) as error:
                known = counted + again
                before = f" (before it, {known:,} rewards were taken)" if known else ""
                raise type(error)(f"{path}{before}: {error}") from error
            counted, again, missing = counted + done.counted, again + done.again, missing + left_out
            late += done.late
    opened.close()
    if as_json:
        print_json({"counted": counted, "again": again, "late": late, "missing": missing})
        return
    print_text(
        f"{counted:,} rewards counted, {again:,} known before, {len(late):,} late and not counted, "
        f"{missing:,} missing."
    )


@study.command()
@_where
@click.option(
    "--every",
    default="2s",
    show_default=True,
    help="How long to wait when there is nothing to learn.",
)
@click.option("--once", is_flag=True, help="Learn from what is settled, and end.")
@json_option("how many rounds were learnt from, a line each time,")
def learn(where: _Where, every: str, once: bool, as_json: bool) -> None:
    """Learn from settled rounds and publish what to play next, until it is stopped.

    Any number of these may run: one learns, and when it dies another takes over.
    """
    from policysieve.study.durations import seconds

    pause, opened = seconds("--every", every), where.open(learn=True)
    try:
        while True:
            learnt = opened.learn()
            if learnt or once:
                _say_learnt(opened, learnt, as_json)
            if once:
                return
            time.sleep(pause)
    except KeyboardInterrupt:
        print_text("Stopped.")
    finally:
        opened.close()


@study.command()
@_where
@click.argument("page", type=click.Path(dir_okay=False, path_type=Path))
@json_option("the status")
def report(where: _Where, page: Path, as_json: bool) -> None:
    """Write the HTML page PAGE about where a study stands."""
    opened = where.open()
    opened.report(page, command=command_line())
    if as_json:
        print_json(opened.status().to_dict())
    else:
        click.echo(f"Report: {page}")


@study.command()
@_where
@click.argument("log", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--to", "format", help="Format of the log, by default what its name says.")
@click.option("--overwrite", is_flag=True, help="Replace a file that exists.")
@json_option()
def export(where: _Where, log: Path, format: str | None, overwrite: bool, as_json: bool) -> None:
    """Write the settled rounds to the file LOG, of any format, as they are read."""
    written = where.open().log(log, format=format, overwrite=overwrite)
    if as_json:
        print_json({"rounds": len(written), "out": str(log)})
    else:
        click.echo(f"{len(written):,} rounds: {log}")


@study.command()
@_where
@json_option("what was found")
def verify(where: _Where, as_json: bool) -> None:
    """Fold all rounds again from the beginning, and compare bits; exit code 1 if any differ.

    Every published exploration must be what the rounds before it lead to.
    """
    found = where.open().verify()
    if as_json:
        print_json(found.to_dict())
    else:
        for difference in found.differences:
            print_text(f"Not as it should be: {difference}.")
        print_text(
            f"{found.rounds:,} rounds and {found.explorations:,} explorations: {found.verdict}"
        )
    if not found.holds:
        raise click.exceptions.Exit(1)


@study.command()
@_where
@json_option("the status")
def archive(where: _Where, as_json: bool) -> None:
    """End a study: it can be looked at, and takes no decisions or rewards any more."""
    opened = where.open()
    opened.archive()
    _show(opened, as_json)


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


def _asked(opened: "Study", pieces: Any) -> "Iterator[Rounds]":
    """Decisions as rounds without rewards."""
    import numpy as np

    from policysieve.errors import InvalidArgumentError
    from policysieve.log import Rounds
    from policysieve.scaling import usual_range

    for contexts, ids, _, beside in pieces:
        if beside.units is not None:
            raise InvalidArgumentError(
                "--contexts must not name units: a study does not know who has come before; leave "
                "that column out, and ask for the first round of each unit"
            )
        made = opened.ask(contexts, ids=ids, available=beside.available)
        names = None if made.all_actions is None else tuple(made.all_actions)
        nothing = np.full(made.actions.shape, np.nan)
        yield Rounds(
            made.contexts,
            made.actions,
            made.propensities,
            nothing,
            made.ids,
            made.asked,
            action_names=names,
            beside=made.beside,
            reward_range=usual_range(opened.problem.reward_range),
        )


def _say_learnt(opened: "Study", learnt: int, as_json: bool) -> None:
    status = opened.status()
    if as_json:
        print_json(
            {"learnt": learnt, "exploration": status.exploration, "finished": status.finished}
        )
    else:
        print_text(f"Learnt from {learnt:,} rounds; exploration {status.exploration} is played.")


def _show(opened: "Study", as_json: bool) -> None:
    status = opened.status()
    if as_json:
        print_json(status.to_dict())
        return
    print_table(
        f"{status.name}: {status.learner} with {status.candidates}",
        ["rounds", "how many"],
        [
            (name.replace("_", " "), f"{getattr(status, name):,}")
            for name in (
                "rounds", "learnt", "open", "told", "expired", "discarded", "late", "refused",
                "forgotten",
            )
        ],
    )  # fmt: skip
    best = status.recommendation
    print_text(f"Recommended: {best.policy_name}. {best.guarantee}")
    if status.archived:
        print_text("It is archived.")
