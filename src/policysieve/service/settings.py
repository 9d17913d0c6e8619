"""What a service allows: addresses, sizes, times."""

from dataclasses import dataclass

from policysieve.addresses import is_loopback

__all__ = ["Settings"]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How a service is bound, and its limits.

    Attributes
    ----------
    host : str
        The address that it listens at.
    port : int
    host_names : tuple of str
        Other names under which it is called; requests with any other ``Host`` are refused.
    require_tokens : bool
        Whether a token is needed even at a loopback address while there are none.
    origins : tuple of str
        Origins of pages that may call from a browser (CORS); none by default.
    body_bytes : int
        Largest request, in bytes.
    batch : int
        Most rounds in one request.
    request_seconds : float
        How long a request may take, its body included.
    header_seconds : float
        How long a client may take to send the head of a request.
    waiting : int
        Requests that may wait for one study.
    connections : int
        Connections at one time.
    token_seconds : float
        How long a token that was looked up is believed: after so long at most it is revoked
        everywhere.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    host_names: tuple[str, ...] = ()
    require_tokens: bool = False
    origins: tuple[str, ...] = ()
    body_bytes: int = 16 << 20
    batch: int = 10_000
    request_seconds: float = 30.0
    header_seconds: float = 10.0
    waiting: int = 1000
    connections: int = 1000
    token_seconds: float = 2.0

    @property
    def is_private(self) -> bool:
        """Whether only this machine can call, so that no token is needed while there are none."""
        names = all(map(is_loopback, self.host_names))
        return is_loopback(self.host) and names and not self.require_tokens
