import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from policysieve.errors import InvalidArgumentError, UnknownValueError
from policysieve.log import Log
from policysieve.policies import PolicyTable
from policysieve.worlds import Classification, Multilabel, Replay
from tests.contracts.world_contract import WorldContract

K = 4


def make_log(world, n, probabilities, seed=0):
    """Log n rounds of a world on rows, where action a is shown at x with probabilities[x, a]."""
    rng = np.random.default_rng(seed)
    draw = world.draw(n, rng)
    chances = probabilities[draw.contexts]
    actions = (rng.random((n, 1)) > chances.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return Log(
        contexts=draw.contexts,
        actions=actions,
        propensities=chances[np.arange(n), actions],
        rewards=draw.rewards(actions),
    )


def uniform(n_contexts):
    return np.full((n_contexts, K), 1 / K)


def uneven(n_contexts):
    """At least 0.1 everywhere, the rest somewhere else at each context."""
    probabilities = np.full((n_contexts, K), 0.1)
    probabilities[np.arange(n_contexts), np.arange(n_contexts) % K] = 0.7
    return probabilities


def graded():
    Y = np.random.default_rng(3).random((6, K))
    return Multilabel(None, Y, slate_size=1, contexts="rows")


def small_log(**changes):
    columns = {
        "contexts": [0, 1, 2],
        "actions": [0, 1, 2],
        "propensities": [0.25] * 3,
        "rewards": [1, 0, 1],
    }
    return Log(**{**columns, **changes})


class TestReplay(WorldContract):
    kind = Replay
    knows_values = False
    may_refuse = True

    @pytest.fixture
    def world(self):
        live = Classification(None, [0, 1, 2, 3, 1], contexts="rows")
        return Replay(make_log(live, 1000, uneven(5)), n_actions=K)

    def start_over(self, world):
        world.rewind()


@pytest.mark.parametrize("propensities", [uniform, uneven])
@pytest.mark.parametrize("given_floor", [False, True])
def test_accepted_rounds_are_like_live_ones(propensities, given_floor):
    live = graded()
    n = 30_000
    probabilities = propensities(live.n_contexts)
    floor = float(probabilities.min())
    log = make_log(live, n, probabilities)
    world = Replay(log, n_actions=K, sparsity=K, floor=0.8 * floor if given_floor else None)
    assert world.floor == (0.8 * floor if given_floor else floor)
    table = np.random.default_rng(5).integers(K, size=(live.n_contexts, 3))
    values = live.values(PolicyTable(table, n_actions=K))
    for policy in range(3):
        world.rewind()
        draw = world.draw(n, policy)
        rewards = draw.rewards(table[draw.contexts, policy])[:, 0]
        accepted = ~np.isnan(rewards)
        count = int(accepted.sum())
        # Any row is accepted with probability floor, whatever is shown.
        assert stats.binomtest(count, n, world.floor).pvalue > 1e-6
        assert world.rows_accepted == count
        # Contexts come as often as they do live, ...
        for x in range(live.n_contexts):
            hits = int((draw.contexts[accepted] == x).sum())
            assert stats.binomtest(hits, count, 1 / live.n_contexts).pvalue > 1e-6
        # ... and the mean reward is the policy's value (Hoeffding).
        mean = rewards[accepted].mean()
        assert abs(mean - values[policy]) < np.sqrt(np.log(2e6) / (2 * count))
        # Rewards are the logged ones.
        np.testing.assert_array_equal(rewards[accepted], log.rewards[accepted, 0])


def test_accepted_rounds_of_a_learner_that_shows_random_actions():
    live = Classification(None, [0, 1, 2, 3, 1], contexts="rows")
    world = Replay(make_log(live, 40_000, uneven(5)), n_actions=K)
    shown = np.random.default_rng(1).integers(K, size=40_000)
    rewards = world.draw(40_000, 2).rewards(shown)[:, 0]
    accepted = ~np.isnan(rewards)
    for action in range(K):
        mine = accepted & (shown == action)
        assert stats.binomtest(int(mine.sum()), int((shown == action).sum()), 0.1).pvalue > 1e-6
    wins = int(rewards[accepted].sum())
    assert stats.binomtest(wins, int(accepted.sum()), 1 / K).pvalue > 1e-6


def test_a_uniform_log_accepts_every_match():
    world = Replay(small_log(), n_actions=K)
    assert world.floor == 0.25
    assert world.draw(3, 0).rewards([0, 1, 2])[:, 0].tolist() == [1, 0, 1]
    assert world.rows_accepted == 3


def test_rows_come_in_order_until_the_log_is_exhausted():
    world = Replay(small_log(), n_actions=K)
    assert (world.rows_used, world.rows_accepted, world.rows_left) == (0, 0, 3)
    first = world.draw(2, 0)
    assert first.contexts.tolist() == [0, 1]
    assert (world.rows_used, world.rows_left) == (2, 1)
    last = world.draw(2, 0)
    assert last.contexts.tolist() == [2]
    assert world.rows_left == 0
    assert len(world.draw(2, 0)) == 0
    np.testing.assert_array_equal(last.rewards([1]), [[np.nan]])
    assert first.rewards([0, 0])[:, 0].tolist()[0] == 1
    assert (world.rows_used, world.rows_accepted, world.rows_left) == (3, 1, 0)


def test_a_row_is_counted_once_however_often_it_is_asked_for():
    world = Replay(small_log(), n_actions=K)
    draw = world.draw(3, 0)
    for _ in range(3):
        draw.rewards([0, 1, 1])
        assert world.rows_accepted == 2
    draw.rewards([0, 1, 2])
    assert world.rows_accepted == 3


def test_rewinding_starts_over_and_forgets_earlier_draws():
    world = Replay(small_log(), n_actions=K)
    old = world.draw(2, 0)
    world.rewind()
    assert (world.rows_used, world.rows_accepted, world.rows_left) == (0, 0, 3)
    assert old.rewards([0, 1])[:, 0].tolist() == [1, 0]
    assert world.rows_accepted == 0
    assert world.draw(3, 0).contexts.tolist() == [0, 1, 2]


def test_the_coin_comes_from_the_draw():
    log = Log(
        contexts=np.zeros(200), actions=[0] * 200, propensities=[0.5] * 200, rewards=[1] * 200
    )
    world = Replay(log, n_actions=4)
    assert world.floor == 0.25  # some action of four had at most that
    results = []
    for seed in (1, 1, 2):
        world.rewind()
        results.append(np.isnan(world.draw(200, seed).rewards([0] * 200)))
    assert (results[0] == results[1]).all()
    assert (results[0] != results[2]).any()


def test_rows_appended_later_are_not_served():
    log = small_log()
    world = Replay(log, n_actions=K)
    log.append(contexts=[3], actions=[3], propensities=[0.01], rewards=[1])
    assert len(world.draw(10, 0)) == 3


def test_values_are_unknown():
    world = Replay(small_log(), n_actions=K)
    with pytest.raises(UnknownValueError, match="importance weights"):
        world.values(PolicyTable([[0], [1], [2]], n_actions=K))


SLATES = Log(contexts=[0], actions=[[0, 1]], propensities=[[0.5, 0.5]], rewards=[[0, 1]])
EMPTY = Log.empty(contexts=np.zeros(1), slate_size=1)


@pytest.mark.parametrize(
    ("log", "options", "message"),
    [
        (SLATES, {}, "slates of one action, got slate_size=2; rejection needs the joint"),
        (EMPTY, {}, "log must have at least one row"),
        ([1, 2], {}, "log must be a Log, a LogFile, a path or several paths, got list"),
        (small_log(), {"n_actions": 2}, r"actions of the log must lie in \[0, 1\], got 2 in row 2"),
        (small_log(), {"n_actions": 0}, "n_actions must be"),
        (small_log(), {"sparsity": 0.5}, "at most the sparsity 0.5, got 1 in row 0 .2 such rows"),
        (small_log(), {"sparsity": 0}, "sparsity must be"),
        (small_log(), {"sparsity": None}, "sparsity must be"),
        (small_log(), {"floor": 0.3}, "0 < floor <= 0.25, got 0.3; the smallest propensity"),
        (small_log(propensities=[1, 1, 1]), {"floor": 0.5}, "at most 1/4"),
        (small_log(), {"floor": 0}, "floor must be"),
        (small_log(), {"floor": np.nan}, "floor must be"),
    ],
)
def test_bad_arguments_are_refused(log, options, message):
    with pytest.raises(InvalidArgumentError, match=message):
        Replay(log, **{"n_actions": K, **options})


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 7), max_size=10), st.integers(1, 30), st.integers(0, 2**32))
def test_any_batches_cover_the_log_in_order(sizes, n, seed):
    rng = np.random.default_rng(seed)
    log = Log(
        contexts=np.arange(n),
        actions=rng.integers(3, size=n),
        propensities=rng.uniform(0.2, 1, size=n),
        rewards=rng.random(n),
    )
    world = Replay(log, n_actions=3)
    seen, told = [], 0
    for size in sizes:
        draw = world.draw(size, rng)
        seen += draw.contexts.tolist()
        rewards = draw.rewards(rng.integers(3, size=len(draw)))[:, 0]
        accepted = ~np.isnan(rewards)
        told += int(accepted.sum())
        np.testing.assert_array_equal(rewards[accepted], log.rewards[draw.contexts[accepted], 0])
    assert seen == list(range(min(n, sum(sizes))))
    assert (world.rows_used, world.rows_left) == (len(seen), n - len(seen))
    assert world.rows_accepted == told
