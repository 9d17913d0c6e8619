import os

import pytest

from policysieve.bench.speed import proving


def test_one_thread_against_all_cores(monkeypatch):
    asked = []

    def run_code(code, n_policies, n_events, *, environment):
        asked.append((n_policies, n_events, environment))
        return str((3.0 if environment else 2.0) + len(asked) / 10)  # slower and slower

    monkeypatch.setattr(proving, "run_code", run_code)
    cases = proving.two_cores(n_policies=10, n_events=100, repeats=2)["cases"]
    assert [each[:2] for each in asked] == 8 * [("10", "100")]
    assert [each[2] for each in asked] == 4 * [{}, {"NUMBA_NUM_THREADS": "1"}]
    assert [case["competing"] for case in cases] == [False, True]
    assert (cases[0]["seconds"], cases[0]["one_thread_seconds"]) == (2.1, 3.2)
    assert cases[0]["ratio"] == pytest.approx(3.2 / 2.1)


def test_a_process_of_its_own_prints_seconds():
    found = proving.run_code(proving._CODE, "20", "100", environment={"NUMBA_NUM_THREADS": "1"})
    assert float(found) > 0
    assert os.environ.get("NUMBA_NUM_THREADS") != "1"
