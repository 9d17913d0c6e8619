"""What a service says went wrong, as the errors that a study raises."""

from dataclasses import dataclass
from typing import Any

import httpx

from policysieve import errors
from policysieve.errors import (
    AccessError,
    InvalidArgumentError,
    NotFoundError,
    PolicyFailureError,
    PolicySieveError,
    ServiceError,
)

__all__ = ["Problem", "error_in"]

_OURS = {
    name: getattr(errors, name)
    for name in (
        "ArchivedError", "BusyError", "DecisionsError", "InvalidArgumentError", "NotFoundError",
        "StorageError", "UnknownIdsError",
    )
}  # fmt: skip
_BY_STATUS: dict[int, type[PolicySieveError]] = {
    401: AccessError,
    403: AccessError,
    404: NotFoundError,
}
_SLOW = (408, 429)  # no argument is wrong


@dataclass(frozen=True)
class Problem:
    """What went wrong, and whether it may pass by itself."""

    error: PolicySieveError
    passes: bool


def error_in(response: httpx.Response, ids: tuple[str, ...]) -> Problem:
    """The error that an answer tells of."""
    said = _told(response)
    detail, name = said.get("detail"), said.get("error")
    request = response.request
    if not isinstance(detail, str) or not detail:
        detail = f"{request.method} {request.url} was answered with {response.status_code}"
    if name == PolicyFailureError.__name__:
        return Problem(_failure(said, detail), passes=False)
    if name in _OURS:
        return Problem(_OURS[name](detail), passes=True)
    kind = _BY_STATUS.get(response.status_code)
    if kind is None and 400 <= response.status_code < 500 and response.status_code not in _SLOW:
        kind = InvalidArgumentError
    return Problem(ServiceError(detail, ids) if kind is None else kind(detail), passes=True)


def _told(response: httpx.Response) -> dict[str, Any]:
    if not response.headers.get("Content-Type", "").startswith("application/problem+json"):
        return {}
    try:
        said = response.json()
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _failure(said: dict[str, Any], detail: str) -> PolicySieveError:
    """A policy that failed, with the message of the one that failed there."""
    policy, name = said.get("policy"), said.get("name")
    head = f"policy {policy if name is None else repr(name)} "
    if not isinstance(policy, int) or not detail.startswith(head):
        return ServiceError(detail)
    return PolicyFailureError(policy, detail[len(head) :], name)
