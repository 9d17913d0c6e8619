"""``policysieve token``: who may call a service."""

import time
from typing import TYPE_CHECKING

import click

from policysieve.cli.commands import group
from policysieve.cli.options import json_option, storage_option
from policysieve.cli.output import print_json, print_table, print_text

if TYPE_CHECKING:
    from policysieve.service.tokens import Token

__all__ = ["token"]


@group(
    short_help="Tokens, which say who may call a service and what for.",
    examples=(
        "policysieve token create --storage sqlite:///shop.db --label web --scope decide",
        "policysieve token list --storage sqlite:///shop.db",
    ),
)
def token() -> None:
    """Create, list and revoke the tokens with which a service is called."""


@token.command(
    short_help="A new token for a program or a person.",
    examples=(
        "policysieve token create --storage sqlite:///shop.db --label web --scope decide "
        "--expires 30d",
    ),
)
@storage_option
@click.option("--label", required=True, help="What it is for, such as the name of a program.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    required=True,
    type=click.Choice(["decide", "tell", "read", "admin"]),
    help="What it may do; may be repeated. Admin may do everything.",
)
@click.option(
    "--study",
    "studies",
    multiple=True,
    help="A study that it is for; may be repeated. By default it is for all.",
)
@click.option(
    "--expires",
    metavar="DURATION",
    help="How long it is valid, such as 12h, 30d or 52w; by default until it is revoked.",
)
@json_option("the token")
def create(
    url: str,
    label: str,
    scopes: tuple[str, ...],
    studies: tuple[str, ...],
    expires: str | None,
    as_json: bool,
) -> None:
    """Create a token, and print it this one time: the database keeps only a hash of it."""
    from policysieve.service.tokens import create_token
    from policysieve.study.durations import seconds
    from policysieve.study.storage import Storage

    lasts = None if expires is None else seconds("--expires", expires)
    made, text = create_token(Storage(url), label, scopes, studies=studies or None, lasts=lasts)
    if as_json:
        print_json({**made.to_dict(), "token": text})
        return
    click.echo(text)
    click.echo(f"Key {made.key}, {', '.join(made.scopes)}. The token is not shown again.", err=True)


@token.command(
    "list",
    short_help="All tokens: what each may do, and until when.",
    examples=("policysieve token list --storage sqlite:///shop.db",),
)
@storage_option
@json_option("the tokens")
def list_(url: str, as_json: bool) -> None:
    """List the tokens of the database, by their keys; the tokens themselves are not kept."""
    from policysieve.service.tokens import list_tokens
    from policysieve.study.storage import Storage

    found = list_tokens(Storage(url))
    if as_json:
        print_json([one.to_dict() for one in found])
        return
    print_table(
        f"{len(found):,} {'token' if len(found) == 1 else 'tokens'}",
        ["key", "label", "scopes", "studies", "valid"],
        [
            (
                one.key,
                one.label,
                ", ".join(one.scopes),
                "all" if one.studies is None else ", ".join(one.studies),
                _validity(one),
            )
            for one in found
        ],
        words=(0, 1, 2, 3, 4),
    )


@token.command(
    short_help="Make a token invalid.",
    examples=("policysieve token revoke 0123456789abcdef --storage sqlite:///shop.db",),
)
@storage_option
@click.argument("key")
@json_option("the token")
def revoke(url: str, key: str, as_json: bool) -> None:
    """Make the token with KEY invalid; services turn it away within two seconds.

    KEY is what create and list print: the 16 characters after ps_ at the beginning of the token.
    """
    from policysieve.service.tokens import revoke_token
    from policysieve.study.storage import Storage

    found = revoke_token(Storage(url), key)
    if as_json:
        print_json(found.to_dict())
    else:
        print_text(f"{found.key} ({found.label}) is revoked.")


def _validity(token: "Token") -> str:
    if token.revoked is not None:
        return "revoked"
    if token.expires is None:
        return "always"
    if token.expires <= time.time():
        return "expired"
    return f"until {time.strftime('%Y-%m-%d %H:%M', time.gmtime(token.expires))} UTC"
