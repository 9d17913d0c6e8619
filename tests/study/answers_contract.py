"""What every database must do with decisions and rewards."""

import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import policysieve as ps
from tests.study.cases import PROBLEM, contexts, linear, play, rewards_of
from tests.study.studies import Studies, clock, without_times


class AnswersContract(Studies):
    """What counts, what is late, and what is refused."""

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

    def test_the_same_reward_again_changes_nothing(self, study):
        decisions = study.ask(contexts(4))
        told = study.tell(decisions.ids, rewards_of(decisions))
        assert (told.counted, told.again) == (4, 0)
        before = study.status().to_dict()
        told = study.tell(decisions.ids[:3], rewards_of(decisions)[:3])
        assert (told.counted, told.again) == (0, 3)
        assert without_times(study.status().to_dict()) == without_times(before)

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
        before = without_times(study.status().to_dict())
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
        assert without_times(study.status().to_dict()) == before

    def test_what_is_late_is_settled_kept_and_reported(self, url, monkeypatch):
        made = ps.Study.create(url, "late", linear(), PROBLEM, seed=0, deadline="2h")
        shift = clock(made, monkeypatch)
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
        shift = clock(made, monkeypatch)
        made.ask(contexts(3))
        shift(61)
        play(made, 2, 5)
        assert made.status().learnt == 13
        assert made.log().rewards[:3, 0].tolist() == [0.25] * 3

    def test_decisions_can_be_expired_and_given_up(self, study, monkeypatch):
        shift = clock(study, monkeypatch)
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
            shift = clock(made, monkeypatch)
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
        shift = clock(made, monkeypatch)
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

    def test_times_are_those_of_the_database(self, study):
        assert abs(study.ask(contexts(1)).asked[0] - time.time()) < 60
