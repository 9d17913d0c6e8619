"""Which rounds of a log count: what is said of them must not be taken from the others."""

import numpy as np
import pytest

import policysieve as ps

ONE = {"n_actions": 2, "epsilon": 0.1, "delta": 0.2}


def everyone(contexts):
    return np.zeros(len(contexts), int)


def constant(**more):
    return ps.PolicyTable(np.array([[0, 1]] * 4), n_actions=2, **more)


def play(learner, chances, rounds, rng, *, size=100, **more):
    for _ in range(rounds // size):
        batch = learner.ask(rng.integers(0, 4, size), **more)
        learner.tell(batch, rng.random(size) < np.asarray(chances)[batch.actions[:, 0]])


class TestSegmentsOfALearner:
    def test_who_joins_is_not_judged_by_the_rounds_that_it_was_fitted_on(self):
        rng, wrong = np.random.default_rng(0), 0
        for seed in range(6):
            rows = 400
            learner = ps.Sieve(
                ps.PolicyTable(np.tile([0, 1], (rows, 1)), n_actions=2),
                ps.Problem(**ONE),
                additions=1,
                goal="best",
                rng=seed,
            )
            batch = learner.ask(np.arange(rows))
            rewards = rng.random(rows) < 0.5
            learner.tell(batch, rewards)
            fitted = np.where(rewards, batch.actions[:, 0], 1 - batch.actions[:, 0])
            learner.add(ps.PolicyTable(fitted[:, None], n_actions=2))
            more = learner.ask(rng.integers(0, rows, 50))
            learner.tell(more, rng.random(50) < 0.5)
            found = learner.by_segment(everyone, every_policy=True)["0"]
            place = learner.by_segment(everyone, every_policy=True).policies.index(2)
            assert found.rounds == 50
            wrong += not found.lower[place] <= 0.5 <= found.upper[place]
        assert wrong <= 4  # of six at delta = 0.2: all six were

    def test_only_rounds_since_a_restart_count(self):
        rng = np.random.default_rng(0)
        learner = ps.Sieve(constant(), ps.Problem(**ONE), goal="best", rng=0)
        play(learner, [0.1, 0.9], 1000, rng)
        learner.restart()
        play(learner, [0.9, 0.1], 600, rng)
        found = learner.by_segment(everyone)
        assert found["0"].rounds == 600
        worth = dict(zip(found.policies, found["0"].values, strict=True))
        assert worth[0] > 0.6 > 0.4 > worth[1]

    def test_rounds_that_show_today_do_not_count(self):
        rng = np.random.default_rng(0)
        learner = ps.Sieve(constant(), ps.Problem(against=0, **ONE), goal="best", rng=0)
        play(learner, [0.3, 0.8], 500, rng)
        learner.stop_exploring()
        play(learner, [0.3, 0.8], 1500, rng)
        found = learner.by_segment(everyone)
        assert found["0"].rounds == 500
        assert found["0"].difference[0] == pytest.approx(0.5, abs=0.15)

    def test_labels_are_those_of_all_rounds(self):
        rng = np.random.default_rng(0)
        learner = ps.Sieve(constant(), ps.Problem(against=0, **ONE), goal="best", rng=0)
        learner.stop_exploring()
        play(learner, [0.3, 0.8], 100, rng)
        learner.resume_exploring()
        play(learner, [0.3, 0.8], 200, rng)
        found = learner.by_segment(["idle"] * 100 + ["a"] * 150 + ["b"] * 50)
        assert [(one.label, one.rounds) for one in found] == [("a", 150), ("b", 50)]


class TestFirstRoundsThatWereGivenUp:
    """A first round that is discarded is the first still."""

    def learner(self):
        learner = ps.Sieve(constant(), ps.Problem(**ONE), goal="best", rng=0)
        people = np.arange(300)
        first = learner.ask(np.zeros(300, int), units=people)
        learner.tell(first[:50], np.zeros(50))
        learner.discard(first[50:])
        again = learner.ask(np.zeros(300, int), units=people)
        learner.tell(again, np.ones(300))
        return learner

    def test_later_visits_do_not_count_for_them(self):
        learner = self.learner()
        assert (learner.rounds, learner.evidence.rounds, learner.played) == (50, 50, 350)
        assert learner.by_segment(everyone)["0"].rounds == 50

    def test_nor_do_they_raise_an_alarm(self):
        assert self.learner().alarm is None


class TestOpenRoundsAtARestart:
    def test_those_that_show_today_do_not_count_after_it(self):
        rng = np.random.default_rng(0)
        learner = ps.Sieve(constant(), ps.Problem(against=0, **ONE), goal="best", rng=0)
        play(learner, [0.3, 0.8], 500, rng)
        learner.stop_exploring()
        idle = learner.ask(np.zeros(400, int))
        learner.restart()
        learner.resume_exploring()
        learner.tell(idle, np.ones(400))
        assert (learner.since, learner.recommend().rounds) == (900, 0)
        play(learner, [0.3, 0.8], 600, rng)
        assert learner.alarm is None
        assert learner.evidence.rounds == learner.recommend().rounds == 600

    def test_forecasts_and_ends_count_from_there(self):
        rng = np.random.default_rng(0)
        learner = ps.Sieve(constant(), ps.Problem(**ONE), goal="best", rounds=1000, rng=0)
        play(learner, [0.3, 0.8], 1000, rng)
        assert learner.finished
        learner.restart()
        assert not learner.finished
        assert (learner.forecast().rounds, learner.forecast().total) == (0, 1000)


class TestOutcomesOfRoundsThatDoNotCount:
    def test_are_kept_for_the_log_however_late_they_are(self):
        problem = ps.Problem(against=0, outcomes={"sale": (0, 1)}, **ONE)
        learner = ps.Sieve(constant(), problem, goal="best", rng=0)
        learner.stop_exploring()
        idle = learner.ask([0, 1, 2])
        learner.tell(idle, [0, 0, 1])
        learner.resume_exploring()
        early = learner.ask([3, 3])
        learner.tell(early, [0, 1])
        learner.tell_outcomes(idle, {"sale": [1, 0, 1]})
        learner.restart()
        learner.tell_outcomes(early, {"sale": [0, 1]})
        later = learner.ask([1])
        learner.tell(later, [1], outcomes={"sale": [1]})
        assert learner.log.outcomes["sale"][:, 0].tolist() == [1, 0, 1, 0, 1, 1]
        assert learner._late.counted.rounds == 1


def test_a_limit_on_the_loss_holds_where_later_visits_are_worth_more():
    """First visits earn nothing with what runs today, second ones everything."""
    for seed in range(3):
        problem = ps.Problem(against=0, traffic=0.5, max_loss=40, sparsity=None, **ONE)
        learner = ps.Sieve(constant(), problem, goal="best", rng=seed)
        people, lost = np.arange(500), 0.0
        for start in range(0, 500, 100):
            new = learner.ask(np.zeros(100, int), units=people[start : start + 100])
            learner.tell(new, np.zeros(100))
        again = learner.ask(np.zeros(500, int), units=people)
        shown = again.actions[:, 0]
        lost = np.where(shown == 1, again.propensities[:, 0], 1 - again.propensities[:, 0]).sum()
        assert lost <= 40
