"""False certificates are as rare as delta says, on worlds that would show it if they were not.

`policysieve bench certificates` counts them in more runs.
"""

from functools import partial

import numpy as np
import pytest

from policysieve.bench.certificates import nulls
from policysieve.bench.certificates.floors import (
    EXPLORERS,
    FLOOR_METHODS,
    UNMET,
    with_true_floor,
    with_unmet,
)
from policysieve.bench.certificates.measuring import count
from policysieve.bench.certificates.nulls import NULLS
from policysieve.bench.certificates.watching import DELTA, played
from policysieve.evidence import Evidence, capped_bets, past, select, standing, values
from policysieve.evidence.certificate import DeltaShares
from policysieve.exploration.learners import Sieve
from tests.statistics import assert_at_most

RUNS = 20  # 15 false ones are too many


def assert_valid(play):
    found = count(play, 0, RUNS)
    assert_at_most(found["false"], RUNS, DELTA)
    assert_at_most(found["missed"], RUNS, DELTA)
    return found


@pytest.mark.parametrize("world", NULLS)
def test_null_worlds(world):
    assert_valid(NULLS[world])


@pytest.mark.parametrize("explorer", EXPLORERS)
@pytest.mark.parametrize("method", FLOOR_METHODS)
def test_a_true_floor(method, explorer):
    assert_valid(partial(with_true_floor, method, explorer))


class TestPropensitiesThatWereNotMet:
    @pytest.mark.parametrize("log", UNMET)
    def test_nothing_is_certified_without_a_floor(self, log):
        assert count(partial(with_unmet, log, "nothing"), 0, RUNS)["certified"] == 0

    @pytest.mark.parametrize("log", UNMET)
    def test_which_is_said(self, log):
        (small, w), rng = UNMET[log], np.random.default_rng(0)
        x = small.draw(500, rng)
        found = select(played(small, x, w[x], rng), small.policies, small.problem)
        assert found.guarantee.startswith("Nothing is proved")
        assert "smaller ones may not have been met" in found.guarantee
        assert "as floor" in found.guarantee

    @pytest.mark.parametrize("log", UNMET)
    def test_certificates_are_true_if_all_propensities_are_known(self, log):
        assert assert_valid(partial(with_unmet, log, "all"))["certified"] > RUNS / 2

    @pytest.mark.parametrize("log", UNMET)
    def test_the_smallest_that_was_met_is_no_floor(self, log):
        with pytest.raises(AssertionError):
            assert_valid(partial(with_unmet, log, "smallest"))


def asks_for_nothing(name):
    return lambda patch: patch.setattr(DeltaShares, name, lambda *_: -5.0)


def sees_rewards_first(patch):
    """The model expects what the shown item earned."""
    written = past.list_items

    def list_items(*arguments):
        written(*arguments)
        *_, shown, _, rewards, _, _, offsets, items, _, mean, _, _ = arguments
        at = np.repeat(np.arange(len(shown)), np.diff(offsets))
        seen = items[: len(at)] == shown[at, 0]
        mean[: len(at)][seen] = rewards[at[seen], 0]

    patch.setattr(past, "list_items", list_items)


def compares_in_hindsight(patch):
    """With whoever did best in the rounds that count."""
    of_one = capped_bets.add_rounds

    def add_rounds(totals, problem, rounds, _leader, rivals, *others):
        found = []
        for each in rivals:
            found.append(totals.copy())
            of_one(found[-1], problem, rounds, int(each), rivals, *others)
        totals[:] = max(found, key=lambda one: np.mean(one[:, :9]))

    for module in (capped_bets, standing):
        patch.setattr(module, "add_rounds", add_rounds)


def believes(change, patch):
    """Other propensities than those that were."""
    right = Evidence.take

    def take(self, rounds, answers, propensities):
        right(self, rounds, answers, lambda rows: change(propensities(rows)))

    patch.setattr(Evidence, "take", take)


class ByArrival(Sieve):
    """Takes what is told first, and does not wait for the rest."""

    def __init__(self, *arguments, rounds, rng):
        super().__init__(*arguments, rounds=min(rounds, 200), rng=rng)  # it gives up so many

    def tell(self, decisions, rewards):
        known = np.isin(decisions.numbers, self.open_decisions().numbers)
        super().tell(decisions[known], rewards[known])
        self.discard(self.open_decisions())


MISTAKES = {
    "eliminates for nothing": ("rarely_different", asks_for_nothing("log_elimination")),
    "certifies for nothing": ("bad_start", asks_for_nothing("log_retrospect")),
    "certifies incumbents for nothing": ("forgotten", asks_for_nothing("log_incumbent")),
    "sees rewards first": ("ties", sees_rewards_first),
    "compares in hindsight": ("ties", compares_in_hindsight),
    "believes in uniform exploration": (
        "misled",
        partial(believes, lambda w: np.full_like(w, 1 / w.shape[1])),
    ),
    "believes in support": (
        "missing_support",
        partial(believes, lambda w: np.where(w == 0, 0.1, w)),
    ),
    "counts answers as they come": (
        "late_answers",
        lambda patch: patch.setattr(nulls, "Sieve", ByArrival),
    ),
    "has intervals for nothing": (
        "slates",
        lambda patch: patch.setattr(values, "log", lambda _: 1e-3),
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_found(mistake, monkeypatch):
    world, make = MISTAKES[mistake]
    make(monkeypatch)
    with pytest.raises(AssertionError):
        assert_valid(NULLS[world])
