import sys

import pytest

from policysieve.bench.speed import memory


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only measured on Linux")
def test_memory_of_the_sieve():
    result = memory.sieve_memory(n_policies=20_000, n_contexts=16, rounds=200)
    assert (result["n_policies"], result["rounds"]) == (20_000, 200)
    assert result["table_megabytes"] == pytest.approx(20_000 * 16 / 1e6)
    beyond = result["megabytes_beyond"] + result["evidence_megabytes"]
    assert result["megabytes_beyond_the_table"] == pytest.approx(beyond)
    assert 0 < result["megabytes_beyond_the_table"] < 1000


def test_elsewhere(monkeypatch):
    monkeypatch.setattr(memory.sys, "platform", "darwin")
    assert memory.peak_memory() == memory.sieve_memory() == {"skipped": "only measured on Linux"}
