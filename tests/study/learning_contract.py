"""What every database must do for learning."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import policysieve as ps
from policysieve.exploration.learners import LEARNERS
from tests.study.cases import PROBLEM, contexts, linear, play, rewards_of, same_bits
from tests.study.studies import PROBLEMS, SETTINGS, Studies, clock, play_any, table


class LearningContract(Studies):
    """The same as in memory, whoever learns, and when."""

    def test_it_finds_the_best_policy_and_proves_it(self, study):
        play(study, 40, 25)
        found = study.recommend()
        assert (found.policy, found.certified, found.rounds) == (3, True, 1000)
        assert study.finished

    def test_what_is_known_of_the_same_rounds_is_worked_out_once(self, url, study):
        play(study, 6, 20)
        found = study.status()
        study.ask(contexts(1))  # changes nothing that is known
        assert study.status().intervals is found.intervals
        assert study.recommend() is found.recommendation
        play(study, 2, 20)
        then = study.status()
        assert then.recommendation.rounds == found.recommendation.rounds, "the open one holds it up"
        study.tell(study.open_decisions().ids, [0.0])
        then = study.status()
        assert then.recommendation.rounds == found.recommendation.rounds + 41
        fresh = ps.Study.open(url, study.name, study.policies, learn=False).status()
        assert fresh.recommendation == then.recommendation
        assert fresh.cost == then.cost
        assert np.array_equal(fresh.intervals.lower, then.intervals.lower)

    def test_it_learns_as_a_learner_in_memory_that_is_told_the_same_rounds(self, study):
        play(study, 12, 20)
        learner = ps.Sieve(linear(), PROBLEM)
        _learn_again(study, learner)
        assert learner.recommend() == study.recommend()
        assert learner.exploration.same_as(study.exploration)

    @pytest.mark.parametrize("name", PROBLEMS)
    def test_problems_of_every_kind_are_studied_as_in_memory(self, url, name, monkeypatch):
        monkeypatch.setattr("policysieve.study.snapshots.EVERY", 50)
        problem = PROBLEMS[name]
        made = ps.Study.create(url, name, linear(), problem, seed=0, deadline="1h")
        for start in range(12):
            decisions = made.ask(contexts(20, seed=start))
            told = problem.scale.value(rewards_of(decisions))
            made.tell(decisions[2:], told[2:])
            made.expire(older_than=0)
            made.close()
            made = ps.Study.open(url, name, linear())
        assert made._worker.ready().learnt > 120  # from a snapshot
        learner = ps.Sieve(linear(), problem)
        _learn_again(made, learner)
        assert learner.recommend() == made.recommend()
        assert learner.exploration.same_as(made.exploration)
        assert learner.cost().to_dict() == made.status().cost.to_dict()
        assert set(made.log().rewards[::20].ravel()) == {problem.unanswered}
        assert made.log().reward_range == problem.reward_range
        assert made.verify().holds

    def test_a_share_of_the_rounds_shows_what_runs_today(self, url):
        problem = replace(PROBLEM, against=1, traffic=0.25)
        made = ps.Study.create(url, "share", linear(), problem, seed=0)
        decisions = made.ask(contexts(2000))
        today = linear().actions(decisions.contexts)[:, 1]
        assert (decisions.actions == today).mean() > 0.75
        every = made.exploration.propensities(decisions.contexts)
        shown = np.take_along_axis(every, decisions.actions.astype(int), 1)
        np.testing.assert_allclose(shown, decisions.propensities, rtol=1e-12)

    def test_only_what_is_available_is_shown(self, url, tmp_path, monkeypatch):
        monkeypatch.setattr("policysieve.study.snapshots.EVERY", 50)
        for kind, policies in (("linear", linear()), ("table", table(fallback=[4, 3, 2, 1, 0]))):
            made, twin = (
                ps.Study.create(url, kind + add, policies, PROBLEM, seed=0) for add in ("", " twin")
            )
            for start in range(0, 16, 4):
                for one in (made, twin):
                    play_any(one, 4, 11, start, restricted=start != 4)
                made.close()
                made = ps.Study.open(url, kind, policies)
            assert same_bits(made, twin)
            assert made.verify().holds
            log = made.log()
            assert log.available.has(log.actions).all()
            some = made.decisions([f"{made._record.mark}-{place}" for place in (60, 3, 50)])
            assert some.beside.available == log.available[[60, 3, 50]]
            learner = ps.Sieve(policies, PROBLEM)
            _learn_again(made, learner)
            assert learner.recommend() == made.recommend()
            assert made.log(tmp_path / f"{kind}.parquet").whole()[0] == log

    def test_a_study_that_is_opened_again_goes_on_with_the_same_bits(self, url, study):
        twin = ps.Study.create(url, "twin", linear(), PROBLEM, seed=0)
        play(twin, 30, 9)
        for start in range(0, 30, 3):
            study.close()
            study = self.opened(url)
            play(study, 3, 9, start=start)
        assert same_bits(study, twin)

    def test_looking_changes_nothing(self, url, study):
        twin = ps.Study.create(url, "twin", linear(), PROBLEM, seed=0)
        for number in range(10):
            play(study, 1, 9, start=number)
            play(twin, 1, 9, start=number)
            twin.recommend(), twin.status(), twin.log(), twin.open_decisions(), twin.verify()
        assert same_bits(study, twin)

    def test_the_order_of_answers_does_not_matter(self, url, study):
        twin = ps.Study.create(url, "twin", linear(), PROBLEM, seed=0)
        for round in range(6):
            asked = [study.ask(contexts(7, seed=10 * round + k)) for k in range(4)]
            for decisions in asked:
                study.tell(decisions, rewards_of(decisions))
            asked = [twin.ask(contexts(7, seed=10 * round + k)) for k in range(4)]
            for decisions in reversed(asked):
                for row in (6, 0, 3, 5, 1, 2, 4):
                    twin.tell(decisions[row], rewards_of(decisions[row]))
        assert same_bits(study, twin)

    def test_snapshots_open_to_the_same_bits(self, url, monkeypatch):
        monkeypatch.setattr("policysieve.study.snapshots.EVERY", 50)
        for learner, policies in (("Sieve", linear()), ("Sieve", table()), ("Uniform", linear())):
            name = f"{learner} {type(policies).__name__}"
            options = {"learner": learner, "settings": SETTINGS.get(learner), "seed": 0}
            made, twin = (
                ps.Study.create(url, name + add, policies, PROBLEM, **options)
                for add in ("", " twin")
            )
            for start in range(0, 16, 4):
                for one in (made, twin):
                    play_any(one, 4, 11, start)
                made.close()
                made = ps.Study.open(url, name, policies)
            latest = made._worker._snapshots
            with made._storage.reading() as connection:
                assert latest.latest(connection, made._worker.start).learnt > 120
            assert same_bits(made, twin)
            assert made.verify().holds

    def test_one_learns_and_others_decide(self, study, url):
        study.close()
        decider, worker = self.opened(url, learn=False), self.opened(url)
        stale = self.opened(url, learn=False)
        stale.ask(contexts(1))
        stale.tell(stale.open_decisions().ids, [0.0])
        play(decider, 10, 10)
        assert decider.status().exploration == 1
        assert worker.learn() == 101
        assert worker.learn() == 0
        newest = decider.status().exploration
        assert newest > 1
        play(decider, 1, 5, start=10)  # which finds the new one by itself
        with worker._storage.reading() as connection:
            (batch,) = worker._ledger.holding(connection, np.array([103]))
            assert batch.exploration == newest
        assert worker.learn() == 5
        assert worker.verify().holds

    def test_a_stale_exploration_is_valid(self, study, url, monkeypatch):
        decider = self.opened(url, learn=False)
        decider.tell(decider.ask(contexts(1)), [0.0])
        old = decider.exploration
        monkeypatch.setattr("policysieve.study.deciding._RETRIES", 0)
        play(study, 20, 10)
        assert not study.exploration.same_as(old)
        late = decider.ask(contexts(40, seed=5))
        every = old.propensities(late.contexts)
        assert (np.take_along_axis(every, late.actions.astype(int), 1) == late.propensities).all()
        waiting = study.open_decisions()
        study.tell(waiting, rewards_of(waiting))
        assert study.status().learnt == 241
        assert study.verify().holds

    def test_the_lease_moves_when_its_holder_is_gone(self, study, url, monkeypatch):
        play(study, 2, 5)
        second = self.opened(url)
        decisions = second.ask(contexts(5, seed=9))
        second.tell(decisions, rewards_of(decisions))
        assert second._worker._lease.fence is None  # the first one has it
        shift = clock(second, monkeypatch)
        shift(31)
        play(second, 6, 20, start=2)
        assert second._worker._lease.fence == 2
        newest = second.status().exploration
        decisions = study.ask(contexts(200, seed=11))  # and the first wakes up
        study.tell(decisions, rewards_of(decisions))
        assert study.status().exploration == newest  # but publishes nothing
        assert study._worker._lease.fence is None
        play(second, 2, 20, start=20)
        assert second.verify().holds

    def test_a_lease_that_was_written_by_a_clock_that_jumped_blocks_nobody(
        self, study, url, monkeypatch
    ):
        shift = clock(study, monkeypatch)
        shift(10**6)
        play(study, 2, 5)
        assert study._worker._lease.fence == 1
        second = self.opened(url)  # whose clock is right again
        play(second, 2, 5, start=2)
        assert second._worker._lease.fence == 2
        assert second.status().learnt == 20
        play(study, 1, 5, start=4)
        assert second.verify().holds

    def test_every_learner_can_be_studied(self, url):
        for learner in LEARNERS:
            settings, policies = SETTINGS.get(learner), linear()
            made, twin = (
                ps.Study.create(
                    url, learner + add, policies, PROBLEM, learner=learner, settings=settings,
                    seed=3,
                )
                for add in ("", " twin")
            )  # fmt: skip
            play(made, 8, 10)
            for start in (0, 3):
                twin.close()
                twin = ps.Study.open(url, learner + " twin", policies)
                play(twin, 3 if not start else 5, 10, start=start)
            assert same_bits(made, twin), learner
            assert made.verify().holds, learner

    def test_slates_and_implicit_classes_are_studied(self, url):
        slates = ps.PolicyTable(
            np.stack([np.tile([0, 1], (4, 1)), np.tile([2, 3], (4, 1))], axis=1), n_actions=6
        )
        problem = ps.Problem(n_actions=6, slate_size=2, epsilon=0.1, delta=0.05, sparsity=None)
        made = ps.Study.create(url, "slates", slates, problem, seed=0)
        decisions = made.ask(np.array([0, 1, 2, 3]))
        made.tell(decisions.ids, np.full((4, 2), 0.5))
        one = made.ask(np.array([2]))
        made.tell(one.ids[0], [1.0, 0.0])
        assert made.log().rewards.tolist() == [[0.5, 0.5]] * 4 + [[1.0, 0.0]]
        every = ps.TabularPolicies(n_contexts=3, n_actions=4)
        problem = ps.Problem(n_actions=4, epsilon=0.3, delta=0.1)
        made = ps.Study.create(url, "all", every, problem, learner="Uniform", seed=0)
        made.tell(made.ask(np.array([0, 1, 2])), [1.0, 0.0, 0.0])
        assert ps.Study.open(url, "all", every).recommend().rounds == 3

    def test_policies_that_are_fitted_on_the_way_cannot_be_kept(self, url):
        policies = ps.OraclePolicies(LogisticRegression(), n_actions=3)
        problem = ps.Problem(n_actions=3, epsilon=0.2, delta=0.1)
        settings = {"explore_rounds": 5, "estimate_rounds": 5}
        with pytest.raises(ps.InvalidArgumentError, match="learner must be Uniform"):
            ps.Study.create(
                url, "o", policies, problem, learner="LowVarianceExploration", settings=settings
            )
        made = ps.Study.create(
            url, "o", policies, problem, learner="Uniform", settings={"rounds": 9}
        )
        made.tell(made.ask(contexts(9)), np.zeros(9))
        assert made.status().learnt == 9


def _learn_again(study, learner):
    """Let a learner in memory learn from the rounds of a study."""
    log = study.log()
    assert isinstance(log, ps.Log)
    with study._storage.reading() as connection:
        for batch in study._ledger.all_batches(connection):
            played = study._ledger.exploration(connection, batch.exploration)
            learner.learn(log[batch.first : batch.end], played)
