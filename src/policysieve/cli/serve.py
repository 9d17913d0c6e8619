"""``policysieve serve``: studies over HTTP."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from policysieve.policies import AnyPolicies
    from policysieve.study.record import StudyRecord

__all__ = ["serve"]


def _named(option: str, values: tuple[str, ...]) -> dict[str | None, str]:
    """Values by the study that they are for; None is for all others."""
    found: dict[str | None, str] = {}
    for value in values:
        name, equals, rest = value.rpartition("=")
        key = name if equals else None
        if key in found:
            raise click.UsageError(f"{option} is given twice for {key or 'all studies'}")
        found[key] = rest
    return found


@click.command(short_help="Studies over HTTP.")
@click.option(
    "--storage", "url", required=True, help="Address of the database, such as sqlite:///shop.db."
)
@click.option(
    "--policies",
    multiple=True,
    required=True,
    metavar="[NAME=]SOURCE",
    help="The policies of all studies, or of the study NAME, as study create took them.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535))
@click.option("--certificate", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--key", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--no-learn", is_flag=True, help="Leave learning to another process.")
def serve(
    url: str,
    policies: tuple[str, ...],
    host: str,
    port: int,
    certificate: Path | None,
    key: Path | None,
    no_learn: bool,
) -> None:
    """Serve the studies of a database over HTTP, until it is stopped."""
    from policysieve.cli.loading import load_policies
    from policysieve.errors import NotFoundError
    from policysieve.service import Hosted, Settings
    from policysieve.service.serving import serve as start

    sources = _named("--policies", policies)

    def load(record: "StudyRecord") -> "AnyPolicies":
        source = sources.get(record.name, sources.get(None))
        if source is None:
            raise NotFoundError(
                f"this service has no policies for study {record.name!r}; start it with "
                f"--policies {record.name}=module:attribute"
            )
        known = record.identity
        return load_policies(
            source,
            record.problem.n_actions,
            record.problem.slate_size,
            names=known["names"],
            actions=known["action_names"],
            fallback=known["fallback"] if source.endswith(".npy") else None,
        )

    start(
        Hosted(url, load, learn=not no_learn),
        Settings(host=host, port=port),
        certificate=certificate,
        key=key,
    )
