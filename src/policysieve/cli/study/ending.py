"""``policysieve study forget`` and ``archive``: contexts that are erased, studies that end."""

from policysieve.cli.options import json_option
from policysieve.cli.output import print_json, print_text
from policysieve.cli.study.ids import Ids, few, ids_options
from policysieve.cli.study.status import print_status
from policysieve.cli.study.where import Where, study_command, where

__all__ = ["archive", "forget"]


@study_command(
    short_help="Erase the contexts of decisions for good.",
    examples=(
        'policysieve study forget sqlite:///shop.db people "order 17" --policies weights.npz',
    ),
)
@where
@ids_options
@json_option("the ids of those that were forgotten")
def forget(where: Where, ids: Ids, as_json: bool) -> None:
    """Erase the contexts of the decisions IDS for good, and keep what the proof needs.

    Actions, propensities and rewards stay. Contexts of a .npy table cannot be erased: the policies
    look their answers up by them.
    """
    named = ids.read()
    with where.open() as opened:
        opened.forget(named)
    if as_json:
        print_json({"forgotten": named})
        return
    print_text(f"The contexts of {len(named):,} decisions are erased: {few(named)}.")


@study_command(
    short_help="End a study; it can still be looked at.",
    examples=("policysieve study archive sqlite:///shop.db homepage --policies table.npy",),
)
@where
@json_option("the status")
def archive(where: Where, as_json: bool) -> None:
    """End a study: it can be looked at, and takes no decisions or rewards any more."""
    opened = where.open()
    opened.archive()
    print_status(opened, as_json)
