"""A design as a file: what is needed to play it again with the same policies."""

import json
import os
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from policysieve.errors import FileFormatError, InvalidArgumentError
from policysieve.files import read_archive, whole_or_nothing
from policysieve.policies import Policies
from policysieve.problem import Problem

__all__ = ["DesignFile"]

_VERSION = 2
_UNREADABLE = (  # what a damaged archive or header raises; RuntimeError if it looks encrypted
    *(KeyError, TypeError, ValueError, OSError, EOFError, RuntimeError),
    *(BadZipFile, zlib.error),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class DesignFile:
    """What a file says about a design.

    Attributes
    ----------
    problem : Problem
    fingerprint : str
        That of the policies which the design was made for.
    mixing, variance_bound : float
    support, shares : arrays
        As in `Exploration`.
    """

    problem: Problem
    fingerprint: str
    mixing: float
    variance_bound: float
    support: npt.NDArray[np.int32]
    shares: npt.NDArray[np.float64]

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the file; an existing one is replaced only when all is written."""
        header = {
            "version": _VERSION,
            "problem": asdict(self.problem),
            "fingerprint": self.fingerprint,
            "mixing": self.mixing,
            "variance_bound": self.variance_bound,
        }
        with whole_or_nothing(path) as partial, open(partial, "wb") as file:
            np.savez_compressed(
                file, header=json.dumps(header), support=self.support, shares=self.shares
            )

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file, or raise `FileFormatError` if it is not a design of this version."""
        if not Path(path).is_file():
            raise FileNotFoundError(f"no design at {os.fspath(path)}")
        try:
            text, support, shares = read_archive(path, "header", "support", "shares")
            header = json.loads(str(text))
            if header["version"] != _VERSION:
                raise FileFormatError(
                    f"{os.fspath(path)} is a design of version {header['version']}, this release "
                    f"reads version {_VERSION}"
                )
            return cls(
                problem=Problem(**header["problem"]),
                fingerprint=header["fingerprint"],
                mixing=header["mixing"],
                variance_bound=header["variance_bound"],
                support=support,
                shares=shares,
            )
        except _UNREADABLE as error:
            if isinstance(error, FileFormatError):
                raise
            raise FileFormatError(
                f"{os.fspath(path)} is not a readable design ({error}); designs are written by "
                "policysieve design and by Exploration.save"
            ) from error

    def check_policies(self, policies: Policies) -> None:
        """Raise unless these are the policies that the design was made for."""
        policies.check_fits(self.problem)
        found = policies.fingerprint()
        if found != self.fingerprint:
            raise InvalidArgumentError(
                f"policies must be those that the design was made for, {self.fingerprint}, got "
                f"{found}; make a new design for other policies"
            )
