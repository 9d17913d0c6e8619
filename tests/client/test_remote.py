"""A study behind HTTP is the study: the same decisions, and nothing twice if answers are lost."""

import threading

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

import policysieve as ps
from policysieve.study import Told
from tests.client.proxies import losing
from tests.service.serving import serving
from tests.study.cases import PROBLEM, K, contexts, linear, rewards_of
from tests.waiting import until

ACTIONS = ["shoes", "hats", "coats"]
NAMED = ps.Problem(actions=ACTIONS, epsilon=0.1, delta=0.05)


CLASSES = {"first": linear()}  # by the name of their study


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    return f"sqlite:///{tmp_path_factory.mktemp('service') / 'shop.db'}"


@pytest.fixture(scope="module")
def address(url):
    ps.Study.create(url, "first", linear(), PROBLEM, seed=0).close()
    with serving(url, lambda record: CLASSES[record.name]) as client:
        yield str(client.base_url).rstrip("/")


@pytest.fixture
def made(url, address, request):
    """Makes the study of a test: there, behind HTTP."""
    with ps.Client(address) as client:

        def make(policies, problem):
            name = request.node.name
            CLASSES[name] = policies
            ps.Study.create(url, name, policies, problem, seed=0).close()
            return client.study(name)

        yield make


@pytest.fixture
def study(made):
    return made(linear(), PROBLEM)


@pytest.fixture
def created(url, study):
    """The same, opened here; the service learns."""
    with ps.Study.open(url, study.name, linear(), learn=False) as opened:
        yield opened


def by_name(function, **options):
    rules = {"always": lambda x: "hats", "by context": function}
    return ps.FunctionPolicies(rules, actions=ACTIONS, vectorized=False, **options)


def frames(kind):
    """Rows of a table with text, categories, times and missing values."""
    rows = pd.DataFrame(
        {
            "age": [31.0, np.nan, 64.0],
            "city": ["Bonn", None, "Kyoto"],
            "size": pd.Categorical(["S", "L", "S"], ["S", "M", "L"], ordered=True),
            "seen": pd.to_datetime(["2026-01-01", "2026-01-02", None]),
        }
    )
    return pl.from_pandas(rows) if kind == "polars" else rows


def models():
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    return ps.EstimatorPolicies(
        {str(c): LogisticRegression(C=c).fit(x, rng.integers(3, size=60)) for c in (0.1, 1.0)},
        n_actions=3,
    )


def dense(matrix):
    return np.asarray(matrix.sum(axis=1)).ravel().astype(int) % 3


KINDS = {
    "numbers": (linear, PROBLEM, lambda: contexts(3)),
    "short numbers": (linear, PROBLEM, lambda: contexts(3).astype(np.float32)),
    "lists": (linear, PROBLEM, lambda: contexts(3).tolist()),
    "row numbers": (
        lambda: ps.PolicyTable(np.arange(12).reshape(6, 2) % K, n_actions=K),
        PROBLEM,
        lambda: [5, 0, 3],
    ),
    "strings": (
        lambda: by_name(lambda text: ACTIONS[len(text) % 3]),
        NAMED,
        lambda: ["Grüße", "", "a\nb"],
    ),
    "dicts": (
        lambda: by_name(lambda row: "coats" if row["cold"] else "shoes"),
        NAMED,
        lambda: [{"cold": True, "city": "Bonn"}, {"cold": False, "city": None}],
    ),
    "pandas": (
        lambda: by_name(lambda row: "coats" if row["city"] == "Bonn" else "shoes"),
        NAMED,
        lambda: frames("pandas"),
    ),
    "polars": (
        lambda: by_name(lambda row: "coats" if row["size"] == "L" else "shoes"),
        NAMED,
        lambda: frames("polars"),
    ),
    "whole frames": (
        lambda: ps.FunctionPolicies(
            [
                lambda x: np.zeros(len(x), int),
                lambda x: x["city"].fillna("").str.len().to_numpy() % 3,
            ],
            n_actions=3,
        ),
        ps.Problem(n_actions=3, epsilon=0.1, delta=0.05),
        lambda: frames("pandas"),
    ),
    "models": (
        models,
        ps.Problem(n_actions=3, epsilon=0.1, delta=0.05),
        lambda: pd.DataFrame(contexts(4)[:, :2], columns=["a", "b"]),
    ),
    "sparse": (
        lambda: ps.FunctionPolicies([lambda x: np.zeros(x.shape[0], int), dense], n_actions=3),
        ps.Problem(n_actions=3, epsilon=0.1, delta=0.05),
        lambda: sparse.csr_matrix(np.array([[0, 2.0, 0], [1.0, 0, 0]])),
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_contexts_of_every_kind_are_decided_as_a_study_decides_them(kind, tmp_path, url, made):
    policies, problem, given = KINDS[kind]
    there = made(policies(), problem)
    here = ps.Study.create(f"sqlite:///{tmp_path}/a.db", "here", policies(), problem, seed=0)
    for number in range(2):  # the second time they are arranged as the first ones came
        ids = [f"{number} {i}" for i in range(len(here.policies.check_contexts(given())))]
        mine, theirs = here.ask(given(), ids=ids), there.ask(given(), ids=ids)
        np.testing.assert_array_equal(mine.actions, theirs.actions)
        np.testing.assert_array_equal(mine.propensities, theirs.propensities)
        assert theirs.ids.tolist() == ids
        names = mine.action_names
        assert names is None or np.array_equal(names, theirs.action_names)
        rewards = np.linspace(0, 1, len(ids))
        assert here.tell(mine, rewards) == there.tell(theirs, rewards)
        assert there.ask(given(), ids=ids).actions.tolist() == theirs.actions.tolist()
    kept = ps.Study.open(url, there.name, policies()).log()
    assert kept == here.log()  # contexts of the same types
    assert getattr(kept.contexts.dtype, "made_of", "") == getattr(
        here.log().contexts.dtype, "made_of", ""
    )
    assert there.log() == here.log()
    assert repr(there.recommend()) == repr(here.recommend())
    here.close()


class TestVerbs:
    def test_rewards_are_told_in_every_form(self, study, created):
        decisions = study.ask(contexts(6))
        ids = decisions.ids.tolist()
        assert study.tell(decisions[:1], [1.0]).counted == 1
        assert study.tell(ids[1], 0.0).counted == 1
        assert study.tell(np.array(ids[2:4]), [1, 0]).counted == 2
        table = pd.DataFrame({"id": ids[4:], "reward": [1.0, 0.0]})
        assert study.tell(table).counted == 2
        assert study.tell(ids, [1, 0, 1, 0, 1, 0]) == Told(counted=0, again=6, late=())
        assert created.status().told == 6

    def test_rewards_of_slates_are_told(self, made):
        policies = ps.LinearPolicies(np.random.default_rng(0).normal(size=(4, 5, 4)), slate_size=2)
        problem = ps.Problem(n_actions=5, slate_size=2, sparsity=2, epsilon=0.1, delta=0.05)
        study = made(policies, problem)
        decisions = study.ask(contexts(3))
        assert decisions.actions.shape == (3, 2)
        assert study.tell(decisions.ids[0], [1, 0]).counted == 1
        frame = {"id": decisions.ids[1:2], "reward_0": [0.0], "reward_1": [1.0]}
        assert study.tell(pd.DataFrame(frame)).counted == 1
        with pytest.raises(ps.InvalidArgumentError, match="rewards must have shape"):
            study.tell(decisions.ids[2:], [1.0])

    def test_what_is_available_travels(self, made):
        study = made(by_name(lambda row: "coats", fallback=ACTIONS), NAMED)
        for given in (
            np.array([[True, False, False]]),
            [["shoes"]],
            [[0]],
            pd.DataFrame({"shoes": [True], "hats": [False], "coats": [False]}),
        ):
            assert study.ask(["x"], available=given).action_names.tolist() == [["shoes"]]
        with pytest.raises(ps.InvalidArgumentError, match="available must leave"):
            study.ask(["x"], available=[[]])

    def test_decisions_are_found_again(self, study):
        asked = study.ask(contexts(250))
        again = study.decisions(asked.ids)
        np.testing.assert_array_equal(asked.actions, again.actions)
        np.testing.assert_array_equal(asked.propensities, again.propensities)
        study.tell(asked.ids[:100], np.zeros(100))
        waiting = study.open_decisions()
        assert waiting.ids.tolist() == asked.ids[100:].tolist()
        assert 0 <= waiting.ages.max() < 60
        assert len(study.open_decisions(older_than="1h")) == 0
        assert len(study.open_decisions(limit=7)) == 7

    def test_what_is_known_is_told(self, study, created):
        asked = study.ask(contexts(40))
        study.tell(asked, rewards_of(asked))
        status = study.status()
        assert (status["rounds"], status["learnt"], status["open"]) == (40, 40, 0)
        assert study.recommend().to_dict() == created.recommend().to_dict()
        assert study.finished is created.finished
        until(lambda: study.exploration(linear()).same_as(created.exploration))

    def test_rounds_go_to_files(self, study, created, tmp_path):
        asked = study.ask(contexts(40))
        study.tell(asked, rewards_of(asked))
        for name in ("rounds.parquet", "rounds.csv", "rounds.jsonl"):
            written = study.log(tmp_path / name)
            assert len(written) == 40
            assert ps.Log.load(tmp_path / name).rewards.sum() == rewards_of(asked).sum()
        with pytest.raises(ps.InvalidArgumentError, match="exists"):
            study.log(tmp_path / "rounds.csv")
        study.log(tmp_path / "rounds.csv", overwrite=True)
        with pytest.raises(ps.InvalidArgumentError, match="format must be one of"):
            study.log(tmp_path / "rounds.vw")

    def test_no_file_is_left_where_there_are_no_rounds(self, study, tmp_path):
        with pytest.raises(ps.InvalidArgumentError, match="no rounds to write"):
            study.log(tmp_path / "rounds.csv")
        assert [path.name for path in tmp_path.iterdir() if "rounds" in path.name] == []

    def test_decisions_are_given_up_and_a_study_ends(self, study):
        asked = study.ask(contexts(4))
        assert study.discard(asked.ids[:1], reason="the page was never shown") == [asked.ids[0]]
        assert study.expire(older_than=0) == asked.ids[1:].tolist()
        study.archive()
        with pytest.raises(ps.InvalidArgumentError, match="archived"):
            study.ask(contexts(1))

    def test_nothing_may_be_asked(self, study):
        assert len(study.ask(contexts(3)[:0])) == 0
        assert study.tell([], []).counted == 0
        assert len(study.decisions([])) == 0

    def test_columns_that_mean_something_else_are_refused(self, study):
        with pytest.raises(ps.InvalidArgumentError, match="no column 'id'"):
            study.ask(pd.DataFrame({"id": [1], "age": [3]}))

    def test_studies_are_listed(self, address):
        with ps.Client(address) as client:
            assert "first" in [one["name"] for one in client.studies()]
            with pytest.raises(ps.NotFoundError, match="there is no study 'other'"):
                client.study("other").status()

    @pytest.mark.parametrize(
        ("verb", "arguments", "error"),
        [
            ("ask", ([[1.0]],), ps.InvalidArgumentError),
            ("ask", (["text"],), ps.InvalidArgumentError),
            ("tell", (["unknown"], [1.0]), ps.DecisionsError),
            ("tell", (["unknown"], [7.0]), ps.InvalidArgumentError),
            ("decisions", (["unknown"],), ps.DecisionsError),
        ],
    )
    def test_errors_are_those_of_a_study(self, study, created, verb, arguments, error):
        with pytest.raises(error) as theirs:
            getattr(study, verb)(*arguments)
        with pytest.raises(error) as mine:
            getattr(created, verb)(*arguments)
        assert str(theirs.value) == str(mine.value)

    def test_a_policy_that_fails_is_named(self, made):
        study = made(by_name(lambda row: 1 / 0), NAMED)
        with pytest.raises(ps.PolicyFailureError, match="'by context' raised") as raised:
            study.ask(["x"])
        assert (raised.value.policy, raised.value.name) == (1, "by context")


class TestLostAnswers:
    @pytest.fixture(autouse=True)
    def soon(self, monkeypatch):
        monkeypatch.setattr("policysieve.client.calling._FIRST_PAUSE", 0.01)

    @pytest.mark.parametrize("fate", ["lost", "half", "refused"])
    def test_nothing_is_decided_or_counted_twice(self, address, created, fate):
        fates = [fate, "passed", fate, fate] * 6
        with losing(address, fates) as (proxy, left), ps.Client(proxy) as client:
            study = client.study(created.name)
            told = []
            for number in range(6):
                asked = study.ask(contexts(3, seed=number))
                shown = created.decisions(asked.ids)
                np.testing.assert_array_equal(asked.actions, shown.actions)
                told.append(study.tell(asked, rewards_of(asked)))
            assert len(left) < 6
        status = created.status()
        assert (status.rounds, status.told, status.open, status.refused) == (18, 18, 0, 0)
        assert all(one.counted + one.again == 3 for one in told)
        assert any(one.again for one in told) == (fate != "refused")

    def test_who_gave_up_asks_again_with_the_ids(self, address, created):
        with losing(address, ["lost"] * 2) as (proxy, _), ps.Client(proxy, retries=1) as client:
            study = client.study(created.name)
            with pytest.raises(ps.ServiceError) as lost:
                study.ask(contexts(3))
            asked = study.ask(contexts(3), ids=lost.value.ids)
        assert created.status().rounds == 3
        assert created.open_decisions().ids.tolist() == asked.ids.tolist()

    def test_many_threads_share_a_client(self, address, created):
        fates = ["passed", "lost", "passed", "half"] * 30
        with losing(address, fates) as (proxy, _), ps.Client(proxy, retries=8) as client:
            study = client.study(created.name)

            def work(seed):
                for number in range(3):
                    asked = study.ask(contexts(2, seed=100 * seed + number))
                    study.tell(asked, rewards_of(asked))

            threads = [threading.Thread(target=work, args=(seed,)) for seed in range(5)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        status = created.status()
        assert (status.rounds, status.told, status.open) == (30, 30, 0)
        assert created.verify().holds
