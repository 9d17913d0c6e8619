"""Hostile values: what arrives at a public function when something went wrong before it."""

from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from policysieve.arrays import shown

__all__ = ["Hostile", "hostile_value"]

Twist = Callable[[Any], Any]


class Hostile:
    """A value, and what it is in words.

    Attributes
    ----------
    value : object
    words : str
    """

    def __init__(self, value: Any, words: str) -> None:
        self.value, self.words = value, words


class _Frame:
    """What a data frame looks like from outside."""

    columns = ("b", "a")

    def __repr__(self) -> str:
        return "a data frame"

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.ones((4, 2))


class _Thing:
    """Nothing in particular."""

    def __repr__(self) -> str:
        return "a thing"


class _Shy:
    """Not even to be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


class _Attached:
    """As a tensor is that gradients flow through: it refuses to become an array."""

    def __repr__(self) -> str:
        return "an attached tensor"

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise RuntimeError("call detach() first")


def _others() -> tuple[Any, ...]:
    """Values of all kinds, none of them an array that fits."""
    return (
        None,
        True,
        0,
        -1,
        3,
        2**63,
        10**400,
        -(10**5000),
        0.0,
        -0.5,
        1.5,
        1e-30,
        1e-300,
        5e-324,
        1e300,
        float("nan"),
        float("inf"),
        -float("inf"),
        1 + 1j,
        Decimal("0.5"),
        Fraction(1, 2),
        np.float32(0.25),
        np.int8(2),
        "",
        "3",
        "no such thing",
        "a\0b",
        b"3",
        date(2024, 5, 1),
        timedelta(days=1),
        _Thing(),
        type,
        print,
        _Shy(),
        _Frame(),
        _Attached(),
        [],
        (),
        {},
        {"a": 1},
        [[]],
        [1, 2, 3],
        [[1], [1, 2]],
        [1, "a"],
        [None, 1.0, 2.0, 3.0],
        ["\ud800", "a", "b", "c"],
        [10**400, 0, 1, 2],
        np.array(1.0),
        np.empty((0, 3)),
        np.zeros((2, 2, 2, 2)),
        np.zeros(4, dtype="V3"),
        np.array([(1, 2.0)] * 4, dtype=[("a", "i4"), ("b", "f8")]),
        np.ma.masked,
        *_tables(),
    )


def _tables() -> tuple[Any, ...]:
    """Tables that are none, or are odd."""
    import pyarrow as pa
    from scipy.sparse import csr_matrix

    return (
        [{}],
        [{"a": 1, "b": "x"}] * 4,
        [{"a": 1}, {"a": "x"}],
        [{"a": 1}, 3],
        [{1: 2}],
        [{"a": _Thing()}],
        [{"a": _Shy()}, {"a": 1}],
        [{"a": np.ones(2)}, {"a": 3}],
        [{"a": 10**400}],
        pa.table({"a": [1, None, 3, 4], "b": ["x", None, "y", "z"]}),
        pa.table({"a": pa.array([], pa.float64())}),
        pa.table({}),
        csr_matrix(np.eye(4)),
        csr_matrix(np.eye(4) * 1j),
    )


def _spoiled(array: Any, entry: Any, dtype: Any) -> Any:
    """An array with one other entry."""
    spoiled = np.array(array, dtype=dtype)
    if spoiled.size:
        spoiled.reshape(-1)[-1] = entry
    return spoiled


def _masked(array: Any) -> Any:
    mask = np.zeros(np.shape(array), dtype=bool)
    if mask.size:
        mask.reshape(-1)[0] = True
    return np.ma.array(array, mask=mask)


def _read_only(array: Any) -> Any:
    array = np.array(array)
    array.flags.writeable = False
    return array


_TWISTS: dict[str, Twist] = {
    "without its last row": lambda a: a[:-1],
    "twice": lambda a: np.concatenate([a, a]),
    "empty": lambda a: a[:0],
    "with a dimension more": lambda a: a[..., None],
    "flat": lambda a: a.reshape(-1),
    "first entry only": lambda a: a.reshape(-1)[0],
    "with NaN": lambda a: _spoiled(a, np.nan, float),
    "with infinity": lambda a: _spoiled(a, np.inf, float),
    "with a negative": lambda a: _spoiled(a, -1, float if a.dtype.kind == "f" else int),
    "with a huge number": lambda a: _spoiled(a, 1e300, float),
    "with 10^400": lambda a: _spoiled(a, 10**400, object),
    "with None": lambda a: _spoiled(a, None, object),
    "with text": lambda a: _spoiled(a, "1", object),
    "with a date": lambda a: _spoiled(a, date(2024, 5, 1), object),
    "masked": _masked,
    "complex": lambda a: a.astype(complex),
    "as text": lambda a: a.astype(str),
    "as bytes": lambda a: a.astype(str).astype(bytes),
    "as objects": lambda a: a.astype(object),
    "as dates": lambda a: a.astype("i8").astype("M8[s]"),
    "as durations": lambda a: a.astype("i8").astype("m8[s]"),
    "as booleans": lambda a: a.astype(bool),
    "as float16": lambda a: a.astype(np.float16),
    "as long floats": lambda a: a.astype(np.longdouble),
    "as int8": lambda a: a.astype(np.int8),
    "as uint64": lambda a: a.astype(np.uint64),
    "byte-swapped": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "read-only": _read_only,
    "backwards": lambda a: a[::-1],
    "every other of twice as many": lambda a: np.repeat(a, 2, axis=0)[::2],
    "in Fortran's order": np.asfortranarray,
    "as a list": lambda a: a.tolist(),
    "as a list of masked rows": lambda a: [_masked(row) for row in np.atleast_2d(a)],
    "as a record": lambda a: a.astype([("x", a.dtype)]),
}


def hostile_value(good: Any, rng: np.random.Generator) -> Hostile:
    """A value in place of a good one: something else, or an array that is odd in some way."""
    numeric = isinstance(good, np.ndarray) and good.ndim and good.dtype.kind in "biuf"
    if numeric and rng.random() < 0.6:
        name = str(rng.choice(list(_TWISTS)))
        with np.errstate(all="ignore"):
            return Hostile(_TWISTS[name](good), f"the array {name}")
    others = _others()
    value = others[rng.integers(len(others))]
    return Hostile(value, shown(value))
