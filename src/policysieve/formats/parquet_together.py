"""Parquet files that are one log: what they have in common, or why they cannot be one."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from policysieve.errors import FileFormatError, InvalidArgumentError
from policysieve.formats.parquet_file import LogInParquet
from policysieve.formats.rules import Rules
from policysieve.frames import ContextFrame, Contexts, common_type, kind_of
from policysieve.log import Layout, Rounds
from policysieve.log.named import Names
from policysieve.scaling import Range, range_in_words

__all__ = ["common_layout", "common_range", "in_layout"]


def common_layout(files: Sequence[LogInParquet], declared: Names) -> Layout:
    """The layout of files that are one log; numbers have the type that holds all of them."""
    first = files[0]
    common = first.layout
    known = {file.layout.has_distributions: file for file in files if file.n_rounds}
    if len(known) > 1:
        raise FileFormatError(
            f"{known[True].path} has full distributions, but {known[False].path} has not; all "
            "files of one log must have them, or none"
        )
    _check_beside(files)
    for file in files[1:]:
        mine = file.layout
        if mine.slate_size != common.slate_size:
            raise FileFormatError(
                f"{file.path} has slates of {mine.slate_size}, but {first.path} of "
                f"{common.slate_size}; the files of one log must have slates of one size"
            )
        kinds = [(each.context_shape, kind_of(each.context_dtype)) for each in (mine, common)]
        if kinds[0] != kinds[1]:
            raise FileFormatError(
                f"contexts of {file.path} are {mine}, but those of {first.path} are {common}; the "
                "files of one log must have contexts of one kind"
            )
        try:
            dtype = common_type(common.context_dtype, mine.context_dtype)
        except InvalidArgumentError as error:
            raise FileFormatError(f"{file.path} does not fit to {first.path}: {error}") from error
        common = replace(
            common,
            context_dtype=dtype,
            has_ids=common.has_ids or mine.has_ids,
            has_times=common.has_times or mine.has_times,
        )
    common = replace(common, action_names=_common_names(files, declared))
    return replace(common, has_distributions=True in known) if known else common


def _check_beside(files: Sequence[LogInParquet]) -> None:
    """Raise unless all files have the same columns beside contexts and items."""
    for what, found in (
        ("what was available", "has_available"),
        ("units", "has_units"),
        ("these outcomes", "outcomes"),
    ):
        known = {getattr(file.layout, found): file for file in files if file.n_rounds}
        if len(known) > 1:
            first, second, *_ = sorted(known, reverse=True)
            raise FileFormatError(
                f"{known[first].path} has {what}, but {known[second].path} has not; all files of "
                "one log must have the same, or none"
            )


def common_range(files: Sequence[LogInParquet], rules: Rules) -> Range:
    """The range of the rewards: declared, or as files say, which must not contradict it."""
    found, said = rules.reward_range, "reward_range"
    for file in files:
        mine = file.layout.reward_range
        if mine is None:  # it does not say
            continue
        if found is not None and found != mine:
            raise FileFormatError(
                f"{file.path} says that its rewards lie in {range_in_words(mine)}, but {said} is "
                f"{range_in_words(found)}; rewards of one log have one range"
            )
        found, said = mine, f"that of {file.path}"
    return found


def _common_names(files: Sequence[LogInParquet], declared: Names) -> Names:
    """Names of the actions of all files: declared ones, or their own if these are the same."""
    named = {file.layout.action_names is not None: file for file in files if file.n_rounds}
    if len(named) > 1:
        raise FileFormatError(
            f"{named[True].path} has names of actions, but {named[False].path} has numbers; all "
            "files of one log must have names, or none"
        )
    if declared is not None:
        return declared
    every = dict.fromkeys(file.layout.action_names for file in files)
    if len(every) == 1:
        return files[0].layout.action_names
    return tuple(sorted({name for names in every for name in names or ()})) or None


def _of_type(contexts: Contexts, dtype: Any) -> Any:
    if isinstance(contexts, ContextFrame):
        try:
            return contexts.as_type(dtype)
        except InvalidArgumentError as error:
            raise FileFormatError(f"the files are not one log: {error}") from error
    return contexts.astype(dtype, copy=False)


def in_layout(rounds: Rounds, layout: Layout) -> Rounds:
    """The rounds of one file as those of the whole log."""
    return replace(
        rounds,
        contexts=_of_type(rounds.contexts, layout.context_dtype),
        ids=np.full(len(rounds), "", dtype=object)
        if layout.has_ids and rounds.ids is None
        else rounds.ids,
        times=np.full(len(rounds), np.nan)
        if layout.has_times and rounds.times is None
        else rounds.times,
    )
