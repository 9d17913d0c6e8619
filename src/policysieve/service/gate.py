"""What every request passes: whom it calls, how large and how slow it is, and a line of log."""

import asyncio
import logging
import time
import traceback
from ipaddress import ip_address
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from policysieve.service.metrics import Metrics
from policysieve.service.problems import ProblemError, problem_response
from policysieve.service.settings import Settings

__all__ = ["Gate"]

_LOG = logging.getLogger("policysieve.service")
_LOCAL = ("localhost", "127.0.0.1", "::1")
_WILDCARDS = ("0.0.0.0", "::")
_METHODS = ("GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE", "TRACE", "CONNECT")
_CONTENT = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
_HEADERS = [
    (b"content-security-policy", _CONTENT.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),  # with none, forms would not say whose they are
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
_STRICT = (b"strict-transport-security", b"max-age=31536000")
_NOT_KEPT = (b"cache-control", b"no-store")


class Gate:
    """Wraps an application.

    Requests that call another host than this one are refused: a page whose name was made to lead
    here (DNS rebinding) cannot read what is said. Bodies that are too large or too slow are
    refused. The log has the method, the path, the status, the time and the key of the token, and
    nothing that a client sent.

    Parameters
    ----------
    app : ASGI application
    settings : Settings
    metrics : Metrics
    """

    def __init__(self, app: ASGIApp, *, settings: Settings, metrics: Metrics) -> None:
        self._app, self._settings, self._metrics = app, settings, metrics
        self._hosts = {*_LOCAL, settings.host.strip("[]"), *settings.host_names}
        self._any_address = settings.host in _WILDCARDS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status = time.perf_counter(), 0
        extra = [*_HEADERS, _STRICT] if scope["scheme"] == "https" else _HEADERS

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = [*message.get("headers", ()), *extra]
                if not any(name == b"cache-control" for name, _ in headers):
                    headers.append(_NOT_KEPT)
                message = {**message, "headers": headers}
                self._note(scope, status, time.perf_counter() - start)
            await send(message)

        refused = self._refusal(scope)
        if refused is not None:
            await refused(scope, receive, sent)
            return
        try:
            await self._app(scope, _Limited(receive, self._settings), sent)
        except Exception as error:  # whose text may say what a client sent
            frames = "".join(traceback.format_tb(error.__traceback__))
            _LOG.error("%s failed: %s\n%s", scope["method"], type(error).__name__, frames)
            if status:
                raise
            await problem_response(500, "this failed; the log of the service says where")(
                scope, receive, sent
            )

    def _refusal(self, scope: Scope) -> Any:
        """The answer to a request that calls another host, or says that it is too large."""
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        if not self._is_ours(host):
            return problem_response(
                421,
                "the header Host must name this service; start it with --host-name if it has "
                "other names",
            )
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > self._settings.body_bytes:
            return problem_response(413, _too_large(self._settings))
        return None

    def _is_ours(self, host: str) -> bool:
        name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
        name = name.strip("[]").lower()
        if name in self._hosts:
            return True
        if not self._any_address:
            return False
        try:  # who calls by number was not led here by a name
            ip_address(name)
        except ValueError:
            return False
        return True

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route, caller = scope.get("route"), scope.get("caller")
        door = getattr(route, "path", "none")
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._metrics.answered(method, door, status, seconds)
        if _LOG.isEnabledFor(logging.INFO):
            _LOG.info(
                "%s %s %d %.1f ms %s",
                method,
                ascii(scope["path"])[1:-1],
                status,
                1000 * seconds,
                "-" if caller is None else caller.name,
            )


class _Limited:
    """What a client sends, as long as it is neither too much nor too slow."""

    def __init__(self, receive: Receive, settings: Settings) -> None:
        self._receive, self._settings = receive, settings
        self._left, self._done = settings.body_bytes, False
        self._until = asyncio.get_running_loop().time() + settings.request_seconds

    async def __call__(self) -> Message:
        """The next message."""
        if self._done:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._until):
                message = await self._receive()
        except TimeoutError as error:
            limit = self._settings.request_seconds
            raise ProblemError(
                408, f"the body must be here within {limit:g} seconds", {"Connection": "close"}
            ) from error
        self._left -= len(message.get("body", b""))
        self._done = not message.get("more_body", False)
        if self._left < 0:
            raise ProblemError(413, _too_large(self._settings), {"Connection": "close"})
        return message


def _too_large(settings: Settings) -> str:
    return f"a request must have at most {settings.body_bytes:,} bytes; send several"
