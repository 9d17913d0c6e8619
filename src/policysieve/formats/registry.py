"""The table of formats, and how files of any of them are opened."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from policysieve.checks import one_of
from policysieve.errors import FileFormatError, InvalidArgumentError
from policysieve.files import Paths, as_paths
from policysieve.formats import csv_file, dsjson, json_lines, open_bandit, parquet, vowpal
from policysieve.formats.format import Format, Source
from policysieve.formats.rules import MAX_BYTES, Report, Rules
from policysieve.formats.table import MissingColumnError
from policysieve.log import ColumnMap, Rounds
from policysieve.stored import StoredFile

__all__ = ["FORMATS", "find_format", "formats_of_suffix", "open_contexts", "open_source"]

FORMATS: dict[str, Format] = {
    format.name: format
    for format in (
        parquet.FORMAT,
        csv_file.FORMAT,
        json_lines.FORMAT,
        vowpal.FORMAT,
        vowpal.ADF_FORMAT,
        dsjson.FORMAT,
        open_bandit.FORMAT,
    )
}

_ID = "id"  # the column


def open_contexts(
    paths: Paths,
    format: str | None = None,
    *,
    columns: Mapping[str, Any] | ColumnMap | None = None,
    actions: Sequence[str] | None = None,
    max_bytes: int | None = None,
) -> Iterator[Rounds]:
    """Read contexts, ids, times, units and what is available, of a log or of files without more.

    That is CSV, newline JSON and plain Parquet without actions, propensities and rewards, or Vowpal
    Wabbit's text and dsjson without labels.

    Parameters
    ----------
    paths : path or sequence of paths
    format : str, optional
        A name in `FORMATS`; by default what the files' names and their first lines say.
    columns : mapping, optional
        Which columns hold ``context``, ``id``, ``time``, ``slate``, ``available`` and ``unit``, as
        `LogFile` has it; what it says of others is left aside. A column of the name ``id`` that it
        does not speak of holds the ids, as it does without a map.
    actions : sequence of str, optional
        Names of all actions; if what is available has names, it is numbered in their order.
    max_bytes : int, optional
        Memory that one batch may take, as `LogFile` has it.

    Returns
    -------
    iterator of Rounds
        Batches in the order of the files, of rounds without items.

    Raises
    ------
    FileNotFoundError, FileFormatError, InvalidArgumentError
        As `LogFile` has it, and if something is available that has no name among `actions`.
    """
    rules = Rules(
        contexts_only=True,
        columns=columns if columns is None else ColumnMap.of(columns),
        max_bytes=MAX_BYTES if max_bytes is None else max_bytes,
    )
    rules = _with_ids(paths, format, rules)
    source = open_source(paths, format, rules)
    named = source.layout.action_names
    if actions is None or named is None or named == tuple(actions):
        return source.batches()
    return open_source(paths, format, replace(rules, actions=tuple(actions))).batches()


def _with_ids(paths: Paths, format: str | None, rules: Rules) -> Rules:
    """Rules whose map has the column ``id`` of the files, if it says nothing of that."""
    columns = rules.columns
    if columns is None or columns.id or columns.slate:
        return rules
    if _ID in columns.names(contexts_only=False):  # it holds something else
        return rules
    named = replace(rules, columns=replace(columns, id=_ID))
    every = as_paths(paths)
    without = [path for path in every if not _has_ids(path, format, named)]
    if without and len(without) < len(every):
        raise FileFormatError(
            f"{without[0]} has no column 'id', which other files of the contexts have; give all of "
            "them ids, or none"
        )
    return rules if without else named


def _has_ids(path: Path, format: str | None, rules: Rules) -> bool:
    """Whether a file has a column of ids, as far as it can be opened at all."""
    try:
        open_source(path, format, rules)
    except MissingColumnError as error:
        return error.column != _ID
    return True


def open_source(
    paths: Paths, format: str | None, rules: Rules, report: Report | None = None
) -> Source:
    """Open files that are one log; see `LogFile` and `Format`."""
    every = as_paths(paths)
    for path in every:
        if not path.is_file():
            raise FileNotFoundError(f"no {'contexts' if rules.contexts_only else 'log'} at {path}")
    mapped = rules.columns is not None
    stored = next((path for path in every if isinstance(path, StoredFile)), None)
    if stored is not None and not parquet.is_parquet(every[0]):
        raise InvalidArgumentError(
            f"logs of other formats than Parquet must be on a disk, got {stored}; copy it, or "
            "convert it to Parquet first"
        )
    first = _recognised(every[0], format, mapped=mapped)
    if mapped and not first.tabular:
        tables = ", ".join(known.name for known in FORMATS.values() if known.tabular)
        raise InvalidArgumentError(
            f"columns must be None for {first.name}, which is no table; a map of columns is for "
            f"{tables}"
        )
    for path in every[1:]:
        other = _recognised(path, format, mapped=mapped)
        if other is not first:
            raise InvalidArgumentError(
                f"the files of one log must be of one format, {every[0]} is {first.name} and "
                f"{path} is {other.name}; convert one of them first"
            )
    return first.open(every, rules, report)


def find_format(path: Path, format: str | None) -> Format:
    """The format of a name, or else the one that a file's suffix means."""
    if format is None:
        possible = formats_of_suffix(path)
        if possible:
            return possible[0]
        endings = dict.fromkeys(ending for known in FORMATS.values() for ending in known.suffixes)
        raise InvalidArgumentError(
            f"the suffix of {path} does not tell its format; known are {', '.join(endings)}, or "
            f"name one of {', '.join(FORMATS)} (--from or --to)"
        )
    one_of("format", format, FORMATS)
    return FORMATS[format]


def formats_of_suffix(path: Path) -> list[Format]:
    """The formats that a suffix may mean, first the one that it means of a new file."""
    plain = path.with_suffix("") if path.suffix == ".gz" else path
    found = [known for known in FORMATS.values() if plain.suffix.lower() in known.suffixes]
    return sorted(found, key=lambda known: known.recognises is not None)


def _recognised(path: Path, format: str | None, *, mapped: bool) -> Format:
    """The format of a file that is there; Parquet is known by its first bytes, whatever its name.

    No other format can begin with these, and before 0.2 a log was saved as Parquet under any name.
    Where columns are mapped, their names do not tell the format.
    """
    if format is None and parquet.is_parquet(path):
        return parquet.FORMAT
    if format is None:
        for one in formats_of_suffix(path):
            if one.recognises is not None and not mapped and one.recognises(path):
                return one
    return find_format(path, format)
