"""A service over HTTP."""

from typing import Any

import httpx

from policysieve.client.calling import Calling
from policysieve.client.remote import RemoteStudy

__all__ = ["Client"]


class Client:
    """A service that was started with ``policysieve serve``, and its studies.

    Calls whose answers were lost are made again, with the same ids: nothing is decided or counted
    twice. What the service refuses is raised as a study would raise it. May be used from many
    threads.

    Parameters
    ----------
    url : str
        Of the service.
    token : str, optional
        As ``policysieve token create`` printed it. It is not shown anywhere.
    timeout : float
        Seconds that one attempt may take to connect, to be sent, and to be answered.
    retries : int
        Attempts after the first, when the service cannot be reached, does not answer, or says that
        it is busy (429, 502, 503, 504); with pauses that grow to 5 seconds.
    allow_plain_http : bool
        Whether a token may be sent without encryption to another machine.
    transport : httpx.BaseTransport, optional
        What takes the place of the network, as in tests.

    Examples
    --------
    >>> with Client("http://127.0.0.1:8000") as client:
    ...     homepage = client.study("homepage")
    >>> homepage
    RemoteStudy('homepage', http://127.0.0.1:8000)
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout: float = 10.0,
        retries: int = 5,
        allow_plain_http: bool = False,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._calling = Calling(
            url,
            token,
            timeout=timeout,
            retries=retries,
            allow_plain_http=allow_plain_http,
            transport=transport,
        )

    @property
    def url(self) -> str:
        """Of the service."""
        return self._calling.url

    def study(self, name: str) -> RemoteStudy:
        """The study of a name; whether there is one is found out when it is first called."""
        return RemoteStudy(self._calling, name)

    def studies(self) -> list[dict[str, Any]]:
        """The studies that the token may see, by name: learner, rounds, settled, archived."""
        found: list[dict[str, Any]] = self._calling.call("GET", "/v1/studies").json()["studies"]
        return found

    def close(self) -> None:
        """Close all connections."""
        self._calling.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self.url})"
