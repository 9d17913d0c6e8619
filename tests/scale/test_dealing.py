"""Who holds which candidates; nothing of it needs a cluster."""

import numpy as np
import pytest

from policysieve.scale.dealing import Dealing, dealt, in_runs, round_robin


@pytest.mark.parametrize("deal", [in_runs, round_robin])
@pytest.mark.parametrize(("n_policies", "n_shards"), [(1, 1), (7, 3), (100, 8), (5, 5)])
def test_shards_have_as_many_as_one_another(deal, n_policies, n_shards):
    counts = np.bincount(deal(n_policies, n_shards), minlength=n_shards)
    assert counts.sum() == n_policies
    assert np.ptp(counts) <= 1


def test_everyone_is_found_where_it_is_held():
    owners = np.array([1, 0, 1, 2, 0], np.int32)
    dealing = Dealing.of(owners, 3)
    for policy in range(5):
        assert dealing.held[owners[policy]][dealing.places[policy]] == policy
    shares = dealing.shares(np.array([4, 2, 2, 0]))
    assert {shard: mine.tolist() for shard, mine in shares.items()} == {0: [0], 1: [1, 2, 3]}
    whole = Dealing.of(owners, 3, whole=True)
    assert [held.tolist() for held in whole.held] == [[0, 1, 2, 3, 4]] * 3
    assert whole.places.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("seed", range(20))
def test_the_longest_takes_at_most_four_thirds_of_the_ideal(seed):
    rng = np.random.default_rng(seed)
    costs, n_shards = rng.exponential(size=30), int(rng.integers(1, 6))
    asked = np.flatnonzero(rng.random(30) < 0.6)
    dealing = Dealing.of(dealt(costs, asked, n_shards), n_shards)
    loads = dealing.loads(costs, asked)
    assert loads.sum() == pytest.approx(costs[asked].sum())
    largest = np.sort(costs[asked])[::-1]
    pair = largest[n_shards - 1 : n_shards + 1].sum() if len(largest) > n_shards else 0.0
    ideal = max(costs[asked].sum() / n_shards, largest[0], pair)  # nobody can be quicker
    assert loads.max() <= 4 / 3 * ideal
    others = np.setdiff1d(np.arange(30), asked)
    assert dealing.loads(costs, others).sum() == pytest.approx(costs[others].sum())


def test_equal_costs_are_dealt_in_runs():
    asked = np.array([1, 2, 5, 6])
    assert dealt(np.ones(8), asked, 2).tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
