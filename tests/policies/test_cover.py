"""Covers: one hypothesis for each pattern, and what that costs in epsilon and delta."""

import itertools
from math import log, log2

import numpy as np
import pytest

import policysieve as ps
from policysieve.policies import Cover, Thresholds, natarajan_sample_size
from tests.contracts.policies_contract import PoliciesContract

PROBLEM = ps.Problem(n_actions=3, epsilon=0.5, delta=0.2)


class Steps:
    """A threshold function of one number, drawn at random."""

    def __init__(self, rng):
        self.edge, self.left, self.right = rng.random(), *rng.integers(3, size=2)

    def predict(self, x):
        return np.where(x[:, 0] < self.edge, self.left, self.right)


def rows(n, features=1, seed=0):
    return np.random.default_rng(seed).random((n, features))


class TestThresholdCover(PoliciesContract):
    kind = Cover
    takes_available = False

    @pytest.fixture
    def policies(self):
        return ps.natarajan_cover(Thresholds(), rows(400, 2), PROBLEM)

    @pytest.fixture
    def contexts(self):
        return rows(6, 2, seed=9)


class TestListCover(PoliciesContract):
    kind = Cover
    takes_available = False

    @pytest.fixture
    def policies(self):
        steps = [Steps(np.random.default_rng(seed)) for seed in range(50)]
        return ps.natarajan_cover(steps, rows(60), PROBLEM)

    @pytest.fixture
    def contexts(self):
        return rows(6, seed=9)


class TestThresholds:
    @pytest.mark.parametrize(("k", "n_actions"), [(1, 2), (1, 3), (2, 2), (2, 3), (3, 2)])
    def test_every_pattern_once(self, k, n_actions):
        """All ways to answer at five points with at most k changes."""
        x = np.array([0.3, 0.1, 0.9, 0.5, 0.7])
        found = Thresholds(k).representatives(x, n_actions).actions(x[:, None])[:, :, 0]
        by_value = found[np.argsort(x)].T
        wanted = {
            answer
            for answer in itertools.product(range(n_actions), repeat=5)
            if sum(a != b for a, b in itertools.pairwise(answer)) <= k
        }
        assert {tuple(answer) for answer in by_value.tolist()} == wanted
        assert len(by_value) == len(wanted)

    def test_all_stumps_of_several_features(self):
        x = rows(7, 3)
        found = Thresholds().representatives(x, 2).actions(x)[:, :, 0]
        patterns = {tuple(column) for column in found.T.tolist()}
        for f, edge in itertools.product(range(3), [-1.0, *x.ravel()]):
            for left, right in itertools.product(range(2), repeat=2):
                assert tuple(np.where(x[:, f] < edge, left, right).tolist()) in patterns

    def test_repeated_values_have_no_threshold_between(self):
        found = Thresholds().representatives([[1.0], [1.0], [2.0]], 2)
        assert found.n_policies == 4

    def test_shattering_takes_no_more_points_than_the_dimension(self):
        """k + 1 points are shattered, k + 2 are not, for two actions at each."""
        for k in (1, 2):
            for n, shattered in ((k + 1, True), (k + 2, False)):
                x = np.arange(n, dtype=float)
                found = Thresholds(k).representatives(x, 2).actions(x)[:, :, 0]
                assert (len({tuple(c) for c in found.T.tolist()}) == 2**n) is shattered
            assert Thresholds(k).dimension == k + 1

    @pytest.mark.parametrize(
        "values",
        [
            np.array([10, 200, 250], dtype=np.uint8),
            np.array([0.3, np.nextafter(0.3, 1), np.nextafter(np.nextafter(0.3, 1), 1)]),
            np.array([1.2e308, 1.5e308, 1.7e308]),
        ],
    )
    def test_narrow_numbers_and_close_or_huge_ones(self, values):
        patterns = Thresholds().representatives(values, 2).actions(values)[:, :, 0].T.tolist()
        assert len({tuple(pattern) for pattern in patterns}) == len(patterns) == 6

    def test_too_many(self):
        with pytest.raises(ps.InvalidArgumentError, match="patterns, more than"):
            Thresholds(3).representatives(rows(2000), 10)

    def test_missing_features(self):
        cover = ps.natarajan_cover(Thresholds(), rows(400, 2), PROBLEM)
        with pytest.raises(ps.InvalidArgumentError, match="at least 2 features"):
            cover.actions([[1.0]])
        with pytest.raises(ps.InvalidArgumentError, match="feature rows"):
            cover.actions(["a"])


class TestSampleSize:
    @pytest.mark.parametrize("n_unions", [1, 5])
    def test_is_the_smallest_fixed_point(self, n_unions):
        d, K, e0, d0 = 3, 10, 0.05, 0.02
        M = natarajan_sample_size(d, K, e0, d0, n_unions=n_unions)

        def enough(m):
            bits = log2(2 / d0) + 2 * d * log2(2 * m) + 4 * d * log2(K) + 2 * log2(n_unions)
            return m >= max(8 / e0, 2 / e0 * bits) - 1

        assert enough(M)
        assert not enough(M - 3)

    def test_disagreement_of_agreeing_hypotheses_is_small(self):
        """Thresholds on the unit interval: the widest gap between sampled points."""
        e0, d0 = 0.1, 0.1
        M = natarajan_sample_size(2, 2, e0, d0)
        rng = np.random.default_rng(0)
        gaps = [np.diff(np.sort(np.concatenate([[0, 1], rng.random(M)]))).max() for _ in range(50)]
        assert max(gaps) <= e0

    @pytest.mark.parametrize("bad", [{"dimension": 0}, {"epsilon0": 1.0}, {"delta0": 0.0}])
    def test_bad_arguments(self, bad):
        good = {"dimension": 2, "n_actions": 3, "epsilon0": 0.1, "delta0": 0.1}
        with pytest.raises(ps.InvalidArgumentError, match=next(iter(bad))):
            natarajan_sample_size(**{**good, **bad})


class TestCover:
    def test_accounts_for_the_family(self):
        cover = ps.natarajan_cover(Thresholds(), rows(400, 2), PROBLEM, delta0=0.05)
        bits = log2(2 / 0.05) + 2 * (1 + 2 * (log2(800) + 2 * log2(3)))
        assert cover.epsilon0 == pytest.approx(2 * bits / 400)
        assert cover.problem.epsilon == pytest.approx(0.5 - cover.epsilon0)
        assert cover.problem.delta == pytest.approx(0.15)
        assert "the family's functions" in cover.statement
        assert "only these" not in cover.statement

    def test_accounts_for_a_list(self):
        steps = [Steps(np.random.default_rng(seed)) for seed in range(50)]
        cover = ps.natarajan_cover(steps, rows(60), PROBLEM)
        assert cover.epsilon0 == pytest.approx(log(50 * 49 / 2 / 0.05) / 60)
        actions = ps.EstimatorPolicies(steps, 3).actions(rows(60))[:, :, 0]
        assert cover.n_policies == len({tuple(c) for c in actions.T.tolist()}) < 50

    def test_representatives_answer_as_they_do(self):
        steps = [Steps(np.random.default_rng(seed)) for seed in range(50)]
        cover = ps.natarajan_cover(steps, rows(60), PROBLEM)
        new = rows(500, seed=3)
        for number, chosen in enumerate(cover.chosen.tolist()):
            np.testing.assert_array_equal(
                cover.actions(new, [number])[:, 0, 0], steps[chosen].predict(new)
            )

    def test_every_hypothesis_has_someone_close(self):
        steps = [Steps(np.random.default_rng(seed)) for seed in range(200)]
        cover = ps.natarajan_cover(steps, rows(60), PROBLEM)
        new = rows(4000, seed=3)
        theirs = cover.actions(new)[:, :, 0]
        worst = max(min((theirs != one.predict(new)[:, None]).mean(axis=0)) for one in steps)
        assert worst <= cover.epsilon0

    def test_a_sampler_is_told_from_its_family(self):
        cover = ps.natarajan_cover(Steps, rows(60), PROBLEM, samples=30, rng=0)
        again = ps.natarajan_cover(Steps, rows(60), PROBLEM, samples=30, rng=0)
        assert isinstance(cover, Cover)
        assert "30 drawn hypotheses" in cover.statement
        assert "only these were looked at" in cover.statement
        np.testing.assert_array_equal(cover.actions(rows(9)), again.actions(rows(9)))
        known = ps.natarajan_cover(Steps, rows(400), PROBLEM, samples=30, dimension=2, rng=0)
        assert known.epsilon0 > log(30 * 29 / 2 / 0.05) / 400

    def test_functions_and_classes_of_slates(self):
        problem = ps.Problem(n_actions=3, slate_size=2, sparsity=2, epsilon=0.9, delta=0.2)
        table = ps.PolicyTable([[[0, 1], [1, 0], [1, 2]]] * 2, n_actions=3)
        cover = ps.natarajan_cover(table, np.array([0, 1] * 20), problem)
        assert cover.n_policies == 2  # slates are sets
        assert cover.problem.epsilon == pytest.approx(0.9 - 2 * cover.epsilon0)
        plain = ps.natarajan_cover(
            [lambda x: (x > 0).astype(int), lambda x: (x > -1).astype(int)],
            np.linspace(1, 2, 20),
            PROBLEM,
        )
        assert plain.n_policies == 1

    def test_labels_of_slates_are_sets(self):
        problem = ps.Problem(n_actions=6, slate_size=3, sparsity=1, epsilon=0.9, delta=0.2)
        table = ps.PolicyTable([[[0, 1, 2], [3, 4, 5]]], n_actions=6)
        cover = ps.natarajan_cover(table, np.zeros(400, int), problem, dimension=1)
        bits = log2(2 / 0.05) + 2 * (log2(800) + 2 * log2(20))
        assert cover.epsilon0 == pytest.approx(2 * bits / 400)

    def test_an_iterator_is_read_once(self):
        steps = [Steps(np.random.default_rng(seed)) for seed in range(9)]
        functions = [step.predict for step in steps]
        cover = ps.natarajan_cover(iter(functions), rows(60), PROBLEM)
        assert cover.hypotheses.n_policies == 9

    def test_too_few_contexts(self):
        with pytest.raises(ps.InvalidArgumentError, match="contexts are too few") as caught:
            ps.natarajan_cover(Thresholds(), rows(10), PROBLEM)
        enough = int(str(caught.value).split("; ")[1].split()[0].replace(",", ""))
        cover = ps.natarajan_cover(Thresholds(), rows(enough), PROBLEM)
        assert cover.problem.epsilon >= 0.25

    def test_bad_arguments(self):
        with pytest.raises(ps.InvalidArgumentError, match="samples goes with a sampler"):
            ps.natarajan_cover(Thresholds(), rows(400), PROBLEM, samples=5)
        with pytest.raises(ps.InvalidArgumentError, match="samples goes with a sampler"):
            ps.natarajan_cover(Steps, rows(400), PROBLEM)
        with pytest.raises(ps.InvalidArgumentError, match="delta0"):
            ps.natarajan_cover(Thresholds(), rows(400), PROBLEM, delta0=0.2)
        with pytest.raises(ps.InvalidArgumentError, match="at least one"):
            ps.natarajan_cover([Steps(np.random.default_rng(0))], rows(0), PROBLEM)
        for dimension in (0, -5, "a"):
            with pytest.raises(ps.InvalidArgumentError, match="dimension"):
                ps.natarajan_cover(Steps, rows(400), PROBLEM, samples=5, dimension=dimension)
        with pytest.raises(ps.InvalidArgumentError, match="dimension must be left out"):
            ps.natarajan_cover(Thresholds(), rows(400), PROBLEM, dimension=1)
        functions = ps.TabularPolicies(n_contexts=2, n_actions=3)
        with pytest.raises(ps.InvalidArgumentError, match="hypotheses must be"):
            ps.natarajan_cover(functions, rows(400), PROBLEM)

    def test_learners_take_it(self):
        cover = ps.natarajan_cover(Thresholds(), rows(400), PROBLEM)
        learner = ps.Uniform(cover, cover.problem, rounds=500, rng=0)
        decisions = learner.ask(rows(500, seed=1))
        right = np.where(decisions.contexts[:, 0] < 0.4, 2, 0)
        learner.tell(decisions, decisions.actions[:, 0] == right)
        new = rows(1000, seed=2)
        shown = cover.actions(new, [learner.recommend().policy])[:, 0, 0]
        assert (shown == np.where(new[:, 0] < 0.4, 2, 0)).mean() > 0.9


def test_a_design_for_one_cover_is_not_taken_for_another(tmp_path):
    one, other = (
        ps.natarajan_cover(Thresholds(), rows(400, seed=seed), PROBLEM) for seed in (0, 1)
    )
    assert one.n_policies == other.n_policies
    learner = ps.Uniform(one, one.problem, rounds=10, rng=0)
    learner.exploration.save(tmp_path / "design.npz")
    ps.Exploration.load(tmp_path / "design.npz", one)
    with pytest.raises(ps.InvalidArgumentError, match="policies must be those that"):
        ps.Exploration.load(tmp_path / "design.npz", other)
