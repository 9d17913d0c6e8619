"""Columns as data frames of the library that is at hand."""

import numpy as np
import pytest

from policysieve import tabling
from policysieve.errors import InvalidArgumentError, MissingExtraError
from policysieve.tabling import frame_of

COLUMNS = {
    "policy": range(2),
    "value": np.array([0.5, 0.25]),
    "known": [None, 3],
    "not": [None] * 2,
}


def only(monkeypatch, *installed):
    monkeypatch.setattr(tabling, "find_spec", lambda name: name if name in installed else None)


def test_pandas_comes_first():
    pandas = pytest.importorskip("pandas")
    frame = frame_of(COLUMNS)
    assert isinstance(frame, pandas.DataFrame)
    assert frame["policy"].tolist() == [0, 1]
    assert frame["known"].isna().tolist() == [True, False]
    assert frame["not"].dtype == np.float64


@pytest.mark.parametrize("chosen", [True, False])
def test_polars_comes_next_and_can_be_chosen(monkeypatch, chosen):
    polars = pytest.importorskip("polars")
    if not chosen:
        only(monkeypatch, "polars")
    frame = frame_of(COLUMNS, backend="polars" if chosen else None)
    assert isinstance(frame, polars.DataFrame)
    assert frame["known"].to_list() == [None, 3]
    assert frame["not"].dtype == polars.Float64


def test_what_is_not_installed_is_named(monkeypatch):
    only(monkeypatch)
    with pytest.raises(MissingExtraError, match=r"without polars needs pandas.*pip install pandas"):
        frame_of(COLUMNS)
    with pytest.raises(MissingExtraError, match=r"pip install polars$"):
        frame_of(COLUMNS, backend="polars")


def test_other_words_are_refused():
    with pytest.raises(InvalidArgumentError, match=r"backend must be one of .* got 'panda'"):
        frame_of(COLUMNS, backend="panda")
