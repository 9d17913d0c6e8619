"""Vowpal Wabbit's decision-service JSON: an object for each round, one a line."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

from policysieve.arrays import shown
from policysieve.errors import FileFormatError, InvalidArgumentError
from policysieve.formats.beside_names import not_beside
from policysieve.formats.cells import as_timestamp, as_whole
from policysieve.formats.format import not_named, refuse_frames, refuse_slates, refuse_text_rows
from policysieve.formats.json_values import (
    JsonValues,
    number_in,
    object_in,
    optional_text,
    optional_time,
)
from policysieve.formats.lines import RawRow, plain_lines
from policysieve.formats.rules import Rules
from policysieve.formats.text import TextRow, text_format
from policysieve.log import Layout, Rounds

__all__ = ["FORMAT"]

_TITLE = "Vowpal Wabbit's dsjson"


class _DsjsonReader:
    """Rounds out of objects; the actions of a context are those that were available.

    They are known by their places, or by their numbers where we wrote them.
    """

    has_action_sets = True

    def __init__(self, rules: Rules) -> None:
        self.contexts = _DsjsonContexts()
        self._contexts_only = rules.contexts_only
        self._longest = rules.longest_row

    def raw_rows(self, path: Path) -> Iterator[RawRow]:
        """Lines that are not blank."""
        return plain_lines(path, self._longest)

    def row(self, raw: RawRow) -> TextRow:
        """Understand one line; without ``_label_cost`` the reward is missing."""
        data = object_in(raw.text)
        context = data.get("c")
        if not isinstance(context, dict):
            raise FileFormatError("no object c: an observation without its decision, or no dsjson")
        if data.get("pdrop"):
            raise FileFormatError("pdrop is above 0: rounds were left out at random before")
        numbers = _numbers(context)
        row = TextRow(
            context=context,
            id=optional_text("EventId", data.get("EventId")),
            time=optional_time("Timestamp", data.get("Timestamp")),
            available=numbers if _multi(context) else None,
        )
        if self._contexts_only:
            return row
        cost = data.get("_label_cost")
        action, distribution = _action(data), _distribution(data)
        if numbers != range(len(numbers)):  # places among them
            action = _at(numbers, action)
            distribution = distribution and [(_at(numbers, a), w) for a, w in distribution]
        return row._replace(
            actions=[action],
            propensities=[number_in("_label_probability", _probability(data))],
            rewards=[np.nan if cost is None else 0.0 - number_in("_label_cost", cost)],
            distribution=distribution,
        )


def _numbers(context: dict[str, Any]) -> Sequence[int]:
    """Numbers of the actions of a context: ours if we wrote them, else their places."""
    actions = _multi(context)
    return _own_numbers(actions) or range(len(actions))


def _own_numbers(actions: list[Any]) -> Sequence[int]:
    """Numbers that we wrote, in order, or none if we did not."""
    numbers: list[int] = []
    for action in actions:
        match action:
            case {"a": str(text)} if len(action) == 1:
                number = as_whole(text)
                if number is None or number < 0 or (numbers and number <= numbers[-1]):
                    return ()
                numbers.append(number)
            case _:
                return ()
    plain = range(len(numbers))
    return plain if numbers == list(plain) else numbers


def _at(numbers: Sequence[int], place: int) -> int:
    if not 0 <= place < len(numbers):
        raise FileFormatError(f"an action is at place {place} of a context with {len(numbers)}")
    return numbers[place]


def _action(data: dict[str, Any]) -> int:
    """The shown action from 0: ``_labelIndex``, else ``_label_Action`` or ``a``, from 1 there."""
    told = []
    if "_labelIndex" in data:
        told.append(number_in("_labelIndex", data["_labelIndex"], int))
    if "_label_Action" in data:
        told.append(number_in("_label_Action", data["_label_Action"], int) - 1)
    if not told and isinstance(data.get("a"), list) and data["a"]:
        told.append(number_in("a", data["a"][0], int) - 1)
    if not told:
        raise FileFormatError(
            "none of _labelIndex, _label_Action and a says which action was shown"
        )
    if len(set(told)) > 1:
        raise FileFormatError(
            f"_labelIndex {told[0]} and _label_Action {told[1] + 1} are different actions"
        )
    return int(told[0])


def _probability(data: dict[str, Any]) -> Any:
    if "_label_probability" in data:
        return data["_label_probability"]
    if isinstance(data.get("p"), list) and data["p"]:
        return data["p"][0]
    raise FileFormatError("neither _label_probability nor p says how probable the action was")


def _distribution(data: dict[str, Any]) -> list[tuple[int, float]] | None:
    """Actions from 0 with their probabilities, from ``a`` and ``p``, if these are of all actions.

    A single probability is that of the shown action alone, unless there is no other action. Vowpal
    Wabbit lists actions that cannot be shown, too, with probability 0.
    """
    actions, probabilities = data.get("a"), data.get("p")
    if not isinstance(actions, list) or not isinstance(probabilities, list):
        return None
    if len(probabilities) < 2 and not (probabilities == [1] and len(_multi(data["c"])) == 1):
        return None
    if len(actions) != len(probabilities):
        raise FileFormatError(
            f"a and p must be equally long, got {len(actions)} actions and {len(probabilities)} "
            "probabilities"
        )
    pairs = [
        (number_in("a", action, int) - 1, number_in("p", probability))
        for action, probability in zip(actions, probabilities, strict=True)
    ]
    return [(action, probability) for action, probability in pairs if probability != 0]


def _multi(context: dict[str, Any]) -> list[Any]:
    """The actions of a context; none if it does not say."""
    actions = context.get("_multi")
    return actions if isinstance(actions, list) else []


class _DsjsonContexts(JsonValues):
    """Features, a row number or a string as we write them; other objects are kept as JSON text.

    All contexts of a file are text if one is not of ours.
    """

    def __init__(self) -> None:
        super().__init__()
        self._all_ours = True

    def see(self, context: dict[str, Any]) -> None:
        """Take one object into account."""
        ours = _ours(context)
        if ours is None:
            self._all_ours, self.shape, self.dtype = False, (), np.dtype(object)
        elif self._all_ours:
            super().see(ours)

    def value(self, context: dict[str, Any]) -> Any:
        """The features, the row number or the string."""
        ours = _ours(context)
        if self._all_ours or isinstance(ours, str):
            return super().value(ours)
        return super().value(json.dumps(context, ensure_ascii=False))


def _ours(context: dict[str, Any]) -> Any:
    """What we wrote as this object; None if we did not."""
    actions = context.get("_multi")
    if not isinstance(actions, list) or (actions and not _own_numbers(actions)):
        return None
    match [(key, value) for key, value in context.items() if key != "_multi"]:
        case [("features", list(features))]:
            return features
        case [("row", str(row))]:
            return as_whole(row)
        case [("text", str(text))]:
            return text
    return None


def _own_actions(numbers: Iterable[int]) -> list[dict[str, str]]:
    return [{"a": str(action)} for action in numbers]


def _as_object(context: Any, actions: list[dict[str, str]]) -> dict[str, Any]:
    """The object of a context; a string that is such an object is taken for it."""
    if isinstance(context, str):
        with suppress(FileFormatError):
            known = object_in(context)
            if isinstance(known.get("_multi"), list):
                return known
        return {"text": context, "_multi": actions}
    if isinstance(context, int):
        return {"row": str(context), "_multi": actions}
    return {"features": context if isinstance(context, list) else [context], "_multi": actions}


def _text(batches: Iterable[Rounds], _layout: Layout, n_actions: int) -> Iterator[str]:
    every_one = _own_actions(range(n_actions))
    for rounds in batches:
        available = None if rounds.beside.available is None else rounds.beside.available.lists()
        columns = (
            rounds.plain_contexts(flat=False),
            rounds.actions[:, 0].tolist(),
            rounds.rewards[:, 0].tolist(),
            rounds.propensities[:, 0].tolist(),
            rounds.distributions or repeat(None, len(rounds)),
            available or repeat(None, len(rounds)),
        )
        for i, (context, action, reward, propensity, pairs, numbers) in enumerate(
            zip(*columns, strict=True)
        ):
            own = every_one if numbers is None else _own_actions(numbers)
            written = _as_object(context, own)
            known = len(written["_multi"])
            if numbers is not None:
                places = _places(written, numbers)
                action = _place(places, action)
                pairs = pairs and [(_place(places, other), w) for other, w in pairs]
            last = max([action, *(other for other, _ in pairs or ())])
            if last >= known:
                raise InvalidArgumentError(
                    f"action {last} could be shown where the context has {known}"
                )
            data: dict[str, Any] = {
                "_label_cost": 0.0 - reward,
                "_label_probability": propensity,
                "_label_Action": action + 1,
                "_labelIndex": action,
            }
            if rounds.ids is not None and rounds.ids[i]:
                data["EventId"] = rounds.ids[i]
            if rounds.times is not None and not np.isnan(rounds.times[i]):
                data["Timestamp"] = as_timestamp(float(rounds.times[i]))
            every = {action: propensity}
            if pairs is not None:  # the shown action first, and those that cannot be shown
                every = dict.fromkeys([action, *range(known)], 0.0) | dict(pairs)
            data.update(a=[other + 1 for other in every], p=list(every.values()), c=written)
            yield json.dumps(data, ensure_ascii=False) + "\n"


def _places(written: dict[str, Any], numbers: list[int]) -> dict[int, int]:
    """Where the actions that are available stand in the object of a context, or raise."""
    known = _numbers(written)
    if list(known) != numbers:
        raise InvalidArgumentError(
            f"available must be the {len(known)} actions that the context of a round has, got "
            f"{shown(numbers)}"
        )
    return {action: place for place, action in enumerate(numbers)}


def _place(places: dict[int, int], action: int) -> int:
    if action not in places:
        raise InvalidArgumentError(
            f"action {action} was shown or could be shown where only {shown(list(places))} were "
            "available"
        )
    return places[action]


def _not_held(layout: Layout) -> tuple[str, ...]:
    refuse_slates(layout, _TITLE)
    refuse_text_rows(layout, _TITLE)
    refuse_frames(layout, _TITLE)
    notes = [*not_named(layout), *not_beside(layout, sets=True)]
    if layout.has_times:
        notes.append("parts of a microsecond of the times")
    if not layout.context_shape and layout.context_dtype.kind == "f":
        notes.append("that a context is one number: it is a row of one feature")
    return tuple(notes)


FORMAT = text_format(
    name="dsjson",
    title=_TITLE,
    suffixes=(".dsjson",),
    reader=_DsjsonReader,
    text=_text,
    not_held=_not_held,
    needs_actions=True,
)
