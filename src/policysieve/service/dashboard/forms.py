"""Forms of our own pages: read, and known from those of other sites."""

import hashlib
import hmac
from typing import Any

from fastapi import Request

from policysieve.service.bodies import form_in
from policysieve.service.doors import COOKIE, Caller
from policysieve.service.problems import ProblemError

__all__ = ["about", "form_of", "mark_of"]


def mark_of(request: Request) -> str:
    """What a form of ours carries: nobody can make it up who does not know the cookie."""
    cookie = request.cookies.get(COOKIE, "")
    return hmac.new(cookie.encode(), b"policysieve form", hashlib.sha256).hexdigest()


def about(request: Request, caller: Caller) -> dict[str, Any]:
    """What every page needs: who is there, and the mark of its forms."""
    return {
        "caller": caller,
        "is_admin": caller.may("admin") and not caller.is_restricted,
        "signed_in": caller.token is not None,
        "mark": mark_of(request),
    }


async def form_of(request: Request, caller: Caller) -> dict[str, str]:
    """The fields of a form, or raise if a browser that is signed in sends one that is not ours."""
    fields = await form_in(request)
    mark = fields.get("mark", "").encode()
    if caller.by_cookie and not hmac.compare_digest(mark, mark_of(request).encode()):
        raise ProblemError(403, "the form is not of this page, or is out of date; load it again")
    return fields
