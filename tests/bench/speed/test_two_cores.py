import json
import os

import pytest

from policysieve.bench.speed import two_cores as module


def test_one_thread_against_all_cores(monkeypatch):
    asked = []

    def run_code(code, sizes, *, environment):
        asked.append((json.loads(sizes), environment))
        slow = 3.0 if environment else 2.0
        return json.dumps([slow, 10 * slow + len(asked)])  # the second gets slower and slower

    monkeypatch.setattr(module, "run_code", run_code)
    cases = module.two_cores(sizes=((10, 100), (20, 200)), repeats=2)["cases"]
    assert [sizes for sizes, _ in asked] == 8 * [[[10, 100], [20, 200]]]
    assert [bool(environment) for _, environment in asked] == 4 * [False, True]
    assert asked[1][1] == {"NUMBA_NUM_THREADS": "1"}
    assert [case["competing"] for case in cases] == [False, False, True, True]
    assert [case["n_policies"] for case in cases] == [10, 20, 10, 20]
    assert cases[0]["ratio"] == pytest.approx(1.5)
    assert (cases[1]["seconds"], cases[1]["one_thread_seconds"]) == (21.0, 32.0)


def test_a_process_of_its_own_prints_seconds():
    printed = module.run_code(module._CODE, "[[20, 100]]", environment={"NUMBA_NUM_THREADS": "1"})
    (seconds,) = json.loads(printed)
    assert seconds > 0
    assert os.environ.get("NUMBA_NUM_THREADS") != "1"
