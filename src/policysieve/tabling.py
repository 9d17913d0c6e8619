"""Tables of results and logs as data frames of the library that is at hand."""

from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from typing import Any, Literal

from policysieve.checks import one_of
from policysieve.errors import MissingExtraError

__all__ = ["FRAMES", "FrameKind", "frame_of"]

FrameKind = Literal["pandas", "polars", "pyarrow"]
FRAMES: tuple[FrameKind, ...] = ("pandas", "polars", "pyarrow")
"""Libraries of data frames, the ones that are looked for first in front."""


def frame_of(columns: Mapping[str, Iterable[Any]], backend: FrameKind | None = None) -> Any:
    """Columns as a data frame.

    Parameters
    ----------
    columns : mapping of str to arrays or sequences
        None is a missing value. A column of which nothing is known holds numbers.
    backend : "pandas", "polars" or "pyarrow", optional
        By default pandas if it is installed, else polars.

    Raises
    ------
    InvalidArgumentError
        If `backend` is another word.
    MissingExtraError
        If the library is not installed, or neither of the two.

    Examples
    --------
    >>> frame_of({"policy": [0, 1], "value": [0.25, None]}, "pyarrow").column_names
    ['policy', 'value']
    """
    import narwhals as nw
    import pyarrow as pa

    if backend is not None:
        one_of("backend", backend, FRAMES)
        if find_spec(backend) is None:
            raise MissingExtraError(f"to_frame(backend={backend!r})", backend)
    else:
        backend = next((one for one in FRAMES[:2] if find_spec(one) is not None), None)
        if backend is None:
            raise MissingExtraError("to_frame() without polars", "pandas")
    arrays = {name: pa.array(values) for name, values in columns.items()}
    table = pa.table(
        {
            name: array.cast(pa.float64()) if pa.types.is_null(array.type) else array
            for name, array in arrays.items()
        }
    )
    return nw.from_arrow(table, backend=backend).to_native()
