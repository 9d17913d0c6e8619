"""What every database must keep, and for whom."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sqlalchemy import create_engine, text

import policysieve as ps
from policysieve.study import summaries
from policysieve.study.probes import probed_places
from tests.study.cases import PROBLEM, K, N, contexts, linear, play
from tests.study.studies import PROBLEMS, Studies


class KeepingContract(Studies):
    """Classes, contexts, archives and settings."""

    def test_what_cannot_be_kept_is_refused(self, url):
        sale = replace(PROBLEM, outcomes={"sale": (0, 1)})
        guarded = replace(sale, against=1, guardrails={"sale": 0.01})
        for problem, options, what in (
            (sale, {}, "neither outcomes nor guardrails"),
            (guarded, {}, "neither outcomes nor guardrails"),
            (replace(PROBLEM, against=1, max_loss=5.0), {}, "no max_loss"),
            (PROBLEM, {"settings": {"additions": 2}}, "additions must be 0"),
            (PROBLEMS["revenue"], {"settings": {"additions": True}}, "additions must be 0"),
            (replace(PROBLEMS["costs"], reward_range=(3, 9)), {"deadline": 9}, "no_answer"),
        ):
            with pytest.raises(ps.InvalidArgumentError, match=what):
                ps.Study.create(url, "refused", linear(), problem, **options)
        ps.Study.create(url, "good", linear(), PROBLEM, settings={"additions": 0})
        assert [one.name for one in summaries(url)] == ["good"]

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


def _probed(study):
    """Places of the rounds whose answers are kept to tell another class apart."""
    with study._storage.reading() as connection:
        found = connection.execute(text("SELECT probes FROM ps_studies WHERE name = 'shop'"))
        return probed_places(found.scalar_one())


def _zero(x):
    return np.zeros(len(x), int)


def _one(x):
    return np.ones(len(x), int)
