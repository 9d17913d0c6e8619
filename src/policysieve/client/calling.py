"""Calls of a service: again with the same bytes where the answer was lost, and errors as ours."""

import json
import os
import random
import ssl
import threading
import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx

from policysieve.addresses import is_loopback
from policysieve.arrays import shown
from policysieve.checks import flag, integer, number
from policysieve.client.problems import error_in
from policysieve.errors import InvalidArgumentError, ServiceError

__all__ = ["Calling"]

_AGAIN = (429, 502, 503, 504)  # what may pass by itself
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0  # seconds between attempts


class Calling:
    """Calls one service, from any number of threads.

    Parameters
    ----------
    url, token, timeout, retries, allow_plain_http
        As of `Client`.
    transport : httpx.BaseTransport, optional
        What takes the place of the network.
    """

    def __init__(
        self,
        url: str,
        token: str | None,
        *,
        timeout: float,
        retries: int,
        allow_plain_http: bool,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.url = _checked_url(url)
        self._token = None if token is None else _checked_token(token)
        parts = urlsplit(self.url)
        self._is_local = is_loopback(str(parts.hostname))
        plain = parts.scheme == "http" and not self._is_local
        if self._token is not None and plain and not flag("allow_plain_http", allow_plain_http):
            raise InvalidArgumentError(
                f"url must begin with https where a token is sent to another machine, got "
                f"{self.url}: anybody on the way could read it; if the way is safe, pass "
                "allow_plain_http=True"
            )
        self._timeout = number("timeout", timeout, above=0, below=float("inf"))
        self._retries = integer("retries", retries, low=0)
        self._transport, self._lock = transport, threading.Lock()
        self._process, self._http = os.getpid(), self._opened()

    def _opened(self) -> httpx.Client:
        headers = {} if self._token is None else {"Authorization": f"Bearer {self._token}"}
        made = httpx.Client(
            base_url=self.url,
            headers=headers,
            timeout=self._timeout,
            # Reading all certificates of the machine takes longer than hundreds of calls.
            verify=self.url.startswith("https:") or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            trust_env=not self._is_local,  # no proxy stands between a machine and itself
            transport=self._transport,
        )
        weakref.finalize(self, _close, made, os.getpid())
        return made

    def _own(self) -> httpx.Client:
        """The connections; in a forked process not the parent's."""
        if self._process != os.getpid():
            with self._lock:
                if self._process != os.getpid():
                    self._process, self._http = os.getpid(), self._opened()
        return self._http

    def call(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        ids: tuple[str, ...] = (),
    ) -> httpx.Response:
        """The answer to a request that may be sent again without harm, or raise.

        Parameters
        ----------
        method, path : str
        body : bytes, or what JSON can hold, optional
        headers : dict, optional
        ids : tuple of str
            The rounds that it is about, which an error names.
        """
        sent, kinds = _encoded(body)
        kinds.update(headers or {})
        for attempt in range(self._retries + 1):
            last = attempt == self._retries
            try:
                response = self._own().request(method, path, content=sent, headers=kinds)
            except httpx.TransportError as error:
                if last:
                    raise self._lost(method, path, error, ids) from error
                time.sleep(_pause(attempt))
                continue
            if response.is_success:
                return response
            problem = error_in(response, ids)
            if last or response.status_code not in _AGAIN or not problem.passes:
                raise problem.error
            time.sleep(_pause(attempt, response.headers.get("Retry-After")))
        raise AssertionError("the last attempt returns or raises")

    @contextmanager
    def streamed(self, path: str) -> Iterator[Iterator[bytes]]:
        """The bytes of a long answer, as they come; it is not asked for again."""
        try:
            with self._own().stream("GET", path) as response:
                if not response.is_success:
                    response.read()
                    raise error_in(response, ()).error
                yield response.iter_bytes()
        except httpx.TransportError as error:
            raise self._lost("GET", path, error, ()) from error

    def _lost(
        self, method: str, path: str, error: httpx.TransportError, ids: tuple[str, ...]
    ) -> ServiceError:
        said = str(error) or type(error).__name__
        known = (
            "; whether it came through is not known. Call again with the ids of this error, and "
            "nothing is decided or counted twice"
        )
        return ServiceError(
            f"{self.url} did not answer {method} {path} in {self._retries + 1} attempts "
            f"({said}){known if ids else ''}",
            ids,
        )

    def close(self) -> None:
        """Close all connections."""
        _close(self._http, self._process)


def _close(http: httpx.Client, process: int) -> None:
    """Close connections, unless they are those of a parent process."""
    if process == os.getpid():
        http.close()


def _encoded(body: Any) -> tuple[bytes | None, dict[str, str]]:
    if body is None or isinstance(body, bytes):
        return body, {}
    try:
        text = json.dumps(body, allow_nan=False)
    except ValueError as error:
        raise InvalidArgumentError(f"numbers must be finite to be sent ({error})") from error
    return text.encode(), {"Content-Type": "application/json"}


def _pause(attempt: int, asked: str | None = None) -> float:
    """Seconds until the next attempt: longer each time, at random, and as long as was asked for."""
    wait: float = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0**attempt) * random.uniform(0.5, 1.0)
    if asked is not None and asked.isdecimal():
        wait = max(wait, min(_LONGEST_PAUSE, float(asked)))
    return wait


def _checked_url(url: Any) -> str:
    """An address of a service without what does not belong there, or raise."""
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid or parts.query or parts.fragment:
        raise InvalidArgumentError(
            f"url must be that of a service, such as http://127.0.0.1:8000, got {shown(url)}"
        )
    if parts.username is not None or parts.password is not None:
        raise InvalidArgumentError(
            "url must hold no user and no password; pass what the service gave you as token=..."
        )
    return str(url).rstrip("/")


def _checked_token(token: Any) -> str:
    """A token that can stand in a header, or raise without telling it."""
    visible = isinstance(token, str) and token.isascii() and token.isprintable()
    if not visible or not token or " " in token:
        raise InvalidArgumentError(
            "token must be a text as policysieve token create prints it, without spaces"
        )
    return str(token)
