"""Sparse matrices as Arrow, and back."""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from policysieve.arrays import shown
from policysieve.errors import InvalidArgumentError
from policysieve.frames.arrow import described

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["MOST_COLUMNS", "SPARSE", "as_sparse", "check_sparse", "from_sparse"]

MOST_COLUMNS = 2**31 - 1  # they are numbered with 32 bits
SPARSE = ("columns", "values")  # what is kept of sparse rows: for each, two lists of equal length


def from_sparse(matrix: Any) -> "pa.Table":
    """A described table of a sparse matrix: for each row the columns that are not 0, and values."""
    import pyarrow as pa
    from scipy.sparse import issparse

    if not issparse(matrix):
        raise InvalidArgumentError(
            f"contexts must be an array or a sparse matrix of scipy, got {shown(matrix)}; pass "
            "contexts.toarray(), if it has that"
        )
    numbers = matrix.dtype.kind in "biuf" and matrix.dtype.itemsize <= 8
    if matrix.ndim != 2 or not numbers:
        raise InvalidArgumentError(
            "contexts must be numbers of at most 64 bits in two dimensions, got shape "
            f"{matrix.shape} of {matrix.dtype}; convert them with contexts.astype(float)"
        )
    if matrix.shape[1] > MOST_COLUMNS:
        raise InvalidArgumentError(
            f"contexts must have at most {MOST_COLUMNS:,} columns, got {matrix.shape[1]:,}; hash "
            "them into fewer"
        )
    rows = matrix.tocsr(copy=True)
    rows.sum_duplicates()
    if not np.isfinite(rows.data).all():
        wrong = int(np.flatnonzero(~np.isfinite(rows.data))[0])
        row = int(np.searchsorted(rows.indptr, wrong, side="right")) - 1
        raise InvalidArgumentError(f"contexts must be finite, got NaN or infinity in row {row}")
    offsets = pa.array(rows.indptr.astype(np.int64))
    entries = (rows.indices.astype(np.int32), rows.data)
    table = pa.table(
        {
            name: pa.LargeListArray.from_arrays(offsets, pa.array(values))
            for name, values in zip(SPARSE, entries, strict=True)
        }
    )
    kind = "csr_matrix" if type(matrix).__name__.endswith("_matrix") else "csr_array"
    return described(table, kind, width=rows.shape[1])


def as_sparse(table: "pa.Table", made_of: str, width: int) -> Any:
    """The sparse matrix that a table was made of."""
    import scipy.sparse

    whole = table.combine_chunks()
    columns, values = (_lists(whole[name].combine_chunks()) for name in SPARSE)
    parts = (values[1], columns[1], columns[0])
    return getattr(scipy.sparse, made_of)(parts, shape=(table.num_rows, width))


def check_sparse(table: "pa.Table", width: int) -> None:
    """ValueError unless columns and values of sparse rows fit each other and the matrix."""
    if any(table[name].null_count for name in SPARSE):
        raise ValueError("sparse rows must not be null")
    (starts, columns), (others, values) = (_lists(table[name].combine_chunks()) for name in SPARSE)
    if not np.array_equal(starts, others) or values.dtype.kind not in "biuf":
        raise ValueError("sparse rows must have a number for each column that they name")
    if columns.dtype != np.int32 or ((columns < 0) | (columns >= width)).any():
        raise ValueError(f"sparse rows must name columns from 0 to {width - 1}")
    if not np.isfinite(values).all():
        raise ValueError("sparse rows must be finite")


def _lists(lists: "pa.LargeListArray") -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Where lists begin and end, and what they hold."""
    offsets = lists.offsets.to_numpy()
    return offsets - offsets[0], lists.flatten().to_numpy(zero_copy_only=False)
