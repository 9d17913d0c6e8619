"""A long run keeps its log and its evidence, and nothing else."""

import ctypes
import json
import subprocess
import sys
from itertools import pairwise
from statistics import median

import pytest

from policysieve.bench.faults.apart import apart
from policysieve.bench.faults.soaking import soak

LONG = {"learner": "Uniform", "rounds": 20_000, "batch": 100}
ENOUGH = 8  # bytes a round to be called a leak: one number
LEAKS = """
import json, sys
import numpy as np
from policysieve.bench.faults import soaking

class Leaky(soaking.LEARNERS["Uniform"]):
    held = []

    def tell(self, decisions, rewards):
        self.held.append(np.ones(2 * len(decisions)))
        if self.rounds == 10_000:
            self.held.append(np.ones(500_000))
        super().tell(decisions, rewards)

soaking.LEARNERS = {"Uniform": Leaky}
print(json.dumps(soaking.soak(**json.loads(sys.argv[1]))))
"""

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="read from /proc")


@pytest.fixture(autouse=True)
def small_pages():
    """Processes started here have no huge pages, each of which would hide or feign many rounds."""
    prctl, no_huge_pages = ctypes.CDLL(None).prctl, 41
    prctl(no_huge_pages, 1, 0, 0, 0)
    yield
    prctl(no_huge_pages, 0, 0, 0, 0)


def bytes_beyond(found):
    """Growth per round of all else than what is kept, between two looks in the middle.

    What is leaked in every round grows between any two looks. What is loaded or allocated once, by
    whatever library, is in a few of them.
    """
    late = found["looks"][3:]  # warm
    return median(
        (b["held"] - a["held"] - b["kept"] + a["kept"]) / (b["rounds"] - a["rounds"])
        for a, b in pairwise(late)
    )


def test_memory_grows_by_what_is_kept():
    found = apart(soak, **LONG)
    assert found["bytes_kept"] == pytest.approx(28, abs=1)
    assert bytes_beyond(found) < ENOUGH


def test_a_leak_of_a_few_bytes_a_round_would_be_seen_and_what_comes_once_would_not():
    command = [sys.executable, "-c", LEAKS, json.dumps(LONG)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert ENOUGH < bytes_beyond(found) < 32  # 16 are leaked
    assert found["bytes_beyond"] > 200  # with what comes once
