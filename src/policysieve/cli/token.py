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
    short_help="Who may call a service.",
    examples=(
        "policysieve token create --storage sqlite:///shop.db --label web --scope decide",
        "policysieve token list --storage sqlite:///shop.db",
    ),
)
def token() -> None:
    """Create, list and revoke the tokens with which a service is called."""


@token.command(
    short_help="A new token, shown this one time.",
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
    help="What it is good for; several times for several. Admin is good for everything.",
)
@click.option(
    "--study",
    "studies",
    multiple=True,
    help="A study that it is good for; several times for several. By default all.",
)
@click.option("--expires", metavar="DURATION", help="After how long, such as 12h, 30d or 52w.")
@json_option("the token")
def create(
    url: str,
    label: str,
    scopes: tuple[str, ...],
    studies: tuple[str, ...],
    expires: str | None,
    as_json: bool,
) -> None:
    """Create a token, and show it this one time: only a hash of it is kept."""
    from policysieve.service.tokens import create_token
    from policysieve.study.storage import Storage

    made, text = create_token(Storage(url), label, scopes, studies=studies or None, lasts=expires)
    if as_json:
        print_json({**made.to_dict(), "token": text})
        return
    click.echo(text)
    click.echo(f"Key {made.key}, {', '.join(made.scopes)}. The token is not shown again.", err=True)


@token.command(
    "list",
    short_help="All tokens: what for, and for how long.",
    examples=("policysieve token list --storage sqlite:///shop.db",),
)
@storage_option
@json_option("the tokens")
def list_(url: str, as_json: bool) -> None:
    """List the tokens of the database; their secrets nobody knows."""
    from policysieve.service.tokens import list_tokens
    from policysieve.study.storage import Storage

    found = list_tokens(Storage(url))
    if as_json:
        print_json([one.to_dict() for one in found])
        return
    print_table(
        f"{len(found)} tokens",
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
    short_help="A token that opens nothing any more.",
    examples=("policysieve token revoke 3f2a91 --storage sqlite:///shop.db",),
)
@storage_option
@click.argument("key")
@json_option("the token")
def revoke(url: str, key: str, as_json: bool) -> None:
    """Let the token with KEY open nothing any more; services notice within two seconds."""
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
