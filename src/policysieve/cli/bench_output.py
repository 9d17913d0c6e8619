"""What all benchmarks can write."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from policysieve.cli.options import report_option
from policysieve.cli.output import command_line, write_json

__all__ = ["output_options", "write_outputs"]

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


def write_outputs(
    kind: str, result: dict[str, Any], *, out: Path | None, report: Path | None, quiet: bool
) -> None:
    """Write what was asked for: the numbers and the figures into a folder, and the report."""
    from policysieve.report import bench_page

    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        write_json(result, out / f"{kind}.json")
    if out is None and report is None:
        return
    page = bench_page(kind, result, command=command_line())
    if out is not None:
        page.save_figures(out)
    if report is not None:
        page.save(report)
        if not quiet:
            click.echo(f"Report: {report}")
