"""Browsers sign in and out: a token in a cookie that no script and no other site sees."""

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from policysieve.service.bodies import form_in
from policysieve.service.doors import COOKIE, Doors, check_origin

__all__ = ["signing_router"]


def signing_router(doors: Doors) -> APIRouter:
    """The doors ``/sign-in`` and ``/sign-out``."""
    router = APIRouter(include_in_schema=False)

    @router.post("/sign-in")
    async def sign_in(request: Request) -> Response:
        check_origin(request)
        fields = await form_in(request)
        text = fields.get("token", "").strip()
        if await doors.token(text) is None:
            return RedirectResponse("/?refused=1", 303)
        response = RedirectResponse("/", 303)
        response.set_cookie(
            COOKIE,
            text,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
            path="/",
        )
        return response

    @router.post("/sign-out")
    async def sign_out(request: Request) -> Response:
        check_origin(request)
        response = RedirectResponse("/", 303)
        response.delete_cookie(
            COOKIE, httponly=True, samesite="strict", secure=request.url.scheme == "https"
        )
        return response

    return router
