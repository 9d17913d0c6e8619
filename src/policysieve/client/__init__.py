"""Studies of a service over HTTP, with the verbs of a study."""

from importlib.util import find_spec

from policysieve.errors import MissingExtraError

if find_spec("httpx") is None:
    raise MissingExtraError("Client", "httpx", "serve")

from policysieve.client.client import Client
from policysieve.client.remote import RemoteStudy

__all__ = ["Client", "RemoteStudy"]
