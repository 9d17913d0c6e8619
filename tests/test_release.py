"""What `make release` refuses: archives that lack a file, have one too many, or do not work."""

import io
import runpy
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
RELEASE = runpy.run_path(str(ROOT / "tools" / "release.py"))
STEM = f"policysieve-{RELEASE['PROJECT']['version']}"
PACKAGE = [
    path.relative_to(ROOT / "src").as_posix()
    for path in (ROOT / "src" / "policysieve").rglob("*")
    if path.is_file() and "__pycache__" not in path.parts
]


def archives(folder, *, without=(), more=()):
    """A wheel and an sdist of empty files."""
    wheel, sdist = folder / f"{STEM}-py3-none-any.whl", folder / f"{STEM}.tar.gz"
    with zipfile.ZipFile(wheel, "w") as opened:
        for name in {*PACKAGE, f"{STEM}.dist-info/METADATA", *more} - set(without):
            opened.writestr(name, "")
    with tarfile.open(sdist, "w:gz") as opened:
        for name in {*(f"src/{name}" for name in PACKAGE), *RELEASE["ALONE"]} - set(without):
            opened.addfile(tarfile.TarInfo(f"{STEM}/{name}"), io.BytesIO())
    return wheel, sdist


def test_whole_archives_pass(tmp_path):
    made = archives(tmp_path)
    assert RELEASE["archives"](tmp_path) == made
    RELEASE["check_contents"](*made)


@pytest.mark.parametrize(
    "lacking",
    [
        "policysieve/py.typed",
        "policysieve/report/page.css",
        "policysieve/log/log.py",
        "src/policysieve/report/page.js",
        "LICENSE",
    ],
)
def test_a_file_that_is_missing_is_named(tmp_path, lacking):
    with pytest.raises(SystemExit, match=lacking):
        RELEASE["check_contents"](*archives(tmp_path, without=[lacking]))


def test_what_does_not_belong_into_the_wheel_is_named(tmp_path):
    with pytest.raises(SystemExit, match=r"tests/test_release\.py"):
        RELEASE["check_contents"](*archives(tmp_path, more=["tests/test_release.py"]))


def test_an_archive_that_was_not_built_is_named(tmp_path):
    archives(tmp_path)[1].unlink()
    with pytest.raises(SystemExit, match=rf"{STEM}\.tar\.gz should have been built"):
        RELEASE["archives"](tmp_path)


def test_a_command_that_fails_ends_it_with_what_it_said(tmp_path):
    assert RELEASE["run"]([sys.executable, "-c", "print('well')"], tmp_path) == "well\n"
    with pytest.raises(SystemExit, match="no such thing"):
        RELEASE["run"]([sys.executable, "-c", "raise SystemExit('no such thing')"], tmp_path)
