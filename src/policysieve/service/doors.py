"""Who may come in: tokens and their scopes, cookies of browsers, and requests from elsewhere."""

import time
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlsplit

from fastapi import Request
from fastapi.openapi.models import HTTPBearer
from fastapi.security.base import SecurityBase

from policysieve.service.believing import Believed
from policysieve.service.problems import ProblemError
from policysieve.service.settings import Settings
from policysieve.service.tokens import SCOPES, Token, any_token, find_token, parts_of
from policysieve.study.storage import Storage

__all__ = ["COOKIE", "HEADER", "Caller", "Doors", "Requires"]

COOKIE = "policysieve_token"
HEADER = "X-PolicySieve"
"""Scripts send it with what changes something; forms of other sites cannot."""

_SAFE = ("GET", "HEAD", "OPTIONS")
_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="policysieve"'}


@dataclass(frozen=True, kw_only=True)
class Caller:
    """Who called.

    Attributes
    ----------
    token : Token or None
        None where no token is needed.
    by_cookie : bool
        Whether a browser sent it by itself.
    """

    token: Token | None
    by_cookie: bool = False

    @property
    def name(self) -> str:
        """Who it is, for the log: never a secret."""
        return "-" if self.token is None else self.token.key

    def may(self, scope: str, study: str | None = None) -> bool:
        """Whether a door with this scope opens, of a study if one is named."""
        if self.token is None:
            return True
        if scope not in self.token.scopes and "admin" not in self.token.scopes:
            return False
        return study is None or self.sees(study)

    def sees(self, study: str) -> bool:
        """Whether it may know of a study."""
        return self.token is None or self.token.studies is None or study in self.token.studies

    @property
    def is_restricted(self) -> bool:
        """Whether it is good for some studies only."""
        return self.token is not None and self.token.studies is not None


class Doors:
    """Checks who calls.

    Parameters
    ----------
    storage : Storage
        Where tokens are.
    settings : Settings
    """

    def __init__(self, storage: Storage, settings: Settings) -> None:
        self._storage, self._seconds = storage, settings.token_seconds
        self._private = settings.is_private
        self.forget()

    def requires(self, scope: str, *, whole: bool = False, form: bool = False) -> "Requires":
        """A dependency that lets only those in who have a scope, and says who they are.

        Parameters
        ----------
        scope : str
        whole : bool
            Whether what is behind the door tells of all studies, so that a token for some of them
            does not open it.
        form : bool
            Whether it is a form of our own pages, which no header goes with: the door has to look
            for the mark that it carries.
        """
        return Requires(self, scope, whole=whole, form=form)

    async def caller(self, request: Request, *, form: bool = False) -> Caller:
        """Who calls, or raise if nobody who may.

        Parameters
        ----------
        request : Request
        form : bool
            Whether it is a form, of which the door itself finds out whose it is.
        """
        text, by_cookie = _presented(request)
        if text is None:
            if not await self.is_open():
                raise ProblemError(
                    401,
                    "a token is needed: send the header Authorization: Bearer TOKEN; whoever runs "
                    "the service makes one with policysieve token create",
                    _CHALLENGE,
                )
            check_origin(request)
            return Caller(token=None)
        token = await self.token(text)
        if token is None:
            raise ProblemError(
                401, "the token is not known, was revoked, or has expired", _CHALLENGE
            )
        if by_cookie:
            check_origin(request)
            is_safe = request.method in _SAFE or form or HEADER.lower() in request.headers
            if not is_safe:
                raise ProblemError(
                    403,
                    f"a browser that is signed in must send the header {HEADER}: 1 with requests "
                    "that change something",
                )
        return Caller(token=token, by_cookie=by_cookie)

    async def is_open(self) -> bool:
        """Whether no token is needed: only this machine can call, and there are no tokens."""
        if not self._private:
            return False
        return not await self._any.get()

    async def token(self, text: str) -> Token | None:
        """The valid token that a text is; None if it is none."""
        parts = parts_of(text)
        if parts is None:
            return None
        key, secret = parts
        all_known = self._known
        known = all_known.get(key) or Believed(partial(self._find, key), self._seconds)
        token = await known.get()
        if token is not None:  # keys that guessers make up are not remembered
            all_known.setdefault(key, known)
        if token is None or not token.has_secret(secret) or not token.is_valid(time.time()):
            return None
        return token

    def forget(self) -> None:
        """Look tokens up again, because some were made or revoked."""
        self._known: dict[str, Believed[Token | None]] = {}
        self._any = Believed(self._find_any, self._seconds)

    def _find_any(self) -> bool:
        with self._storage.reading() as connection:
            return any_token(connection)

    def _find(self, key: str) -> Token | None:
        with self._storage.reading() as connection:
            return find_token(connection, key)


class Requires(SecurityBase):
    """A dependency of a door: its scope, and who may come in.

    Attributes
    ----------
    scope : str
    """

    scheme_name = "token"
    model = HTTPBearer(description="What policysieve token create prints.")

    def __init__(self, doors: Doors, scope: str, *, whole: bool, form: bool) -> None:
        assert scope in SCOPES
        self._doors, self.scope, self._whole, self._form = doors, scope, whole, form

    async def __call__(self, request: Request) -> Caller:
        """Who calls, or raise if they may not."""
        caller = await self._doors.caller(request, form=self._form)
        study = request.path_params.get("name")
        if not caller.may(self.scope, study):
            of = "" if study is None else f" for study {study!r}"
            raise ProblemError(
                403, f"the token must have the scope {self.scope}{of}; ask for one that has it"
            )
        if self._whole and caller.is_restricted:
            raise ProblemError(
                403, "the token must be for all studies, as this tells of all, and is for some"
            )
        request.scope["caller"] = caller
        return caller


def check_origin(request: Request) -> None:
    """Raise if a page of another site makes a browser send a request that changes something."""
    if request.method in _SAFE:
        return
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    if site not in (None, "same-origin", "none") or (
        origin is not None and urlsplit(origin).netloc != request.headers.get("host")
    ):
        raise ProblemError(403, "a page of another site may not send this request without a token")


def _presented(request: Request) -> tuple[str | None, bool]:
    """The token that came with a request, and whether by a cookie."""
    header = request.headers.get("authorization")
    if header is not None:
        kind, _, text = header.partition(" ")
        if kind.lower() != "bearer":
            raise ProblemError(401, "the header Authorization must be Bearer TOKEN", _CHALLENGE)
        return text.strip(), False
    cookie = request.cookies.get(COOKIE)
    return (None, False) if cookie is None else (cookie, True)
