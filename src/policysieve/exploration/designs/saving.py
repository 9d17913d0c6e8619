"""An exploration as a file: what is needed to play it again with the same policies."""

import json
import os
import zlib
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Self
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from policysieve.errors import FileFormatError, InvalidArgumentError
from policysieve.exploration.designs.base import Exploration
from policysieve.files import read_archive, whole_or_nothing
from policysieve.policies import PolicyClass
from policysieve.policies.weights import Weights
from policysieve.problem import Problem

__all__ = ["ExplorationFile"]

_VERSION = 3
_UNREADABLE = (  # what a damaged archive or header raises; RuntimeError if it looks encrypted
    *(KeyError, TypeError, ValueError, OSError, EOFError, RuntimeError),
    *(BadZipFile, zlib.error),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class ExplorationFile:
    """What a file says about an exploration.

    Attributes
    ----------
    kind : str
        A name in `Exploration.kinds`.
    problem : Problem
    fingerprint : str
        That of the policies which the exploration was made for.
    numbers : dict
        Fields that are single numbers.
    arrays : dict
        Fields that are arrays; those of weights under ``weights.``.
    source : str
        Where it was read.
    """

    kind: str
    problem: Problem
    fingerprint: str
    numbers: dict[str, Any]
    arrays: dict[str, npt.NDArray[Any]]
    source: str = ""

    @classmethod
    def of(cls, exploration: Exploration) -> Self:
        """What to write about an exploration."""
        numbers: dict[str, Any] = {}
        arrays: dict[str, npt.NDArray[Any]] = {}
        for field in fields(exploration):
            value = getattr(exploration, field.name)
            if isinstance(value, np.ndarray):
                arrays[field.name] = value
            elif isinstance(value, Weights):
                found = value.arrays().items()
                arrays |= {f"{field.name}.{name}": array for name, array in found}
            elif field.name not in ("policies", "problem"):
                numbers[field.name] = value
        return cls(
            kind=type(exploration).__name__,
            problem=exploration.problem,
            fingerprint=exploration.policies.fingerprint(),
            numbers=numbers,
            arrays=arrays,
        )

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the file; an existing one is replaced only when all is written."""
        header = {
            "version": _VERSION,
            "kind": self.kind,
            "problem": asdict(self.problem),
            "fingerprint": self.fingerprint,
            "numbers": self.numbers,
            "arrays": sorted(self.arrays),
        }
        with whole_or_nothing(Path(path)) as partial, open(partial, "wb") as file:
            content: dict[str, Any] = {"header": json.dumps(header), **self.arrays}
            np.savez_compressed(file, **content)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file, or raise `FileFormatError` if it is not an exploration of this version."""
        if not Path(path).is_file():
            raise FileNotFoundError(f"no exploration at {os.fspath(path)}")
        try:
            header = json.loads(str(read_archive(path, "header")[0]))
            if header["version"] != _VERSION:
                raise FileFormatError(
                    f"{os.fspath(path)} is of version {header['version']}, this release reads "
                    f"version {_VERSION}; make it anew"
                )
            if header["kind"] not in Exploration.kinds:
                raise FileFormatError(
                    f"{os.fspath(path)} holds a {header['kind']!r}, which this release does not "
                    "know"
                )
            names = header["arrays"]
            return cls(
                kind=header["kind"],
                problem=Problem(**header["problem"]),
                fingerprint=header["fingerprint"],
                numbers=header["numbers"],
                arrays=dict(zip(names, read_archive(path, *names), strict=True)),
                source=os.fspath(path),
            )
        except FileFormatError:
            raise
        except _UNREADABLE as error:
            raise FileFormatError(
                f"{os.fspath(path)} is not a readable exploration ({error}); such files are "
                "written by policysieve design and by Exploration.save"
            ) from error

    def exploration(self, policies: PolicyClass) -> Exploration:
        """The exploration, for the policies that it was made for."""
        policies.check_fits(self.problem)
        found = policies.fingerprint()
        if found != self.fingerprint:
            raise InvalidArgumentError(
                f"policies must be those that the exploration was made for, {self.fingerprint}, "
                f"got {found}; make a new one for other policies"
            )
        kind = Exploration.kinds[self.kind]
        content: dict[str, Any] = {**self.numbers}
        content |= {name: array for name, array in self.arrays.items() if "." not in name}
        weights = {
            name.partition(".")[2]: array for name, array in self.arrays.items() if "." in name
        }
        try:
            if weights:
                content["weights"] = policies.prior().restored(weights)
            return kind(policies, self.problem, **content)
        except (KeyError, TypeError, ValueError) as error:
            raise FileFormatError(
                f"{self.source} breaks a rule of explorations: {error}"
            ) from error
