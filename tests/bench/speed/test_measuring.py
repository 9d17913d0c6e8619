"""The benchmark measures what it says; how fast this machine is, it says elsewhere."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from policysieve.bench.cells import code_version
from policysieve.bench.speed import class_size
from policysieve.bench.speed import measuring as speed
from policysieve.bench.speed.yardsticks import naive_low_variance
from policysieve.cli import main
from tests.bench.results import BENCHES
from tests.oracles import low_variance as oracle


class Scripted:
    """A generator whose draws are written down, to replay them in the oracle."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.actions = []

    def integers(self, n):
        self.actions.append(int(self.rng.integers(n)))
        return self.actions[-1]

    def random(self):
        return 0.0  # below the mixing share: uniform actions in phase 2, too


def test_the_twin_is_the_algorithm():
    rng = np.random.default_rng(0)
    table = rng.integers(0, 5, (4, 7))
    contexts, labels = rng.integers(0, 4, 90), rng.integers(0, 5, 4)
    script = Scripted(1)
    value = naive_low_variance(
        table,
        contexts,
        labels,
        n_actions=5,
        explore_rounds=60,
        mixing=0.4,
        learning_rate=0.1,
        rng=script,
    )
    shown = np.array(script.actions)[:, None]
    rewards = (shown == labels[contexts][:, None]).astype(float)
    slates = table[contexts][:, :, None].tolist()
    p_hat, _ = oracle.phase_one(slates[:60], shown, rewards, 5, 1, 0.4, 0.1, 60)
    propensities = [
        oracle.item_propensities(slates[i], p_hat, 5, 1, 0.4)[shown[i]] for i in range(60, 90)
    ]
    totals = oracle.estimates(slates[60:], shown[60:], rewards[60:], propensities)
    np.testing.assert_allclose(value, totals / 30, rtol=1e-10)


def test_ratios_are_those_of_the_measured_times():
    result = speed.against_naive(n_policies=50, rounds=20_000, naive_rounds=400)
    assert result["ratio"] == pytest.approx(
        result["rounds_per_second"] / result["naive_rounds_per_second"]
    )
    assert result["found_the_best"]
    memory = speed.memory_bandwidth(n_policies=2_000, n_contexts=8)
    assert memory["share"] == pytest.approx(memory["copy_seconds"] / memory["event_seconds"])
    assert 2_000 < memory["bytes_per_event"] < 2_000 + 2 * 64 * 60


def test_command(monkeypatch, tmp_path):
    """The command prints and saves what the measurement returns."""
    monkeypatch.setattr(class_size, "_SIZES", (100, 1_000))
    monkeypatch.setattr(speed, "against_naive", lambda: {"rounds_per_second": 1e6, "ratio": 99.0})
    monkeypatch.setattr(speed, "memory_bandwidth", lambda: {"event_seconds": 1e-4, "share": 0.6})
    for step in ("peak_memory", "sieve_memory"):
        monkeypatch.setattr(speed, step, lambda: {"skipped": "not here"})
    made_up = BENCHES["speed"]  # these are measured in tests of their own
    monkeypatch.setattr(speed, "sieve", lambda: made_up["sieve"])
    monkeypatch.setattr(speed, "recommending", lambda: made_up["recommend"])
    monkeypatch.setattr(speed, "latency", lambda: made_up["latency"])
    monkeypatch.setattr(speed, "two_cores", lambda: made_up["two_cores"])
    monkeypatch.setattr(speed, "sieve_growth", lambda: made_up["sieve_growth"])
    monkeypatch.setattr(speed, "first_use", lambda: made_up["first_use"])
    quick = {"rounds": 2_000, "batch": 500}
    whole, proof = speed.by_optimization, speed.certificate
    monkeypatch.setattr(speed, "by_optimization", lambda: whole(**quick))
    monkeypatch.setattr(speed, "certificate", lambda: proof(n_policies=200, n_events=300))
    printed = CliRunner().invoke(main, ["bench", "speed", "--folder", str(tmp_path)])
    assert printed.exit_code == 0, printed.output
    assert "99 times" in printed.output
    assert "0.12 times Uniform" in printed.output
    saved = json.loads((tmp_path / "speed.json").read_text())
    assert saved["code"] == code_version()
    assert saved["growth"]["n_policies"] == [100, 1000]
    assert (tmp_path / "growth.svg").read_text().startswith("<?xml")
    assert (tmp_path / "growth.png").is_file()
    assert (tmp_path / "sieve_growth.png").is_file()
    path = tmp_path / "report.html"
    machine = CliRunner().invoke(main, ["bench", "speed", "--json", "--report", str(path)])
    assert "99 times" in path.read_text(encoding="utf-8")
    assert json.loads(machine.stdout)["low_variance_against_naive"]["ratio"] == 99.0
