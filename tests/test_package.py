"""The package as a whole: names, import cost, version."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import policysieve as ps


@pytest.mark.parametrize("name", ps.__all__)
def test_every_public_name_is_there_and_documented(name):
    value = getattr(ps, name)
    assert name in dir(ps)
    if name != "__version__":
        assert value.__doc__


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = ps.Nothing


def test_importing_is_light():
    """`import policysieve` loads none of the heavy packages; they come on use."""
    code = "import sys, json, policysieve; print(json.dumps(sorted(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(json.loads(out.stdout))
    assert not loaded & {"numba", "numpy", "scipy", "sklearn", "matplotlib", "pyarrow", "rich"}


def test_the_problem_needs_no_numba():
    code = (
        "import sys, policysieve as ps;"
        "ps.plan(ps.Problem(n_actions=3, epsilon=.1, delta=.1), 5);"
        "ps.worlds; ps.Log; ps.PolicyTable; print('numba' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"


def test_no_public_name_is_hidden_by_a_module_of_that_name():
    """Loading every room first must not turn `ps.plan` and friends into modules."""
    code = (
        "import pkgutil, importlib, types, policysieve as ps;"
        "names = [m.name for m in pkgutil.walk_packages(ps.__path__, 'policysieve.')];"
        "[importlib.import_module(n) for n in names if not n.endswith('__main__')];"
        "print([n for n in ps.__all__ if isinstance(getattr(ps, n), types.ModuleType)])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "['scale', 'theory', 'worlds']"


def test_the_citation_and_the_changelog_are_of_this_version():
    root = Path(__file__).parent.parent
    version = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    assert f"\nversion: {version}\n" in (root / "CITATION.cff").read_text()
    newest = re.search(
        r"^## ([\d.]+)( \(unreleased\))?$", (root / "CHANGELOG.md").read_text(), re.M
    )
    assert newest[1] == version.partition(".dev")[0]
    assert bool(newest[2]) == (".dev" in version)
