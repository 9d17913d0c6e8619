"""Rows that another process sent are what their metadata say, or nothing."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from policysieve.errors import InvalidArgumentError
from policysieve.frames import ContextFrame
from policysieve.frames.arrow import MADE_OF, WIDTH

ROWS = pd.DataFrame(
    {
        "age": [1, 2, None],
        "size": pd.Categorical(["S", None, "L"], ["S", "M", "L"], ordered=True),
        "odd": pd.Series([1, None, 3], dtype="Int64"),
        "text": ["a", None, "b"],
    }
)


@pytest.mark.parametrize(
    "given",
    [
        ROWS,
        pl.from_pandas(ROWS),
        pa.Table.from_pandas(ROWS),
        [{"a": 1, "b": None}, {"a": 2}],
        sparse.csr_matrix(np.eye(3)),
        sparse.csr_array(np.eye(3)),
    ],
    ids=lambda given: f"{type(given).__module__.split('.')[0]} {type(given).__name__}",
)
def test_rows_arrive_as_they_were(given):
    sent = ContextFrame.of(given)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, sent.table.schema) as writer:
        writer.write_table(sent.table)
    with pa.ipc.open_stream(sink.getvalue()) as reader:
        got = ContextFrame.received(reader.read_all())
    assert got.same_as(sent)
    assert got.dtype.is_exactly(sent.dtype)
    assert type(got.native()) is type(sent.native())


def said(table, **metadata):
    keys = {"made_of": MADE_OF, "width": WIDTH}
    return table.replace_schema_metadata({keys[k]: v for k, v in metadata.items()})


PLAIN = pa.table({"a": [1, 2]})
COLUMNS = pa.array([[0, 2], [1]], pa.large_list(pa.int32()))
VALUES = pa.array([[1.0, 2.0], [3.0]], pa.large_list(pa.float64()))
SPARSE = pa.table({"columns": COLUMNS, "values": VALUES})


def test_rows_that_say_nothing_are_those_of_arrow():
    assert ContextFrame.received(PLAIN).dtype.made_of == "pyarrow"


@pytest.mark.parametrize(
    "table",
    [
        said(PLAIN, made_of=b"os"),
        said(PLAIN, made_of=b"modin"),
        said(PLAIN, made_of=b"\xff"),
        said(PLAIN, made_of=b"csr_matrix", width=b"3"),
        said(SPARSE, made_of=b"csr_matrix", width=b"2"),
        said(SPARSE, made_of=b"csr_matrix", width=b"-1"),
        said(SPARSE, made_of=b"csr_matrix", width=b"many"),
        said(SPARSE, made_of=b"csr_matrix"),
        said(
            pa.table({"columns": COLUMNS[::-1], "values": VALUES}), made_of=b"csr_array", width=b"3"
        ),
    ],
    ids=range(9),
)
def test_rows_that_cannot_be_are_refused(table):
    with pytest.raises((ValueError, KeyError, InvalidArgumentError)):
        ContextFrame.received(table)
