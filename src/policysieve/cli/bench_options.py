"""What all benchmarks can be told, and what they write and print."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import click

from policysieve.cli.options import report_option
from policysieve.cli.output import command_line, print_json, print_table, print_text, write_json

__all__ = ["names_option", "output_options", "output_result"]

Command = TypeVar("Command", bound=Callable[..., Any])

# Signs that one can type: what a terminal shows may be copied.
_PLAIN = str.maketrans({"\N{EN DASH}": "-", "\N{MINUS SIGN}": "-", "\N{INFINITY}": "inf"})


def names_option(
    option: str, module: str, registry: str, note: str = ""
) -> Callable[[Command], Command]:
    """An option whose help lists the names of a registry, and then a `note`.

    The module of the registry is imported only when the help is shown.
    """

    class NamesOption(click.Option):
        def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
            names = ", ".join(getattr(import_module(module), registry))
            known = f"Any of these, with commas between them; all by default: {names}."
            self.help = f"{known} {note}".strip()
            return super().get_help_record(ctx)

    return click.option(option, cls=NamesOption)


def output_options(kept: str) -> Callable[[Command], Command]:
    """The options ``--json``, ``--out`` and ``--report``; `kept` is what a folder holds."""

    def add(command: Command) -> Command:
        out = click.option(
            "--out",
            type=click.Path(file_okay=False, path_type=Path),
            help=f"Folder for {kept}.",
        )
        as_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
        return as_json(out(report_option(command)))

    return add


def output_result(
    kind: str, result: dict[str, Any], *, as_json: bool, out: Path | None, report: Path | None
) -> None:
    """Write what was asked for, and print the result as JSON or in tables."""
    from policysieve.bench.pages import bench_page, bench_tables

    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        write_json(result, out / f"{kind}.json")
    if out is not None or report is not None:
        page = bench_page(kind, result, command=command_line())
        if out is not None:
            page.save_figures(out)
        if report is not None:
            page.save(report)
            if not as_json:
                click.echo(f"Report: {report}")
    if as_json:
        print_json(result)
        return
    for table in bench_tables(kind, result):
        texts = [tuple(text.translate(_PLAIN) for text in row) for row in table.texts]
        words = [number for number, numeric in enumerate(table.numeric) if not numeric]
        print_table(table.title, table.columns, texts, words=words)
        if table.note:
            print_text(table.note)
