"""Files of rewards by id: tables with the columns id and reward, or logs."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from policysieve.cli.study.tables import id_column, read_table
from policysieve.errors import FileFormatError, InvalidArgumentError

__all__ = ["read_rewards"]

_BATCH = 10_000  # rewards told at once
_OF_LOGS = ("action", "action_0", "actions")  # columns, one of which every log has


def read_rewards(path: str, slate_size: int) -> Iterator[tuple[list[str], Any, int]]:
    """Ids and their rewards, some at a time, and how many rows have none."""
    table = read_table(path)
    names = ["reward"] if slate_size == 1 else [f"reward_{k}" for k in range(slate_size)]
    if table is not None and {"id", *names} <= set(table.schema.names):
        rewards = np.stack([_numbers(path, table[name]) for name in names], axis=1)
        yield from _known(id_column(table), rewards)
        return
    if table is not None and not set(_OF_LOGS) & set(table.schema.names):
        raise FileFormatError(
            f"{path} must have the columns id, {', '.join(names)}, or be a log with ids, got the "
            f"columns {', '.join(table.schema.names) or 'of an empty file'}"
        )
    from policysieve.log import LogFile

    try:
        log = LogFile(path)
    except InvalidArgumentError as error:  # its name says nothing
        raise FileFormatError(
            f"{path} must be a table with the columns id, {', '.join(names)}, whose name ends in "
            ".csv, .parquet or .jsonl, or a log with ids"
        ) from error
    for rounds in log.rounds():
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


def _numbers(path: str, column: Any) -> Any:
    import pyarrow as pa

    try:
        return column.cast(pa.float64()).to_numpy()
    except pa.ArrowInvalid as error:
        raise FileFormatError(f"{path}: rewards must be numbers: {error}") from error
