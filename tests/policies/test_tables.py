"""Candidates over data frames: models get the columns that they know, by name."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction import DictVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import policysieve as ps
from policysieve.frames import ContextFrame

SOME = ["device", "age", "spend"]
PROBLEM = ps.Problem(n_actions=3, epsilon=0.1, delta=0.1)


def made_up(n, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.2, np.nan, rng.integers(18, 80, n)),
            "country": rng.choice(["DE", "FR", None], n),
            "spend": rng.exponential(size=n).round(2),
            "device": pd.Categorical(rng.choice(["phone", "desk"], n)),
        }
    )
    best = (table["spend"] > 0.7).astype(int) + (table["device"] == "phone")
    return table, best.to_numpy()


def pipelines():
    table, best = made_up(300)
    told = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["age", "spend"]),
        (OneHotEncoder(handle_unknown="ignore"), ["country", "device"]),
    )
    by_dtype = HistGradientBoostingClassifier(categorical_features="from_dtype", max_iter=5)
    few = make_pipeline(make_column_transformer((SimpleImputer(), ["spend"])), LogisticRegression())
    models = [
        make_pipeline(told, LogisticRegression()),
        make_pipeline(told, RandomForestClassifier(5, random_state=0)),
    ]
    fitted = [model.fit(table, best) for model in models]
    return [*fitted, by_dtype.fit(table[SOME], best)], few.fit(table[["spend"]], best)


MODELS, FEW = pipelines()


def test_pipelines_say_what_they_say_of_the_frame_itself():
    policies = ps.EstimatorPolicies([*MODELS, FEW], n_actions=3)
    table, _ = made_up(40, seed=1)
    answers = policies.actions(table)[:, :, 0].T
    for model, answer in zip(MODELS[:2], answers, strict=False):
        assert answer.tolist() == model.predict(table).tolist()
    assert answers[2].tolist() == MODELS[2].predict(table[SOME]).tolist()
    assert answers[3].tolist() == FEW.predict(table[["spend"]]).tolist()


def test_columns_in_another_order_change_nothing():
    policies = ps.EstimatorPolicies(MODELS, n_actions=3)
    table, _ = made_up(40, seed=1)
    shuffled = table[["device", "spend", "age", "country"]]
    assert (policies.actions(shuffled) == policies.actions(table)).all()


@pytest.mark.parametrize(
    "dress",
    [
        lambda table: table.convert_dtypes(),
        lambda table: pl.from_pandas(table),
        lambda table: pl.from_pandas(table).to_arrow(),
        lambda table: table.astype(object).where(table.notna(), None).to_dict("records"),
    ],
    ids=["nullable", "polars", "arrow", "dicts"],
)
def test_the_same_rows_in_another_dress_have_the_same_answers(dress):
    policies = ps.EstimatorPolicies(MODELS[:2], n_actions=3)
    table, _ = made_up(40, seed=1)
    table = table[table.country.notna()]  # libraries have a missing text of their own
    assert (policies.actions(dress(table)) == policies.actions(table)).all()


def test_missing_and_extra_columns_are_named():
    policies = ps.EstimatorPolicies(MODELS, n_actions=3)
    table, _ = made_up(4)
    with pytest.raises(ps.InvalidArgumentError, match="no 'age' in country, spend, device"):
        policies.actions(table.drop(columns="age"))
    with pytest.raises(ps.InvalidArgumentError, match=r"also 'user' .* pass contexts\[\['age'"):
        policies.actions(table.assign(user=1))


def test_a_model_that_was_fitted_on_an_array_takes_no_frame():
    table, best = made_up(50)
    numbers = table[["spend", "age"]].fillna(0)
    model = LogisticRegression().fit(numbers.to_numpy(), best)
    policies = ps.EstimatorPolicies([model], n_actions=3)
    with pytest.raises(ps.InvalidArgumentError, match="fit it on a data frame"):
        policies.actions(numbers)
    assert policies.actions(numbers.to_numpy()).shape == (50, 1, 1)


def test_a_model_of_dicts_gets_dicts():
    table, best = made_up(50)
    rows = table[["spend", "country"]].to_dict("records")
    model = make_pipeline(DictVectorizer(), LogisticRegression()).fit(
        [{"spend": row["spend"]} for row in rows], best
    )
    policies = ps.EstimatorPolicies([model], n_actions=3)
    given = [{"spend": row["spend"]} for row in rows]
    assert policies.actions(given)[:, 0, 0].tolist() == model.predict(given).tolist()


def test_models_get_sparse_rows():
    from sklearn.feature_extraction.text import CountVectorizer

    texts = ["a b", "b c", "c c a", "a"] * 5
    rows = CountVectorizer(token_pattern=r"\w").fit_transform(texts)
    model = MultinomialNB().fit(rows, [0, 1, 2, 0] * 5)
    policies = ps.EstimatorPolicies([model], n_actions=3)
    assert policies.actions(rows)[:, 0, 0].tolist() == model.predict(rows).tolist()


def test_functions_get_the_frame_or_a_dict_for_each_row():
    table, _ = made_up(20)
    kinds = []

    def by_frame(frame):
        kinds.append(type(frame))
        return (frame["spend"] > 0.5).to_numpy().astype(int)

    many = ps.FunctionPolicies([by_frame], n_actions=2)
    one = ps.FunctionPolicies([lambda row: int(row["spend"] > 0.5)], n_actions=2, vectorized=False)
    assert (many.actions(table) == one.actions(table)).all()
    assert (many.actions(pl.from_pandas(table)) == one.actions(table)).all()
    assert kinds == [pd.DataFrame, pl.DataFrame]
    missing = ps.FunctionPolicies([lambda row: int(row["age"] is None)], 2, vectorized=False)
    assert missing.actions(table)[:, 0, 0].tolist() == table["age"].isna().astype(int).tolist()


@pytest.mark.parametrize(
    "dress",
    [
        lambda table: table,
        pl.from_pandas,
        lambda table: table.to_dict("records"),
        lambda table: sp.csr_matrix(table.to_numpy()),
    ],
    ids=["pandas", "polars", "dicts", "sparse"],
)
def test_what_one_candidate_does_to_its_rows_the_others_do_not_see(dress):
    seen = []

    def spoil(rows):
        if isinstance(rows, list):
            seen.append([row["a"] for row in rows])
            for row in rows:
                row["a"] = 7.0
        elif sp.issparse(rows):
            seen.append(rows.toarray()[:, 0].tolist())
            rows.data[:] = 7.0
        elif isinstance(rows, pl.DataFrame):
            seen.append(rows["a"].to_list())
            rows[0, "a"] = 7.0
        else:
            seen.append(rows["a"].tolist())
            rows.loc[0, "a"] = 7.0
            rows["b"] = 7.0
            rows.pop("b")
        return np.zeros(2, int)

    rows = dress(pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}))
    ps.FunctionPolicies([spoil, spoil], n_actions=2).actions(rows)
    models = [SimpleNamespace(predict=spoil)] * 2
    ps.EstimatorPolicies(models, n_actions=2).actions(rows)
    assert seen == [[1.0, 2.0]] * 4


def test_calls_get_a_dict_each():
    seen = []

    def spoil(row):
        seen.append(row.pop("a"))
        return 0

    policies = ps.FunctionPolicies([spoil] * 3, 2, vectorized=False, calls=ps.Calls())
    then = pd.Timestamp(2024, 1, 1, nanosecond=3)
    policies.actions(pd.DataFrame({"a": [then], "b": [[2]]}))
    assert seen == [then] * 3


def test_an_encoder_gets_none_where_it_was_fitted_on_none(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": pd.Series(rng.choice(["x", "y", None], 200), dtype=object)})
    best = table["a"].isna().astype(int).to_numpy()
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    policies = ps.EstimatorPolicies([model.fit(table, best)], n_actions=2)
    assert (policies.actions(table)[:, 0, 0] == best).all()
    log = ps.Log(contexts=table, actions=best, propensities=np.ones(200), rewards=np.ones(200))
    log.save(tmp_path / "log.parquet")
    saved = ps.Log.load(tmp_path / "log.parquet").contexts
    assert (policies.actions(saved)[:, 0, 0] == best).all()


def test_lightgbm_knows_columns_whose_names_have_spaces():
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"my age": rng.normal(size=200), "b": rng.normal(size=200)})
    model = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1)
    model.fit(table, (table["my age"] > 0).astype(int))
    policies = ps.EstimatorPolicies([model], n_actions=2)
    expected = model.predict(table).tolist()
    assert policies.actions(table)[:, 0, 0].tolist() == expected
    assert policies.actions(table[["b", "my age"]])[:, 0, 0].tolist() == expected
    with pytest.raises(ps.InvalidArgumentError, match="no 'my_age'"):
        policies.actions(table[["b"]])


class TestLearners:
    def play(self, contexts, *, batch=7, learner=None):
        """Rounds of a learner over pipelines."""
        learner = learner or ps.Sieve(ps.EstimatorPolicies(MODELS, n_actions=3), PROBLEM, rng=0)
        table, best = made_up(70, seed=2)
        for start in range(0, 70, batch):
            rows = slice(start, start + batch)
            part = table.iloc[rows]
            decisions = learner.ask(contexts(part))
            assert isinstance(decisions.contexts, ContextFrame)
            learner.tell(decisions, decisions.actions[:, 0] == best[rows])
        return learner

    def test_the_order_of_columns_changes_no_bit(self):
        orders = iter([["age", "spend", "country", "device"], SOME + ["country"]] * 5)
        one, two = self.play(lambda t: t).log, self.play(lambda t: t[next(orders)]).log
        assert (one.actions == two.actions).all()
        assert (one.propensities == two.propensities).all()
        assert [r["spend"] for r in one.contexts.tolist()] == made_up(70, seed=2)[0].spend.tolist()

    def test_one_row_at_a_time(self):
        learner = self.play(lambda part: part, batch=1)
        assert len(learner.log) == 70
        assert (self.play(lambda part: part, batch=1).log.actions == learner.log.actions).all()

    def test_later_rows_come_as_earlier_ones_did(self):
        learner = self.play(lambda part: part)
        row = {"age": None, "spend": 1.0, "country": "DE", "device": "desk"}
        decisions = learner.ask(row)  # the booster needs categories, and the imputer numbers
        found = decisions.contexts.native().dtypes
        assert (found["age"], found["device"]) == (np.float64, "category")
        assert len(learner.ask([{**row, "spend": 1}, {**row, "age": 30.5}])) == 2

    def test_other_rows_are_refused_and_nothing_changes(self):
        learner = self.play(lambda part: part)
        table, _ = made_up(3)
        for wrong in (table.drop(columns="age"), table.assign(country=1), np.ones((3, 4))):
            with pytest.raises(ps.InvalidArgumentError):
                learner.ask(wrong)
        assert learner.pending == 0
        assert len(learner.ask(table)) == 3

    def test_the_log_selects_and_comes_back_from_a_file(self, tmp_path):
        uniform = ps.Uniform(ps.EstimatorPolicies(MODELS, 3), PROBLEM, rounds=70, rng=0)
        learner = self.play(lambda part: part, learner=uniform)
        learner.log.save(tmp_path / "log.parquet")
        log = ps.Log.load(tmp_path / "log.parquet")
        assert log == learner.log
        assert log.contexts.native().dtypes.equals(made_up(5)[0].dtypes)
        kept, loaded = (
            ps.select(one, learner.policies, PROBLEM, floor=0.3) for one in (learner.log, log)
        )
        assert (kept.values == loaded.values).all()
        assert learner.exploration.ask(log.contexts, rng=0).contexts.same_as(log.contexts)

    def test_a_key_that_no_dict_of_a_batch_has_is_missing(self):
        learner = self.play(lambda part: part)
        row = {"spend": 1.0, "country": "DE", "device": "desk"}
        assert np.isnan(learner.ask([row]).contexts.native()["age"]).all()
        with pytest.raises(ps.InvalidArgumentError, match="also 'user'"):
            learner.ask([{**row, "user": 1}])

    def test_worlds_of_tables(self):
        table, best = made_up(60)
        world = ps.worlds.Classification(table, best)
        policies = ps.EstimatorPolicies(MODELS, n_actions=3)
        assert world.values(policies).tolist() == pytest.approx(
            [np.mean(model.predict(table[model.feature_names_in_]) == best) for model in MODELS]
        )
        result = ps.run(ps.Sieve(policies, PROBLEM, rng=0), world, 200, progress=False)
        assert result.rounds
