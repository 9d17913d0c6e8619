"""A server for the application: it ends what it has begun before it ends."""

import asyncio
import gc
import signal
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from policysieve.addresses import is_loopback
from policysieve.errors import InvalidArgumentError
from policysieve.service.app import make_app
from policysieve.service.hosting import Hosted
from policysieve.service.settings import Settings
from policysieve.service.tokens import any_token

__all__ = ["Server", "serve"]

_KEEP_ALIVE = 75  # seconds that a connection may rest between requests
_CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"  # of TLS 1.2; those of 1.3 are all good
_PAUSE = 5.0  # seconds to end after the last request in time
_COLLECT = (10_000, 20, 50)  # thresholds of the garbage collector


def serve(
    hosted: Hosted,
    settings: Settings,
    *,
    certificate: Path | None = None,
    key: Path | None = None,
    proxies: tuple[str, ...] = (),
    started: Callable[[str], None] = print,
) -> None:
    """Serve studies until the process is told to end, by SIGTERM or SIGINT.

    Requests that have begun are answered first, and the lease is given back.

    Parameters
    ----------
    hosted : Hosted
    settings : Settings
    certificate, key : path, optional
        PEM files for TLS.
    proxies : tuple of str
        Addresses of proxies whose ``X-Forwarded-For`` and ``X-Forwarded-Proto`` are believed.
    started : function
        Told the address when connections are taken.
    """
    server = Server(hosted, settings, certificate=certificate, key=key, proxies=proxies)
    try:
        with _obeyed_by(server), _rare_pauses():
            started(server.url)
            server.run()
    finally:
        hosted.close()


class Server:
    """A server that is bound to its address, and takes connections once it runs.

    Attributes
    ----------
    url : str
        Its address, with the port that it has.
    app : FastAPI
    """

    def __init__(
        self,
        hosted: Hosted,
        settings: Settings,
        *,
        certificate: Path | None = None,
        key: Path | None = None,
        proxies: tuple[str, ...] = (),
    ) -> None:
        _check_bound(hosted, settings)
        self.app = make_app(hosted, settings)
        config = uvicorn.Config(
            self.app,
            http=_protocol(settings),
            log_config=None,
            access_log=False,
            server_header=False,
            ws="none",
            timeout_keep_alive=_KEEP_ALIVE,
            timeout_graceful_shutdown=int(settings.request_seconds + _PAUSE),
            limit_concurrency=settings.connections,
            proxy_headers=bool(proxies),
            forwarded_allow_ips=list(proxies),
            ssl_certfile=certificate,
            ssl_keyfile=key,
            ssl_ciphers=_CIPHERS,
        )
        try:
            config.load()
        except (ssl.SSLError, OSError) as error:
            raise InvalidArgumentError(
                f"--certificate and --key must be PEM files that belong together ({error})"
            ) from error
        self._socket = _bound(settings)
        scheme = "http" if certificate is None else "https"
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        self.url = f"{scheme}://{host}:{self._socket.getsockname()[1]}"
        self._server = _Ending(config, self.app)

    def run(self) -> None:
        """Serve until told to end."""
        self._server.run(sockets=[self._socket])

    def end(self) -> None:
        """Tell it to end; from any thread."""
        self._server.should_exit = True


class _Ending(uvicorn.Server):
    """Says that it ends before it waits for answers that go on and on."""

    def __init__(self, config: uvicorn.Config, app: FastAPI) -> None:
        super().__init__(config)
        self._app = app

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.state.ending.set()
        await super().shutdown(sockets)


def _protocol(settings: Settings) -> type[asyncio.Protocol]:
    """How connections speak HTTP: those that do not say what they want are closed."""

    class Patient(HttpToolsProtocol):
        _waits: asyncio.TimerHandle | None = None

        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            self.access_log = False  # whose lines have the query

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wait()

        def on_message_begin(self) -> None:
            super().on_message_begin()
            if self._waits is None:
                self._wait()

        def on_headers_complete(self) -> None:
            self._heard()
            super().on_headers_complete()

        def connection_lost(self, exc: Exception | None) -> None:
            self._heard()
            super().connection_lost(exc)

        def _wait(self) -> None:
            self._waits = self.loop.call_later(settings.header_seconds, self.transport.close)

        def _heard(self) -> None:
            if self._waits is not None:
                self._waits.cancel()
                self._waits = None

    return Patient


def _check_bound(hosted: Hosted, settings: Settings) -> None:
    """Raise if others could call, and nobody asks them who they are."""
    if is_loopback(settings.host):
        return
    with hosted.storage.reading() as connection:
        if any_token(connection):
            return
    raise InvalidArgumentError(
        f"--host must be a loopback address such as 127.0.0.1 while there are no tokens, got "
        f"{settings.host}; make one with policysieve token create"
    )


def _bound(settings: Settings) -> socket.socket:
    try:
        wide = isinstance(ip_address(settings.host), IPv6Address)
    except ValueError:
        wide = False
    family = socket.AF_INET6 if wide else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=1024)
    except OSError as error:
        raise OSError(
            error.errno, f"cannot listen at {settings.host} port {settings.port}: {error.strerror}"
        ) from error


@contextmanager
def _rare_pauses() -> Iterator[None]:
    """Let the garbage collector not look at everything again and again.

    A look at all that numba, FastAPI and others have made takes a tenth of a second, in which
    nobody is answered. With Python's own thresholds there is one every few hundred rounds.
    """
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECT)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


@contextmanager
def _obeyed_by(server: Server) -> Iterator[None]:
    """Signals end the server, also before it runs, and nothing else."""
    signals = (signal.SIGTERM, signal.SIGINT)
    before = {one: signal.signal(one, lambda *_: server.end()) for one in signals}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
