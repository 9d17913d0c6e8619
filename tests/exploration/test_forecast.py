"""How many rounds it will take: planned ones exactly, a proof as often as said within a range."""

import datetime
import json
import math
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

import policysieve as ps
from policysieve.exploration.forecast import about, forecast_of_proof
from tests.oracles import forecast as oracle
from tests.statistics import assert_binomial

TODAY = datetime.date(2026, 3, 1)


def world(seed, **settings):
    given = {"n_actions": 8, "n_contexts": 100, "n_policies": 30, "profile": "close", **settings}
    made = ps.worlds.SparseSynthetic(rng=seed, **given)
    return made, ps.PolicyTable(made.pool, n_actions=given["n_actions"])


def play(learner, made, rounds, seed=0):
    """Up to so many rounds, or the end."""
    rng = np.random.default_rng([seed, learner.rounds])
    while learner.rounds < rounds and not learner.finished:
        draw = made.draw(max(1, min(learner.ask_limit or 50, rounds - learner.rounds)), rng)
        decisions = learner.ask(draw.contexts)
        learner.tell(decisions, draw.rewards(decisions.actions))
    return learner


def sieve(seed=0, played=400, epsilon=0.1, **arguments):
    made, policies = world(seed)
    problem = made.problem(epsilon=epsilon, delta=0.05)
    return play(ps.Sieve(policies, problem, rng=seed, **arguments), made, played, seed)


class TestProof:
    def test_is_what_the_evidence_says(self):
        learner = sieve()
        found, times = learner.forecast(), learner.evidence.times_to_proof()
        look = learner.evidence.next_look
        assert times > 1
        assert (found.total, found.lower, found.upper) == oracle.interval(times, 400, look)
        assert found.rounds == 400
        assert found.left == found.total - 400
        assert found.level == 0.8
        assert not found.exact
        assert found.proof_expected == found.total

    @pytest.mark.parametrize(("rounds", "says"), [(0, "there are 0"), (99, "there are 99")])
    def test_of_few_rounds_nothing(self, rounds, says):
        found = sieve(played=rounds).forecast(per_day=10)
        assert (found.total, found.lower, found.upper, found.left) == (None,) * 4
        assert (found.days, found.days_lower, found.days_upper, found.date) == (None,) * 4
        assert found.sentence().startswith("No forecast: 100 rounds are needed")
        assert says in found.reason

    def test_of_what_is_too_far_nothing(self):
        made, policies = world(0, n_actions=200, n_policies=300)
        problem = made.problem(epsilon=0.001, delta=0.01)
        learner = play(ps.Sieve(policies, problem, rng=0), made, 120)
        assert learner.forecast().total is None
        assert "more than a hundred times" in learner.forecast().sentence()

    def test_never_before_the_next_look(self):
        found = forecast_of_proof(1.0, rounds=400, next_look=420, limit=None)
        assert (found.lower, found.total, found.upper) == (420, 420, 520)

    def test_of_a_proof_that_is_there(self):
        learner = sieve(played=100_000, epsilon=0.3)
        assert learner.finished
        found = learner.forecast(per_day=10)
        assert found.exact
        assert (found.left, found.days) == (0, 0.0)
        assert found.proof_expected is None
        assert found.sentence() == "It has finished."

    def test_without_early_rounds_nothing(self):
        found = sieve(memory_limit=0).forecast()
        assert found.total is None
        assert "memory limit" in found.sentence()

    @pytest.mark.parametrize(("limit", "likely"), [(401, "probably"), (10**6, None)])
    def test_says_if_the_learner_stops_before(self, limit, likely):
        found = sieve(rounds=limit).forecast()
        assert found.limit == limit
        assert ("The learner stops after" in found.sentence()) == (likely is not None)
        assert likely is None or f"{limit:,} rounds, {likely} before that." in found.sentence()

    def test_looking_changes_nothing(self):
        one, other = sieve(played=300), sieve(played=300)
        assert one.forecast(per_day=3).rounds == 300
        made = world(0)[0]
        play(one, made, 500)
        play(other, made, 500)
        assert one.log.actions.tolist() == other.log.actions.tolist()
        assert one.forecast() == other.forecast()

    def test_of_policy_elimination(self):
        made, policies = world(1)
        problem = made.problem(epsilon=0.1, delta=0.05)
        learner = play(ps.PolicyElimination(policies, problem, rng=0), made, 300)
        assert 300 < learner.forecast().lower < learner.forecast().total

    @pytest.mark.parametrize("rank", [0, 20])
    def test_of_beating_whichever_comes_first(self, rank):
        made, policies = world(2)
        today = int(np.argsort(-made.values(policies), kind="stable")[rank])
        problem = made.problem(epsilon=0.1, delta=0.05, against=today)
        learner = play(ps.Sieve(policies, problem, goal="beat", rng=0), made, 300)
        if learner.finished:
            pytest.skip("it was quicker")
        evidence = learner.evidence
        both = [evidence.times_to_gain(), evidence.led_by(today).times_to_proof()]
        times = min(one for one in both if one is not None)
        expected = oracle.interval(times, 300, evidence.next_look)
        found = learner.forecast()
        assert (found.total, found.lower, found.upper) == expected


def test_intervals_hold_as_often_as_they_say():
    """On worlds and seeds that had no part in choosing them, at half of the rounds."""
    held = runs = 0
    for seed in range(24):
        made, policies = world(
            seed, n_actions=10, profile=("close", "clusters", "confusable")[seed % 3]
        )
        learner = ps.Sieve(policies, made.problem(epsilon=0.08, delta=0.05), rng=seed)
        said = []
        while not learner.finished:
            play(learner, made, learner.evidence.next_look, seed)
            said.append(learner.forecast())
        needed = learner.rounds
        early = [one for one in said if one.rounds <= needed / 2 and one.total is not None]
        if early:
            runs += 1
            held += early[-1].lower <= needed <= early[-1].upper
    assert runs >= 16
    assert_binomial(held, runs, 0.8, alpha=0.01)


class TestPlanned:
    def learner(self, kind, **arguments):
        made, policies = world(0)
        problem = made.problem(epsilon=0.3, delta=0.1)
        return made, kind(policies, problem, rng=0, **arguments)

    @pytest.mark.parametrize(
        "kind", [ps.Uniform, ps.Exp4, ps.EpsilonGreedy, ps.ExplorationByOptimization]
    )
    def test_what_is_left_exactly(self, kind):
        made, learner = self.learner(kind, rounds=500)
        assert (learner.forecast().total, learner.forecast().left) == (500, 500)
        play(learner, made, 120)
        found = learner.forecast(per_day=100)
        assert (found.total, found.lower, found.upper, found.left) == (500, 500, 500, 380)
        assert (found.level, found.exact, found.days) == (1.0, True, 3.8)
        assert found.sentence().startswith("It ends as planned after 500 rounds, 380 more. At 100")
        play(learner, made, 500)
        assert learner.forecast().sentence() == "It has finished."

    def test_both_phases(self):
        sizes = {"explore_rounds": 60, "estimate_rounds": 100}
        made, learner = self.learner(ps.LogBarrier, **sizes)
        for rounds in (0, 30, 60, 130, 160):
            play(learner, made, rounds)
            assert (learner.forecast().total, learner.forecast().left) == (160, 160 - rounds)

    def test_a_phase_whose_size_is_not_known_yet(self):
        made, policies = world(0)
        problem = replace(made.problem(epsilon=0.3, delta=0.1), sparsity=None)
        learner = ps.LowVarianceExploration(policies, problem, explore_rounds=50, rng=0)
        found = learner.forecast()
        assert (found.total, found.reason) == (
            None,
            "the size of phase 2 is known when phase 1 has ended.",
        )
        play(learner, made, 50)
        assert learner.forecast().total == 50 + learner.estimate_rounds

    def test_phases_that_a_proof_may_end(self):
        sizes = {"explore_rounds": 60, "estimate_rounds": 100, "stop": "certified"}
        _, learner = self.learner(ps.LogBarrier, **sizes)
        found = learner.forecast()
        assert (found.total, found.limit) == (None, 160)
        assert "at the latest after 160 rounds" in found.sentence()

    def test_a_sieve_for_the_best(self):
        made, learner = self.learner(ps.Sieve, goal="best", rounds=200)
        play(learner, made, 150)
        assert (learner.forecast().total, learner.forecast().exact) == (200, True)
        _, endless = self.learner(ps.Sieve, goal="best")
        assert "never stops by itself" in endless.forecast().sentence()


class TestInWords:
    found = replace(
        forecast_of_proof(9.0, rounds=400, next_look=420, limit=None), per_day=100, day=TODAY
    )

    def test_days_and_date(self):
        assert (self.found.lower, self.found.total, self.found.upper) == (1200, 2766, 4680)
        assert self.found.days == 23.66
        assert (self.found.days_lower, self.found.days_upper) == (8.0, 42.8)
        assert self.found.date == datetime.date(2026, 3, 25)
        assert self.found.sentence() == (
            "The proof is expected after about 2,800 rounds in all, 2,400 more; in 80% of such "
            "cases it came after 1,200 to 4,700. At 100 rounds a day that takes 24 days (8 to 43), "
            "around 2026-03-25."
        )

    def test_what_no_calendar_has(self):
        slow = replace(self.found, per_day=1e-9)
        assert slow.date is None
        assert "around" not in slow.sentence()

    def test_plain_values(self):
        plain = json.loads(json.dumps(self.found.to_dict()))
        assert plain["date"] == "2026-03-25"
        assert plain["left"] == 2366
        assert plain["sentence"] == self.found.sentence()

    def test_frozen(self):
        with pytest.raises(FrozenInstanceError):
            self.found.total = 3

    def test_a_card(self):
        html = self.found._repr_html_()
        assert "2,766" in html
        assert "1,200 to 4,680" in html

    @pytest.mark.parametrize(
        ("number", "text"),
        [(None, "0"), (0, "0"), (0.04, "0"), (0.26, "0.3"), (5.83, "5.8"), (58.3, "58")]
        + [(583, "580"), (99_999, "100,000"), (1234567, "1,200,000")],
    )
    def test_about(self, number, text):
        assert about(number) == text

    @pytest.mark.parametrize("per_day", [0, -1, math.inf, math.nan, "many", True])
    def test_traffic_that_is_none(self, per_day):
        learner = sieve(played=0)
        with pytest.raises(ps.InvalidArgumentError, match="per_day must be"):
            learner.forecast(per_day=per_day)
