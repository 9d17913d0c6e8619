"""A service over HTTP: studies for programs in any language, and pages for people."""

from importlib.util import find_spec

from policysieve.errors import MissingExtraError

if find_spec("fastapi") is None or find_spec("uvicorn") is None:
    raise MissingExtraError("a service", "FastAPI", "serve")

from policysieve.service.app import make_app
from policysieve.service.hosting import Hosted
from policysieve.service.settings import Settings

__all__ = ["Hosted", "Settings", "make_app"]
