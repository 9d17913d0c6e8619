"""What is installed has been tested: every dependency has its version in constraints.txt."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
FILE = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = FILE["project"]
LINES = [
    line
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]
# Of the extras, peers are what benchmarks compare with; nothing that make runs needs them.
WANTED = [
    Requirement(text)
    for extra, texts in {"": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}.items()
    for text in texts
    if extra != "peers"
] + [Requirement(text) for text in FILE["build-system"]["requires"]]


def test_lines_are_names_and_exact_versions():
    assert [line for line in LINES if not re.fullmatch(r"[\w.-]+==[\w.+!]+", line)] == []
    names = [canonicalize_name(line.split("==")[0]) for line in LINES]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("wanted", WANTED, ids=str)
def test_every_dependency_has_a_version_that_it_allows(wanted):
    tested = {canonicalize_name(name): v for name, v in (line.split("==") for line in LINES)}
    if canonicalize_name(wanted.name) == PROJECT["name"]:
        assert wanted.extras <= set(PROJECT["optional-dependencies"])
        return
    assert canonicalize_name(wanted.name) in tested
    assert wanted.specifier.contains(tested[canonicalize_name(wanted.name)])


def test_make_installs_these_versions():
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    (install,) = re.findall(r"^INSTALL := (.*)$", text, flags=re.MULTILINE)
    assert "PIP_CONSTRAINT=constraints.txt" in install.split()  # reach what is built with, too
    assert "PIP_BUILD_CONSTRAINT=constraints.txt" in install.split()
    stamps = re.findall(r"^\$\(VENV\)/installed-\w+:(.*)$", text, flags=re.MULTILINE)
    assert len(stamps) == 4
    assert all("constraints.txt" in needs for needs in stamps)
