"""Results are shown where the packages that measured them are not installed."""

import subprocess
import sys

import pytest

HIDDEN = """
import importlib.util, sys
hidden = sys.argv[1].split(",")
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name in hidden else find(name, *rest)
for name in hidden:
    sys.modules[name] = None
import policysieve.bench.pages
"""


@pytest.mark.parametrize("packages", ["ray", "sqlalchemy,fastapi,uvicorn,httpx", "sklearn"])
def test_pages_of_benchmarks_need_none_of_the_extras(packages):
    run = [sys.executable, "-c", HIDDEN, packages]
    found = subprocess.run(run, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
