"""Rounds of all kinds to send through files, and what comes back."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from policysieve.formats import FORMATS, open_contexts
from policysieve.log import Distributions, LogFile, Rounds

PLAIN = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
MICROSECONDS = st.integers(-(10**15), 10**15).map(lambda count: count / 10**6)
PROPENSITIES = st.floats(0, 1, exclude_min=True)
REWARDS = st.floats(0, 1).map(abs)  # -0.0 is 0


@st.composite
def some_rounds(draw, *, kinds, slates=True, ids=True, times=True, distributions=False):
    """Rounds with contexts of the given kinds: "row", "number", "text", or a shape."""
    n, m = draw(st.integers(1, 6)), draw(st.integers(1, 3)) if slates else 1
    kind = draw(st.sampled_from(kinds))
    columns = {
        "row": st.integers(-(2**62), 2**62),
        "number": st.floats(allow_nan=False, allow_infinity=False),
        "text": PLAIN.map(lambda text: "w" + text),
    }

    def column(values, size=n):
        return draw(st.lists(values, min_size=size, max_size=size))

    if isinstance(kind, str):
        dtype = {"row": np.int64, "number": np.float64, "text": object}[kind]
        contexts = np.array(column(columns[kind]), dtype=dtype)
    else:
        flat = column(columns["number"], n * int(np.prod(kind)))
        contexts = np.array(flat).reshape(n, *kind)
    slate = st.permutations(range(5)).map(lambda order: order[:m])
    actions = np.array(column(slate), dtype=np.int32)
    propensities = np.array(column(PROPENSITIES, n * m)).reshape(n, m)
    lists = None
    if distributions and draw(st.booleans()):
        every = full_propensities(actions, 5, draw(st.integers(0, 99)))
        lists = Distributions.of(every, n)
        propensities = np.take_along_axis(every, actions, axis=1)
    return Rounds(
        contexts,
        actions,
        propensities,
        np.array(column(REWARDS, n * m)).reshape(n, m),
        np.array(column(PLAIN), dtype=object) if ids and draw(st.booleans()) else None,
        np.array(column(MICROSECONDS)) if times and draw(st.booleans()) else None,
        lists,
    )


def full_propensities(actions, n_actions, seed=0):
    """Propensities of all actions, of which some cannot be shown, but not the given slates."""
    (n, m), rng = actions.shape, np.random.default_rng(seed)
    every = rng.random((n, n_actions)) * (rng.random((n, n_actions)) < 0.5)
    every[np.arange(n)[:, None], actions] += 0.1
    for _ in range(50):  # none above 1
        every = np.minimum(every * (m / every.sum(axis=1, keepdims=True)), 1.0)
    return every


def write(path, format, *batches, n_actions=5):
    FORMATS[format].save(path, batches, batches[0].layout, n_actions)


def read(path, format=None, *, contexts_only=False, **options):
    """All rounds of a small file."""
    if contexts_only:
        (rounds,) = open_contexts(path, format)
    else:
        (rounds,) = LogFile(path, format, **options).rounds()
    return rounds


def assert_same(got, expected):
    for name in ("contexts", "actions", "propensities", "rewards", "times"):
        mine, theirs = getattr(got, name), getattr(expected, name)
        assert (mine is None) == (theirs is None), name
        if mine is not None:
            np.testing.assert_array_equal(mine, theirs, err_msg=name, strict=True)
    assert got.distributions == expected.distributions
    assert got.beside == expected.beside
    if expected.ids is None or not any(expected.ids):
        assert got.ids is None or not any(got.ids)
    else:
        assert got.ids.tolist() == expected.ids.tolist()


def write_rows(path, rows, *, separator=","):
    """The rows as the suffix says."""
    if path.suffix == ".csv":
        pd.DataFrame(rows).convert_dtypes().to_csv(path, sep=separator, index=False)
    elif path.suffix == ".jsonl":
        path.write_text("\n".join(map(json.dumps, rows)))
    else:
        pq.write_table(pa.Table.from_pylist(rows), path)
    return path
