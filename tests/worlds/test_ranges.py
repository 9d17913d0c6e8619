"""Worlds whose rewards lie in a range."""

import numpy as np
import pytest

import policysieve as ps
from policysieve.errors import InvalidArgumentError
from policysieve.worlds import Replay

K, N = 4, 3_000


def costs_log():
    rng = np.random.default_rng(0)
    x, a = rng.integers(0, 3, N), rng.integers(0, K, N)
    return ps.Log(
        contexts=x,
        actions=a,
        propensities=np.full(N, 1 / K),
        rewards=np.where(a == x, 2.0, 8.0) + rng.random(N),
        reward_range=(2, 9),
    )


POOL = ps.PolicyTable([[0, 1, 3], [1, 1, 3], [2, 1, 3]], n_actions=K)


class Prices(ps.worlds.World):
    """What each action costs is known at each of two contexts."""

    reward_range = (-1.0, 3.0)
    prices = np.array([[3.0, -1.0, 0.0], [2.0, 1.0, 0.5]])

    def __init__(self):
        super().__init__(n_actions=3, slate_size=1, sparsity=None)

    def _draw(self, n, rng):
        x = rng.integers(0, 2, n)
        return ps.worlds.Draw(x, lambda a: self.prices[x[:, None], a], n_actions=3, slate_size=1)

    def _values(self, policies):
        shown = policies.actions(np.arange(2))[:, :, 0]
        return self.prices[np.arange(2)[:, None], shown].mean(axis=0)


def test_a_replayed_log_has_the_range_of_its_rewards():
    log = costs_log()
    world = Replay(log, n_actions=K)
    assert (world.reward_range, world.sparsity) == ((2.0, 9.0), None)
    problem = world.problem(epsilon=1, delta=0.1, objective="minimize")
    assert (problem.reward_range, problem.sparsity) == ((2.0, 9.0), None)
    result = ps.run(ps.Sieve(POOL, problem, rng=0), world, progress=False)
    assert result.recommendation.policy == 0
    assert result.recommendation.lower <= 2.5 <= result.recommendation.upper
    assert result.leaders()[0]["policy"] == 0
    assert repr(world) == "Replay(n_actions=4, slate_size=1, sparsity=None)"


def test_a_learner_must_have_the_range_of_the_world():
    world = Replay(costs_log(), n_actions=K)
    problem = ps.Problem(n_actions=K, epsilon=0.1, delta=0.1, sparsity=None)
    with pytest.raises(
        InvalidArgumentError, match=r"declares rewards in \[0, 1\], but the world's"
    ):
        ps.run(ps.Sieve(POOL, problem), world)


@pytest.mark.parametrize("objective", ["maximize", "minimize"])
def test_distances_to_the_best_are_true_ones(objective):
    world = Prices()
    pool = ps.PolicyTable([[0, 1, 2, 0], [0, 1, 2, 2]], n_actions=3)
    values = world.values(pool)  # 2.5, 0, 0.25 and 1.75
    problem = world.problem(epsilon=0.5, delta=0.1, objective=objective)
    result = ps.run(ps.Sieve(pool, problem, rng=0), world, 3_000, progress=False)
    best = values.min() if objective == "minimize" else values.max()
    assert result.recommendation.certified
    for checkpoint in result.history:
        distance = abs(values[checkpoint.recommendation.policy] - best)
        assert checkpoint.suboptimality == pytest.approx(distance)
    assert result.suboptimality <= 0.5
    assert result.to_dict()["problem"]["reward_range"] == (-1.0, 3.0)
    assert [row["true_value"] for row in result.leaders(1)] == [pytest.approx(best, abs=0.5)]
    frame = result.to_frame("pyarrow").to_pydict()
    assert min(frame["lower"]) >= -1
    assert max(frame["upper"]) <= 3


def test_costs_in_a_world_of_rewards_in_0_to_1():
    world = ps.worlds.SparseSynthetic(
        n_actions=5, n_contexts=20, n_policies=10, profile="close", rng=0
    )
    pool = ps.PolicyTable(world.pool, n_actions=5)
    problem = world.problem(epsilon=0.1, delta=0.1, objective="minimize")
    assert problem.sparsity is None
    result = ps.run(ps.Sieve(pool, problem, rng=0), world, 4_000, progress=False)
    values = world.values(pool)
    assert result.suboptimality == pytest.approx(values[result.chosen] - values.min())
    assert result.suboptimality >= 0


def test_a_range_stays_where_not_everything_is_available():
    world = ps.worlds.Availability(Prices(), 0.9)
    assert (world.reward_range, world.sparsity) == (Prices.reward_range, None)
    assert world.problem(epsilon=0.1, delta=0.1).reward_range == Prices.reward_range


def test_a_sparsity_of_a_range_is_in_its_units():
    log = ps.Log(
        contexts=[0, 1],
        actions=[0, 1],
        propensities=[0.5, 0.5],
        rewards=[0, 30],
        reward_range=(0, 100),
    )
    world = Replay(log, n_actions=K, sparsity=150)
    assert world.problem(epsilon=5, delta=0.1).unit.sparsity == 1.5
    with pytest.raises(InvalidArgumentError, match="sparsity must be a number with 0 < sparsity"):
        Replay(log, n_actions=K, sparsity=401)
