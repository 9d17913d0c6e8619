import itertools
import math

import numpy as np
import pytest
from scipy import stats

from policysieve.errors import InvalidArgumentError
from policysieve.policies import PolicyTable
from policysieve.worlds import HiddenArm, RareContext
from tests.contracts.world_contract import WorldContract, all_rewards
from tests.worlds.naive import naive_values


def table(world):
    return PolicyTable(world.pool, n_actions=world.n_actions)


def every_slate(world):
    """All slates at the one context of a hidden-arm world."""
    slates = list(itertools.combinations(range(world.n_actions), world.slate_size))
    return np.array(slates)[None]


class TestRareContext(WorldContract):
    kind = RareContext

    @pytest.fixture
    def world(self):
        return RareContext(n_actions=6, epsilon=0.2, rng=1)


# (n_actions, slate_size, sparsity, epsilon): one for each row of the table of cases
CASES = [(5, 1, 1, 0.1), (6, 1, 4, 0.1), (9, 2, 5, 0.1), (9, 3, 3, 0.2), (9, 4, 2, 0.2)]


class HiddenArmContract(WorldContract):
    kind = HiddenArm
    case = CASES[0]

    @pytest.fixture
    def world(self):
        k, m, s, epsilon = self.case
        return HiddenArm(n_actions=k, slate_size=m, sparsity=s, epsilon=epsilon, rng=1)


class TestTwoLabels(HiddenArmContract):
    case = CASES[0]


class TestManyArms(HiddenArmContract):
    case = CASES[1]


class TestGroups(HiddenArmContract):
    case = CASES[2]


class TestPairs(HiddenArmContract):
    case = CASES[3]


class TestPairsAndDummies(HiddenArmContract):
    case = CASES[4]


def test_the_rare_context_is_as_rare_as_promised_and_rewards_one_action():
    world = RareContext(n_actions=8, epsilon=0.05, rng=4)
    draw = world.draw(20_000, 0)
    full = all_rewards(world, draw)
    rare = draw.contexts == 0
    assert stats.binomtest(int(rare.sum()), 20_000, 0.1).pvalue > 1e-9
    assert (full[rare].sum(axis=1) == 1).all()
    assert len(np.unique(full[rare].argmax(axis=1))) == 1
    assert full[~rare].sum() == 0


def test_the_rare_context_world_by_plain_loops():
    world = RareContext(n_actions=8, epsilon=0.05, rng=4)
    draw = world.draw(500, 0)
    hidden = int(all_rewards(world, draw).sum(axis=0).argmax())
    functions = np.array(list(itertools.product(range(8), repeat=2))).T  # every function
    rewards = [[float(a == hidden) for a in range(8)], [0.0] * 8]
    values = world.values(PolicyTable(functions, n_actions=8))
    assert values.tolist() == naive_values(functions[:, :, None], rewards, [0.1, 0.9])
    assert values.max() == world.optimum == 0.1
    assert np.unique(values).tolist() == [0.0, 0.1]


def test_the_pool_of_the_rare_context_holds_the_optimum_once():
    for seed in range(5):
        world = RareContext(n_actions=300, epsilon=0.01, rng=seed)
        values = world.values(table(world))
        assert world.pool.shape == (2, 300)
        assert world.pool.dtype == np.uint16
        assert (values == world.optimum).sum() == 1
        assert (values == 0).sum() == 299


def test_the_hidden_action_is_uniform():
    counts = np.zeros(4)
    for seed in range(2000):
        world = RareContext(n_actions=4, epsilon=0.1, rng=seed)
        counts[world.values(table(world)).argmax()] += 1
    assert (abs(counts - 500) < 6 * np.sqrt(2000 * 3 / 16)).all()


@pytest.mark.parametrize(("k", "epsilon"), [(5, 0.1), (20, 0.05), (100, 0.01)])
def test_fewer_rounds_than_the_lower_bound_are_not_enough(k, epsilon):
    """The best strategy tries a new action at each visit and guesses among the rest."""
    world = RareContext(n_actions=k, epsilon=epsilon)
    assert world.lower_bound_rounds == pytest.approx((0.75 * k - 1) / (2 * epsilon))
    rounds = math.ceil(world.lower_bound_rounds) - 1
    visits = np.arange(rounds + 1)
    chance = stats.binom.pmf(visits, rounds, 2 * epsilon)
    success = float(chance @ np.minimum(visits + 1, k)) / k
    assert 0.6 < success < 0.75


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_actions": 1}, "n_actions must be a whole number >= 2"),
        ({"epsilon": 0.5}, "0 < epsilon < 0.5, got 0.5; the rare context"),
        ({"epsilon": 0}, "epsilon must be"),
        ({"epsilon": np.nan}, "epsilon must be"),
        ({"rng": "x"}, "rng must be"),
    ],
)
def test_bad_rare_contexts_are_refused(options, message):
    with pytest.raises(InvalidArgumentError, match=message):
        RareContext(**{"n_actions": 4, "epsilon": 0.1, **options})


def outcomes(m, s, epsilon):
    """The law of the rewards as the lower bound states it: groups of items, dummies, outcomes.

    Items are numbered group by group, the better one first; outcomes are (probability, rewards).
    """
    if m >= s:
        gain = epsilon if m == 1 else 2 * epsilon / s
        law = []
        for wins in itertools.product((True, False), repeat=s):
            chance = math.prod(0.5 + gain if win else 0.5 - gain for win in wins)
            rewards = [float(x) for win in wins for x in (win, not win)]
            law.append((chance, rewards))
        return s, 2, m - s, law
    size = s // m
    gain = 2 * epsilon if m == 1 else 4 * epsilon / m
    means = ([0.5 + gain] + [0.5] * (size - 1)) * m
    law = [
        (math.prod(p if r else 1 - p for p, r in zip(means, rewards, strict=True)), list(rewards))
        for rewards in itertools.product((1.0, 0.0), repeat=m * size)
    ]
    return m, size, 0, law


@pytest.mark.parametrize(("k", "m", "s", "epsilon"), CASES)
def test_the_optimum_by_enumeration(k, m, s, epsilon):
    world = HiddenArm(n_actions=k, slate_size=m, sparsity=s, epsilon=epsilon, rng=2)
    n_groups, size, _, law = outcomes(m, s, epsilon)
    assert sum(chance for chance, _ in law) == pytest.approx(1)
    assert max(sum(rewards) for _, rewards in law) <= s
    means = [sum(chance * r[j] for chance, r in law) for j in range(n_groups * size)]
    meant = [
        sum(means[g * size + pick] for g, pick in enumerate(picks))
        for picks in itertools.product(range(size), repeat=n_groups)
    ]
    assert world.optimum == pytest.approx(max(meant), abs=1e-12)
    # Every item of the world has the mean that the bound gives it.
    single = sorted(world._expected_rewards(np.array([0]))[0].tolist())
    assert single == pytest.approx(sorted(means + [0.0] * (k - len(means))), abs=1e-12)
    # Over all slates it is the same, unless a dummy can be swapped for a pair's other item.
    best = world.values(PolicyTable(every_slate(world), n_actions=k)).max()
    spare = min(m - s, s) if m > s else 0
    assert best == pytest.approx(world.optimum + spare * (0.5 - 2 * epsilon / s), abs=1e-12)


@pytest.mark.parametrize(("k", "m", "s", "epsilon"), CASES)
def test_the_pool_holds_the_optimum_and_its_values_are_those_of_plain_loops(k, m, s, epsilon):
    for seed in range(4):
        world = HiddenArm(n_actions=k, slate_size=m, sparsity=s, epsilon=epsilon, rng=seed)
        values = world.values(table(world))
        assert values.max() == pytest.approx(world.optimum, abs=1e-12)
        if m == 1:
            assert values.max() == world.optimum
            assert world.pool.tolist() == [list(range(k))]
        assert (values > world.optimum - 1e-9).sum() == 1
        means = [world._expected_rewards(np.array([0]))[0].tolist()]
        slates = world.pool.reshape(1, -1, m)
        np.testing.assert_allclose(values, naive_values(slates, means), rtol=0, atol=1e-12)


@pytest.mark.parametrize(("k", "m", "s", "epsilon"), CASES)
def test_the_joint_law_of_the_rewards(k, m, s, epsilon):
    world = HiddenArm(n_actions=k, slate_size=m, sparsity=s, epsilon=epsilon, rng=2)
    n = 20_000
    full = all_rewards(world, world.draw(n, 0))
    _, _, _, law = outcomes(m, s, epsilon)
    # The law of how many items are rewarded together, and of how many of the better ones are.
    better = world._expected_rewards(np.array([0]))[0] > 0.5
    n_groups, size, _, _ = outcomes(m, s, epsilon)
    expected, seen = {}, {}
    for chance, rewards in law:
        key = (sum(rewards), sum(rewards[::size]))
        expected[key] = expected.get(key, 0) + chance
    for rewards in full:
        key = (float(rewards.sum()), float(rewards[better].sum()))
        seen[key] = seen.get(key, 0) + 1
    assert better.sum() == n_groups
    assert set(seen) <= set(expected)
    for key, chance in expected.items():
        assert stats.binomtest(seen.get(key, 0), n, min(chance, 1.0)).pvalue > 1e-9


def test_each_pair_has_exactly_one_reward_and_different_pairs_are_independent():
    world = HiddenArm(n_actions=9, slate_size=3, sparsity=3, epsilon=0.3, rng=5)
    full = all_rewards(world, world.draw(20_000, 0))
    live = full[:, full.any(axis=0)]
    correlation = np.corrcoef(live.T)
    partners = correlation < -0.999
    assert (partners.sum(axis=0) == 1).all()
    rest = correlation[~partners & ~np.eye(6, dtype=bool)]
    assert abs(rest).max() < 6 / np.sqrt(20_000)


def test_positions_are_hidden():
    best = set()
    for seed in range(10):
        world = HiddenArm(n_actions=30, sparsity=3, epsilon=0.05, rng=seed)
        best.add(int(world.values(table(world)).argmax()))
    assert len(best) > 5
    places = set()
    for seed in range(10):
        world = HiddenArm(n_actions=40, slate_size=10, sparsity=10, epsilon=0.5, rng=seed)
        values = world.values(table(world))
        places.add(int(values.argmax()))
        assert world.pool.shape == (1, 200, 10)
        assert len({frozenset(slate) for slate in world.pool[0].tolist()}) == 200
        assert values.max() == pytest.approx(world.optimum, abs=1e-12)
    assert len(places) > 5


def test_small_slate_classes_are_complete():
    world = HiddenArm(n_actions=9, slate_size=4, sparsity=2, epsilon=0.1)
    assert world.pool.shape == (1, 4, 4)  # one of each of two pairs, two dummies
    assert len(set.intersection(*map(set, world.pool[0].tolist()))) == 2
    world = HiddenArm(n_actions=12, slate_size=2, sparsity=10, epsilon=0.1)
    assert world.pool.shape == (1, 25, 2)


def test_a_large_slate_class_is_sampled():
    world = HiddenArm(n_actions=300, slate_size=3, sparsity=30, epsilon=0.1)
    assert world.pool.shape == (1, 200, 3)
    assert world.pool.dtype == np.uint16
    assert world.values(table(world)).max() == pytest.approx(world.optimum, abs=1e-12)


def test_a_whole_float_is_a_sparsity():
    assert HiddenArm(n_actions=5, sparsity=2.0, epsilon=0.1).sparsity == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_actions": 1}, "n_actions must be a whole number >= 2"),
        ({"slate_size": 0}, "slate_size must be"),
        ({"slate_size": 21}, "slate_size must be"),
        ({"sparsity": 0}, "sparsity must be a whole number"),
        ({"sparsity": 2.5}, "sparsity must be a whole number"),
        ({"sparsity": None}, "sparsity must be a whole number"),
        ({"sparsity": 21}, r"in \[1, 20\]"),
        (
            {"slate_size": 2, "sparsity": 3},
            "2 [*] slate_size <= sparsity or slate_size >= sparsity",
        ),
        ({"slate_size": 3, "sparsity": 5}, "got slate_size=3 and sparsity=5"),
        ({"slate_size": 11, "sparsity": 10}, "n_actions must be at least 21 .*1 dummies, got 20"),
        ({"sparsity": 2, "epsilon": 0.26}, "0 < epsilon <= 0.25, got 0.26; or the best items"),
        ({"sparsity": 1, "epsilon": 0.51}, "0 < epsilon <= 0.5"),
        ({"slate_size": 2, "sparsity": 4, "epsilon": 0.26}, "0 < epsilon <= 0.25"),
        ({"slate_size": 2, "sparsity": 2, "epsilon": 0.51}, "0 < epsilon <= 0.5"),
        ({"epsilon": 0}, "epsilon must be"),
        ({"epsilon": np.nan}, "epsilon must be"),
        ({"rng": -3}, "rng must be"),
    ],
)
def test_bad_hidden_arms_are_refused(options, message):
    with pytest.raises(InvalidArgumentError, match=message):
        HiddenArm(**{"n_actions": 20, "sparsity": 2, "epsilon": 0.1, **options})


@pytest.mark.parametrize(
    ("m", "s", "limit"), [(1, 1, 0.5), (1, 3, 0.25), (2, 4, 0.25), (4, 8, 0.5), (4, 3, 0.75)]
)
def test_the_largest_epsilon_makes_the_best_items_certain(m, s, limit):
    world = HiddenArm(n_actions=20, slate_size=m, sparsity=s, epsilon=limit, rng=3)
    means = world._expected_rewards(np.array([0]))[0]
    assert means.max() == 1
    full = all_rewards(world, world.draw(200, 0))
    assert (full[:, means == 1] == 1).all()
