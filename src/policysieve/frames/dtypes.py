"""What Arrow does not keep of the columns of a pandas frame, in the metadata of a schema."""

import json
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["check_objects", "joined_metadata", "kept_of_pandas", "objects_of", "with_objects"]

PANDAS = b"pandas"  # key under which pyarrow keeps the dtypes of a pandas frame
OBJECTS = b"policysieve.objects"  # columns of dtype object, and what is there for missing values
_MISSING = {"None": None, "NaN": float("nan"), "": None}  # the last where none was missing

# columns of objects of which Arrow keeps all: pandas' names of what their values are
_PLAIN = ("string", "integer", "boolean", "bytes", "floating", "decimal", "empty")


def kept_of_pandas(schema: "pa.Schema") -> dict[bytes, bytes]:
    """The dtypes of the columns of a schema, out of its metadata; nothing of an index.

    An index would take columns away from candidates.
    """
    metadata = schema.metadata or {}
    try:
        entries = json.loads(metadata.get(PANDAS, b'{"columns": []}'))["columns"]
        kept = {entry["name"]: entry for entry in entries if _is_own(entry, schema.names)}
        said = {name: said for name, said in _said(schema).items() if name in schema.names}
        check_objects(schema.with_metadata(_objects(said)))
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return {}  # as files of others may have anything there
    return _pandas(kept) | _objects(said)


def _is_own(entry: Mapping[str, Any], names: Collection[str]) -> bool:
    """Whether an entry is that of a column that has the same name in pandas and in Arrow."""
    name = entry["name"]
    return isinstance(name, str) and name in names and entry.get("field_name", name) == name


def _pandas(entries: Mapping[str, Any]) -> dict[bytes, bytes]:
    if not entries:
        return {}
    whole = {"index_columns": [], "column_indexes": [], "columns": list(entries.values())}
    return {PANDAS: json.dumps(whole).encode()}


def joined_metadata(
    first: "pa.Schema", later: "pa.Schema", schema: "pa.Schema"
) -> dict[bytes, bytes]:
    """Metadata of the first, for a schema whose columns have the types of one or the other."""
    both = [(_entries(source), _said(source)) for source in (first, later)]
    entries: dict[str, Any] = {}
    objects: dict[str, str] = {}
    for field in schema:
        name = field.name
        alike = [source.field(name).type == field.type for source in (first, later)]
        columns, said = both[0] if alike[0] or not alike[1] else both[1]
        if any(alike) and name in columns:
            entries[name] = columns[name]
        if name in said:
            objects[name] = both[1][1].get(name) or both[0][1].get(name, "")
    kept = {k: v for k, v in (first.metadata or {}).items() if k not in (PANDAS, OBJECTS)}
    return kept | _pandas(entries) | _objects(objects)


def _entries(schema: "pa.Schema") -> dict[str, Any]:
    """What pyarrow keeps of the columns of a pandas frame."""
    described = json.loads((schema.metadata or {}).get(PANDAS, b'{"columns": []}'))
    return {entry["name"]: entry for entry in described["columns"]}


def _said(schema: "pa.Schema") -> dict[str, str]:
    """Columns of objects, and what is there for missing values."""
    found: dict[str, str] = json.loads((schema.metadata or {}).get(OBJECTS, b"{}"))
    return found


def _objects(missing: Mapping[str, str]) -> dict[bytes, bytes]:
    return {OBJECTS: json.dumps(missing).encode()} if missing else {}


def objects_of(frame: Any) -> tuple[dict[bytes, bytes], list[str]]:
    """Metadata of the columns of objects of a pandas frame, and those whose values may be mixed."""
    from pandas.api.types import infer_dtype

    missing: dict[str, str] = {}
    mixed: list[str] = []
    for name, dtype in frame.dtypes.items():
        if str(dtype) != "object":
            continue
        column = frame[name]
        gone = column[column.isna()]
        missing[name] = ""
        if len(gone):
            missing[name] = "NaN" if all(isinstance(value, float) for value in gone) else "None"
        if infer_dtype(column, skipna=True) not in _PLAIN:
            mixed.append(name)
    return _objects(missing), mixed


def check_objects(schema: "pa.Schema") -> None:
    """ValueError unless the metadata of a schema say of its own columns which hold objects."""
    missing = _said(schema)
    if not isinstance(missing, dict) or not set(missing) <= set(schema.names):
        raise ValueError("objects in columns that are not there")
    if not all(isinstance(said, str) and said in _MISSING for said in missing.values()):
        raise ValueError("objects with missing values of an unknown kind")


def with_objects(frame: Any, table: "pa.Table") -> Any:
    """A pandas frame of a table, with dtype object where the metadata say so."""
    import pandas as pd
    import pyarrow as pa

    missing = _said(table.schema)
    for name in [name for name in table.schema.names if name in missing]:
        column = table[name]
        if pa.types.is_nested(column.type) or pa.types.is_temporal(column.type):
            values = frame[name].astype(object)
        else:
            values = pd.Series(column.to_pylist(), index=frame.index, dtype=object)
        if column.null_count:
            values[frame[name].isna()] = _MISSING[missing[name]]
        frame[name] = values
    return frame
