import pickle
from copy import deepcopy

import numpy as np
import pytest

from policysieve import Log
from policysieve.availability import Available
from policysieve.errors import InvalidArgumentError
from policysieve.log import NOTHING, Beside


def log_of(n, *, seed=0, **more):
    rng = np.random.default_rng(seed)
    return Log(
        contexts=rng.integers(0, 9, n),
        actions=rng.integers(0, 3, n),
        propensities=np.full(n, 0.5),
        rewards=rng.random(n),
        **more,
    )


def full(n, seed=0):
    rng = np.random.default_rng(seed)
    return log_of(
        n,
        seed=seed,
        available=np.ones((n, 3), bool),
        units=[f"user {i}" for i in rng.integers(0, 5, n)],
        outcomes={"sale": rng.random(n), "return": np.full(n, np.nan)},
    )


def test_a_log_without_such_columns_has_none():
    log = log_of(4)
    assert log.available is None
    assert log.units is None
    assert log.outcomes == {}
    assert log.beside is NOTHING
    assert log[1:].beside is NOTHING


def test_columns_go_where_their_rounds_go():
    log = full(12)
    joined = Log.concatenate([log[:5], log[5:7], log[7:]])
    assert joined == log
    assert log[:5].plus(log[5:]) == log
    assert log.copy() == log
    assert pickle.loads(pickle.dumps(log)) == log
    assert deepcopy(log) == log
    part = log[3:6]
    assert part.units.tolist() == log.units[3:6].tolist()
    assert part.outcomes["sale"].tolist() == log.outcomes["sale"][3:6].tolist()
    assert len(part.available) == 3
    assert next(log.rounds()).to_log() == log


@pytest.mark.parametrize("column", ["available", "units", "outcomes"])
def test_logs_that_differ_in_one_column_are_not_equal(column):
    others = {
        "available": np.array([[True, True, True]] * 3 + [[True, True, False]]),
        "units": ["a", "b", "c", "d"],
        "outcomes": {"sale": np.zeros(4)},
    }
    assert full(4) != log_of(4, **{column: others[column]})
    assert log_of(4) != log_of(4, **{column: others[column]})


def test_growing_one_round_at_a_time_gives_the_same_columns():
    log = full(40)
    grown = log[:1]
    for i in range(1, 40):
        grown = grown.plus(log[i : i + 1])
    assert grown == log


def test_what_was_not_said_is_everything_available_and_no_outcome_known():
    first, second = log_of(3), log_of(2, seed=1, available=[[0, 1, 2], [0, 1, 2]])
    for joined in (first.plus(second), second.plus(first)):
        assert joined.available.dense().all()
    later = first.plus(log_of(2, outcomes={"sale": [1, 0]}))
    assert np.isnan(later.outcomes["sale"][:3]).all()
    assert later.outcomes["sale"][3:].tolist() == [[1.0], [0.0]]


def test_units_are_named_in_all_rounds_or_in_none():
    with pytest.raises(InvalidArgumentError, match="in all rounds of a log or in none"):
        log_of(3).plus(log_of(2, units=[1, 2]))
    log = log_of(3, units=[7, 8, 7])
    assert log.units.tolist() == ["7", "8", "7"]
    with pytest.raises(InvalidArgumentError, match="none"):
        log.append(contexts=[1], actions=[0], propensities=[1], rewards=[0])
    assert len(log) == 3


def test_names_of_actions_bring_what_was_available_into_their_order():
    log = Log(
        contexts=[0, 1],
        actions=["hats", "shoes"],
        propensities=[0.5, 0.5],
        rewards=[0, 1],
        available=[["hats", "shoes"], ["shoes"]],
    )
    turned = log.with_action_names(["shoes", "coats", "hats"])
    assert turned.available.lists() == [[0, 2], [0]]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ({"units": ["a"]}, "units must be names"),
        ({"units": ["a", ""]}, "in row 1"),
        ({"units": [0.5, 1.5]}, "units must be names"),
        ({"units": [7, np.nan]}, "got nothing in row 1; .* needs a name of its own"),
        ({"outcomes": [1, 2]}, "must be a dict"),
        ({"outcomes": {"sale": [1]}}, "of shape \\(2, 1\\)"),
        ({"outcomes": {"sale": [1, np.inf]}}, "finite"),
        ({"outcomes": {"": [1, 2]}}, "not empty"),
        ({"available": [[0], []]}, "at least 1"),
    ],
)
def test_columns_that_do_not_fit_are_refused(column, message):
    with pytest.raises(InvalidArgumentError, match=message):
        log_of(2, **column)


def test_outcomes_may_be_replaced():
    beside = Beside(Available.everything(2, 3), None, {"sale": np.zeros((2, 1))})
    changed = beside.with_outcomes({"sale": np.ones((2, 1))})
    assert changed.available == beside.available
    assert changed.outcomes["sale"].sum() == 2
