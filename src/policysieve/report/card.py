"""How a card looks: a title, facts, a table and drawn intervals, in the notebook's own colours."""

from collections.abc import Mapping, Sequence
from html import escape
from math import isfinite
from typing import Any

from policysieve.report.table import CellValue, Table, value_text

__all__ = ["Facts", "between", "card", "interval", "paragraph", "pill_with", "rows_table", "short"]

Facts = Mapping[str, CellValue | tuple[CellValue, str]]

_LONGEST = 80  # letters of one context, or of one name in a table
_WIDE, _HIGH = 160, 14  # pixels of an interval
_LINE = "1px solid rgba(128,128,128,.35)"
_BLUE = "#1898d0"
_TINTS = {
    "good": "46,158,107",
    "poor": "213,94,0",
    "open": "128,128,128",
}


def card(
    title: str, pill: str = "", *, text: str = "", facts: Facts | None = None, below: str = ""
) -> str:
    """Everything but `pill` and `below` is plain text."""
    tiles = []
    for label, fact in (facts or {}).items():
        value, note = fact if isinstance(fact, tuple) else (fact, "")
        tiles.append(
            f'<div><div style="font-size:.8em;opacity:.7">{escape(label)}</div>'
            f'<div style="font-weight:600">{escape(value_text(value))}</div>'
            + (f'<div style="font-size:.8em;opacity:.7">{escape(note)}</div>' if note else "")
            + "</div>"
        )
    return (
        f'<div style="box-sizing:border-box;max-width:48em;padding:.8em 1em;border:{_LINE};'
        'border-radius:.5em;color:inherit;line-height:1.4;overflow-wrap:anywhere">'
        '<div style="display:flex;flex-wrap:wrap;gap:.2em .8em;align-items:center">'
        f'<span style="font-size:1.1em;font-weight:600">{escape(title)}</span>{pill}</div>'
        + paragraph(text)
        + (
            '<div style="display:flex;flex-wrap:wrap;gap:.6em 2em;margin-top:.6em">'
            f"{''.join(tiles)}</div>"
            if tiles
            else ""
        )
        + f"{below}</div>"
    )


def pill_with(word: str, tint: str) -> str:
    """A word in a rounded frame, in the tint of what it means."""
    colour = _TINTS[tint]
    return (
        f'<span style="padding:.1em .6em;border:1px solid rgba({colour},.7);border-radius:1em;'
        f'background:rgba({colour},.16);font-size:.8em;white-space:nowrap">{escape(word)}</span>'
    )


def paragraph(text: str) -> str:
    """A text of its own, or nothing."""
    return f'<div style="margin-top:.5em;opacity:.85">{escape(text)}</div>' if text else ""


def rows_table(
    columns: Sequence[str], rows: Sequence[Sequence[CellValue]], drawn: Sequence[str] = ()
) -> str:
    """A table of plain texts; `drawn` is markup for one more column."""
    if not rows:
        return ""
    table = Table("", columns, rows)
    sides = ["right" if numeric else "left" for numeric in table.numeric]

    def cell(tag: str, side: str, inside: str, also: str = "") -> str:
        style = f"padding:.2em 1em .2em 0;text-align:{side};white-space:nowrap{also}"
        return f'<{tag} style="{style}">{inside}</{tag}>'

    head = "".join(
        cell("th", side, escape(name), ";font-weight:400;opacity:.7")
        for name, side in zip(columns, sides, strict=True)
    ) + (cell("th", "left", "") if drawn else "")
    body = []
    for number, texts in enumerate(table.texts):
        cells = [cell("td", side, escape(text)) for text, side in zip(texts, sides, strict=True)]
        if drawn:
            cells.append(cell("td", "left", drawn[number]))
        body.append(f"<tr>{''.join(cells)}</tr>")
    return (
        '<div style="overflow-x:auto"><table style="margin:.7em 0 0;border-collapse:collapse;'
        f'font-size:.9em;color:inherit;font-variant-numeric:tabular-nums"><thead style="border:0">'
        f"<tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def interval(row: Mapping[str, Any], low: float, high: float, mine: bool) -> str:
    """An interval as a line with a dot, from `low` to `high` over the whole width."""
    margin, middle = 5.0, _HIGH / 2
    width = high - low

    def at(value: float) -> str:
        share = (value - low) / width if width > 0 and isfinite(value) else 0.5
        return f"{margin + min(1.0, max(0.0, share)) * (_WIDE - 2 * margin):.1f}"

    colour, strength = (_BLUE, "1") if mine else ("currentColor", ".55")
    value = row["value"]
    dot = (
        f'<circle cx="{at(value)}" cy="{middle:g}" r="3.5" fill="{colour}"/>'
        if value is not None and isfinite(value)
        else ""
    )
    words = f"{value_text(value)}, {between(row['lower'], row['upper'])}"
    return (
        f'<svg width="{_WIDE}" height="{_HIGH}" viewBox="0 0 {_WIDE} {_HIGH}" role="img" '
        f'aria-label="{escape(words)}" style="display:block;opacity:{strength}">'
        f'<line x1="{at(row["lower"])}" x2="{at(row["upper"])}" y1="{middle:g}" y2="{middle:g}" '
        f'stroke="{colour}" stroke-width="2"/>{dot}</svg>'
    )


def between(lower: float, upper: float) -> str:
    """An interval in words."""
    return f"between {value_text(float(lower))} and {value_text(float(upper))}"


def short(text: str) -> str:
    """The beginning of a text, if it is too long for a card."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
