"""What contracts of studies have in common."""

from dataclasses import replace

import numpy as np
import pytest

import policysieve as ps
from tests.study.cases import PROBLEM, K, N, contexts, linear

SETTINGS = {
    "Exp4": {"rounds": 60},
    "EpsilonGreedy": {"rounds": 60},
    "Uniform": {"rounds": 60},
    "ExplorationByOptimization": {"rounds": 60},
    "LowVarianceExploration": {"explore_rounds": 30, "estimate_rounds": 30},
    "LogBarrier": {"explore_rounds": 30, "estimate_rounds": 30},
    "ListWeights": {"explore_rounds": 30, "estimate_rounds": 30},
}
PROBLEMS = {
    "revenue": ps.Problem(n_actions=K, epsilon=2, delta=0.05, reward_range=(-5, 20), no_answer=-1),
    "costs": ps.Problem(
        n_actions=K, epsilon=3, delta=0.05, reward_range=(0, 30), objective="minimize"
    ),
    "against": replace(PROBLEM, against=1),
    "traffic": replace(PROBLEM, against=1, traffic=0.4),
}


class Studies:
    """Inherit, and give `url`."""

    @pytest.fixture
    def url(self):
        raise NotImplementedError

    @pytest.fixture
    def study(self, url):
        with ps.Study.create(url, "homepage", linear(), PROBLEM, seed=0) as made:
            yield made

    def opened(self, url, **options):
        return ps.Study.open(url, "homepage", linear(), **options)


def clock(study, monkeypatch):
    """Let the clock of the database be ahead; what is returned moves it on."""
    storage, ahead = study._storage, [0.0]
    real = storage.now
    monkeypatch.setattr(storage, "now", lambda connection: real(connection) + ahead[0])

    def shift(seconds):
        ahead[0] += seconds

    return shift


def without_times(status):
    times = ("oldest_open", "as_of", "held_up")
    return {name: value for name, value in status.items() if name not in times}


def table(fallback=None):
    table = np.random.default_rng(1).integers(K, size=(30, N))
    return ps.PolicyTable(table, n_actions=K, fallback=fallback)


def play_any(study, n_batches, size, start, *, restricted=False):
    """Contexts are rows of a table, or features; rewards are a function of what is shown there."""
    for number in range(start, start + n_batches):
        rng = np.random.default_rng(number)
        x = contexts(size, seed=number)
        if isinstance(study.policies, ps.PolicyTable):
            x = rng.integers(30, size=size)
        available = None
        if restricted:
            available = rng.random((size, K)) < 0.6
            available[:, 2] = True
        decisions = study.ask(x, available=available)
        right = study.policies.actions(x)[:, 3]
        study.tell(decisions, (decisions.actions == right).astype(float))
