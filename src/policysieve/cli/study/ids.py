"""Decisions that are named on the command line or in files."""

from dataclasses import dataclass
from pathlib import Path

import click

from policysieve.cli.options import grouped
from policysieve.cli.study.tables import id_column, read_table

__all__ = ["Ids", "few", "ids_options"]

_FEW = 5  # ids that are printed


@dataclass(frozen=True, kw_only=True)
class Ids:
    """Ids as they were typed, and files that have more."""

    ids: tuple[str, ...]
    files: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.ids or self.files)

    def read(self) -> list[str]:
        """All of them, each once, or raise if there are none."""
        if not self:
            raise click.UsageError("IDS or --ids FILE is needed: which decisions are meant?")
        return list(dict.fromkeys([*self.ids, *(id for path in self.files for id in _read(path))]))


ids_options = grouped(
    "ids",
    Ids,
    click.argument("ids", nargs=-1),
    click.option(
        "--ids",
        "files",
        multiple=True,
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False),
        help="A file with an id on each line, or a table with the column id (.csv, .parquet, "
        ".jsonl); may be repeated.",
    ),
)


def few(ids: list[str]) -> str:
    """Some ids, for a sentence."""
    more = f" and {len(ids) - _FEW:,} more" if len(ids) > _FEW else ""
    return ", ".join(ids[:_FEW]) + more


def _read(path: str) -> list[str]:
    from policysieve.errors import FileFormatError

    table = read_table(path)
    if table is None:
        try:
            lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
        except UnicodeDecodeError as error:
            raise FileFormatError(f"{path} is not text in UTF-8 ({error})") from error
        return [line.strip() for line in lines if line.strip()]
    if "id" not in table.schema.names:
        raise FileFormatError(
            f"{path} must have the column id, got the columns {', '.join(table.schema.names)}"
        )
    return id_column(table)
