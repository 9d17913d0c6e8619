"""Tokens: who may call a service, and for what; of each secret only a hash is kept."""

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Self

from sqlalchemy import Connection, func, insert, select, update

from policysieve.arrays import shown
from policysieve.errors import InvalidArgumentError, NotFoundError
from policysieve.study.durations import seconds
from policysieve.study.schema import tokens as table
from policysieve.study.storage import Storage

__all__ = [
    "SCOPES",
    "Token",
    "any_token",
    "create_token",
    "find_token",
    "list_tokens",
    "parts_of",
    "revoke_token",
]

SCOPES = ("decide", "tell", "read", "admin")
"""What a token may do. `admin` may do everything."""

_KEY, _SECRET = 8, 32  # bytes; a secret has 256 bits
_SHAPE = re.compile(rf"ps_([0-9a-f]{{{2 * _KEY}}})_([A-Za-z0-9_-]{{43}})")
_LONGEST = 200  # characters of a label


@dataclass(frozen=True, kw_only=True)
class Token:
    """What is known of a token, without its secret.

    Attributes
    ----------
    key : str
        The part that is no secret, by which it is listed and revoked.
    label : str
        What it is for, in the words of the person who made it.
    scopes : tuple of str
    studies : tuple of str or None
        The studies that it is good for; None for all, and for what belongs to no study.
    created : float
        Seconds since 1970.
    expires, revoked : float or None
    """

    key: str
    label: str
    scopes: tuple[str, ...]
    studies: tuple[str, ...] | None
    created: float
    expires: float | None
    revoked: float | None
    hash: bytes

    @classmethod
    def of(cls, row: Any) -> Self:
        """What a row says."""
        return cls(
            key=row.key,
            label=row.label,
            scopes=tuple(json.loads(row.scopes)),
            studies=None if row.studies is None else tuple(json.loads(row.studies)),
            created=row.created,
            expires=row.expires,
            revoked=row.revoked,
            hash=row.hash,
        )

    def has_secret(self, secret: str) -> bool:
        """Whether a secret is that of this token, in a time that tells nothing."""
        return hmac.compare_digest(self.hash, _hashed(secret))

    def is_valid(self, now: float) -> bool:
        """Whether it is neither revoked nor expired."""
        return self.revoked is None and (self.expires is None or now < self.expires)

    def to_dict(self) -> dict[str, Any]:
        """The fields, for JSON; not the hash."""
        return {
            "key": self.key,
            "label": self.label,
            "scopes": list(self.scopes),
            "studies": None if self.studies is None else list(self.studies),
            "created": self.created,
            "expires": self.expires,
            "revoked": self.revoked,
        }


def create_token(
    storage: Storage,
    label: str,
    scopes: Collection[str],
    *,
    studies: Collection[str] | None = None,
    lasts: Any = None,
) -> tuple[Token, str]:
    """Make a token: what is known of it, and its text, which nobody can find out again.

    Parameters
    ----------
    storage : Storage
    label : str
        What it is for.
    scopes : collection of str
        Of `SCOPES`.
    studies : collection of str, optional
        Names of the studies that it is good for; by default all.
    lasts : duration, optional
        After which it expires, such as ``"30d"``.
    """
    if not isinstance(label, str) or not label.strip() or len(label) > _LONGEST:
        raise InvalidArgumentError(
            f"label must be a text of 1 to {_LONGEST} characters, got {shown(label)}"
        )
    if not scopes or any(scope not in SCOPES for scope in scopes):
        raise InvalidArgumentError(f"scopes must be of {', '.join(SCOPES)}, got {shown(scopes)}")
    if studies is not None and not studies:
        raise InvalidArgumentError("studies must be names of studies, or None for all, got none")
    key, secret = secrets.token_hex(_KEY), secrets.token_urlsafe(_SECRET)
    with storage.writing() as connection:
        now = storage.now(connection)
        row = {
            "key": key,
            "label": label,
            "hash": _hashed(secret),
            "scopes": json.dumps([scope for scope in SCOPES if scope in scopes]),
            "studies": None if studies is None else json.dumps(sorted(set(studies))),
            "created": now,
            "expires": None if lasts is None else now + seconds("lasts", lasts),
        }
        connection.execute(insert(table), row)
        made = find_token(connection, key)
    assert made is not None
    return made, f"ps_{key}_{secret}"


def list_tokens(storage: Storage) -> list[Token]:
    """All tokens, the oldest first; those that are revoked or have expired, too."""
    with storage.reading() as connection:
        rows = connection.execute(select(table).order_by(table.c.token)).all()
    return [Token.of(row) for row in rows]


def revoke_token(storage: Storage, key: str) -> Token:
    """Let a token open nothing any more; again without harm.

    Raises
    ------
    NotFoundError
        If there is none with this key.
    """
    with storage.writing() as connection:
        now = storage.now(connection)
        connection.execute(
            update(table).where(table.c.key == key, table.c.revoked.is_(None)).values(revoked=now)
        )
        found = find_token(connection, key)
    if found is None:
        known = ", ".join(one.key for one in list_tokens(storage)) or "none"
        raise NotFoundError(f"there is no token with the key {shown(key)}; there is {known}")
    return found


def any_token(connection: Connection) -> bool:
    """Whether a token was ever made, be it revoked."""
    return bool(connection.execute(select(func.count()).select_from(table)).scalar_one())


def parts_of(text: str) -> tuple[str, str] | None:
    """The key and the secret of a text that has the shape of a token."""
    found = _SHAPE.fullmatch(text)
    return None if found is None else (found[1], found[2])


def find_token(connection: Connection, key: str) -> Token | None:
    """The token with a key, valid or not."""
    row = connection.execute(select(table).where(table.c.key == key)).first()
    return None if row is None else Token.of(row)


def _hashed(secret: str) -> bytes:
    """A secret of 256 random bits needs no slower hash: nobody guesses it."""
    return hashlib.sha256(secret.encode()).digest()
