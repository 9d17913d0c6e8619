"""Cards of logs and of their health, and what else describes rounds in a card."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from policysieve.arrays import shown
from policysieve.report.card import Facts, card, paragraph, pill_with, rows_table, short
from policysieve.report.table import CellValue, shown_text, value_text
from policysieve.scaling import Range, range_in_words

if TYPE_CHECKING:
    from policysieve.health import LogHealth
    from policysieve.log import Log, LogFile

__all__ = ["few_names", "health_card", "log_card", "log_file_card", "rewards_in"]

_ROUNDS = 5  # of a log
_NAMES = 6  # of actions or columns

_VERDICTS = {"ok": "good", "warning": "open", "broken": "poor"}


def log_card(log: "Log") -> str:
    """The card of a log in memory, with its first rounds."""
    n, names, contexts = len(log), log.action_names, log.contexts
    first = [
        [
            str(row),
            _context(contexts[row : row + 1].tolist()[0]),
            _items(names[a] if names else a for a in log.actions[row].tolist()),
            _items(log.propensities[row].tolist()),
            _items(log.rewards[row].tolist()),
        ]
        for row in range(min(n, _ROUNDS))
    ]
    columns = ["round", "context", "action", "propensity", "reward"]
    return card(
        "Log",
        facts={
            "Rounds": n,
            "In a round": shown_text(log.slate_size),
            **_named_actions(names),
            "Contexts": _contexts(contexts.shape[1:], contexts.dtype),
            **rewards_in(log.reward_range),
            "Mean reward": float(log.rewards.sum(axis=1).mean()) if n else None,
            "Smallest propensity": float(log.propensities.min()) if n else None,
            "Propensities": "of all actions" if log.has_distributions else "of what was shown",
        },
        below=rows_table(columns, first)
        + (paragraph(f"The first {len(first)} of {n:,} rounds.") if n > len(first) else ""),
    )


def log_file_card(log: "LogFile") -> str:
    """The card of a log on disk."""
    layout = log.layout
    return card(
        "Log on disk",
        facts={
            "Rounds": len(log),
            "In a round": shown_text(layout.slate_size),
            **_named_actions(log.action_names),
            "Contexts": _contexts(layout.context_shape, layout.context_dtype),
            **rewards_in(log.reward_range),
            "Propensities": "of all actions" if log.has_distributions else "of what was shown",
        },
    )


def health_card(health: "LogHealth") -> str:
    """The card of what a check has found."""
    bad = [one for one in health.findings if one.verdict != "ok"]
    return card(
        "The health of a log",
        pill_with(health.worst, _VERDICTS[health.worst]),
        text=health.verdict,
        facts={
            "Rounds": health.rounds,
            "Actions": health.n_actions,
            "In a round": shown_text(health.slate_size),
        },
        below="".join(paragraph(f"{one.name}: {one.sentence}") for one in bad)
        + rows_table(
            ["what", "value", "verdict"],
            [[one.name, one.value, one.verdict] for one in health.findings],
        ),
    )


def rewards_in(reward_range: Range, what: str = "Rewards") -> Facts:
    """The range of rewards, where it is not the usual one."""
    return {} if reward_range is None else {what: f"in {range_in_words(reward_range)}"}


def _named_actions(names: Sequence[str] | None) -> Facts:
    return {} if names is None else {"Actions": (len(names), few_names(names))}


def _contexts(shape: Sequence[int], dtype: Any) -> str:
    """What contexts are, in words."""
    if dtype.kind == "frame":
        names = dtype.names
        return f"{len(names):,} columns: {few_names(names)}"
    if len(shape):
        return f"{' x '.join(f'{size:,}' for size in shape)} features"
    return "texts" if dtype.kind == "O" else "numbers"


def few_names(names: Sequence[str] | None) -> str:
    """The first of some names; nothing if there are none."""
    if names is None:
        return ""
    return short(", ".join(names[:_NAMES]) + (", ..." if len(names) > _NAMES else ""))


def _context(context: Any) -> str:
    """One context on one line: a row of a table with its names, features with few digits."""
    if isinstance(context, Mapping):
        return short(", ".join(f"{name} {_entry(value)}" for name, value in context.items()))
    if isinstance(context, list):
        return short(", ".join(map(_entry, context)))
    return short(_entry(context))


def _entry(value: Any) -> str:
    return value_text(value) if isinstance(value, str | int | float | None) else shown(value)


def _items(values: Iterable[CellValue]) -> str:
    """What the items of one round have."""
    return ", ".join(map(value_text, values))
