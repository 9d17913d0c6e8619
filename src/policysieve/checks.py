"""Checks of arguments at the public boundary; everything below trusts its inputs."""

import math
import numbers
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.arrays import as_float, is_text, plain_array, real_numbers, shown
from policysieve.errors import InvalidArgumentError
from policysieve.frames import ContextFrame, Contexts, is_tabular
from policysieve.scaling import Range, range_in_words

__all__ = [
    "MOST_ACTIONS",
    "OF_SLATES",
    "as_actions",
    "as_array",
    "as_contexts",
    "as_numbers",
    "as_path",
    "as_propensities",
    "as_rewards",
    "as_rng",
    "context_array",
    "first_rows",
    "flag",
    "integer",
    "log_of_size",
    "number",
    "one_of",
    "refuse_rows",
    "repeated_items",
]

MOST_ACTIONS = 2**31 - 1  # they are numbered with 32 bits
OF_SLATES = (
    "that does not say which item earned it; give the rewards of the items, or make whole slates "
    "the actions, with slate_size=1"
)
"""Why one reward for a slate is no reward of its items, and what to do."""
_64_BITS = 2**63 - 1
_SLACK = 1e-9  # rounding allowed when the rewards of one round are summed


def integer(name: str, value: Any, *, low: int, high: int | None = _64_BITS, hint: str = "") -> int:
    """Return `value` as an int if it is a whole number in [low, high], else raise."""
    open_ended = high is None or high == _64_BITS
    rule = f"a whole number >= {low}" if open_ended else f"a whole number in [{low}, {high}]"
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Integral):
        raise InvalidArgumentError(f"{name} must be {rule}, got {shown(value)}{_tail(hint)}")
    whole = int(value)
    if whole < low or (high is not None and whole > high):
        rule += " of 64 bits" if open_ended and whole > low else ""
        raise InvalidArgumentError(f"{name} must be {rule}, got {shown(whole)}{_tail(hint)}")
    return whole


def number(
    name: str,
    value: Any,
    *,
    above: float,
    below: float,
    closed: bool = False,
    closed_below: bool = False,
    smallest: float = 1e-300,
    hint: str = "",
) -> float:
    """Return `value` as a float if above < value < below, else raise.

    It may also be `below` when `closed`, and `above` when `closed_below`. A number that
    must be positive is at least the `smallest`, so that computing with it does not give 0.
    """
    less, least = "<=" if closed else "<", "<=" if closed_below else "<"
    rule = f"a number with {above:g} {least} {name} {less} {below:g}"
    if math.isinf(below) and math.isfinite(above):
        rule = f"a finite number {'of at least' if closed_below else 'above'} {above:g}"
    x = _real(name, value, rule, hint)
    inside = above < x < below or (closed and x == below) or (closed_below and x == above)
    if not inside:
        raise InvalidArgumentError(f"{name} must be {rule}, got {x:g}{_tail(hint)}")
    if above == 0 and x < smallest and not closed_below:
        raise InvalidArgumentError(
            f"{name} must be at least {smallest:g}, got {x:g}; what is smaller is lost in rounding"
        )
    return x


def flag(name: str, value: Any) -> bool:
    """Return `value` if it is True or False, else raise: many things count as true by accident."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidArgumentError(f"{name} must be True or False, got {shown(value)}")
    return bool(value)


def one_of(name: str, value: Any, choices: Iterable[str]) -> None:
    """Raise unless a value is one of some words."""
    if not isinstance(value, str) or value not in choices:
        raise InvalidArgumentError(
            f"{name} must be one of {', '.join(choices)}, got {shown(value)}"
        )


def as_path(path: Any, *, name: str = "path") -> Path:
    """Return a path if it is a string or an object for paths, else raise."""
    if isinstance(path, str | os.PathLike):
        return Path(path)
    raise InvalidArgumentError(f"{name} must be a string or a Path, got {shown(path)}")


def log_of_size(name: str, value: Any) -> float:
    """Return `value` as a float if it can be ln|Pi|, finite and at least 0, else raise."""
    rule = "a number >= 0, the logarithm of the number of policies"
    x = _real(name, value, rule)
    if not 0 <= x < math.inf:
        raise InvalidArgumentError(f"{name} must be {rule}, got {x:g}")
    return x


def _real(name: str, value: Any, rule: str, hint: str = "") -> float:
    """A real number as a float, infinite if it is too large for one; a truth value is none."""
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        return as_float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(
            f"{name} must be {rule}, got {shown(value)}{_tail(hint)}"
        ) from error


def as_rng(rng: Any, *, name: str = "rng", stream: int | None = None) -> np.random.Generator:
    """Return a numpy Generator from a seed, a Generator, or None.

    A `stream` sets the numbers of a whole-number seed apart from those of other streams and of
    ``numpy.random.default_rng(seed)``: a learner and a world with the same seed must not draw the
    same numbers, or actions would depend on contexts and rewards. An error calls it `name`.
    """
    try:
        if stream is not None and isinstance(rng, numbers.Integral):
            return np.random.default_rng(np.random.SeedSequence(int(rng), spawn_key=(stream,)))
        return np.random.default_rng(rng)
    except Exception as error:  # of an object that does not even let numpy look at it
        raise InvalidArgumentError(
            f"{name} must be a whole number >= 0, a numpy Generator or None, got {shown(rng)}"
        ) from error


def as_rewards(
    rewards: Any,
    n_rounds: int,
    slate_size: int,
    sparsity: float | None,
    reward_range: Range = None,
) -> npt.NDArray[np.float64]:
    """Return rewards as an (n_rounds, slate_size) float array after checking them.

    Rewards lie in their range and, when `sparsity` is given, those of one round sum to at most it.
    """
    shape = (n_rounds, slate_size)
    array = real_numbers(
        "rewards",
        rewards,
        f"numbers of shape {shape}, such as 1 for right and 0 for wrong",
        hint="count an answer that is missing at its deadline as 0",
    )
    if array.shape == (n_rounds,) and slate_size == 1:
        array = array[:, None]
    elif array.shape == (n_rounds,) and n_rounds:
        raise InvalidArgumentError(
            f"rewards must have shape {shape}, one for each shown item, got one for each whole "
            f"slate, {array.shape}: {OF_SLATES}"
        )
    if array.shape != shape:
        also = f" or ({n_rounds},)" if slate_size == 1 else ""
        raise InvalidArgumentError(
            f"rewards must have shape {shape}{also}, one for each shown item, got {array.shape}"
        )
    low, high = reward_range or (0.0, 1.0)
    bad = ~((array >= low) & (array <= high))  # NaN compares false, so it is caught here too
    if np.count_nonzero(bad):
        rows = bad.any(axis=1)
        missing = np.isnan(array[rows][0]).any()  # in the row that is named
        worth = "0" if reward_range is None else "what it is worth"
        refuse_rows(
            rows,
            f"rewards must lie in {range_in_words(reward_range)}",
            lambda row: f"{array[row][bad[row]][0]:g}",
            hint="leave out rounds whose answers are not known yet, and count an answer that is "
            f"missing at its deadline as {worth}"
            if missing
            else "declare a range that has all of them, with reward_range=(low, high)",
        )
    if sparsity is not None and sparsity < slate_size * high:
        refuse_rows(
            array.sum(axis=1) > sparsity + _SLACK * high,
            f"the rewards of one round must sum to at most the problem's sparsity {sparsity:g}",
            lambda row: f"{array[row].sum():g}",
            hint="declare a larger sparsity, or none when it is not known (--sparsity unknown, or "
            "sparsity=None)",
        )
    return array


def as_actions(actions: Any, n_rounds: int) -> npt.NDArray[np.int32]:
    """Return slates as an (n_rounds, m) integer array: numbered from 0, different in a slate."""
    a = plain_array("actions", actions, "an array with slates of one size")
    if a.ndim == 1:
        a = a[:, None]
    if a.ndim != 2 or len(a) != n_rounds or a.shape[1] < 1:
        raise InvalidArgumentError(
            f"actions must have shape ({n_rounds}, m), one slate for each of the {n_rounds} "
            f"contexts, got {a.shape}"
        )
    if a.size and a.dtype.kind not in "iu":
        raise InvalidArgumentError(f"actions must be whole numbers, got dtype {a.dtype}")
    bad = ((a < 0) | (a >= MOST_ACTIONS)).any(axis=1)
    refuse_rows(bad, "actions must be numbered from 0", lambda row: a[row].tolist())
    twice = repeated_items(a)
    refuse_rows(twice, "actions of one slate must be different", lambda row: a[row].tolist())
    return a.astype(np.int32)


def as_propensities(propensities: Any, shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
    """Return propensities as a float array of the given (n, m) shape, each in (0, 1]."""
    w = real_numbers("propensities", propensities, f"numbers of shape {shape}")
    if w.ndim == 1 and shape[1] == 1:
        w = w[:, None]
    if w.shape != shape:
        raise InvalidArgumentError(
            f"propensities must have shape {shape} like the actions, got {w.shape}"
        )
    bad = ~((w > 0) & (w <= 1))
    if bad.any():
        row, slot = np.argwhere(bad)[0]
        raise InvalidArgumentError(
            f"propensities must lie in (0, 1], got {w[row, slot]:g} in row {row}"
            f"{first_rows(bad.any(axis=1))}; {_about_propensity(w[row, slot])}"
        )
    return w


def _about_propensity(wrong: float) -> str:
    if 1 < wrong <= 100:
        return "if they are percentages, divide them by 100"
    return "an item that was shown had a positive probability"


def as_contexts(contexts: Any) -> Contexts:
    """Return contexts as rows of a table if they are such, else as an array."""
    if type(contexts) is not np.ndarray and is_tabular(contexts):
        return ContextFrame.of(contexts)
    return as_array(contexts)


def as_array(contexts: Any) -> npt.NDArray[Any]:
    """Return contexts as an array of shape (n, ...): finite numbers, or strings as objects."""
    if hasattr(contexts, "tocsr"):
        raise InvalidArgumentError("contexts must be dense here: pass contexts.toarray()")
    x = context_array(contexts)
    if x.ndim == 0:
        raise InvalidArgumentError(
            f"contexts must have one entry or row per round, got {shown(contexts)}"
        )
    if x.dtype.kind in "UT":  # anew where numpy chose that: numbers among strings became strings
        x = x.astype(object) if isinstance(contexts, np.ndarray) else np.asarray(contexts, object)
    if x.dtype == object:
        _check_texts(x)
        return x
    if x.dtype.kind not in "biuf" or x.dtype.itemsize > 8:
        hint = {"S": "decode bytes, with astype(str)", "f": "convert them with astype(float)"}
        raise InvalidArgumentError(
            f"contexts must be numbers of at most 64 bits or strings, got dtype {x.dtype}"
            f"{_tail(hint.get(x.dtype.kind, ''))}"
        )
    if x.dtype.kind == "f" and not np.isfinite(x).all():
        bad_rows = ~np.isfinite(x.reshape(len(x), -1)).all(axis=1)
        refuse_rows(bad_rows, "contexts must be finite", lambda _: "NaN or infinity")
    return x if x.dtype.isnative else x.astype(x.dtype.newbyteorder("="))


def context_array(contexts: Any) -> npt.NDArray[Any]:
    """Contexts as an array of any kind; a data frame is refused, and what is masked or ragged."""
    if type(contexts) is not np.ndarray and is_tabular(contexts):
        raise InvalidArgumentError(
            f"contexts must be an array here, got {type(contexts).__name__}, whose columns may "
            "come in another order the next time; pass contexts[columns].to_numpy(), with the "
            "columns in an order that is always the same, or use EstimatorPolicies or "
            "FunctionPolicies, which know columns by name"
        )
    return plain_array("contexts", contexts, "an array with one entry or row per round")


def _check_texts(x: npt.NDArray[np.object_]) -> None:
    """Raise unless all entries are strings that files can hold."""
    for i, entry in enumerate(x.reshape(-1)):
        if not isinstance(entry, str):
            hint = "pass numbers of one kind, at most 64 bits each, and not strings among them"
            raise InvalidArgumentError(
                f"contexts must be numbers or strings, got {type(entry).__name__} in entry {i}"
                f"{_tail(hint if isinstance(entry, numbers.Number) else '')}"
            )
        if not is_text(entry):
            raise InvalidArgumentError(
                f"contexts must be text, got half of a surrogate pair in entry {i}: "
                f"{shown(entry)}; decode its bytes as UTF-8"
            )


def as_numbers(name: str, values: Any) -> npt.NDArray[np.float64]:
    """Return values as a new array of floats, else raise."""
    return np.array(real_numbers(name, values, "an array of numbers"))


def repeated_items(actions: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Mask over all but the last axis: which slates hold the same item twice."""
    if actions.shape[-1] < 2:
        return np.zeros(actions.shape[:-1], dtype=np.bool_)
    ordered = np.sort(actions, axis=-1)
    return np.asarray((ordered[..., 1:] == ordered[..., :-1]).any(axis=-1))


def refuse_rows(
    bad: Any,
    rule: str,
    found: Callable[[int], object],
    *,
    unit: str = "row",
    hint: str = "",
) -> None:
    """Raise if any row of a mask is bad: the rule, what the first one holds, how many there are."""
    if np.count_nonzero(bad):  # of one row much faster than any()
        row = int(np.flatnonzero(bad)[0])
        where = f"{unit} {row}{first_rows(bad)}"
        raise InvalidArgumentError(f"{rule}, got {found(row)} in {where}{_tail(hint)}")


def first_rows(bad: Any) -> str:
    """Say in brackets how many rows of a mask are bad, and which come first."""
    rows = np.flatnonzero(bad)
    if len(rows) < 2:
        return ""
    shown = ", ".join(str(row) for row in rows[:5])
    return f" ({len(rows)} such rows: {shown}{', ...' if len(rows) > 5 else ''})"


def _tail(hint: str) -> str:
    return f"; {hint}" if hint else ""
