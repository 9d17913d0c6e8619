"""A server for the application, which ends what it has begun before it ends."""

import socket
from pathlib import Path

import uvicorn

from policysieve.errors import InvalidArgumentError
from policysieve.service.app import make_app
from policysieve.service.dashboard import Dashboard
from policysieve.service.hosting import Hosted
from policysieve.service.settings import Settings, is_loopback
from policysieve.service.tokens import any_token

__all__ = ["Server", "serve"]


class Server(uvicorn.Server):
    """A server that ends event streams when it is told to end, as they never end by themselves.

    Parameters
    ----------
    config : uvicorn.Config
    dashboard : Dashboard
    """

    def __init__(self, config: uvicorn.Config, dashboard: Dashboard) -> None:
        super().__init__(config)
        self._dashboard = dashboard

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End what is under way, and take nothing more."""
        self._dashboard.close()
        await super().shutdown(sockets)


def serve(
    hosted: Hosted,
    settings: Settings,
    *,
    certificate: Path | None = None,
    key: Path | None = None,
) -> None:
    """Serve studies until the process is told to end."""
    with hosted.storage.reading() as connection:
        has_tokens = any_token(connection)
    if not has_tokens and not is_loopback(settings.host):
        raise InvalidArgumentError(
            f"--host must be a loopback address such as 127.0.0.1 while there are no tokens, got "
            f"{settings.host}; make one with policysieve token create"
        )
    app = make_app(hosted, settings)
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        ssl_certfile=certificate,
        ssl_keyfile=key,
        access_log=False,
        server_header=False,
        proxy_headers=False,
    )
    try:
        Server(config, app.state.dashboard).run()
    finally:
        hosted.close()
