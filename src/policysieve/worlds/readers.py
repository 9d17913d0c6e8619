"""From the contents of data files to features, labels and names of the labels."""

import gzip
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.errors import MissingExtraError

__all__ = ["read_digits", "read_keel", "read_orange_text", "read_river_yeast"]

_Floats = npt.NDArray[np.float64]
_Labels = npt.NDArray[np.int64]


def read_digits() -> tuple[_Floats, _Labels, tuple[str, ...]]:
    """Handwritten digits from scikit-learn itself."""
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise MissingExtraError("the data set digits", "scikit-learn", "sklearn") from error
    features, labels = load_digits(return_X_y=True)
    return features, labels.astype(np.int64), tuple(str(digit) for digit in range(10))


def read_keel(content: bytes) -> tuple[_Floats, _Labels, tuple[str, ...]]:
    """Comma-separated numbers without a header; the last column is the class."""
    import pyarrow as pa
    from pyarrow import csv

    table = csv.read_csv(
        pa.BufferReader(content),
        read_options=csv.ReadOptions(autogenerate_column_names=True),
    )
    features = np.column_stack([column.to_numpy() for column in table.columns[:-1]])
    names, labels = _numbered(table.columns[-1].to_pylist())
    return features.astype(np.float64), labels, names


def read_orange_text(*contents: bytes) -> tuple[npt.NDArray[Any], _Labels, tuple[str, ...]]:
    """Tab-separated categories and texts of all parts, under Orange's three header lines."""
    import pyarrow as pa
    from pyarrow import compute, csv

    categories: list[str] = []
    texts: list[str] = []
    for content in contents:
        table = csv.read_csv(
            pa.BufferReader(content),
            read_options=csv.ReadOptions(skip_rows_after_names=2),
            parse_options=csv.ParseOptions(delimiter="\t", quote_char=False),
            convert_options=csv.ConvertOptions(
                column_types={"Category": pa.string(), "Text": pa.string()}
            ),
        )
        table = table.filter(compute.not_equal(table["Category"], ""))  # a line of tabs only
        categories += table["Category"].to_pylist()
        texts += table["Text"].to_pylist()
    names, labels = _numbered(categories)
    return np.array(texts, dtype=object), labels, names


def read_river_yeast(
    content: bytes,
) -> tuple[_Floats, npt.NDArray[np.uint8], tuple[str, ...]]:
    """Numbers with a header: columns named Att... are features, those named Class... labels."""
    import pyarrow as pa
    from pyarrow import csv

    table = csv.read_csv(pa.BufferReader(gzip.decompress(content)))
    features = [name for name in table.column_names if name.startswith("Att")]
    labels = [name for name in table.column_names if name.startswith("Class")]
    return (
        np.column_stack([table[name].to_numpy() for name in features]).astype(np.float64),
        np.column_stack([table[name].to_numpy() for name in labels]).astype(np.uint8),
        tuple(labels),
    )


def _numbered(labels: list[Any]) -> tuple[tuple[str, ...], _Labels]:
    """Names of the labels in order, and the number of each row's label."""
    names, numbers = np.unique(np.array(labels, dtype=str), return_inverse=True)
    return tuple(names.tolist()), numbers.astype(np.int64)
