"""Rows for several candidates, each of which may change what it gets."""

from typing import Any

__all__ = ["own_copy"]


def own_copy(rows: Any) -> Any:
    """The same rows, or the same row, such that nobody else sees if they are changed.

    Arrays are read-only and Arrow tables never change, so these are returned as they are.
    """
    if isinstance(rows, list):
        return [own_copy(row) for row in rows]
    if isinstance(rows, dict):
        return {name: own_copy(value) for name, value in rows.items()}
    if hasattr(rows, "iloc"):
        shares = type(rows).__module__.split(".")[0] == "pandas" and _copies_on_write()
        return rows.copy(deep=not shares)
    if hasattr(rows, "clone"):
        return rows.clone()  # of polars: columns are shared, and replaced when they are set
    if hasattr(rows, "tocsr"):
        return rows.copy()
    return rows


def _copies_on_write() -> bool:
    """Whether what is done to a shallow copy of a pandas frame leaves the frame alone."""
    import pandas as pd

    if int(pd.__version__.split(".")[0]) >= 3:
        return True
    return pd.get_option("mode.copy_on_write") is True
