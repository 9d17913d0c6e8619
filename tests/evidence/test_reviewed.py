"""Worlds that once fooled alarms, guardrails and first rounds."""

import numpy as np
import pytest

import policysieve as ps
from policysieve.errors import InvalidArgumentError


class TestNoChange:
    def test_a_test_of_other_actions_is_none(self):
        """Two designs after the other, each of which leaves no room for other actions."""
        for seed in range(5):
            rng, n = np.random.default_rng(seed), 4000
            first = np.arange(n) < n // 2
            actions = np.where(first, rng.integers(0, 2, n), 2 + rng.integers(0, 2, n))
            log = ps.Log(
                contexts=rng.random((n, 2)),
                actions=actions,
                propensities=np.full(n, 0.5),
                rewards=rng.random(n) < np.array([0.1, 0.1, 0.16, 0.16])[actions],
            )
            assert ps.check_log(log, n_actions=4).change is None

    def test_nor_is_what_else_could_be_shown(self):
        """Rewards depend on what is available, and so does what an adapting learner shows."""
        policies = ps.PolicyTable(np.array([[0, 1, 2]] * 4), n_actions=3, fallback=[0, 1, 2])
        problem = ps.Problem(n_actions=3, epsilon=0.02, delta=0.05, sparsity=None)
        alarms = 0
        for seed in range(6):
            rng = np.random.default_rng(seed)
            learner = ps.Sieve(policies, problem, goal="best", rng=seed)
            for _ in range(20):
                full = rng.random(200) < 0.5
                mask = np.ones((200, 3), bool)
                mask[~full, 2] = False
                batch = learner.ask(rng.integers(0, 4, 200), available=mask)
                shown = batch.actions[:, 0]
                chance = np.where(
                    full, np.array([0.25, 0.1, 0.5])[shown], np.array([0.95, 0.1, 0])[shown]
                )
                learner.tell(batch, rng.random(200) < chance)
            alarms += learner.alarm is not None
        assert alarms == 0


class TestGuardrails:
    CLICKS, SALES = np.array([0.3, 0.5, 0.8, 0.4]), np.array([0.4, 0.4, 0.28, 0.4])

    def log(self, seed, n=4000):
        rng = np.random.default_rng(seed)
        actions = rng.integers(0, 4, n)
        return ps.Log(
            contexts=rng.integers(0, 5, n),
            actions=actions,
            propensities=np.full(n, 0.25),
            rewards=rng.random(n) < self.CLICKS[actions],
            outcomes={"sale": (rng.random(n) < self.SALES[actions]) * 1.0},
        )

    @pytest.mark.parametrize("method", ["betting", "empirical_bernstein"])
    def test_who_breaks_one_eliminates_nobody_with_a_floor(self, method):
        policies = ps.PolicyTable(np.array([[0, 1, 2, 3]] * 5), n_actions=4)
        problem = ps.Problem(
            n_actions=4,
            epsilon=0.05,
            delta=0.05,
            sparsity=None,
            against=0,
            outcomes={"sale": (0, 1)},
            guardrails={"sale": 0.1},
        )
        found = ps.select(self.log(0), policies, problem, floor=0.25, method=method)
        assert not found.certificate.eliminated[[0, 1]].any()

    def test_late_outcomes_count_though_rounds_are_forgotten(self):
        clicks, sales = np.array([0.3, 0.8]), np.array([0.9, 0.1])
        policies = ps.PolicyTable(np.array([[0, 1]] * 5), n_actions=2)
        problem = ps.Problem(
            n_actions=2,
            epsilon=0.05,
            delta=0.05,
            against=0,
            sparsity=None,
            outcomes={"sale": (0, 1)},
            guardrails={"sale": 0.1},
        )
        rng = np.random.default_rng(0)
        learner = ps.Sieve(policies, problem, memory_limit=0, goal="best", rng=0)
        waits = None
        for _ in range(15):
            batch = learner.ask(rng.integers(0, 5, 100))
            shown = batch.actions[:, 0]
            learner.tell(batch, rng.random(100) < clicks[shown])
            if waits is not None:
                learner.tell_outcomes(*waits)
            waits = batch, {"sale": (rng.random(100) < sales[shown]) * 1.0}
        assert learner.evidence.forgets
        assert learner.recommend().policy == 0
        assert learner.evidence.certificate().barred.tolist() == [1]


class TestFirstRoundsSince:
    def log(self):
        visits = np.concatenate([np.arange(200), np.arange(100, 300)])
        return ps.Log(
            contexts=np.zeros(400, int),
            actions=np.arange(400) % 2,
            propensities=np.full(400, 0.5),
            rewards=np.repeat([0.0, 1.0], 200),
            units=visits,
        )

    def test_units_that_had_come_before_do_not_count(self, tmp_path):
        policies = ps.PolicyTable(np.array([[0, 1]]), n_actions=2)
        problem = ps.Problem(n_actions=2, epsilon=0.1, delta=0.1)
        self.log().save(tmp_path / "log.parquet")
        for log in (self.log(), tmp_path / "log.parquet"):
            found = ps.select(log, policies, problem, floor=0.5, since=200)
            assert (found.certificate.rounds, found.returning) == (100, 100)

    def test_somebody_must_be_new(self):
        policies = ps.PolicyTable(np.array([[0, 1]]), n_actions=2)
        problem = ps.Problem(n_actions=2, epsilon=0.1, delta=0.1)
        log = ps.Log(
            contexts=[0, 0],
            actions=[0, 1],
            propensities=[0.5, 0.5],
            rewards=[0, 1],
            units=["a", "a"],
        )
        with pytest.raises(InvalidArgumentError, match="before which all units had come"):
            ps.select(log, policies, problem, floor=0.5, since=1)
