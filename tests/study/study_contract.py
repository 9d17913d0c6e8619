"""What every database must do for a study; a back end inherits these tests and gives `url`."""

import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sqlalchemy import create_engine, text

import policysieve as ps
from policysieve.exploration.learners import LEARNERS
from policysieve.study import summaries
from policysieve.study.probes import probed_places
from tests.study.cases import (
    PROBLEM,
    K,
    N,
    contexts,
    linear,
    play,
    rewards_of,
    same_bits,
)

_SETTINGS = {
    "Exp4": {"rounds": 60},
    "EpsilonGreedy": {"rounds": 60},
    "Uniform": {"rounds": 60},
    "ExplorationByOptimization": {"rounds": 60},
    "LowVarianceExploration": {"explore_rounds": 30, "estimate_rounds": 30},
    "LogBarrier": {"explore_rounds": 30, "estimate_rounds": 30},
    "ListWeights": {"explore_rounds": 30, "estimate_rounds": 30},
}


_PROBLEMS = {
    "revenue": ps.Problem(n_actions=K, epsilon=2, delta=0.05, reward_range=(-5, 20), no_answer=-1),
    "costs": ps.Problem(
        n_actions=K, epsilon=3, delta=0.05, reward_range=(0, 30), objective="minimize"
    ),
    "against": replace(PROBLEM, against=1),
    "traffic": replace(PROBLEM, against=1, traffic=0.4),
}


class StudyContract:
    @pytest.fixture
    def url(self):
        raise NotImplementedError

    @pytest.fixture
    def study(self, url):
        with ps.Study.create(url, "homepage", linear(), PROBLEM, seed=0) as made:
            yield made

    def opened(self, url, **options):
        return ps.Study.open(url, "homepage", linear(), **options)

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

    @pytest.mark.parametrize("name", _PROBLEMS)
    def test_problems_of_every_kind_are_studied_as_in_memory(self, url, name, monkeypatch):
        monkeypatch.setattr("policysieve.study.snapshots.EVERY", 50)
        problem = _PROBLEMS[name]
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
        for kind, policies in (("linear", linear()), ("table", _table(fallback=[4, 3, 2, 1, 0]))):
            made, twin = (
                ps.Study.create(url, kind + add, policies, PROBLEM, seed=0) for add in ("", " twin")
            )
            for start in range(0, 16, 4):
                for one in (made, twin):
                    _play_any(one, 4, 11, start, restricted=start != 4)
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

    def test_what_cannot_be_kept_is_refused(self, url):
        sale = replace(PROBLEM, outcomes={"sale": (0, 1)})
        guarded = replace(sale, against=1, guardrails={"sale": 0.01})
        for problem, options, what in (
            (sale, {}, "neither outcomes nor guardrails"),
            (guarded, {}, "neither outcomes nor guardrails"),
            (replace(PROBLEM, against=1, max_loss=5.0), {}, "no max_loss"),
            (PROBLEM, {"settings": {"additions": 2}}, "additions must be 0"),
            (_PROBLEMS["revenue"], {"settings": {"additions": True}}, "additions must be 0"),
            (replace(_PROBLEMS["costs"], reward_range=(3, 9)), {"deadline": 9}, "no_answer"),
        ):
            with pytest.raises(ps.InvalidArgumentError, match=what):
                ps.Study.create(url, "refused", linear(), problem, **options)
        ps.Study.create(url, "good", linear(), PROBLEM, settings={"additions": 0})
        assert [one.name for one in summaries(url)] == ["good"]

    def test_decisions_and_rewards_are_there_for_others_at_once(self, study, url):
        decisions = study.ask(contexts(3))
        other = self.opened(url)
        assert other.open_decisions().ids.tolist() == decisions.ids.tolist()
        again = other.decisions(decisions.ids[[2, 0]])
        np.testing.assert_array_equal(again.actions, decisions.actions[[2, 0]])
        np.testing.assert_array_equal(again.propensities, decisions.propensities[[2, 0]])
        np.testing.assert_array_equal(again.contexts, decisions.contexts[[2, 0]])
        other.tell(decisions.ids, rewards_of(decisions))
        assert study.status().told == 3
        assert len(study.open_decisions()) == 0

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

    def test_the_same_reward_again_changes_nothing(self, study):
        decisions = study.ask(contexts(4))
        told = study.tell(decisions.ids, rewards_of(decisions))
        assert (told.counted, told.again) == (4, 0)
        before = study.status().to_dict()
        told = study.tell(decisions.ids[:3], rewards_of(decisions)[:3])
        assert (told.counted, told.again) == (0, 3)
        assert _without_times(study.status().to_dict()) == _without_times(before)

    def test_another_reward_for_a_settled_id_is_refused_and_kept(self, study):
        first, second = study.ask(contexts(1)), study.ask(contexts(1, seed=1))
        study.tell(first.ids, [1.0])
        ids = [*first.ids, *second.ids]
        for _ in range(2):
            with pytest.raises(ps.DecisionsError, match=f"others for '{first.ids[0]}'"):
                study.tell(ids, [0.0, 1.0])
        status = study.status()
        assert (status.told, status.open, status.refused) == (1, 1, 1)
        assert study.log().rewards.tolist() == [[1.0]]

    def test_unknown_ids_are_named_and_nothing_is_changed(self, study):
        decisions = study.ask(contexts(2))
        mark = decisions.issuer
        wrong = ["nobody", f"{mark}-2", f"{mark}-01", f"{mark}-", "other-0"]
        for one in wrong:
            with pytest.raises(ps.DecisionsError, match=one):
                study.tell([decisions.ids[0], one], [1.0, 1.0])
        assert study.status().told == 0

    def test_ids_may_be_given_and_are_unique(self, study, url):
        names = ["a", "order 7", "ä-1"]
        decisions = study.ask(contexts(3), ids=names)
        assert decisions.ids.tolist() == names
        with pytest.raises(ps.DecisionsError, match="'order 7'"):
            study.ask(contexts(2), ids=["new", "order 7"])
        with pytest.raises(ps.DecisionsError, match=f"{decisions.issuer}-9"):
            study.ask(contexts(1), ids=[f"{decisions.issuer}-9"])
        with pytest.raises(ps.InvalidArgumentError, match="twice"):
            study.ask(contexts(2), ids=["b", "b"])
        assert study.status().rounds == 3
        assert self.opened(url).tell(names[::-1], [0.0, 0.0, 1.0]).counted == 3
        assert study.log().rewards[:, 0].tolist() == [1.0, 0.0, 0.0]

    def test_a_frame_of_ids_and_rewards_is_told(self, study):
        decisions = study.ask(contexts(3))
        frame = pd.DataFrame({"id": decisions.ids, "reward": [1.0, 0.0, 0.5]})
        assert study.tell(frame.iloc[::-1]).counted == 3
        assert study.log().rewards[:, 0].tolist() == [1.0, 0.0, 0.5]
        with pytest.raises(ps.InvalidArgumentError, match="id, reward"):
            study.tell(frame.rename(columns={"reward": "click"}))
        with pytest.raises(ps.InvalidArgumentError, match="row 1"):
            study.tell(frame.assign(reward=[1.0, None, 0.0]))

    def test_rounds_that_are_far_apart_are_found(self, study, monkeypatch):
        monkeypatch.setattr("policysieve.study.ledger._GAP", 5)
        monkeypatch.setattr("policysieve.study.ledger._AT_ONCE", 2)
        asked = [study.ask(contexts(3, seed=k)) for k in range(12)]
        places = [34, 0, 17, 35, 1, 20]
        found = study.decisions([asked[p // 3].ids[p % 3] for p in places])
        assert found.numbers.tolist() == places
        for row, p in enumerate(places):
            one = asked[p // 3]
            np.testing.assert_array_equal(found.contexts[row], one.contexts[p % 3])
            assert found.actions[row] == one.actions[p % 3]
            assert found.asked[row] == one.asked[p % 3]
        told = study.tell(found.ids, [1.0, 0.0, 0.5, 0.25, 1.0, 0.0])
        assert told.counted == 6
        assert study.tell(found.ids[::-1], [0.0, 1.0, 0.25, 0.5, 0.0, 1.0]).again == 6

    def test_many_contexts_are_asked_for_at_once(self, study, url):
        x = contexts(2300)
        decisions = study.ask(x)
        assert len(set(decisions.ids)) == 2300
        every = study.exploration.propensities(x)
        shown = np.take_along_axis(every, decisions.actions.astype(int), 1)
        np.testing.assert_array_equal(shown, decisions.propensities)
        study.tell(decisions, rewards_of(decisions))
        log = self.opened(url).log()
        np.testing.assert_array_equal(log.contexts, x)
        np.testing.assert_array_equal(log.actions, decisions.actions)
        assert study.verify().holds

    def test_bad_calls_change_nothing(self, study):
        decisions = study.ask(contexts(2))
        before = _without_times(study.status().to_dict())
        for call in (
            lambda: study.ask(np.zeros((2, 3))),
            lambda: study.ask(["text"]),
            lambda: study.ask(contexts(2), ids=["one"]),
            lambda: study.tell(decisions.ids, [2.0, 0.0]),
            lambda: study.tell(decisions.ids, [1.0]),
            lambda: study.tell(decisions.ids),
            lambda: study.discard(decisions.ids, reason=" "),
            lambda: study.expire(),
        ):
            with pytest.raises(ps.InvalidArgumentError):
                call()
        assert _without_times(study.status().to_dict()) == before

    def test_what_is_late_is_settled_kept_and_reported(self, url, monkeypatch):
        made = ps.Study.create(url, "late", linear(), PROBLEM, seed=0, deadline="2h")
        shift = _clock(made, monkeypatch)
        old = made.ask(contexts(2))
        shift(7100)
        new = made.ask(contexts(2, seed=1))
        made.tell(old.ids[:1], [1.0])
        shift(200)
        told = made.tell(old.ids[1:], [1.0])  # nobody had looked at the clock before
        assert (told.counted, told.late) == (0, (old.ids[1],))
        made.tell(new.ids, [0.0, 1.0])
        assert made.tell(old.ids[1:], [1.0]).late == (old.ids[1],)
        status = made.status()
        assert (status.told, status.expired, status.late, status.learnt) == (3, 1, 1, 4)
        assert made.log().rewards[:, 0].tolist() == [1.0, 0.0, 0.0, 1.0]

    def test_a_deadline_frees_the_prefix_by_itself(self, url, monkeypatch):
        problem = replace(PROBLEM, no_answer=0.25)
        made = ps.Study.create(url, "late", linear(), problem, seed=0, deadline=60)
        shift = _clock(made, monkeypatch)
        made.ask(contexts(3))
        shift(61)
        play(made, 2, 5)
        assert made.status().learnt == 13
        assert made.log().rewards[:3, 0].tolist() == [0.25] * 3

    def test_decisions_can_be_expired_and_given_up(self, study, monkeypatch):
        shift = _clock(study, monkeypatch)
        old = study.ask(contexts(2))
        shift(100)
        new = study.ask(contexts(2, seed=1))
        assert study.open_decisions(older_than="90s").ids.tolist() == old.ids.tolist()
        assert study.expire(older_than=90) == old.ids.tolist()
        assert study.discard(new.ids[:1], reason="the shop was down") == new.ids[:1].tolist()
        with pytest.raises(ps.DecisionsError, match=str(new.ids[0])):
            study.discard(new.ids, reason="again")
        assert study.tell(new.ids, [1.0, 1.0]).late == (new.ids[0],)
        status = study.status()
        assert (status.expired, status.discarded, status.told, status.open) == (2, 1, 1, 0)
        assert study.log().rewards[:, 0].tolist() == [0.0, 0.0, 1.0]
        assert study.recommend().rounds == 3

    def test_past_its_deadline_nothing_is_given_up_whoever_has_looked(self, url, monkeypatch):
        said = []
        for looked in (False, True):
            name = f"looked {looked}"
            made = ps.Study.create(url, name, linear(), PROBLEM, seed=0, deadline="1h")
            shift = _clock(made, monkeypatch)
            decisions = made.ask(contexts(2), ids=["a", "b"])
            made.discard("a", reason="in time")
            shift(3601)
            if looked:
                made.expire()
            for wanted in ("b", ["b", "a"]):
                with pytest.raises(ps.DecisionsError, match="nothing was changed") as error:
                    made.discard(wanted, reason="too late")
                said.append(str(error.value))
            assert made.tell(decisions.ids[1:], [1.0]).late == ("b",)
            status = made.status()
            assert (status.expired, status.discarded, status.late) == (1, 1, 1)
        assert said[:2] == said[2:]
        assert "'b' has expired" in said[0]
        assert "'a' was given up before" in said[1]

    def test_the_same_reward_twice_in_one_call_counts_once(self, study):
        decisions = study.ask(contexts(3), ids=["a", "b", "c"])
        mark = decisions.issuer
        told = study.tell(["a", "b", "a", f"{mark}-1"], [1.0, 0.0, 1.0, 0.0])
        assert (told.counted, told.again, told.late) == (2, 2, ())
        told = study.tell(["a", "c", "c"], [1.0, 0.0, 0.0])
        assert (told.counted, told.again) == (1, 2)
        assert study.log().rewards[:, 0].tolist() == [1.0, 0.0, 0.0]
        frame = pd.DataFrame({"id": ["a", "a"], "reward": [1.0, 1.0]})
        assert study.tell(frame).again == 2

    def test_two_rewards_for_one_id_in_one_call_change_nothing(self, study):
        decisions = study.ask(contexts(2), ids=["a", "b"])
        for ids in (["a", "b", "b"], ["a", "b", f"{decisions.issuer}-1"]):
            with pytest.raises(ps.DecisionsError, match=r"got \[0.0\] and \[1.0\] for 'b'"):
                study.tell(ids, [1.0, 0.0, 1.0])
        status = study.status()
        assert (status.told, status.open, status.refused) == (0, 2, 0)

    def test_one_round_is_given_up_once_whatever_it_is_called(self, study):
        decisions = study.ask(contexts(2), ids=["a", "b"])
        study.discard(["a", f"{decisions.issuer}-0"], reason="lost")
        assert study.status().discarded == 1

    def test_what_waits_behind_open_decisions_is_said(self, study, url, tmp_path):
        assert study.recommend().guarantee.endswith("no round was told.")
        assert study.status().held_up is None
        first, second = study.ask(contexts(2), ids=["a", "b"]), study.ask(contexts(3, seed=1))
        assert study.status().held_up is None
        study.tell([*second.ids, "b"], [0.0, 1.0, 0.0, 1.0])
        status = study.status()
        assert (status.waiting, status.open, status.oldest_open_id) == (4, 1, "a")
        for said in (
            study.recommend().guarantee,
            status.cost.guarantee,
            status.to_dict()["held_up"],
            self.opened(url, learn=False).recommend().guarantee,
        ):
            assert "4 settled rounds wait behind an open one, 'a', asked for at " in said
            assert "expire or discard" in said
        with pytest.raises(ps.InvalidArgumentError, match="wait behind an open one"):
            study.log(tmp_path / "log.csv")
        study.report(tmp_path / "page.html")
        assert "4 settled rounds wait behind" in (tmp_path / "page.html").read_text()
        study.tell(first.ids[:1], [0.0])
        assert study.status().held_up is None
        assert study.recommend().rounds == 5

    def test_a_clock_that_jumps_neither_loses_nor_blocks_anything(self, url, monkeypatch):
        made = ps.Study.create(url, "jumps", linear(), PROBLEM, seed=0, deadline="1h")
        shift = _clock(made, monkeypatch)
        made.ask(contexts(2))
        shift(-7200)  # asked in the future, now
        play(made, 1, 3)
        assert made.status().learnt == 0
        shift(3700)
        play(made, 1, 3, start=1)
        assert made.status().learnt == 8
        shift(10**7)
        play(made, 1, 3, start=2)
        assert made.status().learnt == 11
        assert made.verify().holds

    def test_another_class_is_refused_and_what_differs_is_named(self, url):
        kinds = ["small", "large"]
        made = ps.Study.create(
            url,
            "shop",
            ps.FunctionPolicies({"a": _zero, "b": _one}, actions=kinds),
            ps.Problem(actions=kinds, epsilon=0.1, delta=0.05),
            version="v1",
        )
        made.ask(contexts(3))

        def policies(**others):
            return ps.FunctionPolicies({"a": _zero, "b": _one} | others, actions=kinds)

        assert ps.Study.open(url, "shop", policies(), version="v1").status().rounds == 3
        for other, version, what in (
            (policies(c=_one), "v1", "n_policies is 3, not 2.*new are 'c'"),
            (policies(b=_zero), "v1", "1 of 2 answer otherwise.*b with .0. where it answered .1."),
            (policies(), "v2", "version is 'v2', not 'v1'"),
            (linear(), "v1", "kind is 'LinearPolicies'"),
        ):
            with pytest.raises(ps.InvalidArgumentError, match=what):
                ps.Study.open(url, "shop", other, version=version)
        ps.Study.create(url, "numbers", linear(), PROBLEM)
        with pytest.raises(ps.InvalidArgumentError, match="numbers that they are made of"):
            ps.Study.open(url, "numbers", ps.LinearPolicies(np.ones((N, K, 4))))

    def test_later_asks_fill_up_what_functions_are_compared_at(self, url):
        kinds = ps.Problem(n_actions=2, epsilon=0.1, delta=0.05)

        def policies(change=-np.inf):
            return ps.FunctionPolicies(
                [_zero, lambda x: (x[:, 0] > change).astype(int)], n_actions=2
            )

        def rows(*values):
            return np.array(values, float)[:, None]

        made = ps.Study.create(url, "shop", policies(), kinds, seed=0)
        assert _probed(made) == []
        made.ask(rows(5.0))
        made.ask(rows(4.0), available=[[0, 1]])  # answers where not everything is available
        ps.Study.open(url, "shop", policies(4.5)).ask(rows(6.0))  # nothing tells them apart yet
        other = ps.Study.open(url, "shop", policies())
        other.ask(rows(3.0))
        assert _probed(other) == [0, 2, 3]
        with pytest.raises(ps.InvalidArgumentError, match=r"1 of 2 answer otherwise.*with \[0\]"):
            ps.Study.open(url, "shop", policies(3.5))
        ps.Study.open(url, "shop", policies(3.5), probe=False).ask(rows(2.0))
        assert _probed(other) == [0, 2, 3]
        made.ask(rows(1.0, 0.0))
        made.ask(rows(-1.0))
        assert _probed(made) == [0, 2, 3, 5]
        made.forget(f"{made._record.mark}-6")
        assert len(_probed(made)) == 4
        made.forget(f"{made._record.mark}-5")
        assert _probed(made) == []
        ps.Study.open(url, "shop", policies()).ask(rows(-2.0))
        assert _probed(made) == [8]

    def test_a_name_is_taken_once(self, url, study):
        with pytest.raises(ps.InvalidArgumentError, match="there is a study 'homepage'"):
            ps.Study.create(url, "homepage", linear(), PROBLEM)
        with pytest.raises(ps.InvalidArgumentError, match="has 'homepage', got 'hompage'"):
            ps.Study.open(url, "hompage", linear())
        assert [(one.name, one.rounds) for one in summaries(url)] == [("homepage", 0)]

    def test_contexts_of_every_kind_come_back(self, url):
        frame = pd.DataFrame({"age": [31, None, 5], "shop": pd.Categorical(["a", "b", "a"])})
        kinds = {
            "numbers": np.arange(6.0).reshape(3, 2),
            "whole": np.array([3, 1, 2]),
            "text": np.array(["x", "ü", "z" * 500], dtype=object),
            "dicts": [{"a": 1, "b": "x"}, {"a": None, "b": "y"}, {"a": 3, "b": "z"}],
            "frame": frame,
        }
        policies = ps.FunctionPolicies([_zero, _one], n_actions=2)
        problem = ps.Problem(n_actions=2, epsilon=0.1, delta=0.05)
        for name, given in kinds.items():
            made = ps.Study.create(url, name, policies, problem)
            decisions = made.ask(given)
            made.tell(decisions.ids, [1.0, 0.0, 1.0])
            more = made.ask(given)
            made.tell(more.ids, [1.0, 0.0, 1.0])
            kept = ps.Study.open(url, name, policies).log().contexts
            assert kept.tolist() == 2 * decisions.contexts.tolist(), name

    def test_only_hashes_are_kept_where_that_is_asked_for(self, url):
        twin = ps.Study.create(url, "open", linear(), PROBLEM, seed=0)
        made = ps.Study.create(url, "secret", linear(), PROBLEM, seed=0, keep_contexts=False)
        play(twin, 10, 10), play(made, 10, 10)
        assert made.recommend() == twin.recommend()
        assert made.verify().holds
        hashes = made.log().contexts
        assert all(len(one) == 40 for one in hashes)
        assert len(set(hashes)) == 100
        table = ps.PolicyTable(np.zeros((3, 2), int), n_actions=K)
        with pytest.raises(ps.InvalidArgumentError, match="keep_contexts"):
            ps.Study.create(url, "table", table, PROBLEM, keep_contexts=False)

    def test_contexts_can_be_erased_and_the_proof_stays(self, study, url):
        play(study, 10, 10)
        before = study.recommend()
        ids = [f"{study.ask(contexts(1)).issuer}-{place}" for place in (0, 7, 8, 55)]
        study.forget(ids[:2])
        study.forget(ids)
        assert study.status().forgotten == 4
        left = study.log()
        assert len(left) == 96
        whole = np.concatenate([contexts(10, seed=number) for number in range(10)])
        np.testing.assert_array_equal(left.contexts, np.delete(whole, [0, 7, 8, 55], axis=0))
        again = self.opened(url)
        assert again.recommend() == before
        assert again.verify().holds
        with pytest.raises(ps.DecisionsError, match="nobody"):
            study.forget(["nobody"])

    def test_everything_is_folded_again_and_compared(self, study, url):
        play(study, 30, 9)
        found = study.verify()
        assert found.holds
        assert (found.rounds, found.explorations) == (270, study.status().exploration)
        engine = create_engine(study._storage.url)
        with engine.begin() as connection:  # somebody changes a reward behind our back
            changed = text("UPDATE ps_rewards SET rewards = :r WHERE place = 3")
            connection.execute(changed, {"r": np.array([0.5]).tobytes()})
        engine.dispose()
        found = self.opened(url).verify()
        assert not found.holds
        assert "is not what the first" in found.differences[0]

    def test_snapshots_open_to_the_same_bits(self, url, monkeypatch):
        monkeypatch.setattr("policysieve.study.snapshots.EVERY", 50)
        for learner, policies in (("Sieve", linear()), ("Sieve", _table()), ("Uniform", linear())):
            name = f"{learner} {type(policies).__name__}"
            options = {"learner": learner, "settings": _SETTINGS.get(learner), "seed": 0}
            made, twin = (
                ps.Study.create(url, name + add, policies, PROBLEM, **options)
                for add in ("", " twin")
            )
            for start in range(0, 16, 4):
                for one in (made, twin):
                    _play_any(one, 4, 11, start)
                made.close()
                made = ps.Study.open(url, name, policies)
            latest = made._worker._snapshots
            with made._storage.reading() as connection:
                assert latest.latest(connection, made._worker.start).learnt > 120
            assert same_bits(made, twin)
            assert made.verify().holds

    def test_an_archived_study_is_only_looked_at(self, study, url):
        play(study, 2, 5)
        study.archive()
        for one in (study, self.opened(url)):
            assert one.recommend().rounds == 10
            for call in (
                lambda one=one: one.ask(contexts(1)),
                lambda one=one: one.tell("x", 1.0),
                lambda one=one: one.learn(),
            ):
                with pytest.raises(ps.InvalidArgumentError, match="archived"):
                    call()
            assert one.status().archived

    def test_a_log_is_written_as_it_is_read(self, study, tmp_path):
        play(study, 4, 25)
        for name in ("log.parquet", "log.csv", "log.jsonl"):
            written = study.log(tmp_path / name)
            assert len(written) == 100
            np.testing.assert_allclose(written.whole()[0].rewards, study.log().rewards)
        with pytest.raises(ps.InvalidArgumentError, match="exists"):
            study.log(tmp_path / "log.parquet")

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
        shift = _clock(second, monkeypatch)
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
        shift = _clock(study, monkeypatch)
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
            settings, policies = _SETTINGS.get(learner), linear()
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

    def test_bad_settings_create_nothing(self, url):
        for options, what in (
            ({"learner": "Sift"}, "one of Sieve"),
            ({"settings": {"gaol": "best"}}, "gaol"),
            ({"settings": {"goal": "good"}}, "goal"),
            ({"settings": {"goal": object()}}, "numbers, words"),
            ({"deadline": "soon"}, "90s"),
            ({"seed": -1}, "seed"),
            ({"keep_contexts": 1}, "keep_contexts"),
            ({"version": 3}, "version"),
        ):
            with pytest.raises(ps.InvalidArgumentError, match=what):
                ps.Study.create(url, "bad", linear(), PROBLEM, **options)
        ps.Study.create(url, "good", linear(), PROBLEM)
        assert [one.name for one in summaries(url)] == ["good"]

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

    def test_times_are_those_of_the_database(self, study):
        assert abs(study.ask(contexts(1)).asked[0] - time.time()) < 60


def _learn_again(study, learner):
    """Let a learner in memory learn from the rounds of a study."""
    log = study.log()
    assert isinstance(log, ps.Log)
    with study._storage.reading() as connection:
        for batch in study._ledger.all_batches(connection):
            played = study._ledger.exploration(connection, batch.exploration)
            learner.learn(log[batch.first : batch.end], played)


def _clock(study, monkeypatch):
    """Let the clock of the database be ahead; what is returned moves it on."""
    storage, ahead = study._storage, [0.0]
    real = storage.now
    monkeypatch.setattr(storage, "now", lambda connection: real(connection) + ahead[0])

    def shift(seconds):
        ahead[0] += seconds

    return shift


def _without_times(status):
    times = ("oldest_open", "as_of", "held_up")
    return {name: value for name, value in status.items() if name not in times}


def _probed(study):
    """Places of the rounds whose answers are kept to tell another class apart."""
    with study._storage.reading() as connection:
        found = connection.execute(text("SELECT probes FROM ps_studies WHERE name = 'shop'"))
        return probed_places(found.scalar_one())


def _zero(x):
    return np.zeros(len(x), int)


def _one(x):
    return np.ones(len(x), int)


def _table(fallback=None):
    table = np.random.default_rng(1).integers(K, size=(30, N))
    return ps.PolicyTable(table, n_actions=K, fallback=fallback)


def _play_any(study, n_batches, size, start, *, restricted=False):
    """Contexts are rows of a table, or features; rewards are a function of what is shown there."""
    for number in range(start, start + n_batches):
        rng = np.random.default_rng(number)
        x = contexts(size, seed=number)
        if isinstance(study.policies, ps.PolicyTable):
            x = rng.integers(30, size=size)
        available = None
        if restricted:
            available = rng.random((size, K)) < 0.6
            available[:, 2] = True
        decisions = study.ask(x, available=available)
        right = study.policies.actions(x)[:, 3]
        study.tell(decisions, (decisions.actions == right).astype(float))
