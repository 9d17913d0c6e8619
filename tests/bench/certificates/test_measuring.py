import json

import numpy as np
import pytest
from click.testing import CliRunner

from policysieve.bench.cells import code_version
from policysieve.bench.certificates import measuring
from policysieve.bench.certificates.watching import Verdict
from policysieve.cli import main


def test_runs_are_counted():
    def play(seed):
        return Verdict(false=seed == 3, missed=seed > 2, certified=True)

    assert measuring.count(play, 2, 6) == {"false": 1, "missed": 3, "certified": 4}


def test_limit_is_exceeded_once_in_a_thousand_times():
    false = np.random.default_rng(0).binomial(300, 0.2, size=100_000)
    assert (false > measuring.limit(300)).mean() <= 0.001 < (false >= measuring.limit(300)).mean()


@pytest.mark.parametrize("source", measuring.SOURCES)
def test_race(source):
    rounds = measuring.rounds_to_certify(5, source, 0, most=60_000)["rounds"]
    assert list(rounds) == list(measuring.METHODS)
    assert rounds["capped"] < rounds["betting"] == min(rounds[m] for m in measuring.FLOOR_METHODS)


def test_command(monkeypatch, tmp_path):
    monkeypatch.setattr(measuring, "NULLS", {"two_arms": measuring.NULLS["two_arms"]})
    monkeypatch.setattr(measuring, "FLOOR_METHODS", ("stitched",))
    monkeypatch.setattr(measuring, "_N_ACTIONS", (4,))
    arguments = ["bench", "certificates", "--runs", "3", "--seeds", "1", "--folder", str(tmp_path)]
    path = tmp_path / "report.html"
    printed = CliRunner().invoke(main, [*arguments, "--report", str(path)])
    assert printed.exit_code == 0, printed.output
    assert "Runs with false certificates" in printed.output
    saved = json.loads((tmp_path / "certificates.json").read_text())
    assert saved["code"] == code_version()
    assert [row["world"] for row in saved["false"]] == ["two_arms"]
    assert {row["method"] for row in saved["floors"]} == {"stitched"}
    assert all(row["runs"] == 3 >= row["false"] for row in saved["false"] + saved["unmet"])
    assert (tmp_path / "certificates.svg").stat().st_size > 1000
    assert f"Report: {path}" in printed.output.replace("\n", "")
    assert "<code>policysieve bench certificates --runs 3 " in path.read_text(encoding="utf-8")
    machine = CliRunner().invoke(main, [*arguments, "--json"])  # from the cells that it kept
    assert json.loads(machine.stdout) == saved
