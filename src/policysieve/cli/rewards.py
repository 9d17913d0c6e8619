"""Files of rewards by id: tables with the columns id and reward, or logs."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from policysieve.errors import FileFormatError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["read_rewards"]

_BATCH = 10_000  # rewards told at once


def read_rewards(path: str, slate_size: int) -> Iterator[tuple[list[str], Any, int]]:
    """Ids and their rewards, some at a time, and how many rows have none."""
    table = _table(path)
    names = ["reward"] if slate_size == 1 else [f"reward_{k}" for k in range(slate_size)]
    if table is not None and {"id", *names} <= set(table.schema.names):
        ids = table["id"].cast("string").to_pylist()
        rewards = np.stack([_numbers(path, table[name]) for name in names], axis=1)
        yield from _known(ids, rewards)
        return
    from policysieve.log import LogFile

    for rounds in LogFile(path).rounds():
        if rounds.ids is None:
            raise FileFormatError(
                f"{path} must have ids: it is a log without them, and no table with the columns "
                f"id, {', '.join(names)}"
            )
        yield from _known(rounds.ids.tolist(), rounds.rewards)


def _known(ids: list[str], rewards: Any) -> Iterator[tuple[list[str], Any, int]]:
    for start in range(0, len(ids), _BATCH):
        some, told = ids[start : start + _BATCH], rewards[start : start + _BATCH]
        known = ~np.isnan(told).any(axis=1)
        yield [id for id, is_known in zip(some, known, strict=True) if is_known], told[known], int(
            (~known).sum()
        )  # fmt: skip


def _table(path: str) -> "pa.Table | None":
    """The table of a file, if it is one."""
    import pyarrow as pa
    from pyarrow import csv, json, parquet

    readers = {".csv": csv.read_csv, ".parquet": parquet.read_table, ".jsonl": json.read_json}
    reader = readers.get(Path(path).suffix)
    if reader is None:
        return None
    try:
        return reader(path)
    except pa.ArrowInvalid as error:
        raise FileFormatError(f"{path} cannot be read as a table: {error}") from error


def _numbers(path: str, column: Any) -> Any:
    import pyarrow as pa

    try:
        return column.cast(pa.float64()).to_numpy()
    except pa.ArrowInvalid as error:
        raise FileFormatError(f"{path}: rewards must be numbers: {error}") from error
