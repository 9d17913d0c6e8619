"""For whom a policy is better."""

import pickle

import numpy as np
import pytest

import policysieve as ps
from policysieve.evidence import ValueIntervals
from policysieve.evidence.segment_labels import OTHERS
from policysieve.evidence.segmenting import values_by_segment
from policysieve.report.outcome_report import segment_differences
from tests.evidence.capped import World
from tests.oracles import outcomes as oracle
from tests.statistics import assert_at_most

PROBLEM = ps.Problem(n_actions=3, sparsity=None, epsilon=0.1, delta=0.2, against=0)
TABLE = np.array([[0, 1], [0, 1], [2, 2]])  # contexts are countries: both agree in the last
MEANS = np.array([[0.2, 0.8, 0.1], [0.7, 0.2, 0.1], [0.5, 0.5, 0.5]])
NAMES = np.array(["norway", "sweden", "malta"])


def shop(seed, n, *, full=True, W=(0.4, 0.4, 0.2)):
    rng, W = np.random.default_rng(seed), np.array(W)
    x, a = rng.integers(0, 3, n), rng.choice(3, p=W, size=n)
    return ps.Log(
        contexts=x,
        actions=a,
        propensities=W[a],
        rewards=(rng.random(n) < MEANS[x, a]) * 1.0,
        outcomes={"minutes": 10.0 * (rng.random(n) < MEANS[x, a])},
        distributions=np.tile(W, (n, 1)) if full else None,
    )


@pytest.fixture(scope="module")
def policies():
    return ps.PolicyTable(TABLE, n_actions=3, names=["today", "new"])


@pytest.mark.parametrize("full", [True, False])
def test_a_policy_can_be_better_here_and_worse_there(policies, full):
    found = ps.select(shop(0, 6_000, full=full), policies, PROBLEM).by_segment(NAMES.__getitem__)
    assert found.names[0] == ps.select(shop(0, 6_000, full=full), policies, PROBLEM).policy_name
    assert set(found.names) == {"today", "new"}
    sign = 1 if found.names[0] == "new" else -1
    wanted = {"norway": 0.6 * sign, "sweden": -0.5 * sign, "malta": 0.0}
    for label, truth in wanted.items():
        middle, lower, upper = found[label].difference
        assert lower <= truth <= upper
        assert abs(middle - truth) < 0.1
        verdict = "higher" if truth > 0 else "lower" if truth < 0 else "not proved"
        assert found[label].verdict == verdict
    assert sum(one.rounds for one in found) == 6_000
    assert "norway" in found.guarantee
    assert "malta" not in found.guarantee


@pytest.mark.parametrize("m", [1, 3])
def test_estimates_of_shown_propensities_are_those_of_the_slow_twin(m):
    world = World(5, m=m, n=90, sparsity=None)
    labels = np.arange(90) % 2
    found = values_by_segment(
        world.log, world.policies, world.problem, labels, pair=(4, 2), every_policy=True
    )
    assert [one.label for one in found] == ["0", "1"]
    assert found.policies == (4, 2, 0, 1, 3, 5)
    for k, one in enumerate(found):
        log, rows = world.log, labels == k
        slates = world.table[log.contexts[rows]].tolist()
        columns = (log.actions, log.propensities, log.rewards)
        sums = oracle.sums(slates, *(column[rows].tolist() for column in columns))
        np.testing.assert_allclose(
            one.values, [sums[p][0] / rows.sum() for p in found.policies], rtol=1e-9
        )


def test_what_is_known_of_one_segment_does_not_depend_on_others(policies):
    log = shop(1, 900)
    whole = values_by_segment(log, policies, PROBLEM, NAMES.__getitem__, pair=(1, 0))
    first = whole.segments[0]
    rows = np.flatnonzero(NAMES[log.contexts] == first.label)
    alone = ps.Log(
        contexts=log.contexts[rows],
        actions=log.actions[rows],
        propensities=log.propensities[rows],
        rewards=log.rewards[rows],
        distributions=log.distributions[rows].dense(3),
    )
    assert values_by_segment(alone, policies, PROBLEM, NAMES.__getitem__, pair=(1, 0)).segments == (
        first,
    )


def test_late_segments_are_pooled_and_come_last(policies):
    log = shop(2, 400)
    labels = np.array([f"s{i % 7}" if i > 6 else f"s{i}" for i in range(400)])
    labels[3] = "s0"
    found = values_by_segment(log, policies, PROBLEM, labels, pair=(1, 0), most=3)
    assert [one.label for one in found] == ["s0", "s1", "s2", OTHERS]
    assert found[OTHERS].rounds == np.isin(labels, ["s3", "s4", "s5", "s6"]).sum()


def test_values_of_an_outcome_are_in_its_units(policies):
    log, problem = (
        shop(3, 3_000),
        ps.Problem(
            n_actions=3,
            sparsity=None,
            epsilon=0.1,
            delta=0.2,
            against=0,
            outcomes={"minutes": (0, 10)},
        ),
    )
    selection = ps.select(log, policies, problem)
    found = selection.by_segment(NAMES.__getitem__, outcome="minutes")
    sign = 1 if found.policies[0] == 1 else -1
    middle, lower, upper = found["norway"].difference
    assert lower <= 6 * sign <= upper
    assert abs(middle - 6 * sign) < 1
    assert max(found["norway"].upper) <= 10
    less = ps.Outcome(0, 10, "minimize")
    other = values_by_segment(
        log,
        policies,
        ps.Problem(n_actions=3, epsilon=0.1, delta=0.2, against=0, outcomes={"minutes": less}),
        NAMES.__getitem__,
        pair=found.policies,
        outcome="minutes",
    )
    assert other["norway"].difference[0] == pytest.approx(middle, abs=0.1)
    assert other["norway"].verdict == found["norway"].verdict


class TestColumns:
    def frame(self):
        log = shop(4, 200)
        rows = [
            {"country": None if i == 5 else NAMES[x], "age": int(x)}
            for i, x in enumerate(log.contexts)
        ]
        return ps.Log(
            contexts=rows,
            actions=log.actions,
            propensities=log.propensities,
            rewards=log.rewards,
        )

    def test_of_a_table_are_named_or_numbered(self):
        log = self.frame()
        policies = ps.FunctionPolicies([today, new], n_actions=3)
        named, numbered = (
            values_by_segment(log, policies, PROBLEM, column, pair=(1, 0))
            for column in ("country", 0)
        )
        assert named.segments == numbered.segments
        assert (named.by, numbered.by) == ("country", "column 0")
        assert named["(missing)"].rounds == 1
        with pytest.raises(ps.InvalidArgumentError, match=r"segment must be one of .*countries"):
            values_by_segment(log, policies, PROBLEM, "countries", pair=(1, 0))

    def test_of_arrays_are_numbered(self, policies):
        log = shop(4, 100)
        assert len(values_by_segment(log, policies, PROBLEM, 0, pair=(1, 0))) == 3
        for column, message in [
            ("country", "segment must be the number of a column"),
            (1, r"segment must be a whole number in \[0, 0\]"),
            (np.arange(5), r"100 in all, got shape \(5,\)"),
            (lambda x: x[:3], r"100 in all, got shape \(3,\)"),
        ]:
            with pytest.raises(ps.InvalidArgumentError, match=message):
                values_by_segment(log, policies, PROBLEM, column, pair=(1, 0))


def test_the_two_policies_are_asked_and_nobody_else():
    asked = []
    policies = ps.FunctionPolicies(
        [lambda x, k=k: (asked.append(k), np.full(len(x), k))[1] for k in range(3)], n_actions=3
    )
    selection = ps.select(shop(6, 50), policies, PROBLEM)
    asked.clear()
    selection.by_segment(0)
    assert set(asked) == {*selection.by_segment(0).policies}


def test_a_selection_that_travelled_has_its_segments_but_finds_no_others(policies):
    selection = ps.select(shop(7, 100), policies, PROBLEM, segment=NAMES.__getitem__)
    again = pickle.loads(pickle.dumps(selection))
    assert again.segments.segments == selection.segments.segments
    assert again.to_dict()["segments"]["by"] == "__getitem__"
    with pytest.raises(ps.InvalidArgumentError, match="do not travel"):
        again.by_segment(0)
    with pytest.raises(ps.InvalidArgumentError, match="segment must be one of those found"):
        again.segments["atlantis"]
    frame = again.segments.to_frame("pyarrow")
    assert frame.column_names == ["segment", "rounds", "policy", "name", "value", "lower", "upper"]
    assert len(frame) == 6


@pytest.mark.parametrize("full", [True, False])
def test_limits_of_all_segments_hold_at_once(policies, full):
    delta, runs, wrong = 0.6, 60 if full else 120, 0
    problem = ps.Problem(n_actions=3, sparsity=None, epsilon=0.1, delta=delta, against=0)
    value = {
        name: (row[TABLE[k, 1]], row[TABLE[k, 0]])
        for k, (name, row) in enumerate(zip(NAMES, MEANS, strict=True))
    }
    for seed in range(runs):
        log = shop(seed, 90, full=full, W=(0.9, 0.05, 0.05))
        found = values_by_segment(log, policies, problem, NAMES.__getitem__, pair=(1, 0))
        wrong += any(
            not low <= value[one.label][k] <= high
            for one in found
            for k, (low, high) in enumerate(zip(one.lower, one.upper, strict=True))
        ) or any(
            not one.difference[1] <= value[one.label][0] - value[one.label][1] <= one.difference[2]
            for one in found
        )
    assert_at_most(wrong, runs, delta, alpha=1e-3)


def today(rows):
    return np.zeros(len(rows), int)


def new(rows):
    return np.ones(len(rows), int)


COSTS = np.array([0.2, 0.3, 0.9])


def costs(n=600):
    rng = np.random.default_rng(0)
    contexts, actions = rng.integers(0, 4, n), rng.integers(0, 3, n)
    given = {"contexts": contexts, "actions": actions, "propensities": np.full(n, 1 / 3)}
    return given, COSTS[actions]


def priced():
    table = np.tile([2, 0, 1], (4, 1))
    return ps.PolicyTable(table, n_actions=3, names=["dear", "cheap", "middle"])


def test_of_costs_the_next_best_is_the_next_cheapest_and_words_say_cost():
    given, cost = costs()
    problem = ps.Problem(n_actions=3, objective="minimize", epsilon=0.1, delta=0.05)
    found = ps.select(ps.Log(**given, rewards=cost), priced(), problem, floor=1 / 3)
    segments = found.by_segment(np.zeros(600, int))
    assert segments.names == ("cheap", "middle")
    assert segments.minimize
    assert "the cost with cheap is" in segments.guarantee
    axis = segment_differences(segments).axes[0].get_xlabel()
    assert axis == "cost per round: cheap less middle"


def test_of_rewards_words_say_reward(policies):
    found = ps.select(shop(0, 300), policies, PROBLEM).by_segment(NAMES.__getitem__)
    assert found.what == "reward"
    assert "the reward with" in found.guarantee


def test_leaders_of_an_outcome_to_be_minimised_are_those_that_have_least_of_it():
    given, cost = costs()
    problem = ps.Problem(
        n_actions=3,
        epsilon=0.1,
        delta=0.05,
        outcomes={"cost": ps.Outcome(0, 1, objective="minimize")},
    )
    log = ps.Log(**given, rewards=np.ones(600), outcomes={"cost": cost})
    found = ps.select(log, priced(), problem, floor=1 / 3)
    assert [one["name"] for one in found.outcomes["cost"].leaders()] == ["cheap", "middle", "dear"]
    assert found.by_segment(np.zeros(600, int), outcome="cost").what == "cost"


def test_a_learner_without_rounds_or_led_by_what_runs_today_compares_it_with_another():
    for against in (None, "dear"):
        problem = ps.Problem(n_actions=3, epsilon=0.1, delta=0.05, against=against)
        learner = ps.Sieve(priced(), problem, rng=0)
        for rounds in (0, 2):
            if rounds:
                learner.tell(learner.ask([0, 1]), [0, 0])
            found = learner.by_segment(lambda contexts: contexts)
            assert found.names == ("dear", "cheap")
            assert sum(one.rounds for one in found) == rounds


def test_one_policy_alone_is_compared_with_nobody():
    alone = ValueIntervals(np.ones(1), np.zeros(1), np.ones(1))
    with pytest.raises(ps.InvalidArgumentError, match="at least two"):
        alone.best_but(0)
