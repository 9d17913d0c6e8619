"""Rows of an earlier race in the same folder, kept so that one learner can be measured again."""

import json
from pathlib import Path
from typing import Any

__all__ = ["FILE", "KINDS", "Rows", "with_earlier_rows"]

FILE = "samples.json"
KINDS = ("picking", "proving")

Rows = dict[str, list[dict[str, Any]]]


def with_earlier_rows(
    rows: Rows, folder: Path | None, settings: dict[str, Any]
) -> tuple[Rows, str | None]:
    """New rows, and those in the folder's file of tasks and learners that are not among them.

    A row that does not say which code measured it takes the code of its file.

    Parameters
    ----------
    rows : dict of lists
        New rows by kind, each with its task and learner.
    folder : Path or None
    settings : dict
        Those of the new rows. Earlier rows of other settings are dropped.

    Returns
    -------
    rows : dict of lists
        Earlier ones behind new ones.
    dropped : str or None
        Why earlier rows were dropped, if any were.
    """
    if folder is None or not (folder / FILE).exists():
        return rows, None
    try:
        earlier = json.loads((folder / FILE).read_bytes())
        code, used = earlier.get("code", "unknown"), dict(earlier["settings"])
        missing = {
            kind: [
                {**row, "code": row.get("code", code)}
                for row in earlier[kind]
                if not any(_cell(row) == _cell(new) for new in rows[kind])
            ]
            for kind in KINDS
        }
    except ValueError:
        return rows, "was not JSON, so none of its rows could be kept"
    except (AttributeError, KeyError, TypeError, RecursionError):
        return rows, "was not the result of a race, so none of its rows could be kept"
    count = sum(map(len, missing.values()))
    if count and used != settings:
        then = ", ".join(f"{key} {value}" for key, value in used.items())
        return rows, f"{count} of its rows were dropped, because they have other settings: {then}"
    return {kind: rows[kind] + missing[kind] for kind in KINDS}, None


def _cell(row: dict[str, Any]) -> tuple[str, str]:
    return row["task"], row["learner"]
