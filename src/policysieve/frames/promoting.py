"""Tables whose columns have the same names, with types that hold the values of all of them."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from policysieve.errors import InvalidArgumentError
from policysieve.frames.arrow import PANDAS

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["merged", "promoted", "promoted_field", "promoted_schema"]


def promoted(parts: "list[pa.Table]") -> "list[pa.Table]":
    """Tables with types that hold the values of all of them, or raise."""
    first, last = parts[0].schema, parts[-1].schema
    if last.equals(first):
        return [part.replace_schema_metadata(first.metadata) for part in parts]
    schema = promoted_schema(first, list(last))
    return [part.cast(schema) for part in parts]


def promoted_schema(first: "pa.Schema", later: "Sequence[pa.Field]") -> "pa.Schema":
    """A schema for the values of its own columns and of others of the same names, or raise."""
    import pyarrow as pa

    fields = [promoted_field(one, two) for one, two in zip(first, later, strict=True)]
    metadata = dict(first.metadata)
    changed = [one.name for one, field in zip(first, fields, strict=True) if one.type != field.type]
    if changed and PANDAS in metadata:
        metadata[PANDAS] = _without(metadata[PANDAS], changed)
    return pa.schema(fields, metadata=metadata)


def promoted_field(one: "pa.Field", two: "pa.Field") -> "pa.Field":
    """A column for the values of two of one name, or raise if they are of different kinds."""
    import pyarrow as pa

    kinds = [field.type for field in (one, two)]
    if sum(map(pa.types.is_dictionary, kinds)) == 1 and pa.types.is_null(kinds[0]) is False:
        kinds = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in kinds]
    schemas = [pa.schema([pa.field(one.name, kind)]) for kind in kinds]
    try:
        return pa.unify_schemas(schemas, promote_options="permissive").field(0)
    except pa.ArrowException as error:
        raise InvalidArgumentError(
            f"contexts must have values of one kind in a column, got {two.type} in column "
            f"{one.name!r}, which held {one.type} in earlier rows; convert it, such as "
            f"contexts[{one.name!r}].astype(...)"
        ) from error


def _without(described: bytes, names: Sequence[str]) -> bytes:
    """What pyarrow keeps of a pandas frame, without the dtypes of some columns."""
    whole = json.loads(described)
    whole["columns"] = [column for column in whole["columns"] if column["name"] not in names]
    return json.dumps(whole).encode()


def merged(parts: "list[pa.Table]") -> "pa.Table":
    """Tables of one schema as one, each column in one piece."""
    import pyarrow as pa

    return pa.concat_tables(parts).combine_chunks()
