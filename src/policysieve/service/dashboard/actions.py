"""Pages that change something: each asks first, and needs the scope that the deed needs."""

import time
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response

from policysieve.errors import InvalidArgumentError, NotFoundError
from policysieve.service.dashboard.forms import about, form_of
from policysieve.service.dashboard.rendering import page
from policysieve.service.doors import Caller
from policysieve.service.tokens import Token, list_tokens, revoke_token
from policysieve.study.durations import seconds

if TYPE_CHECKING:
    from policysieve.service.dashboard.routes import Dashboard

__all__ = ["add_actions"]


def add_actions(router: APIRouter, dashboard: "Dashboard") -> None:
    """Archive, expire, revoke, and look at the health of a log now."""
    hosted, views, threads = dashboard.hosted, dashboard.views, dashboard.threads
    admin = Depends(dashboard.doors.requires("admin"))
    admin_form = Depends(dashboard.doors.requires("admin", form=True))
    chief = Depends(dashboard.doors.requires("admin", whole=True))  # tokens are of no study
    chief_form = Depends(dashboard.doors.requires("admin", whole=True, form=True))
    reader_form = Depends(dashboard.doors.requires("read", form=True))

    def ask(request: Request, caller: Caller, template: str, **content: Any) -> Response:
        return page(template, **about(request, caller), **content)

    def study_url(request: Request, name: str, done: str = "") -> str:
        url = request.url_for("study", name=name).path
        return f"{url}?done={done}" if done else url

    @router.get("/studies/{name}/archive")
    async def ask_archive(
        request: Request, name: str, caller: Annotated[Caller, admin]
    ) -> Response:
        view = await threads.run(lambda: views.view(name))
        return ask(request, caller, "archive.html", status=view.status)

    @router.post("/studies/{name}/archive")
    async def archive(
        request: Request, name: str, caller: Annotated[Caller, admin_form]
    ) -> Response:
        await form_of(request, caller)
        await threads.run(lambda: hosted.study(name).archive())
        views.forget(name)
        return RedirectResponse(study_url(request, name, "archived"), 303)

    @router.get("/studies/{name}/expire")
    async def ask_expire(request: Request, name: str, caller: Annotated[Caller, admin]) -> Response:
        view = await threads.run(lambda: views.view(name))
        return ask(request, caller, "expire.html", status=view.status, older_than="1d", wrong="")

    @router.post("/studies/{name}/expire")
    async def expire(
        request: Request, name: str, caller: Annotated[Caller, admin_form]
    ) -> Response:
        fields = await form_of(request, caller)
        older_than = fields.get("older_than", "").strip()
        try:
            seconds("older_than", older_than)
        except InvalidArgumentError as error:
            view = await threads.run(lambda: views.view(name))
            return ask(
                request,
                caller,
                "expire.html",
                status=view.status,
                older_than=older_than,
                wrong=str(error),
            )
        await threads.run(lambda: hosted.study(name).expire(older_than=older_than))
        views.forget(name)
        return RedirectResponse(study_url(request, name, "expired"), 303)

    @router.post("/studies/{name}/checkup")
    async def checkup(
        request: Request, name: str, caller: Annotated[Caller, reader_form]
    ) -> Response:
        await form_of(request, caller)
        view = await threads.run(lambda: views.view(name))
        dashboard.checkups.start(name, view.status.learnt)
        return RedirectResponse(f"{study_url(request, name)}#health", 303)

    @router.get("/tokens")
    async def tokens(request: Request, caller: Annotated[Caller, chief]) -> Response:
        found = await threads.run(lambda: list_tokens(hosted.storage))
        mine = None if caller.token is None else caller.token.key
        return ask(request, caller, "tokens.html", tokens=found, mine=mine, now=time.time())

    @router.get("/tokens/{key}/revoke")
    async def ask_revoke(request: Request, key: str, caller: Annotated[Caller, chief]) -> Response:
        token = await threads.run(lambda: _token(dashboard, key))
        mine = caller.token is not None and caller.token.key == key
        return ask(request, caller, "revoke.html", token=token, mine=mine)

    @router.post("/tokens/{key}/revoke")
    async def revoke(request: Request, key: str, caller: Annotated[Caller, chief_form]) -> Response:
        await form_of(request, caller)
        await threads.run(lambda: revoke_token(hosted.storage, key))
        dashboard.doors.forget()
        return RedirectResponse("/tokens", 303)


def _token(dashboard: "Dashboard", key: str) -> Token:
    for token in list_tokens(dashboard.hosted.storage):
        if token.key == key:
            return token
    raise NotFoundError(f"there is no token with the key {key!r}")
