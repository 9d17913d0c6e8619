"""The lines of the documentation that call a service are run, in their order."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner

from policysieve.cli import main
from policysieve.service.tokens import create_token
from policysieve.study.storage import Storage
from tests.service.serving import serving

PAGE = (Path(__file__).parents[2] / "docs" / "service.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)


def created(folder, monkeypatch):
    """The study of the page, as the page says: its database, and its policies."""
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    (folder / "mypolicies.py").write_text(blocks("python")[0])
    create, _ = blocks("console")[0].splitlines()
    made = CliRunner().invoke(main, shlex.split(create)[1:])
    assert made.exit_code == 0, made.output
    sys.modules.pop("mypolicies", None)  # of another folder
    return "sqlite:///shop.db", import_module("mypolicies").policies


def test_every_curl_line_is_answered(tmp_path, monkeypatch):
    if shutil.which("curl") is None:
        pytest.skip("there is no curl")
    lines = [line for block in blocks("console") for line in block.splitlines()]
    lines = [line for line in lines if line.startswith("curl ")]
    assert len(lines) >= 12
    url, policies = created(tmp_path, monkeypatch)
    with serving(url, policies) as client:
        for line in lines:
            if "$TOKEN" in line and "TOKEN" not in os.environ:
                _, text = create_token(Storage(url), "docs", ["admin"])
                monkeypatch.setenv("TOKEN", text)
            assert ("$TOKEN" in line) == ("TOKEN" in os.environ), "the others come before"
            command = line.replace("http://127.0.0.1:8000", str(client.base_url).rstrip("/"))
            done = subprocess.run(
                command.replace("curl ", "curl --silent --show-error --fail-with-body ", 1),
                shell=True,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            assert done.returncode == 0, (line, done.stdout, done.stderr)
    assert (tmp_path / "rounds.csv").read_text().count("\n") == 2
    assert (tmp_path / "exploration.npz").stat().st_size > 0


def test_every_door_is_in_the_table(tmp_path, client):
    paths = client.get("/openapi.json").json()["paths"]
    for path, methods in paths.items():
        for method in methods:
            door = f"{method.upper()} {path.replace('{name}', 'NAME')}"
            assert door in PAGE, door
