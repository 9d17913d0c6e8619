"""Rounds as bytes and back: the one place that knows how a batch lies in its row.

Numbers lie as they are in memory, actions and answers in the smallest integers that number the
actions. Texts are JSON, rows of a table an Arrow stream; both, and answers, are compressed where
that helps. A new column of rounds is added here and in `schema`, whose version it changes.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.archives import most_bytes
from policysieve.availability import Available
from policysieve.errors import FileFormatError
from policysieve.frames import ContextFrame, FrameType
from policysieve.log import NOTHING, Beside
from policysieve.policies import Answers, PolicyClass, Slates
from policysieve.policies.base import action_dtype
from policysieve.policies.digests import context_digests

__all__ = [
    "PACKED",
    "Batch",
    "beside_of",
    "context_hashes",
    "pack_answers",
    "pack_contexts",
    "packed",
    "unpack_answers",
    "unpack_contexts",
    "unpacked",
]

_LEVEL = 1  # of compression
_SMALL = 128  # bytes that are not worth compressing
_HASH = 20  # bytes

Which = npt.NDArray[np.integer[Any]] | None


@dataclass(frozen=True, eq=False, kw_only=True)
class Batch:
    """Rounds that were asked for together, as they were decided.

    Attributes
    ----------
    first : int
        Place of the first in the order of decisions.
    exploration : int
        Version of what decided them.
    asked : float
        When, by the clock of the database.
    actions, propensities : arrays of shape (n, m)
    contexts : contexts, object array of their hashes, or None
        Of those rounds alone whose contexts were not erased; None if they were not read.
    answers : Answers or None
        None if the class looks its answers up, or cannot be listed.
    available : Available or None
        What could be shown; None if everything could.
    forgotten : boolean array of shape (n,), or None
        Rounds whose contexts were erased; None if there are none.
    """

    first: int
    exploration: int
    asked: float
    actions: npt.NDArray[np.int32]
    propensities: npt.NDArray[np.float64]
    contexts: Any
    answers: Answers | None
    available: Available | None = None
    forgotten: npt.NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.actions)

    @property
    def end(self) -> int:
        """Place behind the last."""
        return self.first + len(self)


PACKED = (
    "first",
    "size",
    "exploration",
    "asked",
    "actions",
    "propensities",
    "contexts",
    "answers",
    "available",
)
"""Columns that `packed` fills."""


def packed(
    policies: PolicyClass, which: Which, batch: Batch, *, keep_contexts: bool
) -> dict[str, Any]:
    """A batch as a row of `batches`, with the answers of the policies `which`."""
    x, answers = batch.contexts, batch.answers
    return {
        "first": batch.first,
        "size": len(batch),
        "exploration": batch.exploration,
        "asked": batch.asked,
        "actions": batch.actions.astype(action_dtype(policies.n_actions)).tobytes(),
        "propensities": batch.propensities.tobytes(),
        "contexts": pack_contexts(x) if keep_contexts else context_hashes(x),
        "answers": None if answers is None else pack_answers(policies, answers, which),
        "available": None if batch.available is None else batch.available.bits.tobytes(),
    }


def unpacked(row: Any, policies: PolicyClass, which: Which, *, contexts: bool) -> Batch:
    """What `packed` has packed, or FileFormatError.

    Parameters
    ----------
    row : row of `batches`
    policies : PolicyClass
    which : integer array or None
        Policies whose answers were kept; None if all.
    contexts : bool
        Whether contexts are wanted.
    """
    shape = (row.size, policies.slate_size)
    try:
        actions = np.frombuffer(row.actions, action_dtype(policies.n_actions)).reshape(shape)
        propensities = np.frombuffer(row.propensities, np.float64).reshape(shape)
        if actions.size and actions.max() >= policies.n_actions:
            raise ValueError(f"action {actions.max()}")
        said = allowed = None
        if row.available is not None:
            bits = np.frombuffer(row.available, np.uint8).reshape(row.size, -1)
            allowed = Available(bits, policies.n_actions)
        if row.answers is not None:
            said = unpack_answers(policies, row.answers, row.size, which, allowed)
        forgotten, left = None, row.size
        if row.forgotten is not None:
            bits = np.frombuffer(row.forgotten, np.uint8)
            forgotten = np.unpackbits(bits, count=row.size).astype(np.bool_)
            left -= int(forgotten.sum())
        x = unpack_contexts(row.contexts, left) if contexts else None
    except (ValueError, KeyError, OSError, TypeError) as error:
        raise FileFormatError(
            f"the batch of round {row.first} is damaged ({error}); restore the database from a "
            "backup"
        ) from error
    return Batch(
        first=row.first,
        exploration=row.exploration,
        asked=row.asked,
        actions=actions.astype(np.int32),
        propensities=propensities,
        contexts=x,
        answers=said,
        available=allowed,
        forgotten=forgotten,
    )


def beside_of(parts: Sequence[tuple[Available | None, int]]) -> Beside:
    """What was available in parts of so many rounds, one behind the other."""
    whole, n = NOTHING, 0
    for allowed, size in parts:
        whole = whole.plus(n, Beside(allowed), size)
        n += size
    return whole


def pack_contexts(contexts: Any) -> bytes:
    """Contexts of any kind, behind a line that says which."""
    if isinstance(contexts, ContextFrame):
        return b"arrow\n" + _squeezed(_stream_of(contexts))
    if contexts.dtype.kind == "O":
        text = json.dumps(contexts.tolist()).encode()
        return b"text %s\n" % _shape_of(contexts) + _squeezed(text)
    plain = np.ascontiguousarray(contexts)
    return f"{plain.dtype.str} ".encode() + _shape_of(plain) + b"\n" + plain.tobytes()


def context_hashes(contexts: Any) -> bytes:
    """A hash of each context, in place of the contexts."""
    return b"hash\n" + b"".join(context_digests(contexts))


def unpack_contexts(data: bytes, n: int) -> Any:
    """What `pack_contexts` or `context_hashes` has packed; hashes as texts."""
    head, _, rest = data.partition(b"\n")
    kind, *shape = head.decode().split()
    if kind == "arrow":
        frame = _frame_in(_unsqueezed(rest))
        if len(frame) != n:
            raise ValueError(f"{len(frame)} contexts of {n}")
        return frame
    if kind == "hash":
        texts = [rest[start : start + _HASH].hex() for start in range(0, len(rest), _HASH)]
        return np.array(texts, dtype=object).reshape(n)
    whole = (n, *map(int, shape))
    if kind == "text":
        array = np.empty(whole, dtype=object)
        array[...] = np.array(json.loads(_unsqueezed(rest)), dtype=object).reshape(whole)
        return array
    dtype = np.dtype(kind)
    if dtype.kind not in "biuf":
        raise ValueError(f"contexts of {dtype}")
    return np.frombuffer(rest, dtype).reshape(whole)


def pack_answers(policies: PolicyClass, answers: Answers, which: Which) -> bytes | None:
    """What the policies `which` said; None if nobody needs to remember it."""
    if policies.looked_up or not isinstance(answers, Slates):
        return None
    said = answers.table[answers.rows]
    said = said if which is None else said[:, which]
    return _squeezed(np.ascontiguousarray(said).tobytes())


def unpack_answers(
    policies: PolicyClass,
    data: bytes,
    n: int,
    which: Which,
    available: Available | None = None,
) -> Slates:
    """What `pack_answers` has packed; columns of other policies are there, and empty."""
    dtype, m = action_dtype(policies.n_actions), policies.slate_size
    assert policies.n_policies is not None
    count = policies.n_policies if which is None else len(which)
    said = np.frombuffer(_unsqueezed(data, n * count * m * dtype.itemsize), dtype)
    said = said.reshape(n, count, m)
    if which is None or count == policies.n_policies:
        return Slates(said, None, available)
    slates = np.zeros((n, policies.n_policies, m), dtype)
    slates[:, which] = said
    return Slates(slates, None, available)


def _shape_of(contexts: npt.NDArray[Any]) -> bytes:
    return " ".join(map(str, contexts.shape[1:])).encode()


def _squeezed(data: bytes) -> bytes:
    """Compressed if that is shorter; the first byte says so, and eight bytes its length before."""
    if len(data) > _SMALL:
        import pyarrow as pa

        small: bytes = pa.Codec("zstd", _LEVEL).compress(data, asbytes=True)
        if len(small) + 8 < len(data):
            return b"\1" + len(data).to_bytes(8, "little") + small
    return b"\0" + data


def _unsqueezed(data: bytes, size: int | None = None) -> bytes:
    """What `_squeezed` was given; it must be so long, if that is known."""
    content: bytes = data[1:]
    if data[:1] == b"\1":
        import pyarrow as pa

        length = int.from_bytes(data[1:9], "little")
        if length > (most_bytes(len(data)) if size is None else size):
            raise ValueError(f"{length:,} bytes")
        content = pa.Codec("zstd").decompress(data[9:], length, asbytes=True)
    if size is not None and len(content) != size:
        raise ValueError(f"{len(content):,} bytes in place of {size:,}")
    return content


def _stream_of(frame: ContextFrame) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    table = frame.table
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return bytes(sink.getvalue())


def _frame_in(data: bytes) -> ContextFrame:
    import pyarrow as pa

    try:
        with pa.ipc.open_stream(data) as reader:
            table = reader.read_all()
    except pa.ArrowInvalid as error:
        raise ValueError(str(error)) from error
    _check_type(table.schema.serialize().to_pybytes())
    return ContextFrame([table])


@lru_cache(maxsize=64)
def _check_type(schema: bytes) -> None:
    """Raise unless rows of this type may be handed to candidates."""
    import pyarrow as pa

    found = pa.ipc.read_schema(pa.py_buffer(schema))
    levels = {
        field.name: pa.array([], field.type.value_type)
        for field in found
        if pa.types.is_dictionary(field.type)
    }
    FrameType.checked(found, levels)
