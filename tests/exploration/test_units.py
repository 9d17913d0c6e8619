"""Rewards in a range, and costs: the same decisions as for rewards in [0, 1], in other units."""

import re
from dataclasses import replace

import numpy as np
import pytest

import policysieve as ps
from policysieve.errors import InvalidArgumentError
from policysieve.exploration import LEARNERS

K, X, P = 6, 5, 12
SIZES = {
    "ExplorationByOptimization": {"rounds": 200, "rewards": "real"},
    "LowVarianceExploration": {"explore_rounds": 80, "estimate_rounds": 150},
    "LogBarrier": {"explore_rounds": 80, "estimate_rounds": 150},
    "ListWeights": {"explore_rounds": 80, "estimate_rounds": 150},
    "Uniform": {"rounds": 200},
    "EpsilonGreedy": {"rounds": 200},
    "Exp4": {"rounds": 200},
}
UNITS = {
    "revenue": ((0.0, 500.0), "maximize"),
    "ratings": ((-3.0, 7.5), "maximize"),
    "costs": ((2.0, 9.0), "minimize"),
    "errors": (None, "minimize"),
}


def policies(m):
    table = np.random.default_rng(3).random((X, P, K)).argsort(axis=2)[:, :, :m]
    return ps.PolicyTable(table.astype(np.int32), n_actions=K)


def problem_in(units, m, **others):
    reward_range, objective = UNITS[units]
    low, high = reward_range or (0.0, 1.0)
    return ps.Problem(
        n_actions=K,
        slate_size=m,
        epsilon=0.2 * (high - low),
        delta=0.1,
        against=2,
        reward_range=reward_range,
        objective=objective,
        **others,
    )


def inside(rewards, problem):
    """What the twin is told, worked out here."""
    low, high = problem.reward_range or (0.0, 1.0)
    if problem.objective == "minimize":
        return (high - rewards) / (high - low)
    return (rewards - low) / (high - low)


def play(learner, scaled=None, rounds=260):
    """Tell rewards of a range, or what `scaled` makes of them, to a learner."""
    rng = np.random.default_rng(7)
    chances = np.random.default_rng(8).random((X, K))
    asked = learner.problem if scaled is None else scaled
    low, high = asked.reward_range or (0.0, 1.0)
    batches = []
    while learner.rounds < rounds:
        x = rng.integers(0, X, 20)
        shares = rng.beta(1 + 3 * chances[x], 4 - 3 * chances[x])
        batch = learner.ask(x)
        rewards = low + (high - low) * np.take_along_axis(shares, batch.actions.astype(int), axis=1)
        rewards = np.clip(rewards, low, high)
        learner.tell(batch, rewards if scaled is None else inside(rewards, scaled))
        batches.append(batch)
    return batches


def image(problem, value):
    low, high = problem.reward_range or (0.0, 1.0)
    m = problem.slate_size
    if problem.objective == "minimize":
        return m * high - (high - low) * value
    return m * low + (high - low) * value


def same(first, second):
    return first == pytest.approx(second, rel=1e-12, abs=1e-9, nan_ok=True)


CASES = [
    (name, m, stop)
    for name, kind in LEARNERS.items()
    for m in (1, 2)
    if m == 1 or kind.takes_slates
    for stop in ((None, "certified") if name == "LogBarrier" else (None,))
]


@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize(("name", "m", "stop"), CASES)
def test_every_learner_decides_as_for_rewards_in_0_to_1(name, m, stop, units):
    problem, pool = problem_in(units, m), policies(m)
    options = {**SIZES.get(name, {}), **({} if stop is None else {"stop": stop})}
    learner = LEARNERS[name](pool, problem, rng=5, **options)
    twin = LEARNERS[name](pool, problem.unit, rng=5, **options)
    mine, theirs = play(learner), play(twin, problem)
    for one, other in zip(mine, theirs, strict=True):
        assert (one.actions == other.actions).all()
        assert (one.propensities == other.propensities).all()
    assert learner.finished == twin.finished

    span = image(problem, 1.0) - image(problem, 0.0)
    said, meant = learner.recommend(), twin.recommend()
    if isinstance(meant.policy, int):
        assert said.policy == meant.policy
    assert (said.certified, said.rounds) == (meant.certified, meant.rounds)
    assert same(said.value, image(problem, meant.value))
    ends = sorted((image(problem, meant.lower), image(problem, meant.upper)))
    assert same([said.lower, said.upper], ends)
    assert said.lower <= said.upper
    assert same(said.suboptimality_bound, abs(span) * meant.suboptimality_bound)
    assert (said.gain is None) == (meant.gain is None)
    if said.gain is not None:
        assert same(said.gain, abs(span) * meant.gain)

    values, truths = learner.intervals(), twin.intervals()
    assert same(values.values, image(problem, truths.values))
    limits = np.sort([image(problem, truths.lower), image(problem, truths.upper)], axis=0)
    assert same(np.array([values.lower, values.upper]), limits)
    assert [row["policy"] for row in values.leaders()] == [
        row["policy"] for row in truths.leaders()
    ]
    assert values.leader == truths.leader
    estimates = [row["value"] for row in values.leaders()]
    assert estimates == sorted(estimates, reverse=problem.objective == "maximize")


@pytest.mark.parametrize("name", ["Uniform", "LowVarianceExploration", "ExplorationByOptimization"])
@pytest.mark.parametrize("output", ["erm", "average"])
@pytest.mark.parametrize("units", ["ratings", "costs"])
def test_classes_that_cannot_be_listed_have_units_too(name, output, units):
    problem = replace(problem_in(units, 1), against=None)
    pool, options = ps.TabularPolicies(n_contexts=X, n_actions=K), dict(SIZES[name])
    if name == "ExplorationByOptimization":
        options["output"] = output
    learner = LEARNERS[name](pool, problem, rng=5, **options)
    twin = LEARNERS[name](pool, problem.unit, rng=5, **options)
    for one, other in zip(play(learner), play(twin, problem), strict=True):
        assert (one.actions == other.actions).all()
    said, meant = learner.recommend(), twin.recommend()
    assert same(said.value, image(problem, meant.value))
    assert same(
        [said.lower, said.upper], sorted(image(problem, np.array([meant.lower, meant.upper])))
    )
    assert same(said.suboptimality_bound, problem.scale.span * meant.suboptimality_bound)
    assert same(learner.intervals().values, image(problem, twin.intervals().values))


def test_the_log_has_the_rewards_that_were_told_to_the_last_bit(tmp_path):
    problem = problem_in("ratings", 2)
    learner = ps.Sieve(policies(2), problem, rng=0)
    told = np.array([[-3.0, 7.5], [0.1, -0.3], [1 / 3, 7.25]])
    learner.tell(learner.ask([0, 1, 2]), told)
    assert (learner.log.rewards == told).all()
    assert learner.log.reward_range == (-3.0, 7.5)
    learner.log.save(tmp_path / "log.parquet")
    assert ps.Log.load(tmp_path / "log.parquet") == learner.log
    assert ps.Sieve(policies(2), problem, rng=0).log.reward_range == (-3.0, 7.5)


def test_rounds_decided_elsewhere_are_learnt_in_the_same_units():
    problem = problem_in("costs", 1)
    here, there = (ps.Sieve(policies(1), problem, rng=1) for _ in range(2))
    batch = here.ask(np.arange(5))
    rewards = np.linspace(2, 9, 5)[:, None]
    exploration = here.exploration
    here.tell(batch, rewards)
    there.learn(here.log, exploration)
    assert there.log == here.log
    assert there.recommend() == here.recommend()
    plain = ps.Log(
        contexts=batch.contexts,
        actions=batch.actions,
        propensities=batch.propensities,
        rewards=np.zeros((5, 1)),
    )
    with pytest.raises(
        InvalidArgumentError, match=r"rewards of the log lie in \[0, 1\], but the d"
    ):
        there.learn(plain, exploration)


@pytest.mark.parametrize("units", UNITS)
def test_rewards_outside_of_the_range_change_nothing(units):
    problem = problem_in(units, 1)
    learner = ps.Sieve(policies(1), problem, rng=0)
    batch = learner.ask([0, 1, 2])
    low, high = problem.scale.range
    rewards = np.array([low, high, np.nextafter(high, np.inf)])
    message = rf"rewards must lie in \[{low:g}, {high:g}\], got .* in row 2.*reward_range="
    with pytest.raises(InvalidArgumentError, match=message):
        learner.tell(batch, rewards)
    assert (learner.rounds, learner.pending) == (0, 3)
    learner.tell(batch, np.clip(rewards, low, high))
    assert learner.rounds == 3


class TestNoAnswer:
    def test_counts_0_where_that_lies_in_the_range(self):
        learner = ps.Sieve(policies(2), problem_in("ratings", 2), rng=0)
        learner.ask([0, 1])
        assert len(learner.expire(older_than=0)) == 2
        assert (learner.log.rewards == 0).all()

    def test_counts_what_was_declared(self):
        learner = ps.Sieve(policies(2), problem_in("costs", 2, no_answer=9), rng=0)
        learner.ask([0, 1])
        learner.expire(older_than=0)
        assert (learner.log.rewards == 9).all()

    def test_must_be_declared_where_0_is_no_reward(self):
        learner = ps.Sieve(policies(1), problem_in("costs", 1), rng=0)
        learner.ask([0, 1])
        with pytest.raises(InvalidArgumentError, match=r"no_answer must be declared.*0 is outside"):
            learner.expire(older_than=0)
        assert (learner.rounds, learner.pending) == (0, 2)


def test_one_reward_for_a_slate_does_not_say_which_item_earned_it():
    learner = ps.Sieve(policies(2), problem_in("revenue", 2), rng=0)
    batch = learner.ask([0, 1, 2])
    with pytest.raises(
        InvalidArgumentError, match=r"which item earned it.*whole slates the actions"
    ):
        learner.tell(batch, [1.0, 0.0, 3.0])
    assert learner.pending == 3
    single = ps.Sieve(policies(1), problem_in("revenue", 1), rng=0)
    single.tell(single.ask([0, 1, 2]), [1.0, 0.0, 3.0])
    assert single.rounds == 3


def test_a_sparsity_in_units_of_the_rewards_is_used_and_contradicted():
    problem = problem_in("revenue", 1, sparsity=500)
    assert problem.unit.sparsity == 1.0
    learner = ps.ExplorationByOptimization(
        policies(1), replace(problem, against=None), rounds=400, output="average", rng=0
    )
    rng = np.random.default_rng(0)
    while not learner.finished:
        batch = learner.ask(rng.integers(0, X, 20))
        learner.tell(batch, np.full((len(batch), 1), 500.0))  # all six actions, not one
    said = learner.recommend().guarantee
    assert "declared sparsity 500 is contradicted" in said
    assert 2_000 < float(re.search("sum to about (.*?);", said)[1]) <= 3_000


class TestExplorationByOptimization:
    def test_needs_rounds_where_no_sparsity_is_known(self):
        with pytest.raises(InvalidArgumentError, match=r"rounds must be given.*Problem.sparsity="):
            ps.ExplorationByOptimization(policies(1), problem_in("revenue", 1))
        with pytest.raises(InvalidArgumentError, match=r"rounds must be given.*in advance$"):
            ps.ExplorationByOptimization(policies(1), problem_in("costs", 1))

    def test_binary_rewards_are_the_ends_of_the_range(self):
        learner = ps.ExplorationByOptimization(
            policies(1), problem_in("costs", 1), rounds=50, rng=0
        )
        batch = learner.ask([0])
        with pytest.raises(InvalidArgumentError, match=r"rewards must be 2 or 9, got a fraction"):
            learner.tell(batch, [3.0])
        learner.tell(batch, [2.0])

    def test_bounds_are_in_the_units_of_the_rewards(self):
        problem = replace(problem_in("revenue", 1, sparsity=500), against=None)
        made = []
        for asked in (problem, problem.unit):
            learner = ps.ExplorationByOptimization(
                policies(1), asked, rounds=300, output="average", rng=0
            )
            rng = np.random.default_rng(0)
            for x in range(60):
                batch = learner.ask([x % X])
                hit = (batch.actions[:, 0] == x % K) & (rng.random() < 0.7)
                learner.tell(batch, hit * (500.0 if asked is problem else 1.0))
            made.append(learner)
        mine, twin = made
        assert mine.average_bound() == pytest.approx(500 * twin.average_bound())
        assert mine.mean_objective == pytest.approx(500 * twin.mean_objective)
        for bound in ("recommended", "played"):
            theirs = getattr(twin.regret_bound(), bound)
            assert getattr(mine.regret_bound(), bound) == pytest.approx(500 * theirs)
        assert f"within {mine.average_bound():.3g} of the best" in mine.recommend().guarantee


def test_sentences_speak_of_costs():
    learner = ps.Sieve(policies(1), problem_in("costs", 1), goal="beat", rng=0)
    play(learner, rounds=2_000)
    best = learner.recommend()
    assert best.gain is not None
    words = "costs less than policy 2 by at least" if best.gain > 0 else "it may cost more by"
    assert words in best.guarantee


def test_low_variance_exploration_sizes_phase_two_by_what_it_sees():
    learner = ps.LowVarianceExploration(
        policies(1), replace(problem_in("ratings", 1), against=None), explore_rounds=60, rng=0
    )
    twin = ps.LowVarianceExploration(
        policies(1), replace(problem_in("ratings", 1), against=None).unit, explore_rounds=60, rng=0
    )
    play(learner, rounds=60)
    play(twin, problem_in("ratings", 1), rounds=60)
    assert learner.estimate_rounds == twin.estimate_rounds
    assert learner.estimate_rounds > 0


def test_an_alarm_tells_of_mean_rewards_in_their_units():
    problem, found = problem_in("ratings", 1), []
    for asked in (problem, problem.unit):
        learner = ps.Uniform(policies(1), asked, rounds=2_000, rng=0)
        rng = np.random.default_rng(0)
        for low, high in [(0, 0.2), (0.7, 0.9)]:
            batch = learner.ask(rng.integers(0, X, 1_000))
            rewards = image(problem, rng.uniform(low, high, (1_000, 1)))
            learner.tell(batch, rewards if asked is problem else inside(rewards, problem))
        found.append(learner.alarm)
    mine, twin = found
    assert (mine.split, mine.alarm) == (twin.split, twin.alarm)
    assert same(
        [mine.before, mine.after], [image(problem, twin.before), image(problem, twin.after)]
    )
    assert same(mine.means, image(problem, twin.means))
    assert mine.before < -0.5 < mine.after
