"""What is asked of learners, and how their rounds are counted."""

from dataclasses import replace
from math import log, sqrt

import numpy as np
import pytest

import policysieve as ps
from policysieve.bench import rounds
from policysieve.bench.provers import PROVERS
from policysieve.bench.racers import ONE_ACTION_ONLY, RACERS, VOTERS, Racer
from policysieve.bench.rounds import Game, Task, budgets, picking, proving, rounds_needed


def tiny(seed, slate_size=1):
    """One good policy of six, which every learner soon finds."""
    world = ps.worlds.SparseSynthetic(
        n_actions=4,
        n_contexts=20,
        n_policies=6,
        profile="one_good",
        slate_size=slate_size,
        rng=seed,
    )
    return world, ps.PolicyTable(world.pool, n_actions=4)


TINY = Task("tiny", "six policies", tiny, epsilon=0.2)


class TestRoundsNeeded:
    @pytest.mark.parametrize(
        ("shares", "expected"),
        [
            ([0.0, 0.5, 0.9], None),
            ([1.0, 1.0, 1.0], 20),
            ([0.95, 0.95, 0.95], 20),
            ([0.5, 1.0, 1.0], 20 * 1.5**0.9),
            ([0.5, 0.9, 1.0], 30 * sqrt(1.5)),
            ([0.0, 0.95, 1.0], 30),
            ([1.0, 0.9, 1.0], 30 * sqrt(1.5)),
            ([1.0, 0.5, 0.95], 45),
            ([1.0, 1.0, 0.9], None),
        ],
    )
    def test_by_hand(self, shares, expected):
        found = rounds_needed([20, 30, 45], shares)
        assert found == (expected if expected is None else pytest.approx(expected))

    def test_three_budgets_in_a_row_are_enough(self):
        stops = [20, 30, 45, 68, 101]
        assert rounds_needed(stops, [1.0, 1.0, 1.0, 0.5, 1.0]) == 20
        assert rounds_needed(stops, [1.0, 1.0, 0.5, 0.95, 1.0]) == pytest.approx(68)

    def test_nothing_was_measured(self):
        assert rounds_needed([], []) is None


class TestBudgets:
    def test_grow_by_half(self):
        assert budgets(10_000)[:5] == [20, 30, 45, 68, 101]
        assert budgets(10_000)[-1] == round(20 * 1.5 ** int(log(500) / log(1.5)))

    @pytest.mark.parametrize(
        ("most", "expected"), [(19, []), (20, [20]), (29, [20]), (30, [20, 30]), (45, [20, 30, 45])]
    )
    def test_none_is_above_the_most(self, most, expected):
        assert budgets(most) == expected


class Puppet:
    """Recommends what it is told to, by the number of rounds; counts who made it with what."""

    ask_limit, finished = None, False

    def __init__(self, policies, choose):
        self.rounds, self.choose = 0, choose
        self.policies = policies
        self.batches = []

    def ask(self, contexts):
        self.batches.append(len(contexts))
        return ps.Uniform(
            self.policies,
            ps.Problem(n_actions=4, epsilon=0.2, delta=0.05),
            rounds=len(contexts),
            rng=0,
        ).ask(contexts)

    def tell(self, decisions, rewards):
        assert rewards.shape == decisions.actions.shape
        self.rounds += len(rewards)

    def recommend(self):
        class Chosen:
            policy = self.choose(self.rounds)

        return Chosen


def puppets(monkeypatch, planned, choose):
    """A racer that chooses the best or the worst policy by (rounds, seed); and those made."""
    made = []

    def make(policies, problem, rounds, seed):
        values = tiny(seed)[0].values(policies)
        order = np.argsort(values)
        learner = Puppet(policies, lambda n: int(order[-1] if choose(n, seed) else order[0]))
        made.append((rounds, seed, learner))
        return learner

    monkeypatch.setitem(RACERS, "Puppet", Racer(make, planned=planned))
    return made


class TestPicking:
    def test_an_anytime_learner_is_asked_on_the_way(self, monkeypatch):
        made = puppets(monkeypatch, False, lambda n, seed: n >= 40)
        found = picking(TINY, "Puppet", seeds=3, most=110)
        assert found["budgets"] == [20, 30, 45, 68, 101]
        assert [(rounds, seed) for rounds, seed, _ in made] == [(101, 0), (101, 1), (101, 2)]
        assert all(learner.rounds == 101 for _, _, learner in made)
        right = np.array(found["suboptimality"]) <= 0.2
        assert right.tolist() == [[False] * 3] * 2 + [[True] * 3] * 3

    def test_a_planned_learner_is_run_anew_for_each_budget(self, monkeypatch):
        """And beyond the budgets at which all compete until it was right three times in a row."""
        monkeypatch.setattr(rounds, "COMPARED", 40)
        made = puppets(monkeypatch, True, lambda n, seed: n in (20, 30) or n > 60)
        found = picking(TINY, "Puppet", seeds=2, most=10_000, compared=0)
        assert found["budgets"] == [20, 30, 45, 68, 101, 152]
        assert [n for n, _, _ in made] == [n for n in found["budgets"] for _ in range(2)]
        assert all(learner.rounds == n for n, _, learner in made)

    @pytest.mark.parametrize(("compared", "last"), [(152, 152), (200, 152), (228, 228)])
    def test_a_planned_learner_plays_every_budget_at_which_all_compete(
        self, monkeypatch, compared, last
    ):
        """Though it was right three times in a row long before."""
        monkeypatch.setattr(rounds, "COMPARED", compared)
        puppets(monkeypatch, True, lambda n, seed: True)
        found = picking(TINY, "Puppet", seeds=1, most=10_000)
        assert found["budgets"] == budgets(last)

    def test_all_compete_up_to_three_thousand_rounds(self, monkeypatch):
        puppets(monkeypatch, True, lambda n, seed: True)
        found = picking(TINY, "Puppet", seeds=1, most=10_000)
        assert found["budgets"] == budgets(3000)

    @pytest.mark.parametrize(
        ("planned", "options", "last"),
        [(True, {}, 2595), (True, {"compared": 100}, 152), (False, {}, 8758)],
    )
    def test_budgets_that_are_compared(self, monkeypatch, planned, options, last):
        """Those are played by learners that were right long before."""
        puppets(monkeypatch, planned, lambda n, seed: n > 60)
        found = picking(TINY, "Puppet", seeds=2, most=10_000, **options)
        assert found["budgets"] == [n for n in budgets(10_000) if n <= last]

    def test_an_anytime_learner_plays_on_until_it_is_settled(self, monkeypatch):
        """From the beginning each time, with the same result as in one go."""
        made = puppets(monkeypatch, False, lambda n, seed: n > 100)
        found = picking(TINY, "Puppet", seeds=1, most=10_000, compared=0)
        assert [learner.rounds for _, _, learner in made] == [68, 342]
        whole = picking(TINY, "Puppet", seeds=1, most=10_000)
        for key, column in found.items():
            assert column == whole[key][: len(column)]
        assert rounds_needed(found["budgets"], found["right"]) == rounds_needed(
            whole["budgets"], whole["right"]
        )

    def test_batches_are_a_small_part_of_the_rounds_so_far(self):
        game = Game.of(TINY, 0)
        learner = Puppet(game.policies, None)
        game.advance(learner, 300)
        ends = np.cumsum(learner.batches)
        assert ends[-1] == 300
        assert (learner.batches <= np.maximum(1, (ends - learner.batches) / 50)).all()
        assert max(learner.batches) == 5

    @pytest.mark.parametrize(
        ("name", "m"),
        [
            (name, m)
            for name in RACERS
            for m in (1, 2)
            if name != "VowpalWabbit" and (m == 1 or name not in ONE_ACTION_ONLY)
        ],
    )
    def test_every_racer_runs(self, name, m):
        found = picking(replace(TINY, build=lambda seed: tiny(seed, m)), name, seeds=2, most=700)
        gaps = np.array(found["suboptimality"])
        assert gaps.shape == (len(found["budgets"]), 2)
        assert (gaps <= 1).all()
        assert name in VOTERS or (gaps >= 0).all()  # a vote may be better than the best
        assert gaps[-1].mean() < 0.6
        if not RACERS[name].planned:
            assert found["budgets"] == budgets(700)

    def test_the_same_again(self):
        one, two = (picking(TINY, "Sieve", seeds=2, most=100) for _ in range(2))
        assert one == two


class TestProving:
    @pytest.mark.parametrize("learner", PROVERS)
    def test_rounds_to_a_certificate(self, learner):
        found = proving(TINY, learner, seeds=3, most=20_000)
        assert all(5 <= n < 20_000 for n in found["rounds"])
        assert found["median"] == sorted(found["rounds"])[1]
        assert found["false"] == 0
        problem = tiny(0)[0].problem(epsilon=0.2, delta=0.05)
        assert found["planned"] == ps.plan(problem, 6).total_rounds

    @pytest.mark.parametrize("learner", PROVERS)
    def test_given_up(self, learner):
        found = proving(replace(TINY, epsilon=0.001), learner, seeds=3, most=15)
        assert (found["rounds"], found["median"], found["false"]) == ([None] * 3, None, 0)

    def test_the_median_counts_those_that_were_given_up(self, monkeypatch):
        found = iter([None, 50, 70, None, 90, 60])
        monkeypatch.setitem(PROVERS, "Puppet", lambda *_: (0, next(found)))
        assert proving(TINY, "Puppet", seeds=5, most=100)["median"] == 90

    def test_wrong_certificates_are_counted(self, monkeypatch):
        """Once the best policy was proved, once the worst, once the worst without a proof."""
        found = [(np.argmax, 50), (np.argmin, 50), (np.argmin, None)]

        def prove(game, most):
            choose, needed = found[game.seed]
            return int(choose(game.world.values(game.policies))), needed

        monkeypatch.setitem(PROVERS, "Puppet", prove)
        assert proving(TINY, "Puppet", seeds=3, most=100)["false"] == 1
