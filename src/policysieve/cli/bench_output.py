"""What becomes of a measurement, and the options that several of `policysieve bench` share."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from policysieve.cli.options import (
    ClusterOptions,
    Decorator,
    folder_option,
    grouped,
    json_option,
    report_option,
)
from policysieve.cli.options.values import SomeOf
from policysieve.cli.output import command_line, print_json, print_result, write_json
from policysieve.files import sole_writer
from policysieve.progress import progress_bar

__all__ = ["BenchOutput", "disk_option", "names_option", "output_options", "quick_option"]


@dataclass(frozen=True, kw_only=True)
class BenchOutput:
    """What becomes of a result, as it was typed."""

    as_json: bool
    folder: Path | None
    report: Path | None

    def __post_init__(self) -> None:
        if self.folder is not None:  # until the command has ended: it resumes what the folder holds
            click.get_current_context().with_resource(sole_writer(self.folder))

    def give(self, kind: str, result: dict[str, Any]) -> None:
        """Write what was asked for, and print the result as JSON or in tables."""
        from policysieve.bench.pages import bench_page, bench_tables

        if self.folder is not None:
            write_json(result, self.folder / f"{kind}.json")
        if self.folder is not None or self.report is not None:
            page = bench_page(kind, result, command=command_line())
            if self.folder is not None:
                page.save_figures(self.folder)
            if self.report is not None:
                page.save(self.report)
        if self.as_json:
            print_json(result)
            return
        for table in bench_tables(kind, result):
            print_result(table)
        if self.report is not None:
            click.echo(f"Report: {self.report}")

    def kept(self, kind: str) -> Path | None:
        """The JSON of an earlier run, of which steps may be kept; None without a folder."""
        return None if self.folder is None else self.folder / f"{kind}.json"

    def say_step(self, step: str) -> None:
        """Say on a terminal what is measured next."""
        if not self.as_json and sys.stderr.isatty():
            click.echo(f"Measuring {step.replace('_', ' ')} ...", err=True)

    @contextmanager
    def cells(self, cluster: ClusterOptions) -> Iterator[dict[str, Any]]:
        """How cells are run, as arguments: where they are kept, who is told, who runs them."""
        from policysieve.bench.cells import on_cluster

        with cluster.connected() as engine, self.cells_bar() as progress:
            runner = None if engine is None else on_cluster(engine)
            yield {"folder": self.folder, "progress": progress, "runner": runner}

    @contextmanager
    def cells_bar(self) -> Iterator[Callable[[int, int, str], None]]:
        """Say which cell is done on one line of a terminal, or nothing."""
        with progress_bar("Measuring", quiet=self.as_json) as move:
            yield lambda done, total, name: move(done, total=total, title=name)


def output_options(kept: str) -> Decorator:
    """The options ``--json``, ``--folder`` and ``--report``; `kept` is what the folder holds."""
    return grouped("output", BenchOutput, json_option(), folder_option(kept), report_option)


quick_option = click.option("--quick", is_flag=True, help="Measure less, for rough numbers.")
disk_option = click.option(
    "--disk",
    metavar="FOLDER",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder on the disk to measure; by default that of temporary files.",
)


def names_option(option: str, module: str, registry: str, note: str = "") -> Decorator:
    """An option whose help lists the names of a registry, and then a `note`.

    The module of the registry is imported only when the help is shown.
    """

    def known() -> Iterable[str]:
        names: Iterable[str] = getattr(import_module(module), registry)
        return names

    class NamesOption(click.Option):
        def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
            said = f"Any of these, with commas between them; all by default: {', '.join(known())}."
            self.help = f"{said} {note}".strip()
            return super().get_help_record(ctx)

    return click.option(option, cls=NamesOption, type=SomeOf(known))
