"""Options that were made one by one, all at once: each must leave the others right."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import policysieve as ps
from policysieve.errors import InvalidArgumentError

K, X = 5, 40
RIGHT = np.random.default_rng(1).integers(0, K, X)


def table(shares=(0.2, 0.5, 0.7, 0.9), seed=0, **more):
    rng = np.random.default_rng(seed)
    columns = [np.where(rng.random(X) < share, RIGHT, rng.integers(0, K, X)) for share in shares]
    return ps.PolicyTable(np.stack(columns, axis=1), n_actions=K, **more)


def problem(**more):
    usual = {"epsilon": 0.1, "delta": 0.2, "against": 1}
    return ps.Problem(n_actions=K, **{**usual, **more})


def rewards_of(decisions, rng):
    return (decisions.actions[:, 0] == RIGHT[decisions.contexts]) & (
        rng.random(len(decisions)) < 0.9
    )


def mask(rng, n):
    available = rng.random((n, K)) < 0.7
    available[np.arange(n), rng.integers(0, K, n)] = True
    return available


EVERYTHING = {
    "traffic": 0.5,
    "reward_range": (-1.0, 3.0),
    "epsilon": 0.4,
    "outcomes": {"sale": (0, 10)},
    "guardrails": {"sale": 4.0},
}


def play(learner, rounds, seed=0, *, stops=(), size=50, units=True):
    """Play all options at once; within `stops` it does not explore."""
    rng = np.random.default_rng(seed)
    low, high = learner.problem.reward_range or (0.0, 1.0)
    for start in range(0, rounds, size):
        if start in stops:
            learner.stop_exploring()
        x, people = rng.integers(0, X, size), rng.integers(0, 3 * rounds, size)
        decisions = learner.ask(x, available=mask(rng, size), units=people if units else None)
        hits = rewards_of(decisions, rng)
        outcomes = None
        if learner.problem.outcomes is not None:
            outcomes = {"sale": 10.0 * hits * (rng.random(size) < 0.5)}
        learner.tell(decisions, low + (high - low) * hits, outcomes=outcomes)
        if start in stops:
            learner.resume_exploring()
    return learner


class TestAllAtOnce:
    def make(self):
        return ps.Sieve(table(fallback=range(K)), problem(**EVERYTHING), goal="best", rng=0)

    def test_the_same_calls_give_the_same_bits(self):
        one, two = (play(self.make(), 600, stops={200, 350}) for _ in range(2))
        assert one.log == two.log
        assert one.recommend() == two.recommend()
        assert one.exploration.same_as(two.exploration)

    def test_a_pickled_learner_goes_on_as_the_first_one_does(self):
        one = play(self.make(), 300, stops={100})
        two = pickle.loads(pickle.dumps(one))
        assert play(one, 200, seed=1).log == play(two, 200, seed=1).log
        assert one.recommend() == two.recommend()

    def test_the_log_has_every_column_of_every_round(self):
        learner = play(self.make(), 600, stops={200})
        log = learner.log
        assert len(log) == 600
        assert log.available.has(log.actions).all()
        assert len(log.units) == 600
        assert log.reward_range == (-1.0, 3.0)
        assert set(np.unique(log.rewards)) == {-1.0, 3.0}
        assert not np.isnan(log.outcomes["sale"]).any()
        earned = log.rewards[:, 0] > 0
        assert (log.outcomes["sale"][~earned] == 0).all()
        assert set(np.unique(log.outcomes["sale"][earned])) == {0.0, 10.0}
        sure = log[200:250]
        assert (sure.propensities == 1).all()

    def test_status_has_everything_in_the_users_units(self):
        status = play(self.make(), 600).status()
        said = status.to_dict(alarm=True)
        assert -1 <= said["recommendation"]["value"] <= 3
        assert said["cost"]["rounds"] == 600
        assert said["forecast"]["rounds"] == status.rounds < 600
        assert said["recommendation"]["guardrails"][0]["outcome"] == "sale"


class TestRoundsThatShowToday:
    """They count for nothing: all is as if they had never been."""

    def test_evidence_and_outcomes_are_those_of_the_other_rounds(self):
        make = {**EVERYTHING, "traffic": 1.0}
        without = {
            name: ps.Sieve(table(), problem(**make), goal="best", rng=0)
            for name in ("stopped", "never")
        }
        rng = np.random.default_rng(5)
        for batch in range(12):
            x, luck = rng.integers(0, X, 50), rng.random(50)
            for name, learner in without.items():
                if name == "stopped" and batch % 3 == 1:
                    learner.stop_exploring()
                    idle = learner.ask(rng.integers(0, X, 7))
                    learner.tell(idle, np.full(7, -1.0), outcomes={"sale": np.full(7, 10.0)})
                    learner.resume_exploring()
                decisions = learner.ask(x)
                hits = decisions.actions[:, 0] == RIGHT[x]
                learner.tell(
                    decisions, -1.0 + 4.0 * hits, outcomes={"sale": 10.0 * hits * (luck < 0.5)}
                )
        stopped, never = without.values()
        assert len(stopped.log) == len(never.log) + 28
        assert stopped.evidence.rounds == never.evidence.rounds
        assert stopped.exploration.same_as(never.exploration)
        assert (
            stopped.outcomes()["sale"].values.tolist() == never.outcomes()["sale"].values.tolist()
        )
        mine, theirs = (one.recommend() for one in (stopped, never))
        assert mine.guardrails == theirs.guardrails
        assert mine.suboptimality_bound == theirs.suboptimality_bound

    def test_late_outcomes_of_such_rounds_are_taken_and_change_nothing(self):
        learner = ps.Sieve(table(), problem(**EVERYTHING), rng=0)
        learner.stop_exploring()
        idle = learner.ask([1, 2, 3])
        learner.tell(idle, [-1, -1, 3])
        learner.resume_exploring()
        played = learner.ask([4, 5])
        learner.tell(played, [3, 3])
        learner.tell_outcomes(idle, {"sale": [1, 2, 3]})
        learner.tell_outcomes(played, {"sale": [10, 0]})
        assert learner.open_outcomes == {"sale": 0}
        assert learner.log.outcomes["sale"][3:, 0].tolist() == [10, 0]


class TestRestart:
    def test_outcomes_begin_anew_with_the_evidence(self):
        learner = ps.Sieve(table(fallback=range(K)), problem(**EVERYTHING), goal="best", rng=0)
        play(learner, 300, units=False)
        before = learner.log.outcomes["sale"].tolist()
        open_one = learner.ask([0, 1])
        learner.restart()
        learner.tell(open_one, [3, 3], outcomes={"sale": [10, 10]})
        assert (learner.played, learner.rounds, learner.evidence.rounds) == (302, 300, 0)
        play(learner, 200, seed=3, units=False)
        assert learner.evidence.rounds == 200
        assert learner.log.outcomes["sale"][:300].tolist() == before
        assert len(learner.log) == 502
        assert learner._late.counted.rounds == 200

    def test_what_is_lost_to_the_best_is_not_claimed_across_a_change(self):
        learner = ps.Sieve(table(fallback=range(K)), problem(), goal="best", rng=0)
        play(learner, 300, units=False)
        assert "That is wide" not in learner.cost().guarantee
        learner.restart()
        play(learner, 100, units=False)
        assert "limits on values count rounds from 300 on" in learner.cost().guarantee


class TestJoining:
    def test_who_joins_shows_what_is_available(self):
        learner = ps.Sieve(table(fallback=range(K)), problem(), additions=2, goal="best", rng=0)
        play(learner, 200, units=False)
        learner.add(table((0.95,), seed=9, fallback=range(K)), unseen=True)
        play(learner, 200, seed=1, units=False)
        other = table((0.6,), seed=8, fallback=range(K - 1, -1, -1))
        learner.add(other)  # with another fallback
        play(learner, 200, seed=2, units=False)
        assert learner.log.available.has(learner.log.actions).all()
        rng = np.random.default_rng(0)
        x, available = np.arange(X), mask(rng, X)
        said = learner.policies.actions(x, available=available)
        theirs = other.actions(x, available=available)
        assert (said[:, 5] == theirs[:, 0]).all()

    def test_unseen_ones_are_not_judged_by_rounds_that_are_no_evidence(self):
        learner = ps.Sieve(table(), problem(), additions=1, rng=0)
        learner.stop_exploring()
        learner.tell(learner.ask([0, 1]), [0, 0])
        with pytest.raises(InvalidArgumentError, match="got 2 rounds of which 0 are"):
            learner.add(table((0.9,), seed=3), unseen=True)
        learner.add(table((0.9,), seed=3))

    def test_nobody_joins_where_outcomes_are_declared(self):
        with pytest.raises(InvalidArgumentError, match="additions must be 0"):
            ps.Sieve(table(), problem(**EVERYTHING), additions=1)


class TestCostInUnits:
    @pytest.mark.parametrize("objective", ["maximize", "minimize"])
    def test_is_the_image_of_what_it_is_inside(self, objective):
        given = problem(
            epsilon=0.4, reward_range=(-1.0, 3.0), objective=objective, traffic=0.6, max_loss=300.0
        )
        learners = [ps.Sieve(table(), one, goal="best", rng=0) for one in (given, given.unit)]
        rng = np.random.default_rng(0)
        for _ in range(20):
            x = rng.integers(0, X, 30)
            batches = [one.ask(x) for one in learners]
            assert (batches[0].actions == batches[1].actions).all()
            inner = (batches[0].actions[:, 0] == RIGHT[x]).astype(float)
            outer = 3.0 - 4.0 * inner if objective == "minimize" else -1.0 + 4.0 * inner
            learners[0].tell(batches[0], outer)
            learners[1].tell(batches[1], inner)
        mine, inside = (one.cost() for one in learners)
        assert mine.earned == pytest.approx(learners[0].log.rewards.sum())
        for name in ("today", "best"):
            for part in ("estimate", "lower", "upper"):
                twin = 4.0 * getattr(getattr(inside, name), part)
                assert getattr(getattr(mine, name), part) == pytest.approx(twin)
        left = [one.status().left for one in learners]
        assert abs(left[0] - left[1]) <= 1


class TestLogsOfUnits:
    """What is said of a log with units is said of their first rounds."""

    def log(self, rng, n=1500, **more):
        x, actions = rng.integers(0, X, n), rng.integers(0, K, n)
        hits = (actions == RIGHT[x]).astype(float)
        return ps.Log(
            contexts=x,
            actions=actions,
            propensities=np.full(n, 1 / K),
            rewards=hits,
            outcomes={"sale": hits * rng.integers(0, 2, n)},
            units=rng.integers(0, 600, n),
            **more,
        )

    @pytest.mark.parametrize("full", [False, True])
    def test_segments_outcomes_and_guardrails(self, full):
        rng = np.random.default_rng(0)
        every = {"distributions": np.full((1500, K), 1 / K)} if full else {}
        log = self.log(rng, **every)
        _, rows = np.unique(log.units, return_index=True)
        rows.sort()
        first = ps.Log(
            contexts=log.contexts[rows],
            actions=log.actions[rows],
            propensities=log.propensities[rows],
            rewards=log.rewards[rows],
            outcomes={"sale": log.outcomes["sale"][rows]},
            distributions=None if not full else np.full((len(rows), K), 1 / K),
        )
        asked = problem(outcomes={"sale": (0, 1)}, guardrails={"sale": 0.2})
        mine, twin = (ps.select(one, table(), asked, floor=1 / K) for one in (log, first))
        assert mine.policy == twin.policy
        assert mine.certificate.rounds == len(rows)
        assert mine.guardrails == twin.guardrails
        for name in ("values", "lower", "upper"):
            found, expected = (getattr(one.outcomes["sale"], name) for one in (mine, twin))
            assert found.tolist() == expected.tolist()
        odd = lambda x: np.where(np.asarray(x) % 2, "odd", "even")  # noqa: E731
        for outcome in (None, "sale"):
            found, expected = (one.by_segment(odd, outcome=outcome) for one in (mine, twin))
            assert found.to_dict() == expected.to_dict()

    def test_segments_are_in_the_units_of_the_rewards(self):
        rng = np.random.default_rng(0)
        inner = self.log(rng)
        outer = ps.Log(
            contexts=inner.contexts,
            actions=inner.actions,
            propensities=inner.propensities,
            rewards=8 - 5 * inner.rewards,
            reward_range=(3, 8),
        )
        asked = problem(epsilon=0.5, reward_range=(3, 8), objective="minimize")
        plain = ps.Log(
            contexts=inner.contexts,
            actions=inner.actions,
            propensities=inner.propensities,
            rewards=inner.rewards,
        )
        odd = lambda x: np.asarray(x) % 2  # noqa: E731
        mine = ps.select(outer, table(), asked, floor=1 / K).by_segment(odd)
        twin = ps.select(plain, table(), asked.unit, floor=1 / K).by_segment(odd)
        for one, other in zip(mine, twin, strict=True):
            assert np.allclose(one.values, 8 - 5 * np.array(other.values))
            assert np.allclose(one.lower, 8 - 5 * np.array(other.upper))
            middle, low, high = other.difference
            assert np.allclose(one.difference, (-5 * middle, -5 * high, -5 * low))


def test_two_policies_are_compared_whatever_else_is_asked():
    rng = np.random.default_rng(0)
    n = 1000
    x, actions = rng.integers(0, X, n), rng.integers(0, K, n)
    log = ps.Log(
        contexts=x,
        actions=actions,
        propensities=np.full(n, 1 / K),
        rewards=actions == RIGHT[x],
        distributions=np.full((n, K), 1 / K),
    )
    plain, asked = problem(), problem(traffic=0.5, max_loss=10)
    mine, twin = (ps.select(log, table(), one).compare(3, 0) for one in (asked, plain))
    assert mine == replace(twin)
