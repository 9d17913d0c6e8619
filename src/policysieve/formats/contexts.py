"""Contexts as columns of a table or as JSON values: numbers where all are, strings otherwise."""

import sys
from typing import Any

import numpy as np

from policysieve.errors import FileFormatError
from policysieve.formats.cells import as_number, as_whole, finite, finite_row, whole
from policysieve.formats.rounds import Rounds

__all__ = ["FeatureCells", "JsonValues", "ScalarCells", "plain_contexts"]

_WHOLE: np.dtype[Any] = np.dtype(np.int64)
_NUMBER: np.dtype[Any] = np.dtype(np.float64)
_TEXT: np.dtype[Any] = np.dtype(object)


class ScalarCells:
    """One cell a round: whole numbers if all are, else numbers if all are, else strings."""

    shape: tuple[int, ...] = ()

    def __init__(self) -> None:
        self._all_whole = self._all_numbers = True
        self._any = False

    @property
    def dtype(self) -> np.dtype[Any]:
        """The narrowest that holds all cells."""
        if not self._any:
            return _TEXT
        return _WHOLE if self._all_whole else _NUMBER if self._all_numbers else _TEXT

    def see(self, context: str) -> None:
        """Take one cell into account; an empty one says nothing."""
        if context and self._all_numbers:
            self._any = True
            self._all_whole = self._all_whole and as_whole(context) is not None
            self._all_numbers = self._all_whole or as_number(context) is not None

    def value(self, context: str) -> Any:
        """The number or the string."""
        if self.dtype == _TEXT:
            return context
        return whole("context", context) if self.dtype == _WHOLE else finite("context", context)


class FeatureCells:
    """A row of cells, all of them numbers; whole numbers if all are."""

    def __init__(self, names: list[str]) -> None:
        self.shape: tuple[int, ...] = (len(names),)
        self._names = names
        self._all_whole = True

    @property
    def dtype(self) -> np.dtype[Any]:
        """The narrowest that holds all cells."""
        return _WHOLE if self._all_whole else _NUMBER

    def see(self, context: list[str]) -> None:
        """Take one row of cells into account."""
        self._all_whole = self._all_whole and all(as_whole(cell) is not None for cell in context)

    def value(self, context: list[str]) -> list[float]:
        """The row as numbers."""
        if self._all_whole:
            return [whole(name, cell) for name, cell in zip(self._names, context, strict=True)]
        return finite_row(self._names, context)


class JsonValues:
    """Numbers, strings, or lists of them; all like the first."""

    def __init__(self) -> None:
        self.shape: tuple[int, ...] = ()
        self.dtype = _WHOLE
        self._any = False

    def see(self, context: Any) -> None:
        """Take one value into account."""
        try:
            shape, dtype = _described(context)
        except FileFormatError:  # said again when the value is asked for
            return
        if not self._any:
            self._any, self.shape, self.dtype = True, shape, dtype
        elif shape == self.shape and self.dtype == _WHOLE and dtype == _NUMBER:
            self.dtype = _NUMBER

    def value(self, context: Any) -> Any:
        """The value itself."""
        shape, dtype = _described(context)
        if shape != self.shape or (dtype == _TEXT) != (self.dtype == _TEXT):
            raise FileFormatError(
                f"context must be {_in_words(self.shape, self.dtype)} as in the rounds before, got "
                f"{_in_words(shape, dtype)}"
            )
        return context


def _described(context: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and dtype of a JSON value."""
    shape: list[int] = []
    level = [context]
    while isinstance(level[0], list):
        lengths = {len(inner) if isinstance(inner, list) else -1 for inner in level}
        if len(lengths) > 1 or lengths == {0}:
            raise FileFormatError(f"context must not be empty or ragged, got {_short(context)}")
        shape += lengths
        level = [entry for inner in level for entry in inner]
    kinds = {type(entry) for entry in level}
    if kinds == {str}:
        if not all(_is_text(entry) for entry in level):
            raise FileFormatError("context has half of a surrogate pair, which is not text")
        return tuple(shape), _TEXT
    if not kinds <= {int, float}:
        raise FileFormatError(
            f"context must be a number, a string, or lists of them, got {_short(context)}"
        )
    if kinds == {int} and all(-(2**63) <= entry < 2**63 for entry in level):
        return tuple(shape), _WHOLE
    if not all(abs(entry) <= sys.float_info.max for entry in level):
        raise FileFormatError(f"context must be finite numbers, got {_short(context)}")
    return tuple(shape), _NUMBER


def _is_text(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _in_words(shape: tuple[int, ...], dtype: np.dtype[Any]) -> str:
    kind = "string" if dtype == _TEXT else "number"
    return f"{' x '.join(map(str, shape))} {kind}s" if shape else f"one {kind}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def plain_contexts(rounds: Rounds, *, flat: bool) -> list[Any]:
    """Contexts as Python numbers, strings, or lists of them; if `flat` one list a round at most."""
    contexts = rounds.contexts
    if contexts.dtype.kind == "b":
        contexts = contexts.astype(np.int8)
    if flat and contexts.ndim > 2:
        contexts = contexts.reshape(len(contexts), -1)
    return list(contexts.tolist())
