"""Which columns of a table hold what: how a log that others have written is read as it is."""

import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from policysieve.arrays import shown
from policysieve.checks import OF_SLATES
from policysieve.errors import FileFormatError, InvalidArgumentError
from policysieve.naming import as_names, meant

__all__ = ["ITEMS", "ColumnMap", "guessed"]

ITEMS = ("action", "propensity", "reward")
_SINGLE = ("id", "time", "slate", "position", "available", "unit")
_OUTCOME = "outcome"
_KEYS = ("context", *ITEMS, *_SINGLE, _OUTCOME)
_ANOTHER = "; write outcome.NAME for another outcome, such as outcome.sale=bought"
_EXAMPLE = "context=age+country,action=item,propensity=p,reward=clicked"


@dataclass(frozen=True, kw_only=True)
class ColumnMap:
    """Names of columns by what they hold.

    Attributes
    ----------
    context : str or tuple of str
        One column whose cells are the contexts, or the columns of a table of contexts.
    action, propensity, reward : tuple of str
        One column each, or one for each item of a slate.
    id, time : str or None
    slate : str or None
        The column by which rows belong to one round, where each row is an item of a slate.
    position : str or None
        The column that has the place of an item in its slate; by default the order of the rows.
    available : str or None
        The column with lists of the actions that could be shown.
    unit : str or None
        The column that names the user or session.
    outcome : dict of str to tuple of str
        For each other outcome one column, or one for each item of a slate.
    """

    context: str | tuple[str, ...]
    action: tuple[str, ...] = ()
    propensity: tuple[str, ...] = ()
    reward: tuple[str, ...] = ()
    id: str | None = None
    time: str | None = None
    slate: str | None = None
    position: str | None = None
    available: str | None = None
    unit: str | None = None
    outcome: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, columns: Any) -> "ColumnMap":
        """The map that a mapping describes, from what is held to a column or several.

        Raises
        ------
        InvalidArgumentError
            If a key is not known or missing, or a value is not the name of a column.
        """
        if isinstance(columns, ColumnMap):
            return columns
        if not isinstance(columns, Mapping):
            raise InvalidArgumentError(
                'columns must be a mapping such as {"context": ["age", "country"], "action": '
                f'"item", "propensity": "p", "reward": "clicked"}}, got {shown(columns)}'
            )
        for key in columns:
            if key not in _KEYS:
                another = str(key).startswith(_OUTCOME)
                raise InvalidArgumentError(
                    f"columns must have the keys {', '.join(_KEYS)}, got {shown(key)}"
                    f"{_ANOTHER if another else meant(str(key), _KEYS)}"
                )
        given = {
            key: _outcomes(columns[key]) if key == _OUTCOME else _names(key, columns[key])
            for key in columns
            if columns[key] is not None
        }
        if "context" not in given:
            raise InvalidArgumentError(
                "columns must say where contexts are, with the key 'context', got "
                f"{', '.join(map(str, columns)) or 'nothing'}"
            )
        return cls(**_checked(given))

    @classmethod
    def parse(cls, text: str) -> "ColumnMap":
        """A map such as ``context=age+country,action=item``, or a TOML file with the same keys.

        A key ``outcome.sale`` says where the outcome of that name is.

        Raises
        ------
        FileNotFoundError, FileFormatError, InvalidArgumentError
            If there is no such file, it is not TOML, or as `of` has it.
        """
        if text.endswith(".toml"):
            return cls._read(Path(text))
        found: dict[str, Any] = {}
        for part in text.split(","):
            key, equals, names = (piece.strip() for piece in part.partition("="))
            if not equals:
                raise InvalidArgumentError(
                    f"a map must look like {_EXAMPLE}, or be a .toml file, which names with "
                    f"commas, plus or equal signs need, got {part!r}"
                )
            if key in found:
                raise InvalidArgumentError(
                    f"a map must have {key!r} once, got it twice; several columns are joined by "
                    f"plus signs, such as {key}=first+second"
                )
            columns = [name.strip() for name in names.split("+")]
            found[key] = columns if len(columns) > 1 else columns[0]
        dotted = [key for key in found if key.startswith(f"{_OUTCOME}.")]
        if dotted:
            found[_OUTCOME] = {key.removeprefix(f"{_OUTCOME}."): found.pop(key) for key in dotted}
        return cls.of(found)

    @classmethod
    def _read(cls, path: Path) -> "ColumnMap":
        if not path.is_file():
            raise FileNotFoundError(f"no map of columns at {path}")
        try:
            return cls.of(tomllib.loads(path.read_text(encoding="utf-8-sig")))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise FileFormatError(f"{path} is not TOML ({error})") from error

    @property
    def table(self) -> tuple[str, ...]:
        """Columns of the contexts."""
        return (self.context,) if isinstance(self.context, str) else self.context

    @property
    def slate_size(self) -> int:
        """Items of a round that one row holds."""
        return len(self.action)

    def check_items(self) -> None:
        """Raise unless it is known where actions, propensities and rewards are."""
        missing = [key for key in ITEMS if not getattr(self, key)]
        if missing:
            raise InvalidArgumentError(
                f"columns must say where each {missing[0]} is, with the key {missing[0]!r}; a log "
                f"needs {', '.join(ITEMS)}"
            )

    def names(self, *, contexts_only: bool) -> list[str]:
        """All columns that are read, each once."""
        single = [self.id, self.time, self.slate, self.available, self.unit]
        items: list[str] = []
        if not contexts_only:
            single.append(self.position)
            items = [name for key in ITEMS for name in getattr(self, key)]
            items += [name for names in self.outcome.values() for name in names]
        return list(dict.fromkeys([*self.table, *items, *(name for name in single if name)]))


def _names(key: str, value: Any) -> Any:
    """One name, or a tuple of several."""
    if isinstance(value, str) and value.strip():
        return str(value)
    several = key not in _SINGLE
    names = tuple(value) if several and isinstance(value, list | tuple) else ()
    if not names or not all(isinstance(name, str) and name.strip() for name in names):
        raise InvalidArgumentError(
            f"columns[{key!r}] must be the name of a column{' or a list of names' * several}, got "
            f"{shown(value)}"
        )
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise InvalidArgumentError(
            f"columns[{key!r}] must be different columns, got {twice!r} twice"
        )
    return tuple(map(str, names))


def _outcomes(value: Any) -> dict[str, tuple[str, ...]]:
    """Columns of outcomes by the names of these."""
    if not isinstance(value, Mapping) or not value:
        raise InvalidArgumentError(
            'columns["outcome"] must be a mapping from outcomes to columns, such as {"sale": '
            f'"bought"}}, got {shown(value)}; on the command line write outcome.sale=bought'
        )
    found = {}
    for name in as_names('the keys of columns["outcome"]', list(value)):
        columns = _names(f"{_OUTCOME}.{name}", value[name])
        found[name] = (columns,) if isinstance(columns, str) else columns
    return found


def _checked(given: dict[str, Any]) -> dict[str, Any]:
    """Keys whose items are equally many."""
    found = {key: (names,) if isinstance(names, str) else names for key, names in given.items()}
    items = {key: found[key] for key in ITEMS if key in found}
    outcomes = {f"{_OUTCOME}.{key}": names for key, names in given.get(_OUTCOME, {}).items()}
    for key, names in outcomes.items():
        if items and len(names) != len(next(iter(items.values()))):
            raise InvalidArgumentError(
                f"columns[{key!r}] must be as many columns as those of actions, one for each item "
                f"of a slate, got {len(names)}"
            )
    if len({len(names) for names in items.values()}) > 1:
        counts = ", ".join(f"{len(names)} of {key}" for key, names in items.items())
        whole = f"; of a reward for the whole slate, {OF_SLATES}"
        raise InvalidArgumentError(
            "columns must have equally many columns of actions, propensities and rewards, one "
            f"for each item of a slate, got {counts}"
            f"{whole if len(items.get('reward', ())) == 1 else ''}"
        )
    if "position" in given and "slate" not in given:
        raise InvalidArgumentError(
            "columns must say by which column rows belong to one slate, with the key 'slate', if "
            "they have a 'position'"
        )
    if "slate" in given and any(len(names) > 1 for names in items.values()):
        raise InvalidArgumentError(
            "columns must have one column each of actions, propensities and rewards if 'slate' "
            "says that a row is one item"
        )
    return {**given, **items}


_OWN = re.compile(r"(?P<item>action|propensity|reward)(_\d+)?|outcome(_\d+)?:(?P<outcome>.+)")
_GUESSES = {
    "available": "(available|eligible|in_?stock)(_?(actions|items|ids))?",
    "time": "time|timestamp|ts|date|datetime|(event|log|created|shown|served)_?(time|at|ts)",
    "propensity": ".*(propensity|prob|probability|pscore).*|p",
    "reward": ".*(reward|click|clicked|conver|bought|purchase|outcome).*",
    "action": "(.*_)?(action|item|arm|variant|banner|ad|creative|product|offer|treatment|shown)"
    "(_?id|_?name)?",
    "unit": "(user|customer|visitor|member|account|client)_?(id|uuid|key)",
    "id": "(round|request|event|impression|session|log|row)?_?(id|uuid|key)",
}


_NO_CONTEXT = ".*(_id|uuid)|distributions?(_actions|_propensities)?"
_NOT_CONTEXTS = (*ITEMS, "position", _OUTCOME)  # what a map of contexts alone does not have


def guessed(names: Sequence[str], *, contexts_only: bool = False) -> str:
    """A map for columns with these names, as the command line takes it, with capitals for gaps.

    Names of our own are what they say. What looks like a reward is never offered as a context, or
    models would be fitted on what they should predict.
    """
    found = _own(names)
    for key, pattern in _GUESSES.items():
        like = [name for name in _left(names, found) if re.fullmatch(pattern, name, re.IGNORECASE)]
        if like and key not in found:
            found[key] = like[:1]
        if key == "reward":
            found |= {f"{_OUTCOME}.{name}": [name] for name in like if [name] != found[key]}
    others = [name for name in _left(names, found) if name.strip()]
    contexts = [name for name in others if not re.fullmatch(_NO_CONTEXT, name, re.IGNORECASE)]
    found["context"] = contexts or ["CONTEXT"]
    if contexts_only:
        found = {key: at for key, at in found.items() if key.split(".")[0] not in _NOT_CONTEXTS}
    else:
        found = {key: [key.upper()] for key in ITEMS} | found
    ordered = sorted(found, key=lambda key: _KEYS.index(key.split(".")[0]))
    return ",".join(f"{key}={'+'.join(found[key])}" for key in ordered)


def _own(names: Sequence[str]) -> dict[str, list[str]]:
    """Columns that have the names which we give them, by what they hold."""
    found = {key: [key] for key in _SINGLE if key in names}
    if "slate" not in found:
        found.pop("position", None)
    for name in names:
        match = _OWN.fullmatch(name)
        if match is not None:
            key = match["item"] or f"{_OUTCOME}.{match['outcome']}"
            found.setdefault(key, []).append(name)
    return found


def _left(names: Sequence[str], found: Mapping[str, Sequence[str]]) -> list[str]:
    """Columns of which it is not known yet what they hold."""
    taken = {name for columns in found.values() for name in columns}
    return [name for name in names if name not in taken]
