"""Options that several commands share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from decimal import ROUND_FLOOR, Decimal
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from policysieve.cli.output import command_line, print_json, write_json

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from policysieve.experiment import ExperimentResult
    from policysieve.log import ColumnMap, LogFile
    from policysieve.policies import AnyPolicies
    from policysieve.problem import Problem
    from policysieve.reported import Reported
    from policysieve.scaling import Range

__all__ = [
    "CandidatesOptions",
    "Command",
    "ExperimentOutput",
    "FormatOption",
    "LogArgument",
    "PageOutput",
    "PlotOutput",
    "actions_option",
    "as_floor",
    "candidates_options",
    "column_map",
    "count_option",
    "delta_option",
    "engine_options",
    "epsilon_option",
    "experiment_output",
    "figures_option",
    "from_option",
    "grouped",
    "json_option",
    "log_argument",
    "map_option",
    "max_bytes_option",
    "minimize_option",
    "page_options",
    "plot_option",
    "problem_units",
    "range_option",
    "report_option",
    "sparsity_option",
    "storage_option",
]

Command = Callable[..., Any]

_POLICIES_HELP = (
    "A .npy table of actions, of shape (n_contexts, n_policies); a .npz with linear weights, of "
    "shape (n_policies, n_actions, n_features); or module:attribute, a class of policies or a "
    "function that returns one."
)


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


class _Names(click.ParamType[Any]):
    """Names with commas between them, or a file with a name on each line."""

    name = "NAMES|FILE"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if not isinstance(value, str):
            return value
        if "," in value:
            return tuple(name.strip() for name in value.split(","))
        if not Path(value).is_file():
            self.fail(
                f"{value!r} is neither a list of names with commas, nor a file with a name on each "
                "line",
                param,
                ctx,
            )
        try:
            lines = Path(value).read_text(encoding="utf-8-sig").splitlines()
        except UnicodeDecodeError as error:
            self.fail(f"{value!r} is not text in UTF-8 ({error})", param, ctx)
        return tuple(line.strip() for line in lines if line.strip())


class _Actions(_Names):
    """How many actions there are, or their names."""

    name = "NUMBER|NAMES|FILE"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if isinstance(value, str) and value.lstrip("-").isdecimal():
            return click.IntRange(1).convert(cast(Any, value), param, ctx)
        return super().convert(value, param, ctx)


epsilon_option = click.option(
    "--epsilon", required=True, type=float, help="Distance to the best policy."
)
delta_option = click.option("--delta", required=True, type=float, help="Probability of failure.")
sparsity_option = click.option(
    "--sparsity",
    show_default="1, or unknown with a range of rewards or costs",
    type=_Sparsity(),
    help="Bound on the sum of a context's rewards.",
)
minimize_option = click.option(
    "--minimize", is_flag=True, help="Rewards are costs: the lower, the better."
)


storage_option = click.option(
    "--storage",
    "url",
    required=True,
    help="Address of the database, such as sqlite:///shop.db or postgresql://user@host/shop.",
)


def range_option(help: str) -> Callable[[Command], Command]:
    """The option ``--reward-range``."""
    return click.option("--reward-range", nargs=2, type=float, metavar="LOW HIGH", help=help)


def count_option(
    option: str, default: int, help: str, *, least: int = 1
) -> Callable[[Command], Command]:
    """An option for a whole number, whose help shows what it is by default."""
    kind = click.IntRange(least)
    return click.option(option, default=default, show_default=True, type=kind, help=help)


def actions_option(what: str) -> Callable[[Command], Command]:
    """The option ``--actions``: how many there are, or what they are called."""
    where = "with commas between them or one on each line of a file"
    return click.option("--actions", type=_Actions(), help=f"{what}, {where}.")


def problem_units(
    sparsity: Any, reward_range: tuple[float, float] | None, minimize: bool
) -> dict[str, Any]:
    """What a problem is told about its rewards; the sparsity only if it was typed."""
    said: dict[str, Any] = {"reward_range": reward_range}
    if sparsity is not None:
        said["sparsity"] = None if sparsity == "unknown" else float(sparsity)
    return {**said, "objective": "minimize" if minimize else "maximize"}


def as_floor(smallest: float) -> str:
    """A smallest propensity with four digits, rounded down, so that none is below what is said."""
    exact = Decimal(f"{smallest:.12g}")  # 0.3, not 0.299999999999999989
    step = Decimal(1).scaleb(exact.adjusted() - 3)
    return f"{float(exact.quantize(step, ROUND_FLOOR)):.4g}"


def grouped(
    name: str, record: type, *options: Callable[[Command], Command]
) -> Callable[[Command], Command]:
    """Options that a command gets as one record, whose fields they are, under one name."""

    def add(command: Command) -> Command:
        @wraps(command)
        def with_record(**arguments: Any) -> Any:
            own = {field.name: arguments.pop(field.name) for field in fields(record)}
            return command(**{name: record(**own)}, **arguments)

        made: Command = with_record
        for option in reversed(options):
            made = option(made)
        return made

    return add


class FormatOption(click.Option):
    """An option for the name of a format, whose help lists all formats."""

    def make_metavar(self, ctx: click.Context) -> str:
        """What stands for the name."""
        return "FORMAT"

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """The option and its help."""
        from policysieve.formats import FORMATS

        option, title = super().get_help_record(ctx) or ("", "")
        return option, f"{title}, if its name does not tell: {', '.join(FORMATS)}."


max_bytes_option = click.option(
    "--max-bytes",
    type=click.IntRange(1),
    metavar="BYTES",
    help="Memory that may be held at once, unpacked; 4 GiB by default.",
)


map_option = click.option(
    "--map",
    "columns",
    metavar="COLUMNS",
    help="Which columns of a table hold what, such as context=age+country,action=item,"
    "propensity=p,reward=clicked,unit=user; or a .toml file that says so.",
)


def column_map(text: str | None) -> "ColumnMap | None":
    """What ``--map`` says."""
    from policysieve.log import ColumnMap

    return None if text is None else ColumnMap.parse(text)


def from_option(what: str) -> Callable[[Command], Command]:
    """The option ``--from``, which a command gets as `format`."""
    return click.option("--from", "format", cls=FormatOption, help=f"Format of {what}")


@dataclass(frozen=True, kw_only=True)
class LogArgument:
    """The log that a command reads, as it was typed; see `LogFile`."""

    paths: tuple[str, ...]
    format: str | None
    columns: str | None
    reward_range: tuple[float, float] | None
    missing_reward: float | None
    max_bytes: int | None

    def open(self, actions: Sequence[str] | None = None) -> "LogFile":
        """Open its files; `actions` are the names that there are, if that is known."""
        from policysieve.log import LogFile

        return LogFile(
            self.paths,
            self.format,
            reward_range=self.reward_range,
            missing_reward=self.missing_reward,
            columns=column_map(self.columns),
            actions=actions,
            max_bytes=self.max_bytes,
        )


@dataclass(frozen=True, kw_only=True)
class PartedLogArgument(LogArgument):
    """The same for a command that can let a cluster read the log in parts."""

    engine: str | None
    address: str | None

    def open(self, actions: Sequence[str] | None = None) -> "LogFile":
        """Open its files here, or for the workers of a cluster that is left when all is done."""
        if self.engine is None:
            if self.address is not None:
                raise click.UsageError("--address goes with --engine ray")
            return super().open(actions)
        if self.format not in (None, "parquet"):
            raise click.UsageError(
                f"--engine {self.engine} reads Parquet, got --from {self.format}; convert the log "
                "first"
            )
        from policysieve.scale import RayEngine

        engine = click.get_current_context().with_resource(RayEngine(self.address))
        return engine.log(
            self.paths,
            reward_range=self.reward_range,
            missing_reward=self.missing_reward,
            columns=column_map(self.columns),
            actions=actions,
            max_bytes=self.max_bytes,
        )


def engine_options(what: str) -> tuple[Callable[[Command], Command], ...]:
    """The options ``--engine`` and ``--address``; `what` says what a cluster does."""
    return (
        click.option("--engine", type=click.Choice(["ray"]), help=f"Let a Ray cluster {what}."),
        click.option(
            "--address",
            metavar="HOST:PORT|auto",
            help="Of the cluster; without it one is started on this machine for the command.",
        ),
    )


def log_argument(metavar: str = "LOG...", *, parted: bool = False) -> Callable[[Command], Command]:
    """The argument and the options of a command that reads a log: it gets them as `log`.

    If it is `parted`, a cluster may read it.
    """
    there = engine_options("read Parquet files in parts, and ask the policies there")
    return grouped(
        "log",
        PartedLogArgument if parted else LogArgument,
        click.argument(
            "paths", metavar=metavar, nargs=-1, required=True, type=click.Path(dir_okay=False)
        ),
        from_option("the log"),
        map_option,
        range_option(
            "Range of the log's rewards if it is not 0 to 1; costs of a format that has costs "
            "count as minus rewards."
        ),
        click.option(
            "--missing-reward",
            type=float,
            metavar="REWARD",
            help="What a missing reward counts as.",
        ),
        max_bytes_option,
        *(there if parted else ()),
    )


@dataclass(frozen=True, kw_only=True)
class CandidatesOptions:
    """The candidates and what is asked of them, as they were typed."""

    policies: str
    actions: Any
    names: tuple[str, ...] | None
    fallback: tuple[str, ...] | None
    sparsity: Any
    minimize: bool
    epsilon: float
    delta: float

    @property
    def action_names(self) -> tuple[str, ...] | None:
        """Names of the actions, if these were typed."""
        return self.actions if isinstance(self.actions, tuple) else None

    def load(self, slate_size: int, reward_range: "Range") -> "tuple[AnyPolicies, Problem]":
        """The policies, and the problem of choosing among them by rewards of a range."""
        from policysieve.cli.loading import load_policies
        from policysieve.errors import InvalidArgumentError
        from policysieve.problem import Problem

        listed = self.action_names
        policies = load_policies(
            self.policies,
            None if listed else self.actions,
            slate_size,
            names=self.names,
            actions=listed,
            fallback=self.fallback,
        )
        if self.names is not None and policies.names != self.names:
            raise InvalidArgumentError(
                f"--names must be left out with {self.policies}, which has names of its own or "
                "none; name them there, with names=[...]"
            )
        problem = Problem(
            n_actions=policies.n_actions,
            actions=listed or policies.action_names,
            slate_size=policies.slate_size,
            **problem_units(self.sparsity, reward_range, self.minimize),
            epsilon=self.epsilon,
            delta=self.delta,
        )
        return policies, problem


candidates_options = grouped(
    "candidates",
    CandidatesOptions,
    click.option("--policies", required=True, help=_POLICIES_HELP),
    epsilon_option,
    delta_option,
    actions_option("Number of actions, for a .npy table; or their names"),
    click.option(
        "--names",
        type=_Names(),
        help="Names of the policies of a file, with commas between them or one on each line of a "
        "file.",
    ),
    click.option(
        "--fallback",
        type=_Names(),
        help="For a .npy table: what takes the place of actions that are not available, the first "
        "choice first, by number or name, with commas between them or one on each line of a file.",
    ),
    sparsity_option,
    minimize_option,
)
report_option = click.option(
    "--report", type=click.Path(dir_okay=False, path_type=Path), help="Write an HTML report here."
)
figures_option = click.option(
    "--figures",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the report's figures as PNG and SVG.",
)


def json_option(what: str = "the result") -> Callable[[Command], Command]:
    """The option ``--json``, which a command gets as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help=f"Print {what} as JSON.")


@dataclass(frozen=True, kw_only=True)
class PageOutput:
    """Where the page of a result goes, if anywhere, and its figures."""

    report: Path | None
    figures: Path | None

    def __post_init__(self) -> None:
        if self.figures is not None and self.report is None:
            raise click.UsageError("--figures needs --report, whose figures it writes")

    def write(self, result: "Reported") -> None:
        """Write what was asked for."""
        if self.report is not None:
            result.report(self.report, figures=self.figures, command=command_line())

    def say_where(self) -> None:
        """Print where it is."""
        if self.report is not None:
            click.echo(f"Report: {self.report}")


page_options = grouped("page", PageOutput, report_option, figures_option)


@dataclass(frozen=True, kw_only=True)
class ExperimentOutput:
    """The folder in which an experiment leaves its page and its numbers, and what is printed."""

    out: Path
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
        return self.out / "report.html"

    @property
    def _numbers(self) -> Path:
        return self.out / "result.json"


def experiment_output(folder: str) -> Callable[[Command], Command]:
    """The options of a command that runs an experiment, which gets them as `output`."""
    out = click.option(
        "--out",
        default=folder,
        show_default=True,
        type=click.Path(file_okay=False, path_type=Path),
        help="Folder for report.html and result.json.",
    )
    return grouped("output", ExperimentOutput, out, figures_option, json_option())


@dataclass(frozen=True, kw_only=True)
class PlotOutput:
    """Where the plot of a result goes, if anywhere."""

    path: Path | None

    def __post_init__(self) -> None:
        from policysieve.errors import InvalidArgumentError

        if self.path is not None and self.path.suffix not in (".png", ".svg", ".pdf"):
            raise InvalidArgumentError(f"--plot must end in .png, .svg or .pdf, got {self.path}")

    def write(self, draw: "Callable[[], Figure]") -> None:
        """Draw and write it, if that was asked for."""
        from policysieve.files import whole_or_nothing

        if self.path is not None:
            with whole_or_nothing(self.path) as partial:
                draw().savefig(partial, format=self.path.suffix[1:], dpi=150)

    def say_where(self) -> None:
        """Print where it is."""
        if self.path is not None:
            click.echo(f"Plot: {self.path}")


def plot_option(what: str) -> Callable[[Command], Command]:
    """The option ``--plot``, which a command gets as `plot`."""
    option = click.option(
        "--plot",
        "path",
        type=click.Path(dir_okay=False, path_type=Path),
        help=f"Draw {what} into this file (.png, .svg or .pdf).",
    )
    return grouped("plot", PlotOutput, option)
