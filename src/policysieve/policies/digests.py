"""What tells contexts from each other: a hash of the kind and the content of each."""

import datetime
import decimal
import hashlib
import json
from typing import Any

import numpy as np

from policysieve.arrays import shown
from policysieve.errors import InvalidArgumentError
from policysieve.frames import ContextFrame

__all__ = ["context_digests", "digest"]


def digest(data: bytes) -> bytes:
    """A hash that no two different texts share, for all that is known."""
    return hashlib.blake2b(data, digest_size=20).digest()


def context_digests(contexts: Any) -> list[bytes]:
    """A hash of each context: the same for the same content, another for any other.

    Of numbers the dtype, the shape and the bytes of a row; of texts, rows of tables and sparse rows
    a text in which every value has its type. Columns of a table may come in any order.
    """
    if isinstance(contexts, ContextFrame):
        sparse = contexts.dtype.is_sparse
        head = f"sparse {contexts.dtype.width} " if sparse else "table "
    elif contexts.dtype.kind in "biuf":
        rows = np.ascontiguousarray(contexts)
        start = f"numbers {rows.dtype.str} {rows.shape[1:]} ".encode()
        return [digest(start + row.tobytes()) for row in rows]
    else:
        head = "texts "
    return [digest(_encoded(head, row)) for row in contexts.tolist()]


def _encoded(head: str, row: Any) -> bytes:
    text = head + json.dumps(_tagged(row), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")  # half a sign, too, is another than its escape


def _tagged(value: Any) -> Any:
    """A value for JSON: what JSON has no own kind for is a list that begins with the type.

    So are lists and dicts themselves, or they could pass for another type.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if type(value) in (list, tuple):  # a tuple with names is another type
        return ["list", *map(_tagged, value)]
    if isinstance(value, dict):
        return ["dict", *([name, _tagged(value[name])] for name in sorted(value))]
    if isinstance(value, bytes):
        return ["bytes", value.hex()]
    if isinstance(value, datetime.datetime | datetime.time):  # the former is a date, too
        kind = "datetime" if isinstance(value, datetime.datetime) else "time"
        return [kind, value.isoformat(), str(value.tzinfo)]
    if isinstance(value, datetime.date):
        return ["date", value.isoformat()]
    if isinstance(value, datetime.timedelta | decimal.Decimal):
        return [type(value).__name__, str(value)]
    raise InvalidArgumentError(
        f"contexts must be numbers, texts, times or bytes to be kept on disk, got {shown(value)}"
    )
