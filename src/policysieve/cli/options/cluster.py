"""The options ``--engine`` and ``--address``: where a command does its work."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from policysieve.cli.options.grouping import Decorator, grouped

if TYPE_CHECKING:
    from policysieve.scale import RayEngine

__all__ = ["ClusterOptions", "cluster_options", "engine_options"]


def engine_options(what: str) -> tuple[Decorator, Decorator]:
    """The options ``--engine`` and ``--address``; `what` says what a cluster does."""
    return (
        click.option("--engine", type=click.Choice(["ray"]), help=f"Let a Ray cluster {what}."),
        click.option(
            "--address",
            metavar="HOST:PORT|auto",
            help="Address of the cluster; without it one is started here for the command.",
        ),
    )


@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """Where the work is done, as it was typed."""

    engine: str | None
    address: str | None

    def __post_init__(self) -> None:
        if self.address is not None and self.engine is None:
            raise click.UsageError("--address goes with --engine ray")

    @contextmanager
    def connected(self) -> "Iterator[RayEngine | None]":
        """The engine for as long as it is needed; None for this machine without one."""
        if self.engine is None:
            yield None
            return
        from policysieve.scale import RayEngine

        with RayEngine(self.address) as engine:
            yield engine


cluster_options = grouped(
    "cluster",
    ClusterOptions,
    *engine_options("do the work, on all its workers at the same time"),
)
