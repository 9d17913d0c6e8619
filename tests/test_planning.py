import dataclasses
import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import policysieve as ps
from policysieve import planning
from policysieve.measured import MeasuredTask, measured_tasks
from tests.oracles import sizes


def problem(K=100, eps=0.05, m=1, s=1.0, delta=0.05):
    return ps.Problem(n_actions=K, slate_size=m, sparsity=s, epsilon=eps, delta=delta)


@pytest.mark.parametrize(
    ("K", "n_policies", "eps", "low_variance", "uniform"),
    [
        (10, 10**3, 0.1, 4.9e4, 4.0e4),
        (100, 10**3, 0.05, 5.9e5, 1.6e6),
        (1000, 10**4, 0.01, 3.2e7, 4.9e8),
    ],
)
def test_known_sizes(K, n_policies, eps, low_variance, uniform):
    """Sizes computed independently for these three problems, rounded, on a coarser grid."""
    plan = ps.plan(problem(K, eps), n_policies)
    assert 0.94 * low_variance <= plan.total_rounds <= 1.02 * low_variance
    assert plan.uniform_rounds == pytest.approx(uniform, rel=0.02)


@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize(
    ("K", "m", "s", "eps"),
    [(10, 1, 1, 0.1), (100, 1, 5, 0.02), (50, 5, 2, 0.3), (50, 5, 20, 0.5), (20, 1, 0.5, 0.1)],
)
def test_numbers_satisfy_the_formulas(K, m, s, eps, sampled):
    """Given its own mixing and rate, the plan's V and n are those of the written-out formulas."""
    plan = ps.plan(problem(K, eps, m, s), 1000, sampled=sampled)
    mu = min(s, m)
    largest = mu * K / (plan.mixing * m)
    theta1 = plan.learning_rate * largest
    parts = 4 if sampled else 3
    best = min(
        sizes.variance_bound(
            K, m, s, 1000, plan.explore_rounds, plan.mixing, theta1, theta2, theta3, 0.05 / parts
        )
        for theta2 in np.linspace(0.05, 2, 40)[:: 2 if sampled else 1]
        for theta3 in (np.geomspace(0.02, 1, 20) if sampled else [None])
    )
    assert plan.variance_bound == pytest.approx(best, rel=1e-9)
    assert plan.estimate_rounds == sizes.estimation_rounds(
        m, mu, eps, plan.variance_bound, largest, math.log(1000 * parts / 0.05)
    )
    assert plan.total_rounds == plan.explore_rounds + plan.estimate_rounds


def test_no_nearby_choice_is_better():
    """A finer search around the plan's mixing finds at most one per cent."""
    plan = ps.plan(problem(), 1000)
    delta = 0.05 / 3
    log_term = math.log(1000 / delta)
    for mixing, theta1, theta2, factor in itertools.product(
        np.linspace(0.3, 0.8, 26),
        np.linspace(0.3, 0.7, 9),
        np.linspace(0.2, 0.7, 11),
        [0.7, 1, 1.4],
    ):
        explore = round(plan.explore_rounds * factor)
        variance = sizes.variance_bound(
            100, 1, 1, 1000, explore, mixing, theta1, theta2, None, delta
        )
        total = explore + sizes.estimation_rounds(1, 1, 0.05, variance, 100 / mixing, log_term)
        assert total >= 0.99 * plan.total_rounds


def test_exploration_by_optimization_is_the_smallest_size_that_meets_its_bound():
    plan = ps.plan(problem(), 1000)
    rounds = plan.by_optimization_rounds
    assert sizes.by_optimization_gap(100, 1, 1000, 0.05, rounds) <= 0.05 * (1 + 1e-5)
    assert sizes.by_optimization_gap(100, 1, 1000, 0.05, rounds - 2) > 0.05
    assert ps.plan(problem(20, 0.2, m=3, s=2), 100).by_optimization_rounds is None


@given(
    K=st.integers(2, 2000),
    n_policies=st.integers(1, 10**9),
    eps=st.floats(0.001, 0.9),
    delta=st.floats(1e-9, 0.5),
    data=st.data(),
)
@settings(deadline=None, max_examples=60)
def test_sane_everywhere(K, n_policies, eps, delta, data):
    m = data.draw(st.integers(1, min(K, 20)))
    s = data.draw(st.none() | st.floats(0.1, K))
    cap = m if s is None else min(s, m)
    assume(m == 1 or eps < cap)
    plan = ps.plan(problem(K, eps, m, s, delta), n_policies)
    assert 0 < plan.mixing < 1
    assert 0 < plan.learning_rate <= plan.mixing * m / (K * cap) * (1 + 1e-9)
    assert plan.lower_bound_rounds <= min(plan.total_rounds, plan.uniform_rounds)
    if plan.by_optimization_rounds is not None:
        assert plan.lower_bound_rounds <= plan.by_optimization_rounds
    harder = ps.plan(problem(K, eps / 2, m, s, delta), n_policies)
    assert harder.total_rounds > plan.total_rounds
    assert plan.explain()


def test_lower_bounds_of_tiny_rewards():
    """Below sparsity 1 the hidden reward is s, not 1."""
    assert ps.plan(problem(100, 0.2, s=0.1), 1000).lower_bound_rounds == 1
    small = ps.plan(problem(100, 0.004, s=0.01), 1000)
    assert small.lower_bound_rounds <= small.uniform_rounds
    assert small.lower_bound_rounds == math.ceil((0.95 * 100 - 1) * 0.01 / (2 * 0.004))


def test_scaling():
    """Rounds grow as s/eps^2 + K/eps, not as K/eps^2."""
    fine = [ps.plan(problem(100, eps), 1000) for eps in (1e-3, 1e-4)]
    assert fine[1].total_rounds / fine[0].total_rounds == pytest.approx(100, rel=0.25)
    wide = [ps.plan(problem(K, 1e-4), 1000) for K in (100, 1000)]
    assert wide[1].total_rounds / wide[0].total_rounds < 2.5
    assert wide[1].uniform_rounds / wide[0].uniform_rounds == pytest.approx(10, rel=0.01)
    coarse = [ps.plan(problem(K, 0.1), 1000) for K in (10**4, 10**5)]
    assert coarse[1].total_rounds / coarse[0].total_rounds == pytest.approx(10, rel=0.1)


def test_huge_classes():
    one = ps.plan(problem(), 1000)
    assert ps.plan(problem(), log_n_policies=math.log(1000)) == one
    assert ps.plan(problem(), log_n_policies=1e6).total_rounds > one.total_rounds
    assert "10^434294" in ps.plan(problem(), log_n_policies=1e6).explain()


def test_explain_names_the_numbers():
    plan = ps.plan(problem(), 1000)
    text = plan.explain()
    for number in (
        plan.total_rounds,
        plan.explore_rounds,
        plan.uniform_rounds,
        plan.lower_bound_rounds,
    ):
        assert f"{number:,}" in text
    assert "not known" in ps.plan(problem(s=None), 1000).explain()
    assert ps.plan(problem(), 1000).to_dict()["problem"]["n_actions"] == 100


def test_the_worst_case_says_who_promises_what():
    plan = ps.plan(problem(), 1000)
    found = {one.method: (one.recommends, one.rounds) for one in plan.worst_case}
    assert found == {
        "uniform exploration": ("deterministic policy", plan.uniform_rounds),
        "low-variance exploration": ("deterministic policy", plan.total_rounds),
        "exploration by optimization": ("randomised policy", plan.by_optimization_rounds),
    }
    text = plan.explain()
    assert "in the worst case" in text
    assert f"{plan.total_rounds:,} rounds for a deterministic policy" in text
    assert f"{plan.by_optimization_rounds:,} rounds for a randomised policy" in text
    slates = ps.plan(problem(20, 0.2, m=3, s=2), 100)
    assert "randomised" not in slates.explain()
    assert [one.recommends for one in slates.worst_case] == ["deterministic policy"] * 2


@pytest.mark.parametrize(
    ("K", "m", "nearest"),
    [
        (2, 1, 10),
        (12, 1, 10),
        (20, 1, 20),
        (24, 1, 26),
        (70, 1, 52),
        (73, 1, 100),
        (10**6, 1, 1000),
    ],
)
def test_similar_tasks_have_the_nearest_number_of_actions(K, m, nearest):
    """Nearest in logarithm: 72.1 lies halfway between 52 and 100."""
    tasks = ps.plan(problem(K, m=m), 10).similar_tasks
    kin = [one for one in measured_tasks() if one.problem.slate_size == 1]
    assert set(tasks) == {one for one in kin if one.problem.n_actions == nearest}
    assert [one.median for one in tasks] == sorted(one.median for one in tasks)


def test_slates_are_compared_with_slates():
    for K, m in ((14, 3), (100, 5)):
        tasks = ps.plan(problem(K, 0.2, m=m, s=3), 10).similar_tasks
        assert {(one.problem.n_actions, one.problem.slate_size) for one in tasks} == {(K, m)}
    assert {one.problem.slate_size for one in ps.plan(problem(100), 10).similar_tasks} == {1}


def test_what_was_measured_is_told_with_its_own_numbers():
    plan = ps.plan(problem(), 1000)
    medians = [one.median for one in plan.similar_tasks]
    runs = [n for one in plan.similar_tasks for n in one.rounds]
    text = plan.explain()
    assert f"100 actions the Sieve needed {min(medians):,.0f} to {max(medians):,.0f} rounds" in text
    assert f"single runs {min(runs):,} to {max(runs):,}" in text
    assert "within 0.05 of the best" in text
    assert "not scaled" not in text
    assert "This is not scaled to your epsilon 0.1." in ps.plan(problem(eps=0.1), 10).explain()
    other = ps.plan(problem(eps=0.1, delta=0.2), 10).explain()
    assert "This is not scaled to your epsilon 0.1 and delta 0.2." in other


def test_a_run_that_was_given_up_counts_as_more(monkeypatch):
    def task(*rounds):
        return MeasuredTask(
            task="hard",
            summary="",
            problem=problem(),
            n_policies=300,
            rounds=rounds,
            given_up_after=5000,
        )

    assert (task(10, 20, None).median, task(10, 20, None).most) == (20, None)
    assert task(10, None, None).median is None
    for tasks, said in [
        ((task(10, 20, None), task(30, 40, 50)), "needed 20 to 40 rounds (medians"),
        ((task(10, 20, None),), "20 rounds (median of 3 runs, single runs 10 to over 5,000)"),
        ((task(None, None, None),), "needed over 5,000 rounds"),
    ]:
        monkeypatch.setattr(planning, "similar_tasks", lambda _problem, found=tasks: found)
        assert said in ps.plan(problem(), 10).explain()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "exactly one of n_policies and log_n_policies must be given, got neither"),
        ({"n_policies": 5, "log_n_policies": 2.0}, "exactly one of .* got both"),
        ({"n_policies": 0}, "n_policies must be a whole number >= 1"),
        ({"n_policies": 2.5}, "n_policies"),
        ({"log_n_policies": -1.0}, "log_n_policies must be a number >= 0, .*, got -1"),
        ({"log_n_policies": "1"}, "log_n_policies must be a number >= 0, .*, got '1'"),
        ({"log_n_policies": math.inf}, "log_n_policies"),
        ({"log_n_policies": math.nan}, "log_n_policies"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ps.InvalidArgumentError, match=message):
        ps.plan(problem(), **arguments)


@pytest.mark.parametrize("epsilon", [1e-9, 1e-20, 1e-30, 1e-100])
def test_an_epsilon_nobody_can_reach_has_a_plan_all_the_same(epsilon):
    one, two = (ps.plan(problem(eps=e), 10) for e in (epsilon, 3 * epsilon))
    for name in ("total_rounds", "uniform_rounds", "by_optimization_rounds", "lower_bound_rounds"):
        assert getattr(one, name) == pytest.approx(9 * getattr(two, name), rel=1e-3), name
    assert f"within {epsilon:g} of the best" in one.explain()


def test_a_tiny_delta_costs_its_logarithm():
    more = ps.plan(problem(delta=1e-100), 10).total_rounds
    assert more < 60 * ps.plan(problem(delta=0.1), 10).total_rounds


@pytest.mark.parametrize("sampled", [False, True])
def test_rounds_beyond_counting_are_refused(sampled):
    with pytest.raises(ps.InvalidArgumentError, match=r"takes more than 10\^308 of them here"):
        ps.plan(problem(), log_n_policies=1e300, sampled=sampled)
    with pytest.raises(ps.InvalidArgumentError, match=r"log_n_policies must be .* got inf"):
        ps.plan(problem(), log_n_policies=10**400)
    assert ps.plan(problem(), 10**5000, sampled=sampled).log_n_policies > 11_000


@pytest.mark.parametrize("wrong", [None, 3, "problem", {"n_actions": 3}, ps.Problem])
def test_what_is_no_problem_or_no_class_is_refused_by_whoever_needs_one(wrong):
    table = ps.PolicyTable([[0, 1], [1, 0]], n_actions=2)
    asked = ps.Problem(n_actions=2, epsilon=0.2, delta=0.1)
    log = ps.Log(contexts=[0, 1], actions=[0, 1], propensities=[0.5, 0.5], rewards=[0, 1])
    learners = [getattr(ps, name) for name in ("Sieve", "Uniform", "LowVarianceExploration")]
    for call in (
        lambda: ps.plan(wrong, 10),
        lambda: ps.select(log, table, wrong, floor=0.5),
        lambda: ps.design(log, table, wrong),
        lambda: ps.natarajan_cover(table, [0, 1], wrong),
        lambda: ps.theory.rate_sparse(wrong, 5.0),
        *(lambda kind=kind: kind(table, wrong) for kind in learners),
    ):
        with pytest.raises(ps.InvalidArgumentError, match="problem must be a Problem, got"):
            call()
    for call in (
        lambda: ps.select(log, wrong, asked, floor=0.5),
        lambda: ps.design(log, wrong, asked),
        *(lambda kind=kind: kind(wrong, asked) for kind in learners),
    ):
        with pytest.raises(ps.InvalidArgumentError, match="policies must be a policy class, got"):
            call()
    with pytest.raises(ps.InvalidArgumentError, match="learner must be one such as"):
        ps.run(wrong, ps.worlds.RareContext(n_actions=2, epsilon=0.1))
    with pytest.raises(ps.InvalidArgumentError, match="world must be one of"):
        ps.run(ps.Uniform(table, asked), wrong)
    with pytest.raises(
        (ps.InvalidArgumentError, FileNotFoundError), match=r"log must be|no log at"
    ):
        ps.check_log(wrong)


def test_a_plan_in_the_units_of_the_rewards():
    problem = ps.Problem(n_actions=20, epsilon=25, delta=0.05, reward_range=(-100, 400))
    sizes, twin = ps.plan(problem, 50), ps.plan(problem.unit, 50)
    assert dataclasses.replace(sizes, problem=problem.unit) == twin
    assert sizes.problem is problem
    said = sizes.explain()
    assert "within 25 of the best" in said
    assert "rewards that sum to 500" in said
    assert "not scaled" not in said  # it is what was measured at, inside
