"""An exploration as a file: what is needed to play it again with the same policies."""

import hashlib
import json
import os
from dataclasses import asdict, dataclass, fields
from io import BytesIO
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from policysieve.archives import arrays_in
from policysieve.arrays import shown
from policysieve.errors import FileFormatError, InvalidArgumentError
from policysieve.exploration.designs.base import Exploration
from policysieve.files import write_whole
from policysieve.naming import as_names
from policysieve.policies import PolicyClass
from policysieve.policies.weights import Weights
from policysieve.problem import Problem

__all__ = ["ExplorationFile", "is_sealed", "sealed"]

_VERSION = 4
_CHECKSUM = 64  # bytes: SHA-256 in hexadecimal digits
_WEIGHTS = "weights."


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
    names, action_names : tuples of str or None
        Names of these policies and of their actions, if they have any.
    fallback : tuple of int or None
        What takes the place of actions that are not available, if these policies declare it.
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
    names: tuple[str, ...] | None
    action_names: tuple[str, ...] | None
    numbers: dict[str, Any]
    arrays: dict[str, npt.NDArray[Any]]
    fallback: tuple[int, ...] | None = None
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
                arrays |= {_WEIGHTS + name: array for name, array in found}
            elif field.name not in ("policies", "problem"):
                numbers[field.name] = value
        return cls(
            kind=type(exploration).__name__,
            problem=exploration.problem,
            fingerprint=exploration.policies.fingerprint(),
            names=exploration.policies.names,
            action_names=exploration.policies.action_names,
            numbers=numbers,
            arrays=arrays,
            fallback=_order_of(exploration.policies),
        )

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the file; an existing one is replaced only when all is written."""
        write_whole(path, self.to_bytes())

    def to_bytes(self) -> bytes:
        """The content of the file."""
        header = {
            "version": _VERSION,
            "kind": self.kind,
            "problem": asdict(self.problem),
            "fingerprint": self.fingerprint,
            "names": self.names,
            "action_names": self.action_names,
            "numbers": self.numbers,
            "arrays": sorted(self.arrays),
        }
        if self.fallback is not None:
            header["fallback"] = self.fallback
        file = BytesIO()
        content: dict[str, Any] = {"header": json.dumps(header), **self.arrays}
        np.savez_compressed(file, **content)
        return sealed(file.getvalue())

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file, or raise `FileFormatError` if it is not an exploration of this version."""
        name = os.fspath(path)
        if not Path(path).is_file():
            raise FileNotFoundError(f"no exploration at {name}")
        return cls.from_bytes(Path(path).read_bytes(), name)

    @classmethod
    def from_bytes(cls, data: bytes, name: str) -> Self:
        """What `to_bytes` made, from where the name says."""
        if not is_sealed(data):
            raise FileFormatError(
                f"{name} is not a readable exploration: it does not end with the checksum of its "
                "content, so it was damaged, or written by another release; such files are "
                "written by policysieve design and by Exploration.save"
            )
        try:
            (text,) = arrays_in(name, "header", content=data)
            header = json.loads(str(text))
            if header["version"] != _VERSION:
                raise FileFormatError(
                    f"{name} is of version {header['version']}, this release reads version "
                    f"{_VERSION}; make it anew"
                )
            if header["kind"] not in Exploration.kinds:
                raise FileFormatError(
                    f"{name} holds a {header['kind']!r}, which this release does not know"
                )
            arrays = header["arrays"]
            found = arrays_in(name, *arrays, content=data)
            return cls(
                kind=header["kind"],
                problem=Problem(**header["problem"]),
                fingerprint=str(header["fingerprint"]),
                names=_names_in(header, "names"),
                action_names=_names_in(header, "action_names"),
                numbers=dict(header["numbers"]),
                arrays=dict(zip(arrays, found, strict=True)),
                fallback=None if "fallback" not in header else tuple(header["fallback"]),
                source=name,
            )
        except FileFormatError:
            raise
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise FileFormatError(
                f"{name} is not a readable exploration ({error}); such files are written by "
                "policysieve design and by Exploration.save"
            ) from error

    def exploration(self, policies: PolicyClass) -> Exploration:
        """The exploration, for the policies that it was made for."""
        policies.check_fits(self.problem)
        if policies.names != self.names:
            raise InvalidArgumentError(
                "policies must have the names that the exploration was made for, "
                f"{_names_in_words(self.names)}, got {_names_in_words(policies.names)}"
            )
        if _order_of(policies) != self.fallback:
            raise InvalidArgumentError(
                "policies must have the fallback that the exploration was made for, "
                f"{_order_in_words(self.fallback)}, got {_order_in_words(_order_of(policies))}"
            )
        found = policies.fingerprint()
        if found != self.fingerprint:
            raise InvalidArgumentError(
                f"policies must be those that the exploration was made for, {self.fingerprint}, "
                f"got {found}; make a new one for other policies"
            )
        kind = Exploration.kinds[self.kind]
        content, weights = dict(self.numbers), {}
        for name, array in self.arrays.items():
            if name.startswith(_WEIGHTS):
                weights[name.removeprefix(_WEIGHTS)] = array
            else:
                content[name] = array
        try:
            if weights:
                content["weights"] = policies.prior().restored(weights)
            return kind(policies, self.problem, **content)
        except (KeyError, TypeError, ValueError) as error:
            raise FileFormatError(
                f"{self.source} breaks a rule of explorations: {error}"
            ) from error


def _order_of(policies: PolicyClass) -> tuple[int, ...] | None:
    """The fallback of a list, if it declares one."""
    order = getattr(policies, "fallback", None)
    return None if order is None else tuple(order.tolist())


def _order_in_words(order: tuple[int, ...] | None) -> str:
    return "none" if order is None else f"fallback={shown(list(order))}"


def _names_in(header: dict[str, Any], key: str) -> tuple[str, ...] | None:
    """Names, which older files do not have."""
    names = header.get(key)
    return None if names is None else as_names(key, names)


def _names_in_words(names: tuple[str, ...] | None) -> str:
    return "none" if names is None else shown(list(names))


def sealed(archive: bytes) -> bytes:
    """The bytes of a ``.npz`` file with a checksum of all of them at its end.

    It stands where a zip file has its comment, whose length is the last two bytes of one without.
    """
    content = archive[:-2] + _CHECKSUM.to_bytes(2, "little")
    return content + hashlib.sha256(content).hexdigest().encode()


def is_sealed(content: bytes) -> bool:
    """Whether these are bytes that `sealed` has made."""
    return hashlib.sha256(content[:-_CHECKSUM]).hexdigest().encode() == content[-_CHECKSUM:]
