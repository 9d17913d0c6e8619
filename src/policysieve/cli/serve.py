"""``policysieve serve``: studies over HTTP."""

import json
import logging
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from policysieve.cli.commands import command
from policysieve.cli.options import (
    count_option,
    json_option,
    no_learn_option,
    storage_option,
    version_option,
)
from policysieve.cli.output import print_text

if TYPE_CHECKING:
    from policysieve.policies import AnyPolicies
    from policysieve.study.record import StudyRecord

__all__ = ["serve"]

_PATIENCE = 2.0  # seconds in which threads end by themselves
_file = click.Path(exists=True, dir_okay=False, path_type=Path)


def _by_study(option: str, values: tuple[str, ...]) -> dict[str | None, str]:
    """Values by the study that they are for; None is for all others."""
    found: dict[str | None, str] = {}
    for value in values:
        name, equals, rest = value.rpartition("=")
        study = name if equals else None
        if study in found:
            raise click.UsageError(f"{option} is given twice for {study or 'all studies'}")
        found[study] = rest
    return found


@command(
    short_help="Studies over HTTP for programs, with a dashboard for people.",
    examples=(
        "policysieve serve --storage sqlite:///shop.db --policies pol.py:policies",
        "policysieve serve --storage sqlite:///shop.db --policies homepage=table.npy "
        "--policies cart=pol.py:policies --port 8080 --require-tokens",
    ),
)
@storage_option
@click.option(
    "--policies",
    multiple=True,
    required=True,
    metavar="[NAME=]SOURCE",
    help="The policies of all studies, or of the study NAME, as they were given to study create; "
    "may be repeated.",
)
@version_option("versions", "[NAME=]VERSION", multiple=True)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen at. Any but a loopback address needs tokens.",
)
@click.option(
    "--port",
    default=8000,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port to listen at; 0 for any that is free.",
)
@click.option(
    "--host-name",
    "host_names",
    multiple=True,
    help="A name under which the service is called, such as that of a proxy; may be repeated. Any "
    "but localhost needs tokens.",
)
@click.option(
    "--require-tokens",
    is_flag=True,
    help="Turn away requests without a token, even from this machine.",
)
@click.option("--certificate", type=_file, help="PEM file with the certificate, for TLS.")
@click.option("--key", type=_file, help="PEM file with the private key of the certificate.")
@click.option(
    "--proxy",
    "proxies",
    multiple=True,
    metavar="ADDRESS",
    help="Address of a proxy whose X-Forwarded-For and X-Forwarded-Proto are believed; may be "
    "repeated.",
)
@click.option(
    "--origin",
    "origins",
    multiple=True,
    help="Origin of a page that may call from a browser, such as https://shop.example (CORS); may "
    "be repeated.",
)
@count_option("--max-body", 16 << 20, "Largest request, in bytes.")
@count_option("--max-batch", 10_000, "Most rounds in one request.")
@click.option(
    "--max-seconds",
    default=30.0,
    show_default=True,
    type=click.FloatRange(0, min_open=True),
    help="Longest time that a request may take, in seconds.",
)
@no_learn_option
@click.option("--quiet", is_flag=True, help="Log only what goes wrong, not every request.")
@json_option("the address, and what is wrong with each study, on one line,")
def serve(
    url: str,
    policies: tuple[str, ...],
    versions: tuple[str, ...],
    host: str,
    port: int,
    host_names: tuple[str, ...],
    require_tokens: bool,
    certificate: Path | None,
    key: Path | None,
    proxies: tuple[str, ...],
    origins: tuple[str, ...],
    max_body: int,
    max_batch: int,
    max_seconds: float,
    no_learn: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Serve the studies of a database over HTTP, until it is stopped.

    The command prints an address. Programs ask and tell there, and people open it in a browser: it
    is a dashboard of all studies.
    """
    from policysieve.service import Hosted, Settings
    from policysieve.service.serving import serve as start

    if (certificate is None) != (key is None):
        raise click.UsageError("--certificate and --key go together")
    settings = Settings(
        host=host,
        port=port,
        host_names=tuple(name.lower() for name in host_names),
        require_tokens=require_tokens,
        origins=origins,
        body_bytes=max_body,
        batch=max_batch,
        request_seconds=max_seconds,
    )
    named = _by_study("--class-version", versions)
    version: Any = named[None] if set(named) == {None} else named
    hosted = Hosted(
        url, _Sources(_by_study("--policies", policies)), version=version, learn=not no_learn
    )

    def started(address: str) -> None:
        troubles = {name: hosted.trouble(name) for name in hosted.names()}
        if as_json:
            click.echo(json.dumps({"url": address, "studies": troubles}))  # on one line
        else:
            for name, trouble in troubles.items():
                print_text(f"{name}: {'served' if trouble is None else trouble}")
            print_text(f"Serving at {address}, until Ctrl+C.")
        sys.stdout.flush()

    before = set(threading.enumerate())
    with _log_to_stderr(quiet):
        start(hosted, settings, certificate=certificate, key=key, proxies=proxies, started=started)
        _end_in_time(before)


def _end_in_time(before: set[threading.Thread]) -> None:
    """End the process if a thread does not, such as that of a candidate which hangs.

    All is on disk that was acknowledged, and what was not is undone.
    """
    end = time.monotonic() + _PATIENCE
    for thread in threading.enumerate():
        if thread in before or thread.daemon:
            continue
        thread.join(max(0.0, end - time.monotonic()))
        if thread.is_alive():
            logging.getLogger("policysieve.service").error("%s hangs, and is ended", thread.name)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)


@contextmanager
def _log_to_stderr(quiet: bool) -> Iterator[None]:
    """Write a line for each request, or only what went wrong."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    levels = {
        "policysieve.service": logging.WARNING if quiet else logging.INFO,
        "uvicorn.error": logging.WARNING,
    }
    for name, level in levels.items():
        logging.getLogger(name).addHandler(handler)
        logging.getLogger(name).setLevel(level)
    try:
        yield
    finally:
        for name in levels:
            logging.getLogger(name).removeHandler(handler)
            logging.getLogger(name).setLevel(logging.NOTSET)


class _Sources:
    """Loads the policies of a study from where whoever started the service said."""

    def __init__(self, sources: dict[str | None, str]) -> None:
        self._sources = sources
        self._modules: dict[str, AnyPolicies] = {}

    def __call__(self, record: "StudyRecord") -> "AnyPolicies":
        from policysieve.cli.loading import policies_of
        from policysieve.errors import NotFoundError

        source = self._sources.get(record.name, self._sources.get(None))
        if source is None:
            raise NotFoundError(
                f"this service has no policies for study {record.name!r}; start it with "
                f"--policies {record.name}=pol.py:policies"
            )
        if source in self._modules:
            return self._modules[source]
        loaded = policies_of(record, source)
        if not source.endswith((".npy", ".npz")):  # a function is called once for all studies
            self._modules[source] = loaded
        return loaded
