import json

import numpy as np
import pytest
from click.testing import CliRunner

from policysieve.bench.cells import code_version
from policysieve.bench.certificates import measuring
from policysieve.cli import main


@pytest.mark.parametrize("method", measuring.METHODS)
def test_counts_on_the_null_world(method):
    row = measuring.false_certificates(method, "greedy", 20)
    assert 0 <= row["false"] <= row["limit"] <= 20


def test_a_wrong_certificate_is_counted(monkeypatch):
    """With a threshold that proves nothing, every run that ever has a wrong leader is counted."""
    honest = measuring.false_certificates("betting", "uniform", 60)
    monkeypatch.setattr("policysieve.evidence.certificate.log", lambda _ratio: -2.0)
    broken = measuring.false_certificates("betting", "uniform", 60)
    assert honest["false"] <= 5
    assert broken["false"] >= 15 + honest["false"]


@pytest.mark.parametrize("source", measuring.SOURCES)
def test_race(source):
    row = measuring.rounds_to_certify(5, source, 1, max_rounds=60_000)
    rounds = {m: np.inf if value is None else value for m, value in row["rounds"].items()}
    assert rounds["betting"] == min(rounds.values()) < 60_000


def test_command(monkeypatch, tmp_path):
    monkeypatch.setattr(measuring, "METHODS", ("betting", "stitched"))
    race = measuring.rounds_to_certify
    monkeypatch.setattr(
        measuring, "rounds_to_certify", lambda k, source, n: race(4, source, n, max_rounds=3000)
    )
    arguments = ["bench", "certificates", "--runs", "3", "--seeds", "1"]
    path = tmp_path / "report.html"
    printed = CliRunner().invoke(main, [*arguments, "--out", str(tmp_path), "--report", str(path)])
    assert printed.exit_code == 0, printed.output
    assert "Runs with false certificates" in printed.output
    saved = json.loads((tmp_path / "certificates.json").read_text())
    assert saved["code"] == code_version()
    assert {row["method"] for row in saved["false"]} == {"betting", "stitched"}
    assert (tmp_path / "certificates.svg").stat().st_size > 1000
    assert f"Report: {path}" in printed.output.replace("\n", "")
    assert "<code>policysieve bench certificates --runs 3 " in path.read_text(encoding="utf-8")
    machine = CliRunner().invoke(main, [*arguments, "--json"])
    assert json.loads(machine.stdout) == saved
