"""``policysieve study tell``, ``expire`` and ``discard``: what becomes of decisions."""

import click

from policysieve.cli.options import json_option, no_learn_option
from policysieve.cli.output import print_json, print_text
from policysieve.cli.study.ids import Ids, few, ids_options
from policysieve.cli.study.where import Where, study_command, where

__all__ = ["discard", "expire", "tell"]


@study_command(
    short_help="Rewards for decisions, from files.",
    examples=(
        "policysieve study tell sqlite:///shop.db homepage rewards.csv --policies table.npy",
    ),
)
@where
@click.argument("rewards", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False))
@no_learn_option
@json_option("what became of them")
def tell(where: Where, rewards: tuple[str, ...], no_learn: bool, as_json: bool) -> None:
    """Tell the rewards in files: tables with the columns id and reward, or logs with ids.

    Rounds whose reward is missing are left open. Telling the same again changes nothing.
    """
    from policysieve.cli.study.rewards import read_rewards
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


@study_command(
    short_help="Settle decisions that have waited too long.",
    examples=(
        "policysieve study expire sqlite:///shop.db homepage --policies table.npy --older-than 2h",
    ),
)
@where
@click.option(
    "--older-than",
    metavar="DURATION",
    help="How long a decision may wait, such as 90s, 15m, 2h or 3d; by default the study's "
    "deadline.",
)
@no_learn_option
@json_option("the ids of those that were settled")
def expire(where: Where, older_than: str | None, no_learn: bool, as_json: bool) -> None:
    """Settle decisions that have waited too long with the reward that no answer has.

    That is 0, or the --no-answer of study create. Decisions are settled in their order, up to the
    first that may still wait.
    """
    with where.open(learn=not no_learn) as opened:
        settled = opened.expire(older_than=older_than)
    if as_json:
        print_json({"expired": settled})
        return
    named = f": {few(settled)}" if settled else ""
    print_text(f"{len(settled):,} decisions expired{named}.")


@study_command(
    short_help="Give up decisions whose rewards will never be known.",
    examples=(
        'policysieve study discard sqlite:///shop.db homepage "order 17" "order 18" '
        '--policies table.npy --reason "the page was never shown"',
    ),
)
@where
@ids_options
@click.option(
    "--reason", required=True, help="Why their rewards will never be known; it is written down."
)
@no_learn_option
@json_option("the ids of those that were given up")
def discard(where: Where, ids: Ids, reason: str, no_learn: bool, as_json: bool) -> None:
    """Give up the decisions IDS, whose rewards will never be known.

    Only for reasons that have nothing to do with the rewards, such as a page that was never shown;
    otherwise estimates are biased. Late answers are what the deadline is for: a decision that has
    passed it has expired, and cannot be given up any more.
    """
    named = ids.read()
    with where.open(learn=not no_learn) as opened:
        given_up = opened.discard(named, reason=reason)
    if as_json:
        print_json({"discarded": given_up})
        return
    print_text(f"{len(given_up):,} decisions were given up: {few(given_up)}.")
