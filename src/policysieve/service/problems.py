"""What went wrong, as application/problem+json with the project's own words."""

from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from policysieve.errors import (
    ArchivedError,
    DecisionsError,
    InvalidArgumentError,
    NotFoundError,
    PolicyFailureError,
    PolicySieveError,
    StorageError,
)

__all__ = ["MEDIA_TYPE", "ProblemError", "problem_response", "register"]

MEDIA_TYPE = "application/problem+json"

_STATUS: tuple[tuple[type[Exception], int], ...] = (
    (NotFoundError, 404),
    (DecisionsError, 409),
    (ArchivedError, 409),
    (InvalidArgumentError, 422),
    (PolicyFailureError, 502),
    (StorageError, 503),
)


class ProblemError(Exception):
    """A request that is refused.

    Parameters
    ----------
    status : int
    detail : str
        Which rule, what arrived, what to do.
    headers : dict, optional
    """

    def __init__(self, status: int, detail: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, headers


def problem_response(
    status: int, detail: str, *, error: str | None = None, headers: dict[str, str] | None = None
) -> JSONResponse:
    """A response that says what went wrong."""
    content: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
    }
    if error is not None:
        content["error"] = error
    return JSONResponse(content, status, headers, media_type=MEDIA_TYPE)


def response_to(error: Exception) -> JSONResponse:
    """The response to an error of ours."""
    status = next((code for kind, code in _STATUS if isinstance(error, kind)), 500)
    retry = {"Retry-After": "1"} if status == 503 else None
    return problem_response(status, str(error), error=type(error).__name__, headers=retry)


def register(app: FastAPI) -> None:
    """Let an app answer with problems."""

    async def ours(request: Request, error: Exception) -> JSONResponse:
        return response_to(error)

    async def refused(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, ProblemError)
        return problem_response(error.status, error.detail, headers=error.headers)

    async def http(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        headers = None if error.headers is None else dict(error.headers)
        return problem_response(error.status_code, str(error.detail), headers=headers)

    async def invalid(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        wrong = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()]
        return problem_response(422, "; ".join(wrong))

    async def gone(request: Request, error: Exception) -> JSONResponse:
        return problem_response(400, "the client went away before its request was complete")

    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(ClientDisconnect, gone)
    app.add_exception_handler(PolicySieveError, ours)
    app.add_exception_handler(ProblemError, refused)
    app.add_exception_handler(HTTPException, http)
