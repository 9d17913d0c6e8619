"""What a command writes: one file, a folder of results, a page, figures, JSON."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from policysieve.cli.options.grouping import Decorator, grouped
from policysieve.cli.output import command_line, print_json, write_json

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from policysieve.experiment import ExperimentResult
    from policysieve.reported import Reported

__all__ = [
    "ExperimentOutput",
    "PageOutput",
    "PlotOutput",
    "experiment_output",
    "figures_option",
    "folder_option",
    "json_option",
    "out_option",
    "page_options",
    "plot_option",
    "report_option",
]

_file = click.Path(dir_okay=False, path_type=Path)
_folder = click.Path(file_okay=False, path_type=Path)


def out_option(what: str, *, required: bool = False) -> Decorator:
    """The option ``--out``: the one file that a command makes."""
    return click.option(
        "--out", required=required, metavar="FILE", type=_file, help=f"Write {what}."
    )


def folder_option(holds: str, default: str | None = None) -> Decorator:
    """The option ``--folder``: where a command leaves several files."""
    return click.option(
        "--folder",
        default=default,
        show_default=default is not None,
        metavar="FOLDER",
        type=_folder,
        help=f"Folder for {holds}.",
    )


report_option = click.option(
    "--report", metavar="FILE", type=_file, help="Write a page about the result here, as HTML."
)
figures_option = click.option(
    "--figures", metavar="FOLDER", type=_folder, help="Write the figures here, as PNG and SVG."
)


def json_option(what: str = "the result") -> Decorator:
    """The option ``--json``, which a command gets as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help=f"Print {what} as JSON.")


@dataclass(frozen=True, kw_only=True)
class PageOutput:
    """Where the page of a result goes, if anywhere, and its figures."""

    report: Path | None
    figures: Path | None

    def write(self, result: "Reported") -> None:
        """Write what was asked for."""
        if self.report is None and self.figures is None:
            return
        from policysieve.report import page_of

        page = page_of(result, command=command_line())
        if self.report is not None:
            page.save(self.report)
        if self.figures is not None:
            page.save_figures(self.figures)

    def say_where(self) -> None:
        """Print where it is."""
        if self.report is not None:
            click.echo(f"Report: {self.report}")
        if self.figures is not None:
            click.echo(f"Figures: {self.figures}")


page_options = grouped("page", PageOutput, report_option, figures_option)


@dataclass(frozen=True, kw_only=True)
class ExperimentOutput:
    """The folder in which an experiment leaves its page and its numbers, and what is printed."""

    folder: Path
    figures: Path | None
    as_json: bool

    def write(self, result: "ExperimentResult", *, title: str | None = None) -> None:
        """Write ``report.html`` and ``result.json``, and print the numbers if that is asked for."""
        data = result.to_dict()
        write_json(data, self._numbers)
        result.report(self._page, title=title, figures=self.figures, command=command_line())
        if self.as_json:
            print_json(data)

    def say_where(self) -> None:
        """Print where the files are."""
        click.echo(f"Report: {self._page}   Numbers: {self._numbers}")

    @property
    def _page(self) -> Path:
        return self.folder / "report.html"

    @property
    def _numbers(self) -> Path:
        return self.folder / "result.json"


def experiment_output(folder: str) -> Decorator:
    """The options of a command that runs an experiment, which gets them as `output`."""
    holds = folder_option("report.html and result.json", folder)
    return grouped("output", ExperimentOutput, holds, figures_option, json_option())


@dataclass(frozen=True, kw_only=True)
class PlotOutput:
    """Where 0.1 drew one figure to: a file, in place of a folder."""

    path: Path | None

    def __post_init__(self) -> None:
        from policysieve.errors import InvalidArgumentError

        if self.path is None:
            return
        click.echo("Note: --plot FILE is called --figures FOLDER from 0.2 on.", err=True)
        if self.path.suffix not in (".png", ".svg", ".pdf"):
            raise InvalidArgumentError(f"--plot must end in .png, .svg or .pdf, got {self.path}")

    def write(self, draw: "Callable[[], Figure]") -> None:
        """Draw and write it, if that was asked for."""
        from policysieve.files import whole_or_nothing

        if self.path is not None:
            with whole_or_nothing(self.path) as partial:
                draw().savefig(partial, format=self.path.suffix[1:], dpi=150)


plot_option = grouped("plot", PlotOutput, click.option("--plot", "path", hidden=True, type=_file))
