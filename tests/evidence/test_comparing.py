"""Differences of two policies: the limits of the slow twin, and they cover whatever is explored."""

import json
import pickle
from functools import partial
from itertools import permutations
from math import isnan, log

import numpy as np
import pytest

import policysieve as ps
from policysieve.evidence import FloorEvidence
from policysieve.evidence.comparing import capped_difference, log_wealth_of_difference
from policysieve.evidence.unproved import UnprovedEvidence
from policysieve.evidence.values import policy_interval
from tests.evidence.capped import World
from tests.evidence.following import LEVEL, VALUES, assert_covers, looks
from tests.evidence.test_betting import case, naive_rewards, stakes_of
from tests.oracles import betting as oracle

STEP = 2 / 40**3  # of a limit that is found by zooming in, of what a round can earn

WORLDS = [
    {"seed": 0, "n": 120},
    {"seed": 1, "n": 120, "sparsity": 0.5, "epsilon": 0.2},
    {"seed": 2, "n": 60, "m": 2, "sparsity": 1.5},
    {"seed": 3, "n": 40, "m": 3, "K": 6, "sparsity": None},
]


def proved(world, n=None, **arguments):
    evidence = world.evidence(**arguments)
    world.feed(evidence, 0, len(world.log) if n is None else n)
    return evidence


def least(evidence, first, second, log_term):
    standing, past = evidence._now()[0], evidence._past
    return capped_difference(standing, past, evidence.survivors, first, second, log_term)


class TestCappedScores:
    @pytest.mark.parametrize("arguments", WORLDS)
    def test_wealth_agrees_with_the_twin(self, arguments):
        """At differences of either sign, up to what a round can earn."""
        world = World(**arguments, delta=1e-3)
        evidence, fold, cap = proved(world), world.fold(), world.problem.reward_cap
        world.feed_fold(fold, 0, len(world.log))
        differences = np.array([-1.0, -0.3, -0.01, 0.0, 0.01, 0.2, 0.7, 1.0]) * cap
        for first, second in ((0, 1), (1, 0), (2, 4)):
            found = log_wealth_of_difference(
                world.problem, evidence._past, first, second, differences
            )
            wanted = [fold.log_wealth_of_difference(first, second, g) for g in differences]
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
            assert (np.diff(found) <= 1e-12).all()

    @pytest.mark.parametrize("arguments", WORLDS[:3])
    def test_limits_agree_with_the_twin(self, arguments):
        """To the last step of the search, on the safe side."""
        world = World(**arguments, delta=1e-3)
        evidence, fold, cap = proved(world), world.fold(), world.problem.reward_cap
        world.feed_fold(fold, 0, len(world.log))
        gains, order = 0, np.argsort(evidence.intervals().values).tolist()
        low, *_, high = (p for p in order if p in evidence.survivors)
        for first, second, log_term in ((high, low, 0.5), (low, high, 0.5), (high, low, 3.0)):
            wanted = fold.least_difference(first, second, log_term - log(0.9))
            found = least(evidence, first, second, log_term)
            assert wanted - STEP * cap - 1e-9 <= found <= wanted + 1e-9
            gains += found > 0
        assert gains

    def test_at_zero_it_is_the_bet_of_a_certificate(self):
        world = World(0, n=100)
        evidence = proved(world)
        proof, leader = evidence.proof(), evidence.certificate().leader
        for rival in proof.rivals[:2]:
            epsilons = np.array([0.0, 0.1, 0.5])
            found = log_wealth_of_difference(
                world.problem, evidence._past, leader, int(rival), -epsilons
            )
            wanted = proof.log_wealth(np.array([rival]), epsilons)[0]
            np.testing.assert_allclose(found, wanted, atol=1e-9)

    def test_an_interval_has_half_of_delta_for_each_side_and_a_union_over_pairs(self):
        world = World(5, n=400, n_policies=5, delta=0.1)
        evidence = proved(world)
        a, b = evidence.survivors[:2].tolist()
        for beforehand, pairs in ((True, 1), (False, 10)):
            found = evidence.compare(a, b, named_beforehand=beforehand)
            term = log(2 * pairs / 0.1)
            assert found.lower == least(evidence, a, b, term)
            assert found.upper == -least(evidence, b, a, term)
            assert found.rounds == 400
            assert found.value == pytest.approx(
                evidence.intervals().values[a] - evidence.intervals().values[b]
            )
        wide, narrow = (evidence.compare(a, b, named_beforehand=one) for one in (False, True))
        assert wide.lower < narrow.lower <= narrow.value <= narrow.upper < wide.upper

    def test_turned_around_it_is_the_same_interval(self):
        evidence = proved(World(5, n=300))
        a, b = evidence.survivors[:2].tolist()
        one, other = evidence.compare(a, b), evidence.compare(b, a)
        assert (one.lower, one.upper, one.value) == (-other.upper, -other.lower, -other.value)

    def test_questions_change_nothing(self):
        world = World(5, n=300)
        evidence = proved(world, 200)
        for _ in range(2):
            evidence.compare(0, 1)
        world.feed(evidence, 200, 300)
        assert evidence.compare(0, 1) == proved(world).compare(0, 1)

    def test_functions_are_compared_as_tables_are(self):
        world = World(5, n=300)
        listed, unlisted = world.evidence(), world.evidence(world.unlisted)
        for evidence in (listed, unlisted):
            world.feed(evidence, 0, 300)
        for a in range(3):
            assert listed.compare(a, 5) == unlisted.compare(a, 5)

    def test_eliminated_policies_are_compared_by_their_values(self):
        world = World(6, m=2, n=400, sparsity=None)
        evidence = proved(world)
        gone = np.flatnonzero(evidence.certificate().eliminated)
        gone = int(next(p for p in gone if p not in evidence.survivors))
        stays = int(evidence.survivors[0])
        found = evidence.compare(stays, gone, named_beforehand=True)
        standing, term = evidence._now()[0], log(2 / world.problem.delta * 40)
        (_, low, high), (_, lowest, highest) = (
            policy_interval(standing, evidence._past, p, term) for p in (stays, gone)
        )
        assert found.lower == pytest.approx(low - highest)
        assert found.upper == pytest.approx(high - lowest)

    def test_those_that_are_kept_are_never_eliminated(self):
        world = World(6, m=2, n=400, sparsity=None)
        free = proved(world)
        gone = [p for p in range(6) if p not in free.survivors]
        kept = proved(world, keep=gone[:1])
        assert set(kept.survivors) > set(free.survivors)
        assert not kept.certificate().eliminated[gone[0]]
        best = int(free.certificate().leader)
        sharp, wide = kept.compare(best, gone[0]), free.compare(best, gone[0])
        assert wide.lower < 0 < sharp.lower

    def test_bad_ones_to_keep_are_refused(self):
        world = World(6)
        with pytest.raises(ps.InvalidArgumentError, match="keep must be a sequence"):
            world.evidence(keep="old")
        with pytest.raises(ps.InvalidArgumentError, match=r"keep must be .* got 6"):
            world.evidence(keep=[6])

    def test_nothing_is_bet_on_once_rounds_were_forgotten(self):
        world = World(0, n=400, epsilon=0.1)
        kept, forgot = proved(world, keep=(0, 1)), proved(world, keep=(0, 1), memory_limit=0)
        wide, narrow = (one.compare(0, 1) for one in (forgot, kept))
        assert wide.lower < narrow.lower
        assert wide.upper > narrow.upper

    def test_before_the_first_round_nothing_is_known(self):
        found = World(0).evidence().compare(0, 1)
        assert (found.lower, found.upper, found.rounds) == (-1, 1, 0)
        assert isnan(found.value)
        assert json.loads(json.dumps(found.to_dict()))["value"] is None

    def test_what_cannot_be_shown_is_taken_for_the_worst(self):
        """Action 2 is never shown, so the third policy may earn anything where it shows it."""
        policies = ps.PolicyTable([[0, 1, 2]], n_actions=3)
        problem = ps.Problem(n_actions=3, epsilon=0.1, delta=0.1)
        evidence, W = ps.Evidence(policies, problem), np.tile([0.5, 0.5, 0.0], (500, 1))
        contexts, actions = np.zeros(500, int), np.arange(500) % 2
        rewards = (actions == 0) & (np.arange(500) % 5 < 3)
        rounds = ps.Log(
            contexts=contexts, actions=actions, propensities=np.full(500, 0.5), rewards=rewards
        )
        evidence.take(rounds, policies.answers(contexts), lambda rows: W[rows])
        found = evidence.compare(0, 2, named_beforehand=True)
        assert found.lower < -0.4 + 0.05
        assert found.upper > 0.6 - 0.05


class TestSentences:
    def names(self, table, **problem):
        policies = ps.PolicyTable(table, n_actions=3, names=["old", "new", "again"])
        asked = ps.Problem(n_actions=3, epsilon=0.1, delta=0.1, **problem)
        rng = np.random.default_rng(0)
        actions = rng.integers(0, 3, 2000)
        log = ps.Log(
            contexts=np.zeros(2000, int),
            actions=actions,
            propensities=np.full(2000, 1 / 3),
            rewards=(actions == 0) & (rng.random(2000) < 0.5),
            distributions=np.full((2000, 3), 1 / 3),
        )
        return ps.select(log, policies, asked)

    def test_it_is_said_who_is_better_and_by_how_much(self):
        selection = self.names([[0, 1, 0]])
        found = selection.compare("old", "new")
        assert (found.first, found.second) == ("old", "new")
        assert 0.3 < found.lower < 0.5 < found.upper < 0.7
        assert found.guarantee == (
            f"With probability at least 0.9, old is better than new by {found.lower:.4g} to "
            f"{found.upper:.4g}; that holds of all pairs at once, whenever you look."
        )
        other = selection.compare(1, "old", named_beforehand=True).guarantee
        assert "new is worse than old by" in other
        assert "of this pair, named beforehand" in other
        same = selection.compare("old", "again")
        assert (same.value, same.lower, same.upper) == (0, 0, 0)
        assert "they are the same policy" in same.guarantee

    def test_what_is_open_is_said_to_be_open(self):
        found = self.names([[1, 2, 0]]).compare("old", "new")
        assert found.lower < 0 < found.upper
        assert "the value of old less that of new lies between -" in found.guarantee

    def test_bad_pairs_are_refused(self):
        selection = self.names([[0, 1, 0]])
        with pytest.raises(ps.InvalidArgumentError, match=r"two different .* got 'old' twice"):
            selection.compare("old", 0)
        with pytest.raises(ps.InvalidArgumentError, match="odd"):
            selection.compare("old", "odd")
        with pytest.raises(ps.InvalidArgumentError, match="policy must"):
            selection.compare(0, 3)
        with pytest.raises(ps.InvalidArgumentError, match="named_beforehand"):
            selection.compare(0, 1, named_beforehand="yes")

    def test_a_selection_compares_the_two_alone(self):
        """As evidence of the pair that lets go of none, with the union of the whole class."""
        world = World(6, m=2, n=300, sparsity=None, n_policies=5)
        rounds = ps.Log(
            contexts=world.log.contexts,
            actions=world.log.actions,
            propensities=world.log.propensities,
            rewards=world.log.rewards,
            distributions=world.W,
        )
        selection = ps.select(rounds, world.unlisted, world.problem)
        gone = np.flatnonzero(selection.certificate.eliminated).tolist()
        best = selection.policy
        pair = ps.PolicyTable(world.table[:, [best, gone[0]]], n_actions=world.problem.n_actions)
        alone = ps.Evidence(pair, world.problem, keep=(0, 1))
        alone.add(rounds)
        found = selection.compare(best, gone[0])
        assert (found.first, found.second) == (f"policy {best}", f"policy {gone[0]}")
        assert found.lower == least(alone, 0, 1, log(2 * 10 / world.problem.delta))
        assert found.lower > 0
        named = selection.compare(best, gone[0], named_beforehand=True)
        assert named.lower == alone.compare(0, 1).lower > found.lower

    def test_a_pickled_selection_says_what_it_lacks(self):
        selection = self.names([[0, 1, 0]])
        there = pickle.loads(pickle.dumps(selection))
        assert there.guarantee == selection.guarantee
        with pytest.raises(ps.InvalidArgumentError, match="where select was called"):
            there.compare(0, 1)

    def test_classes_that_cannot_be_listed_are_refused(self):
        policies = ps.TabularPolicies(n_contexts=2, n_actions=2)
        log = ps.Log(
            contexts=[0, 1] * 20,
            actions=[0, 1, 1, 0] * 10,
            propensities=np.full(40, 0.5),
            rewards=[1, 0] * 20,
        )
        problem = ps.Problem(n_actions=2, epsilon=0.1, delta=0.1)
        selection = ps.select(log, policies, problem, floor=0.5)
        with pytest.raises(ps.InvalidArgumentError, match="cannot be listed"):
            selection.compare(0, 1)


def covered():
    policies, problem, log = case(seed=0, n=1500, reward_share=0.6)
    uniform = np.full(1500, 1 / 6)
    return (
        policies,
        problem,
        ps.Log(
            contexts=log.contexts, actions=log.actions, propensities=uniform, rewards=log.rewards
        ),
    )


class TestFloors:
    @pytest.mark.parametrize("m", [1, 2])
    def test_limits_are_where_the_naive_product_reaches_the_threshold(self, m):
        policies, problem, log = case(seed=m, m=m, n=300, reward_share=0.6)
        evidence, R = FloorEvidence(policies, problem), naive_rewards(policies, log)
        evidence.add(log[:100], floor=0.2)
        evidence.add(log[100:], floor=0.1)
        cap = problem.reward_cap
        ranges = np.where(np.arange(300) < 100, cap / 0.2, cap / 0.1)
        wealth = partial(
            oracle.log_wealth_of_difference,
            stakes=stakes_of(problem),
            ranges=ranges,
            shares=oracle.shares_of(8),
        )
        signs = set()
        for a, b, log_term in ((0, 1, 0.3), (1, 0, 0.3), (5, 2, 4.0), (2, 5, 4.0)):
            found, step = evidence._least_difference(a, b, log_term), 2 * cap / 40**3
            assert wealth(R, a, b, difference=found) >= log_term - 1e-9
            assert wealth(R, a, b, difference=found + step) < log_term + 1e-9
            signs.add(found > 0)
        assert signs == {True, False}

    @pytest.mark.parametrize("method", ["betting", "empirical_bernstein", "stitched", "fixed"])
    def test_all_methods_compare(self, method):
        policies, problem, log = covered()
        found = ps.select(log, policies, problem, method=method, floor=0.15).compare(0, 1)
        assert -1 <= found.lower < found.value < found.upper <= 1
        assert "provided that no action's propensity could be below its floor" in found.guarantee
        assert ("declared" in found.guarantee) == (method == "fixed")

    def test_a_fixed_size_is_kept_to(self):
        policies, problem, log = case(seed=0)
        evidence = FloorEvidence(policies, problem, method="fixed", declared_rounds=500)
        evidence.add(log, floor=0.1)
        with pytest.raises(ps.InvalidArgumentError, match="declared 500"):
            evidence.compare(0, 1)

    @pytest.mark.parametrize("kind", [FloorEvidence, UnprovedEvidence])
    def test_before_the_first_round_nothing_is_known(self, kind):
        policies, problem, _ = case(seed=0)
        found = kind(policies, problem).compare(0, 1)
        assert (found.lower, found.upper) == (-1, 1)

    def test_without_a_floor_values_are_compared(self):
        policies, problem, log = covered()
        selection = ps.select(log, policies, problem)
        found, limits = selection.compare(0, 1, named_beforehand=True), selection.intervals
        assert found.lower > limits.lower[0] - limits.upper[1]
        assert found.lower < found.value < found.upper


# --- cover, whatever is explored --------------------------------------------------------------


def ever_wrong(seed, *, honest):
    """Whether the lower limit of a pair was ever too high."""
    wrong = np.zeros((4, 4), bool)
    for evidence in looks(seed, honest=honest, delta=1e-3, most=100):
        for a, b in permutations(evidence.survivors.tolist(), 2):
            truth = np.array([VALUES[a] - VALUES[b]])
            # Wrong if and only if the truth is ruled out, which is quicker to see.
            wealth = log_wealth_of_difference(evidence.problem, evidence._past, a, b, truth)[0]
            wrong[a, b] |= wealth >= log(1 / LEVEL)
    return wrong


def test_limits_of_differences_cover_at_any_time():
    assert_covers(ever_wrong)
