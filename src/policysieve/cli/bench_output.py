"""What all benchmarks can write and print."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from policysieve.cli.options import report_option
from policysieve.cli.output import command_line, print_json, write_json

__all__ = ["output_options", "output_result"]

Command = TypeVar("Command", bound=Callable[..., Any])


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
    kind: str,
    result: dict[str, Any],
    show: Callable[[dict[str, Any]], None],
    *,
    as_json: bool,
    out: Path | None,
    report: Path | None,
) -> None:
    """Write what was asked for, and print the result as JSON or in the tables of `show`."""
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        write_json(result, out / f"{kind}.json")
    if out is not None or report is not None:
        from policysieve.report import bench_page

        page = bench_page(kind, result, command=command_line())
        if out is not None:
            page.save_figures(out)
        if report is not None:
            page.save(report)
            if not as_json:
                click.echo(f"Report: {report}")
    if as_json:
        print_json(result)
    else:
        show(result)
