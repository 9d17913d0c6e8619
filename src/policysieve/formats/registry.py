"""The table of formats, and the door through which all of them are read."""

import math
import os
from collections.abc import Iterator
from pathlib import Path

from policysieve.errors import FileFormatError, InvalidArgumentError
from policysieve.formats import (
    csv_file,
    dsjson,
    json_lines,
    open_bandit_csv,
    parquet,
    vowpal,
    vowpal_adf,
)
from policysieve.formats.files import read_lines
from policysieve.formats.format import Format, Report, Rules, Source
from policysieve.formats.rounds import Rounds

__all__ = ["FORMATS", "check_reward_range", "find_format", "open_rounds", "open_source"]

FORMATS: dict[str, Format] = {
    format.name: format
    for format in (
        parquet.FORMAT,
        csv_file.FORMAT,
        json_lines.FORMAT,
        vowpal.FORMAT,
        vowpal_adf.FORMAT,
        dsjson.FORMAT,
        open_bandit_csv.FORMAT,
    )
}


def open_rounds(
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    reward_range: tuple[float, float] | None = None,
    contexts_only: bool = False,
) -> Iterator[Rounds]:
    """Read the rounds of a file of any format, in batches.

    Parameters
    ----------
    path : path
        The file; text may be compressed (``.gz``). Text is read twice, first to find out what its
        contexts are.
    format : str, optional
        A name in `FORMATS`; by default what the file's name and its first line say.
    reward_range : (low, high), optional
        Range of the file's rewards, which is mapped to [0, 1]. Needed when a reward is outside
        [0, 1]; for formats with costs it is the range of minus the costs.
    contexts_only : bool
        Read contexts, ids and times alone, of a log or of a file that has nothing else: CSV,
        newline JSON and plain Parquet without actions, propensities and rewards, Vowpal Wabbit's
        text without labels. Rounds then have no items.

    Returns
    -------
    iterator of Rounds
        Batches in the order of the file. A missing reward is NaN.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    FileFormatError
        If the file cannot be read, holds no rounds, or a row of it breaks a rule; the line and
        the reason are named.
    InvalidArgumentError
        If the format is not known, or the range is none.
    """
    rules = Rules(check_reward_range(reward_range), contexts_only=contexts_only)
    return open_source(path, format, rules, None).batches()


def open_source(
    path: str | os.PathLike[str], format: str | None, rules: Rules, report: Report | None
) -> Source:
    """Open a file for reading; see `open_rounds` and `Format`."""
    where = Path(path)
    if not where.is_file():
        raise FileNotFoundError(f"no {'contexts' if rules.contexts_only else 'log'} at {where}")
    found = find_format(where, format)
    if format is None and found is csv_file.FORMAT and _has_open_bandit_header(where):
        found = open_bandit_csv.FORMAT
    return found.open(where, rules, report)


def find_format(path: Path, format: str | None) -> Format:
    """The format of a name, or else the one that a file's suffix means."""
    if format is not None:
        if format not in FORMATS:
            raise InvalidArgumentError(
                f"format must be one of {', '.join(FORMATS)}, got {format!r}"
            )
        return FORMATS[format]
    plain = path.with_suffix("") if path.suffix == ".gz" else path
    for known in FORMATS.values():
        if plain.suffix.lower() in known.suffixes:
            return known
    endings = ", ".join(ending for known in FORMATS.values() for ending in known.suffixes)
    raise InvalidArgumentError(
        f"the suffix of {path} does not tell its format; known are {endings}, or name one of "
        f"{', '.join(FORMATS)} (--from or --to)"
    )


def check_reward_range(reward_range: tuple[float, float] | None) -> tuple[float, float] | None:
    """Return the range if it is two finite numbers in order."""
    if reward_range is None:
        return None
    try:
        low, high = map(float, reward_range)
    except (TypeError, ValueError):
        low = high = math.nan
    if not (low < high and math.isfinite(high - low)):
        raise InvalidArgumentError(
            "reward_range must be two finite numbers low < high a finite distance apart, got "
            f"{reward_range!r}"
        )
    return low, high


def _has_open_bandit_header(path: Path) -> bool:
    try:
        names = csv_file.read_header(path, csv_file.table_records(read_lines(path)))
    except FileFormatError:  # said again when the file is opened
        return False
    return open_bandit_csv.is_open_bandit(names)
