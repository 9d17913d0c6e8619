"""Tables with ids: CSV, Parquet and newline JSON."""

from pathlib import Path
from typing import TYPE_CHECKING

from policysieve.errors import FileFormatError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["id_column", "read_table"]

_PACKED = (".gz", ".bz2")


def read_table(path: str) -> "pa.Table | None":
    """The table of a file; None if its name is not that of one."""
    import pyarrow as pa
    from pyarrow import csv, json, parquet

    name = Path(path)
    kind = Path(name.stem).suffix if name.suffix in _PACKED else name.suffix
    try:
        if kind == ".csv":  # an id is text, whatever it looks like: 007 is not 7
            as_text = csv.ConvertOptions(column_types={"id": pa.string()})
            return csv.read_csv(path, convert_options=as_text)
        if kind in (".jsonl", ".ndjson"):
            return json.read_json(path)
        if name.suffix == ".parquet":
            return parquet.read_table(path)
    except pa.ArrowInvalid as error:
        raise FileFormatError(f"{path} cannot be read as a table: {error}") from error
    return None


def id_column(table: "pa.Table") -> list[str]:
    """The ids of a table that has them."""
    ids: list[str] = table["id"].cast("string").to_pylist()
    return ids
