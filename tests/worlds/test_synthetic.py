from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policysieve.errors import InvalidArgumentError
from policysieve.policies import PolicyTable
from policysieve.worlds import SparseSynthetic, synthetic
from tests.contracts.world_contract import WorldContract, all_rewards
from tests.worlds.naive import naive_values

PROFILES = ("one_good", "close", "clusters", "confusable")


def make(**options):
    standard = {"n_actions": 12, "n_contexts": 40, "n_policies": 15, "profile": "close"}
    return SparseSynthetic(**{**standard, **options})


def table(world):
    return PolicyTable(world.pool, n_actions=world.n_actions)


def rewards_by_context(world):
    """Rewards of all actions at each context of a world without noise."""
    draw = world.draw(60 * world.n_contexts, 0)
    assert len(np.unique(draw.contexts)) == world.n_contexts
    rewards = np.empty((world.n_contexts, world.n_actions))
    rewards[draw.contexts] = all_rewards(world, draw)
    return rewards


class TestOneGood(WorldContract):
    kind = SparseSynthetic

    @pytest.fixture
    def world(self):
        return make(profile="one_good")


class TestNoisyCloseSlates(WorldContract):
    kind = SparseSynthetic

    @pytest.fixture
    def world(self):
        return make(profile="close", slate_size=3, sparsity=2.5, noise=0.4, fractional=True)


class TestNoisyClusters(WorldContract):
    kind = SparseSynthetic

    @pytest.fixture
    def world(self):
        return make(profile="clusters", slate_size=2, sparsity=4, noise=0.2)


class TestNoisyConfusableSlates(WorldContract):
    kind = SparseSynthetic

    @pytest.fixture
    def world(self):
        return make(profile="confusable", slate_size=3, sparsity=2, noise=0.2, fractional=True)


class TestLittleReward(WorldContract):
    kind = SparseSynthetic

    @pytest.fixture
    def world(self):
        return make(profile="close", sparsity=0.3, noise=1.0)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(("slate_size", "sparsity"), [(1, 1), (3, 1), (2, 4.5), (3, 3), (1, 0.4)])
@pytest.mark.parametrize("fractional", [False, True])
def test_values_agree_with_plain_loops(profile, slate_size, sparsity, fractional):
    options = {
        "profile": profile,
        "slate_size": slate_size,
        "sparsity": sparsity,
        "fractional": fractional,
        "rng": 3,
    }
    still, noisy = make(**options), make(**options, noise=0.3)
    np.testing.assert_array_equal(still.pool, noisy.pool)
    rewards = rewards_by_context(still)
    assert ((rewards > 0).sum(axis=1) == max(1, int(sparsity))).all()
    slates = still.pool.reshape(40, 15, slate_size)
    np.testing.assert_allclose(
        still.values(table(still)), naive_values(slates, rewards), rtol=0, atol=1e-12
    )
    # In a noisy round the same rewards go to a uniformly random ordered choice of actions.
    mixed = [[0.7 * r + 0.3 * sum(row) / 12 for r in row] for row in rewards.tolist()]
    np.testing.assert_allclose(
        noisy.values(table(noisy)), naive_values(slates, mixed), rtol=0, atol=1e-12
    )


def test_rewards_without_fractions_are_zero_or_one():
    world = make(sparsity=3, noise=0.5)
    full = all_rewards(world, world.draw(500, 0))
    assert set(full.ravel().tolist()) == {0.0, 1.0}
    assert (full.sum(axis=1) == 3).all()


def test_fractional_rewards_are_levels_between_a_fifth_and_one():
    rewards = rewards_by_context(make(sparsity=3, fractional=True))
    positive = rewards[rewards > 0]
    assert positive.min() >= 0.2
    assert positive.max() <= 1
    assert len(np.unique(positive)) == len(positive)


@pytest.mark.parametrize("noise", [-5e-324, -1, 1.5, "0"])
def test_noise_is_a_share(noise):
    with pytest.raises(InvalidArgumentError, match="noise must be a number with 0 <= noise <= 1"):
        make(noise=noise)


def test_noise_is_as_frequent_as_it_says_and_uniform():
    still, noisy = make(rng=1), make(rng=1, noise=0.25)
    rewards = rewards_by_context(still)
    draw = noisy.draw(40_000, 0)
    full = all_rewards(noisy, draw)
    moved = full.argmax(axis=1) != rewards[draw.contexts].argmax(axis=1)
    share = 0.25 * 11 / 12
    assert abs(moved.mean() - share) < 6 * np.sqrt(share * (1 - share) / 40_000)
    offsets = (full.argmax(axis=1) - rewards[draw.contexts].argmax(axis=1))[moved] % 12
    counts = np.bincount(offsets, minlength=12)[1:]
    n = counts.sum()
    assert (abs(counts - n / 11) < 6 * np.sqrt(n / 11)).all()


def test_one_good_policy_stands_out_and_its_number_is_random():
    best = []
    for seed in range(12):
        world = make(profile="one_good", n_actions=50, n_contexts=500, n_policies=40, rng=seed)
        values = world.values(table(world))
        best.append(int(values.argmax()))
        assert 0.78 < values.max() < 0.85
        assert np.sort(values)[-2] < 0.08
    assert len(set(best)) > 6


def test_the_good_policy_shows_the_best_of_graded_actions():
    world = make(profile="one_good", slate_size=2, sparsity=5, fractional=True, n_contexts=400)
    rewards = rewards_by_context(world)
    best = np.sort(rewards, axis=1)[:, -2:].sum(axis=1)
    slates = world.pool[:, world.values(table(world)).argmax()].astype(int)
    shown = np.take_along_axis(rewards, slates, axis=1).sum(axis=1)
    assert 0.8 <= np.isclose(shown, best).mean() < 0.85


def test_close_policies_are_close_and_right_half_of_the_time():
    world = make(n_actions=100, n_contexts=1000, n_policies=60)
    values = world.values(table(world))
    assert values.min() > 0.48
    assert values.max() < 0.63
    assert values.max() - values.min() > 0.05


def test_clusters_have_features_and_policies_of_all_qualities():
    world = make(profile="clusters", n_actions=20, n_contexts=600, n_policies=80)
    values = world.values(table(world))
    assert world.features.shape == (600, 16)
    assert values.max() > 0.85
    assert values.min() < 0.5
    assert make(profile="close").features is None


def test_a_context_is_rewarded_for_its_own_cluster_not_for_the_nearest():
    world = make(profile="clusters", n_actions=4, n_contexts=4000, n_policies=1, rng=2)
    labels = rewards_by_context(world).argmax(axis=1)
    for label in range(4):
        mine = world.features[labels == label]
        assert abs(len(mine) - 1000) < 6 * np.sqrt(4000 * 3 / 16)
        spread = (mine - mine.mean(axis=0)).std()
        assert spread == pytest.approx(0.2, abs=6 * 0.2 / np.sqrt(2 * mine.size))
    crowded = make(profile="clusters", n_actions=300, n_contexts=1000, n_policies=30)
    assert crowded.values(table(crowded)).max() < 0.92  # clusters overlap


def test_clusters_do_not_depend_on_blocks_of_contexts(monkeypatch):
    options = {"profile": "clusters", "slate_size": 3, "sparsity": 2}
    world = make(**options)
    monkeypatch.setattr(synthetic, "_BLOCK", 50)
    np.testing.assert_array_equal(make(**options).pool, world.pool)


@pytest.mark.parametrize(
    ("slate_size", "sparsity", "n_items"),
    [
        (1, 1, 4),  # one rewarded action, and three that look plausible
        (3, 2, 8),
        (5, 1, 6),  # a slate of wrong actions fits beside the rewarded one
        (1, 4, 12),  # no more than there are
    ],
)
def test_confusable_policies_show_rewarded_actions_and_plausible_ones(
    slate_size, sparsity, n_items
):
    world = make(
        profile="confusable",
        slate_size=slate_size,
        sparsity=sparsity,
        n_policies=600,
        n_contexts=50,
    )
    rewards = rewards_by_context(world)
    for x, slates in enumerate(world.pool.reshape(50, 600, slate_size)):
        assert all(len(set(slate)) == slate_size for slate in slates.tolist())
        items = set(slates.ravel().tolist()) | set(np.flatnonzero(rewards[x]).tolist())
        assert len(items) <= n_items
    # Fewer where a context is so easy that no policy is wrong, but not everywhere.
    assert max(len(np.unique(slates)) for slates in world.pool.reshape(50, -1)) == n_items


def test_confusable_policies_have_all_qualities_at_easy_and_hard_contexts():
    world = make(profile="confusable", n_actions=100, n_contexts=3000, n_policies=200)
    values = world.values(table(world))
    assert values.max() > 0.7
    assert values.min() < 0.5
    assert len(np.unique(values)) > 150
    right = (world.pool == rewards_by_context(world).argmax(axis=1)[:, None]).mean(axis=1)
    assert (right > 0.9).mean() > 0.1
    assert (right < 0.3).mean() > 0.1


def test_confusable_policies_of_a_family_make_mistakes_together():
    """Every tenth policy: where both are wrong, they show the same action more often."""
    world = make(profile="confusable", n_actions=100, n_contexts=3000, n_policies=60)
    wrong = world.pool != rewards_by_context(world).argmax(axis=1)[:, None]
    alike = {True: [], False: []}
    for p in range(60):
        for q in range(p):
            both = wrong[:, p] & wrong[:, q]
            same = (world.pool[both, p] == world.pool[both, q]).mean()
            alike[(p - q) % 10 == 0].append(same)
    assert np.mean(alike[True]) > np.mean(alike[False]) + 0.05


@pytest.mark.parametrize(
    ("profile", "digest"),
    [
        ("one_good", "327d7da7254627a4"),
        ("close", "2b5638104519842a"),
        ("clusters", "4acc04ae2b2143ac"),
    ],
)
def test_worlds_that_numbers_were_measured_on_stay_as_they_are(profile, digest):
    """To the last bit, or rows of older races could not stand beside new ones."""
    found = sha256()
    for slate_size, sparsity in ((1, 1), (3, 2.5)):
        world = make(profile=profile, slate_size=slate_size, sparsity=sparsity, rng=3)
        found.update(world.pool.tobytes())
        found.update(world._rewarded.astype(np.int64).tobytes())
    assert found.hexdigest()[:16] == digest


@pytest.mark.parametrize(("n_actions", "dtype"), [(2, "uint8"), (256, "uint8"), (257, "uint16")])
@pytest.mark.parametrize("profile", PROFILES)
def test_the_pool_has_the_smallest_dtype(n_actions, dtype, profile):
    world = make(n_actions=n_actions, profile=profile)
    assert world.pool.dtype == dtype
    assert world.pool.shape == (40, 15)
    assert make(slate_size=2, profile=profile).pool.shape == (40, 15, 2)


def test_the_same_seed_gives_the_same_world_and_another_seed_another():
    for profile in PROFILES:
        one, same, other = (make(profile=profile, rng=seed, fractional=True) for seed in (1, 1, 2))
        np.testing.assert_array_equal(one.pool, same.pool)
        np.testing.assert_array_equal(rewards_by_context(one), rewards_by_context(same))
        assert (one.pool != other.pool).any()


def test_random_slates_are_uniform_over_ordered_slates():
    slates = synthetic.random_slates(np.random.default_rng(0), (40_000,), 4, 3)
    codes = slates @ np.array([16, 4, 1])
    _, counts = np.unique(codes, return_counts=True)
    assert len(counts) == 24
    assert (abs(counts - 40_000 / 24) < 6 * np.sqrt(40_000 / 24)).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_actions": 1}, "n_actions must be a whole number >= 2, got 1"),
        ({"n_actions": 3.0}, "n_actions must be"),
        ({"n_contexts": 0}, "n_contexts must be a whole number >= 1"),
        ({"n_policies": 0}, "n_policies must be a whole number >= 1"),
        ({"profile": "many_good"}, "profile must be one of .*clusters.*, got 'many_good'"),
        ({"profile": None}, "profile must be one of"),
        ({"slate_size": 13}, r"slate_size must be a whole number in \[1, 12\]"),
        ({"sparsity": 0}, "sparsity must be"),
        ({"sparsity": 13}, "0 < sparsity <= 12, got 13"),
        ({"sparsity": None}, "sparsity must be"),
        ({"noise": -0.1}, "noise must be"),
        ({"noise": 1.1}, "noise must be"),
        ({"noise": np.nan}, "noise must be"),
        ({"noise": "much"}, "noise must be"),
        ({"rng": -1}, "rng must be"),
    ],
)
def test_bad_arguments_are_refused(options, message):
    with pytest.raises(InvalidArgumentError, match=message):
        make(**options)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    n_actions=st.integers(2, 300),
    n_contexts=st.integers(1, 8),
    n_policies=st.integers(1, 6),
    profile=st.sampled_from(PROFILES),
    data=st.data(),
)
def test_any_world_keeps_its_promises(n_actions, n_contexts, n_policies, profile, data):
    world = SparseSynthetic(
        n_actions=n_actions,
        n_contexts=n_contexts,
        n_policies=n_policies,
        profile=profile,
        slate_size=data.draw(st.integers(1, min(6, n_actions))),
        sparsity=data.draw(st.floats(0.1, min(6, n_actions))),
        noise=data.draw(st.floats(0, 1)),
        fractional=data.draw(st.booleans()),
        rng=data.draw(st.integers(0, 2**32)),
    )
    policies = table(world)  # refuses repeated items and actions out of range
    full = all_rewards(world, world.draw(15, 0))
    assert ((full >= 0) & (full <= 1)).all()
    assert (full.sum(axis=1) <= world.sparsity + 1e-9).all()
    values = world.values(policies)
    assert ((values >= 0) & (values <= min(world.sparsity, world.slate_size) + 1e-9)).all()
