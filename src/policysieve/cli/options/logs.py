"""Logs and contexts: which files, in which format, with which columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from policysieve.cli.options.cluster import ClusterOptions, engine_options
from policysieve.cli.options.grouping import Decorator, grouped
from policysieve.cli.options.problem import range_option
from policysieve.cli.options.values import Number, OneOf

if TYPE_CHECKING:
    from policysieve.log import ColumnMap, LogFile

__all__ = [
    "ContextsOptions",
    "LogArgument",
    "column_map",
    "contexts_options",
    "format_option",
    "log_argument",
    "since_option",
]


def _formats() -> Sequence[str]:
    from policysieve.formats import FORMATS

    return list(FORMATS)


class _FormatOption(click.Option):
    """An option for the name of a format, whose help lists all formats."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        option, title = super().get_help_record(ctx) or ("", "")
        return option, f"{title}, if its name does not tell: {', '.join(_formats())}."


def format_option(option: str, variable: str, what: str) -> Decorator:
    """The options ``--from`` and ``--to``."""
    return click.option(
        option,
        variable,
        cls=_FormatOption,
        type=OneOf(_formats),
        metavar="FORMAT",
        help=f"Format of {what}",
    )


_map_option = click.option(
    "--map",
    "columns",
    metavar="COLUMNS",
    help="Which columns of a table hold context, action, propensity, reward, and if there are any "
    "id, time and unit, such as context=age+country,action=item; or a .toml file that says so.",
)
_max_bytes_option = click.option(
    "--max-bytes",
    type=click.IntRange(1),
    metavar="BYTES",
    help="Memory that a file may take when it is unpacked; 4 GiB by default.",
)
since_option = click.option(
    "--since",
    default=0,
    type=int,
    metavar="ROUND",
    help="Number of the first round that counts, from 0: fixed beforehand, or where a change "
    "was proved.",
)


def column_map(text: str | None) -> "ColumnMap | None":
    """What ``--map`` says."""
    from policysieve.log import ColumnMap

    return None if text is None else ColumnMap.parse(text)


@dataclass(frozen=True, kw_only=True)
class ContextsOptions:
    """Files of contexts, and how to read them, as they were typed."""

    paths: tuple[str, ...]
    format: str | None
    columns: str | None
    max_bytes: int | None


def contexts_options(help: str) -> Decorator:
    """The options of a command that reads contexts: it gets them as `contexts`."""
    return grouped(
        "contexts",
        ContextsOptions,
        click.option(
            "--contexts",
            "paths",
            required=True,
            multiple=True,
            type=click.Path(dir_okay=False),
            help=f"{help} May be repeated, for files that are read in this order.",
        ),
        format_option("--from", "format", "the contexts"),
        _map_option,
        _max_bytes_option,
    )


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

        return LogFile(self.paths, self.format, **self._reading(actions))

    def _reading(self, actions: Sequence[str] | None) -> dict[str, Any]:
        return {
            "reward_range": self.reward_range,
            "missing_reward": self.missing_reward,
            "columns": column_map(self.columns),
            "actions": actions,
            "max_bytes": self.max_bytes,
        }


@dataclass(frozen=True, kw_only=True)
class PartedLogArgument(LogArgument):
    """The same for a command that can let a cluster read the log in parts."""

    engine: str | None
    address: str | None

    def open(self, actions: Sequence[str] | None = None) -> "LogFile":
        """Open its files here, or for the workers of a cluster that is left when all is done."""
        cluster = ClusterOptions(engine=self.engine, address=self.address)
        if self.engine is not None and self.format not in (None, "parquet"):
            raise click.UsageError(
                f"--engine {self.engine} reads Parquet, got --from {self.format}; convert the log "
                "first"
            )
        engine = click.get_current_context().with_resource(cluster.connected())
        if engine is None:
            return super().open(actions)
        return engine.log(self.paths, **self._reading(actions))


def log_argument(metavar: str = "LOG...", *, parted: bool = False) -> Decorator:
    """The argument and the options of a command that reads a log: it gets them as `log`.

    If it is `parted`, a cluster may read it.
    """
    there = engine_options("read Parquet files in parts")
    return grouped(
        "log",
        PartedLogArgument if parted else LogArgument,
        click.argument(
            "paths", metavar=metavar, nargs=-1, required=True, type=click.Path(dir_okay=False)
        ),
        format_option("--from", "format", "the log"),
        _map_option,
        range_option(
            "Range of the log's rewards if it is not 0 to 1; costs of a format that has costs "
            "count as minus rewards."
        ),
        click.option(
            "--missing-reward",
            type=Number(),
            metavar="REWARD",
            help="What a missing reward counts as, such as 0; without it, check reports it, and "
            "other commands refuse it.",
        ),
        _max_bytes_option,
        *(there if parted else ()),
    )
