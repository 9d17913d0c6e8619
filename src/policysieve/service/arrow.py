"""Streams of Arrow from strangers: checked to the last offset, and never unpacked."""

import struct

import pyarrow as pa

from policysieve.service.problems import ProblemError

__all__ = ["read_stream", "stream_of"]

# Of the flatbuffer that heads a message: kinds of messages, and numbers of fields.
_RECORDS, _DICTIONARY = 3, 2
_KIND, _HEADER = 1, 2
_DATA, _COMPRESSION = 1, 3


def read_stream(body: bytes, most: int) -> pa.Table:
    """The table that a stream holds, or raise.

    Compressed columns are refused: a small body could hold far more than it looks like.
    """
    try:
        for message in pa.ipc.MessageReader.open_stream(body):
            if _is_compressed(message.metadata.to_pybytes()):
                raise ProblemError(422, "the stream must not be compressed; send its columns plain")
        with pa.ipc.open_stream(body) as reader:
            table = reader.read_all()
        table.validate(full=True)
    except (pa.ArrowException, ValueError, OSError, struct.error, IndexError) as error:
        why = str(error).split("\n")[0]
        raise ProblemError(400, f"the body must be a stream of Arrow, but is not: {why}") from error
    if table.num_rows > most:
        raise ProblemError(
            413, f"a request must have at most {most:,} rounds, got {table.num_rows:,}"
        )
    names = table.schema.names
    if len(set(names)) != len(names):
        raise ProblemError(422, "columns of the stream must have different names")
    return table


def stream_of(table: pa.Table) -> bytes:
    """A table as a stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _is_compressed(metadata: bytes) -> bool:
    """Whether a message says that its buffers are compressed."""
    root = struct.unpack_from("<I", metadata, 0)[0]
    kind = _field(metadata, root, _KIND)
    header = _field(metadata, root, _HEADER)
    if not kind or not header or metadata[kind] not in (_RECORDS, _DICTIONARY):
        return False
    batch = _followed(metadata, header)
    if metadata[kind] == _DICTIONARY:
        data = _field(metadata, batch, _DATA)
        if not data:
            return False
        batch = _followed(metadata, data)
    return bool(_field(metadata, batch, _COMPRESSION))


def _field(data: bytes, table: int, number: int) -> int:
    """Where a field of a table lies; 0 if it is left out."""
    fields = table - struct.unpack_from("<i", data, table)[0]
    size = struct.unpack_from("<H", data, fields)[0]
    slot = 4 + 2 * number
    if slot >= size:
        return 0
    offset: int = struct.unpack_from("<H", data, fields + slot)[0]
    return table + offset if offset else 0


def _followed(data: bytes, place: int) -> int:
    """Where an offset leads."""
    return place + int(struct.unpack_from("<I", data, place)[0])
