"""Options that several commands share."""

from typing import Any

import click

__all__ = ["SPARSITY", "known_sparsity"]


class _Sparsity(click.ParamType[Any]):
    """A positive number, or the word unknown."""

    name = "NUMBER|unknown"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if value == "unknown":
            return value
        try:
            return float(value)
        except ValueError:
            self.fail(f"{value!r} is neither a number nor the word unknown", param, ctx)


SPARSITY = _Sparsity()


def known_sparsity(value: Any) -> float | None:
    """The number, or None for the word unknown."""
    return None if value == "unknown" else float(value)
