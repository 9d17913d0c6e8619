"""Names of a log's actions: what its numbers stand for, and in which order."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from policysieve.arrays import shown
from policysieve.errors import InvalidArgumentError
from policysieve.log.distributions import Distributions, in_order
from policysieve.naming import as_names, labels_of, looked_up, number_of

__all__ = ["Names", "in_numbers", "renumbering", "spread", "united"]

Names = tuple[str, ...] | None


def in_numbers(actions: Any, distributions: Any, names: Any) -> tuple[Any, Any, Names]:
    """Actions and distributions with numbers in place of names, and what these stand for.

    Names are those given, else what is there in alphabetical order; None if there are only numbers.
    """
    known = None if names is None else as_names("action_names", names)
    values = labels_of("actions", actions, "an array with slates of one size")
    if not values.ndim:
        return actions, distributions, known  # refused by who checks actions
    texts = values.size and values.dtype.kind in "UTO"
    if texts and values.dtype == object:
        texts = _all_texts(values)
    if known is None and not texts:
        return actions, distributions, None
    if known is None:
        if isinstance(distributions, np.ndarray | Distributions):
            raise InvalidArgumentError(
                "action_names must be given if actions are names and distributions have numbers, "
                'or nobody knows which is which; write Log(..., action_names=["hats", "shoes"])'
            )
        listed = {name for one in distributions or () for name in _listed(one)}
        known = as_names("actions", sorted({*map(str, values.reshape(-1)), *listed}))
    if texts:
        actions = looked_up("actions", values, known)
    elif values.size and values.dtype.kind in "iu" and values.max() >= len(known):
        row = int(np.argmax(values.reshape(len(values), -1).max(axis=1) >= len(known)))
        raise InvalidArgumentError(
            f"actions must be below {len(known)}, because action_names has so many, got "
            f"{values[row].tolist()} in row {row}"
        )
    return actions, _without_names(distributions, known), known


def _all_texts(values: npt.NDArray[Any]) -> bool:
    """Whether objects are texts; raises if some are and others are not."""
    kinds = [isinstance(value, str) for value in values.reshape(-1)]
    if any(kinds) and not all(kinds):
        entry = kinds.index(not kinds[0])
        raise InvalidArgumentError(
            "actions must be all names or all numbers, got "
            f"{shown(values.reshape(-1)[0])} and, in entry {entry}, "
            f"{shown(values.reshape(-1)[entry])}; write numbers as text, such as str(17)"
        )
    return all(kinds)


def _listed(one: Any) -> Iterable[str]:
    """Names in the distribution of a round; what else may be there is refused elsewhere."""
    try:
        return [action for action, *_ in _pairs(one) if isinstance(action, str)]
    except (TypeError, ValueError):
        return []


def _pairs(one: Any) -> list[Any]:
    return list(one.items() if isinstance(one, Mapping) else one)


def _without_names(distributions: Any, names: Sequence[str]) -> Any:
    """Distributions as they are, but with numbers where a list of them has names."""
    if distributions is None or isinstance(distributions, np.ndarray | Distributions):
        return distributions
    try:
        lists = [(one, _pairs(one)) for one in distributions]
    except TypeError:
        return distributions  # refused by who checks distributions
    return [
        [_numbered(row, pair, names) for pair in pairs] if any(_listed(one)) else one
        for row, (one, pairs) in enumerate(lists)
    ]


def _numbered(row: int, pair: Any, names: Sequence[str]) -> Any:
    action, *rest = pair
    if isinstance(action, str):
        action = number_of(f"distributions, row {row}: an action", action, names)
    return (action, *rest)


def renumbering(old: Sequence[str], new: Sequence[str]) -> npt.NDArray[np.int32]:
    """For each old number the new one of the same name, or -1."""
    places = {name: number for number, name in enumerate(new)}
    return np.array([places.get(name, -1) for name in old], dtype=np.int32)


def spread(lists: Distributions, numbers: npt.NDArray[np.int32]) -> Distributions:
    """Distributions whose actions have new numbers."""
    changed = Distributions.trusted(lists.offsets, numbers[lists.actions], lists.propensities)
    return in_order(changed)


def united(first: Names, n_first: int, second: Names, n_second: int) -> Names:
    """Names of the rounds of two logs: the first's, then those that the second adds.

    Numbers of the first so stay what they are. A log without rounds may have names or not.
    """
    if first == second or (second is None and not n_second):
        return first
    if first is None and not n_first:
        return second
    if first is None or second is None:
        has, has_not = ("the new", "the earlier") if first is None else ("the earlier", "the new")
        raise InvalidArgumentError(
            f"actions must have names in all rounds of a log or in none, {has} rounds have them "
            f"and {has_not} have numbers; say what these stand for, with "
            "log.with_action_names([...])"
        )
    known = set(first)
    return (*first, *(name for name in second if name not in known))
