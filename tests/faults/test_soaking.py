"""A long run keeps its log and its evidence, and nothing else."""

import sys

import pytest

from policysieve.bench.faults.apart import apart
from policysieve.bench.faults.soaking import soak


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="read from /proc")
def test_memory_grows_by_what_is_kept():
    found = apart(soak, learner="Uniform", rounds=20_000, batch=100)
    assert found["bytes_kept"] == pytest.approx(28, abs=1)
    assert found["bytes_beyond"] < found["bytes_kept"]
