"""Contexts on disk: the same content has the same key, and nothing else has."""

import datetime
from decimal import Decimal
from itertools import combinations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse

import policysieve as ps
from policysieve.checks import as_contexts
from policysieve.policies.digests import context_digests

DAY = datetime.date(2020, 1, 1)
MOMENT = datetime.datetime(2020, 1, 1)

OTHERS = [
    np.array([1]),
    np.array([1.0]),
    np.array([1], dtype=np.int32),
    np.array([True]),
    np.array([[1]]),
    ["1"],
    scipy.sparse.csr_matrix([[1.0, 0, 0]]),
    scipy.sparse.csr_matrix([[1.0, 0, 0, 0]]),
    scipy.sparse.csr_matrix([[1, 0, 0]]),
    [{"columns": [0], "values": [1.0]}],
    *(
        [{"a": value}]
        for value in (
            *(None, True, 1, 1.0, "1", "None"),
            *([1], ["list", "1"], [[1]], {"1": 1}, {"1": 1.0}),
            *(DAY, "2020-01-01", {"date": "2020-01-01"}, ["date", "2020-01-01"]),
            *(MOMENT, {"datetime": "2020-01-01T00:00:00"}, ["datetime", "2020-01-01T00:00:00"]),
            *(datetime.time(1), {"time": "01:00:00"}, datetime.timedelta(1)),
            *(Decimal("1.0"), Decimal("1.00"), {"Decimal": "1.0"}, ["Decimal", "1.0"]),
            *(b"x", "78", {"bytes": "78"}, ["bytes", "78"]),
        )
    ),
    pd.DataFrame({"a": [pd.Timestamp(1)]}),
    pd.DataFrame({"a": [pd.Timestamp(2)]}),
    pd.DataFrame({"a": [pd.Timestamp("2020-07-01", tz="Europe/Berlin")]}),
    pd.DataFrame({"a": [pd.Timestamp("2020-07-01", tz="Africa/Johannesburg")]}),
]


def key(contexts):
    (one,) = context_digests(as_contexts(contexts))
    return one


def test_no_two_contexts_share_a_key():
    keys = [key(contexts) for contexts in OTHERS]
    pairs = combinations(range(len(keys)), 2)
    assert [(OTHERS[i], OTHERS[j]) for i, j in pairs if keys[i] == keys[j]] == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([{"a": 1, "b": "x"}], [{"b": "x", "a": 1}]),
        ([{"a": 1, "b": "x"}], pd.DataFrame({"b": ["x"], "a": [1]})),
        ([{"a": {"b": 1, "c": DAY}}], [{"a": {"c": DAY, "b": 1}}]),
        (np.array(["x"]), ["x"]),
        (scipy.sparse.csr_matrix([[0, 1.0]]), scipy.sparse.csc_array([[0, 1.0]])),
    ],
)
def test_the_same_content_has_the_same_key(one, other):
    assert key(one) == key(other)


def test_what_cannot_be_kept_is_refused():
    months = pa.table({"a": pa.array([(1, 2, 3)], pa.month_day_nano_interval())})
    with pytest.raises(ps.InvalidArgumentError, match="to be kept on disk"):
        key(months)


def test_rows_of_another_width_are_other_contexts(tmp_path):
    by_width = ps.FunctionPolicies([lambda m: np.full(m.shape[0], m.shape[1] % 3)], n_actions=3)
    kept = ps.cached(by_width, tmp_path)
    for width in (3, 4, 5):
        rows = scipy.sparse.csr_matrix(np.eye(1, width))
        assert kept.actions(rows).tolist() == [[[width % 3]]]
