"""Values of policies in other outcomes than the reward."""

import numpy as np
import pytest

import policysieve as ps
from policysieve.evidence.outcomes import Outcomes
from tests.evidence.capped import World
from tests.oracles import outcomes as oracle
from tests.statistics import assert_at_most

RANGE = ps.Outcome(-1.0, 3.0)


def world_with_outcome(seed, *, m=1, gaps=(), n=120, of=RANGE):
    world = World(seed, m=m, n=n, sparsity=None)
    rng = np.random.default_rng([seed, 1])
    values = rng.choice([-1.0, 0.0, 2.0, 3.0], size=world.log.actions.shape)
    for i in gaps:
        values[i] = np.nan
    problem = ps.Problem(
        n_actions=5, slate_size=m, sparsity=None, epsilon=0.2, delta=0.2, outcomes={"x": of}
    )
    return world, problem, world.log.with_outcomes({"x": values}), values


@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("gaps", [(), (70,), (0,)])
def test_sums_are_those_of_the_slow_twin_up_to_the_first_gap(m, gaps):
    world, problem, log, values = world_with_outcome(2, m=m, gaps=gaps)
    book = Outcomes(world.policies, problem)
    for start in range(0, len(log), 50):
        part = log[start : start + 50]
        book = book.plus(part, world.policies.answers(part.contexts))
    end = oracle.known(values.tolist())
    assert end == (gaps[0] if gaps else len(log)) == len(book.known("x"))
    slates = [world.table[x].tolist() for x in log.contexts[:end]]
    scores = (values[:end] + 1) / 4
    rows = log.actions[:end].tolist(), log.propensities[:end].tolist(), scores.tolist()
    found = book._sums["x"]
    if end:
        np.testing.assert_allclose(
            np.stack([*found.earned, *found.missed], axis=1), oracle.sums(slates, *rows)
        )
    assert (found.counted == end).all()
    np.testing.assert_array_equal(book.all_values()["x"], values)


def test_late_outcomes_in_any_order_count_as_if_they_had_come_in_time():
    world, problem, log, values = world_with_outcome(3)
    answers = world.policies.answers(log.contexts)
    numbers = np.arange(len(log))
    at_once = Outcomes(world.policies, problem).plus(log, answers, numbers=numbers)
    late = Outcomes(world.policies, problem).plus(log.with_outcomes({}), answers, numbers=numbers)
    assert len(late.known("x")) == 0
    assert late.missing("x") == len(log)
    rng = np.random.default_rng(0)
    for some in np.array_split(rng.permutation(len(log)), 7):
        places = late.find(some)
        late = late.with_late(places, {"x": values[some]})
    ours, theirs = late.intervals()["x"], at_once.intervals()["x"]
    for name in ("values", "lower", "upper"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-12)
    assert not len(late._waiting)  # nobody's answers are kept longer than needed


def test_policies_that_are_not_asked_any_more_keep_their_sums():
    world, problem, log, _ = world_with_outcome(4)
    everyone = world.policies.answers(log.contexts)
    some = np.array([1, 4])
    first = Outcomes(world.policies, problem).plus(log[:50], everyone.take(slice(50)))
    both = first.plus(log[50:], everyone.take(slice(50, None)), which=some)
    whole = Outcomes(world.policies, problem).plus(log, everyone)
    values = [book.intervals()["x"].values for book in (first, both, whole)]
    np.testing.assert_allclose(values[1][some], values[2][some])
    np.testing.assert_array_equal(np.delete(values[1], some), np.delete(values[0], some))
    # The same if outcomes come after the change.
    late = Outcomes(world.policies, problem).plus(
        log[:50].with_outcomes({}), everyone.take(slice(50)), numbers=np.arange(50)
    )
    late = late.plus(
        log[50:].with_outcomes({}),
        everyone.take(slice(50, None)),
        which=some,
        numbers=np.arange(50, 120),
    )
    late = late.with_late(np.arange(120), {"x": log.outcomes["x"]})
    np.testing.assert_allclose(late.intervals()["x"].values, values[1])


def test_less_is_better_changes_the_sides_and_no_value():
    less = ps.Outcome(-1.0, 3.0, objective="minimize")
    world, problem, log, _ = world_with_outcome(5)
    answers = world.policies.answers(log.contexts)
    more_is = Outcomes(world.policies, problem).plus(log, answers).intervals()["x"]
    _, problem, _, _ = world_with_outcome(5, of=less)
    less_is = Outcomes(world.policies, problem).plus(log, answers).intervals()["x"]
    assert (less_is.lower <= less_is.upper).all()
    np.testing.assert_allclose(less_is.lower, more_is.lower)
    np.testing.assert_allclose(less_is.upper, more_is.upper)


def test_values_out_of_their_range_are_named_and_change_nothing():
    world, problem, log, values = world_with_outcome(6)
    book = Outcomes(world.policies, problem)
    wrong = values.copy()
    wrong[7] = 3.5
    with pytest.raises(ps.InvalidArgumentError, match=r"'x' must lie in \[-1, 3\].*3.5 in row 7"):
        book.plus(log.with_outcomes({"x": wrong}), world.policies.answers(log.contexts))
    assert book.rounds == 0


TABLE = np.array([[0, 1, 2, 0], [1, 1, 2, 0]])
MEANS = np.array([[0.02, 0.5, 0.97], [0.05, 0.4, 0.9]])
VALUES = np.array([MEANS[[0, 1], column].mean() for column in TABLE.T])


def ever_wrong(seed, delta):
    """Whether a limit was ever wrong, with propensities that follow what seemed good."""
    rng = np.random.default_rng(seed)
    policies = ps.PolicyTable(TABLE, n_actions=3)
    asked = {"n_actions": 3, "sparsity": None, "epsilon": 0.1, "delta": delta}
    book = Outcomes(policies, ps.Problem(**asked, outcomes={"x": (0, 1), "y": (0, 1)}))
    W, wrong = np.full((2, 3), 1 / 3), False
    for _ in range(40):
        x = rng.integers(0, 2, 10)
        a = (rng.random((10, 1)) > W[x].cumsum(axis=1)[:, :2]).sum(axis=1)
        y = (rng.random(10) < MEANS[x, a]).astype(float)
        log = ps.Log(
            contexts=x,
            actions=a,
            propensities=W[x, a],
            rewards=np.zeros(10),
            outcomes={"x": y, "y": 1 - y},
        )
        book = book.plus(log, policies.answers(x))
        for name, truth in (("x", VALUES), ("y", 1 - VALUES)):
            one = book.intervals()[name]
            wrong |= bool(((one.lower > truth) | (one.upper < truth)).any())
        W = np.full((2, 3), 0.04)
        W[:, rng.integers(3) if y.mean() < 0.5 else a[-1]] += 1 - 3 * 0.04
    return wrong


def test_limits_of_all_policies_and_outcomes_hold_at_once_and_at_any_time():
    delta, runs = 0.5, 60
    assert_at_most(sum(ever_wrong(seed, delta) for seed in range(runs)), runs, delta)


class TestSelect:
    def test_a_log_says_what_the_selected_policy_has_of_an_outcome(self):
        world, problem, log, values = world_with_outcome(7, n=400)
        full = ps.Log(
            contexts=log.contexts,
            actions=log.actions,
            propensities=log.propensities,
            rewards=log.rewards,
            outcomes={"x": values},
            distributions=world.W,
        )
        for one in (full, full.without_distributions()):
            found = ps.select(one, world.policies, problem)
            limits = found.outcomes["x"]
            chosen = found.policy
            assert limits.lower[chosen] <= limits.upper[chosen]
            assert found.to_dict()["outcomes"]["x"]["value"] == limits.values[chosen]
            assert found.guardrails is None
            assert "guardrails" not in found.to_dict()

    def test_policies_are_asked_once(self):
        world, problem, log, _ = world_with_outcome(7)
        asked = []

        def of(column):
            def policy(contexts):
                asked.append(len(contexts))
                return column[contexts]

            return policy

        policies = ps.FunctionPolicies(
            [of(column) for column in world.table[:, :, 0].T], n_actions=5
        )
        ps.select(log, policies, problem)
        assert sum(asked) == len(log) * 6

    def test_an_outcome_that_is_never_known_is_missed(self):
        world, problem, log, _ = world_with_outcome(7)
        with pytest.raises(ps.InvalidArgumentError, match="must have the outcome 'x'"):
            ps.select(log.with_outcomes({}), world.policies, problem)

    def test_a_class_that_cannot_be_listed_has_no_outcomes(self):
        log = ps.Log(contexts=[0, 1], actions=[0, 1], propensities=[0.5, 0.5], rewards=[0, 1])
        policies = ps.TabularPolicies(n_contexts=2, n_actions=2)
        problem = ps.Problem(n_actions=2, epsilon=0.1, delta=0.1, outcomes={"x": (0, 1)})
        with pytest.raises(ps.InvalidArgumentError, match="policies that can be listed"):
            ps.select(log, policies, problem)
        with pytest.raises(ps.InvalidArgumentError, match="policies that can be listed"):
            ps.Uniform(policies, problem)
