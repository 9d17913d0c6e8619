"""From the contents of data files to features, labels and names of the labels."""

import gzip
import json
from collections import Counter
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt

from policysieve.errors import MissingExtraError

__all__ = [
    "read_digits",
    "read_goods",
    "read_housing",
    "read_icd",
    "read_keel",
    "read_keel_chess",
    "read_occupations",
    "read_orange_text",
    "read_river_yeast",
]

_LEAST_ROWS = 25  # of a class of a catalogue

_AMOUNTS = ("sales", "volume", "median", "listings", "inventory")  # of a housing market

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


def read_keel_chess(content: bytes) -> tuple[_Floats, _Labels, tuple[str, ...]]:
    """Column and row of three pieces and the outcome, under a header, to a 1 for each square.

    A feature for each square on which a piece ever is, piece after piece, squares in order.
    """
    lines = content.decode("ascii").partition("@data")[2].split()
    cells = np.array([line.split(",") for line in lines])
    features = []
    for piece in (0, 2, 4):
        places = np.char.add(cells[:, piece], cells[:, piece + 1])
        features.append(places[:, None] == np.unique(places))
    names, labels = _numbered(cells[:, -1].tolist())
    return np.concatenate(features, axis=1).astype(np.float64), labels, names


def read_housing(content: bytes) -> tuple[_Floats, _Labels, tuple[str, ...]]:
    """Logarithms of what was sold and offered in a month, when it was, and the city.

    A month of a city that lacks any number is left out. Months of the year have a feature each.
    """
    import pyarrow as pa
    from pyarrow import compute, csv

    table = csv.read_csv(
        pa.BufferReader(content), convert_options=csv.ConvertOptions(null_values=["NA"])
    ).drop_null()
    months = table["month"].to_numpy()
    features = np.column_stack(
        [
            *(compute.log1p(table[name]).to_numpy() for name in _AMOUNTS),
            table["date"].to_numpy(),
            months[:, None] == np.unique(months),
        ]
    )
    names, labels = _numbered(table["city"].to_pylist())
    return features.astype(np.float64), labels, names


def read_icd(content: bytes) -> tuple[npt.NDArray[Any], _Labels, tuple[str, ...]]:
    """Descriptions of codes without codes below them, and the titles of their sections.

    A description that comes again is left out, and so are sections with few codes.
    """
    found: dict[str, str] = {}
    tree = ElementTree.fromstring(content)
    for section in tree.iter("section"):
        title = section.findtext("desc", "")
        for code in section.iter("diag"):
            if code.find("diag") is None:
                found.setdefault(code.findtext("desc", ""), title)
    return _large_classes(found)


def read_goods(content: bytes) -> tuple[npt.NDArray[Any], _Labels, tuple[str, ...]]:
    """Descriptions of headings and subheadings of a tariff, and the titles of their chapters.

    A description that comes again is left out, and so are chapters with few of them.
    """
    entries = json.loads(content)["hscodes"]
    described = {entry["hscode"]: entry["description"] for entry in entries}
    found: dict[str, str] = {}
    for code, text in described.items():
        if len(code) in (4, 6):
            found.setdefault(text, described[code[:2]])
    return _large_classes(found)


def read_occupations(content: bytes) -> tuple[npt.NDArray[Any], _Labels, tuple[str, ...]]:
    """Job titles by the number of their group; one that comes again is left out."""
    found: dict[str, str] = {}
    for group, titles in json.loads(content).items():
        for title in titles:
            found.setdefault(title, group)
    return _large_classes(found)


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


def _large_classes(
    found: Mapping[str, str],
) -> tuple[npt.NDArray[Any], _Labels, tuple[str, ...]]:
    """Texts by their class, without those of classes with few texts."""
    sizes = Counter(found.values())
    kept = {text: name for text, name in found.items() if sizes[name] >= _LEAST_ROWS}
    names, labels = _numbered(list(kept.values()))
    return np.array(list(kept), dtype=object), labels, names


def _numbered(labels: list[Any]) -> tuple[tuple[str, ...], _Labels]:
    """Names of the labels in order, and the number of each row's label."""
    names, numbers = np.unique(np.array(labels, dtype=str), return_inverse=True)
    return tuple(names.tolist()), numbers.astype(np.int64)
