"""Pages that only look, what they load, and live events."""

import tempfile
import threading
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Request
from fastapi.responses import RedirectResponse, Response, StreamingResponse
from fastapi.routing import APIRoute

from policysieve.errors import NotFoundError, PolicySieveError
from policysieve.service.dashboard import drawings
from policysieve.service.dashboard.actions import add_actions
from policysieve.service.dashboard.checkups import Checkups, concerns
from policysieve.service.dashboard.events import Events
from policysieve.service.dashboard.forms import about
from policysieve.service.dashboard.listing import listed
from policysieve.service.dashboard.rendering import ASSETS, asset, page
from policysieve.service.dashboard.snippets import snippets_of
from policysieve.service.dashboard.views import StudyView, Views, candidates_of
from policysieve.service.doors import COOKIE, Caller, Doors
from policysieve.service.hosting import Hosted
from policysieve.service.problems import ProblemError, response_to
from policysieve.service.schema import problems
from policysieve.service.threads import Threads

__all__ = ["Dashboard", "dashboard_router"]

_LONGEST = 200  # letters that are looked for
_SHOWS = ("all", "in", "out")
_FEW, _MANY = 20, 200  # candidates of a page


class Dashboard:
    """What the pages of a service share.

    Parameters
    ----------
    hosted : Hosted
    doors : Doors
    threads : Threads
    ending : threading.Event
        Set when the server wants to end.
    """

    def __init__(
        self, hosted: Hosted, doors: Doors, threads: Threads, ending: threading.Event
    ) -> None:
        self.hosted, self.doors, self.threads = hosted, doors, threads
        self.views, self.checkups = Views(hosted), Checkups(hosted)
        self.events = Events(hosted, threads, ending)

    def close(self) -> None:
        """Begin nothing more."""
        self.checkups.close()


class _PageRoute(APIRoute):
    """A route whose errors are pages."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            try:
                return await handler(request)
            except ProblemError as error:
                if error.status == 401 and "text/html" in request.headers.get("accept", ""):
                    refused = "?refused=1" if "refused" in request.query_params else ""
                    return RedirectResponse(f"/sign-in{refused}", 303)
                return _error_page(request, error.status, error.detail)
            except PolicySieveError as error:
                return _error_page(request, response_to(error).status_code, str(error))

        return guarded


def _error_page(request: Request, status: int, detail: str) -> Response:
    signed_in = COOKIE in request.cookies
    return page("error.html", http_status=status, code=status, detail=detail, signed_in=signed_in)


def dashboard_router(dashboard: Dashboard) -> APIRouter:
    """The pages, and ``/v1/studies/{name}/events``."""
    router = APIRouter(route_class=_PageRoute, include_in_schema=False)
    _add_pages(router, dashboard)
    add_actions(router, dashboard)
    whole = APIRouter()
    whole.include_router(router)
    _add_events(whole, dashboard)
    return whole


def _add_pages(router: APIRouter, dashboard: Dashboard) -> None:
    hosted, views, checkups = dashboard.hosted, dashboard.views, dashboard.checkups
    threads = dashboard.threads
    reader = Depends(dashboard.doors.requires("read"))

    @router.get("/assets/{name}")
    async def assets(name: str) -> Response:
        if name not in ASSETS:
            raise NotFoundError(f"there is no {name!r} here")
        headers = {"Cache-Control": "public, max-age=31536000, immutable"}
        return Response(asset(name), media_type=ASSETS[name], headers=headers)

    @router.get("/sign-in")
    async def sign_in(refused: str = "") -> Response:
        return page("sign_in.html", refused=bool(refused), signed_in=False)

    @router.get("/")
    async def studies(
        request: Request, caller: Annotated[Caller, reader], find: str = ""
    ) -> Response:
        find = find[:_LONGEST]
        found = await threads.run(lambda: listed(hosted, views, caller, find))
        return page("studies.html", **about(request, caller), **found, find=find)

    @router.get("/studies/{name}")
    async def study(
        request: Request,
        name: str,
        caller: Annotated[Caller, reader],
        find: str = "",
        show: str = "all",
        many: bool = False,
        done: str = "",
    ) -> Response:
        find, show = find[:_LONGEST], show if show in _SHOWS else "all"

        def content() -> dict[str, Any]:
            view = views.view(name)
            checkups.maybe(name, view.status.learnt)
            token = caller.token is not None
            base = str(request.base_url).rstrip("/")
            checkup = checkups.last(name)
            found = None if checkup is None else checkup.health
            return {
                "status": view.status,
                "view": view,
                "forecast": _forecast(view),
                "candidates": candidates_of(view, find, show, most=_MANY if many else _FEW),
                "proof": drawings.proof_chart(view.status, view.history),
                "race": drawings.race_chart(view.status, view.history),
                "value": drawings.value_chart(view.history),
                "cost": drawings.cost_chart(view.history),
                "hours": drawings.traffic_chart(view.traffic),
                "checkup": checkup,
                "worries": [] if found is None else concerns(found),
                "checking": checkups.is_running(name),
                "snippets": snippets_of(hosted.study(name), base, token=token),
            }

        return page(
            "study.html",
            **about(request, caller),
            **await threads.run(content),
            find=find,
            show=show,
            many=many,
            most=_MANY,
            done=done if done in ("archived", "expired") else "",
        )

    @router.get("/studies/{name}/report", dependencies=[reader])
    async def report(name: str) -> Response:
        def made() -> bytes:
            with tempfile.TemporaryDirectory(prefix="policysieve-") as folder:
                path = Path(folder) / "report.html"
                views.view(name).status.report(path)
                return path.read_bytes()

        headers = {
            "Content-Disposition": 'attachment; filename="report.html"',
        }
        content = await threads.run_long(made)
        return Response(content, media_type="text/html; charset=utf-8", headers=headers)


def _forecast(view: StudyView) -> Any:
    """The forecast, with the traffic of the last day if there was any."""
    per_day = sum(view.traffic.rounds[-25:-1]) or view.traffic.rounds[-1] * 24
    return replace(view.status.forecast, per_day=float(per_day) or None)


def _add_events(router: APIRouter, dashboard: Dashboard) -> None:
    reader = Depends(dashboard.doors.requires("read"))

    @router.get(
        "/v1/studies/{name}/events",
        dependencies=[reader],
        tags=["looking"],
        response_class=StreamingResponse,
        responses={
            200: {
                "description": "Events, until either side ends the connection.",
                "content": {"text/event-stream": {"schema": {"type": "string"}}},
            },
            **problems(404, 422, 503),
        },
    )
    async def events(
        name: str, last_event_id: Annotated[str | None, Header()] = None
    ) -> StreamingResponse:
        """Server-sent events: where a study stands, and again with every change.

        Each event is called `change` and says all: rounds, settled, learnt, exploration, archived.
        """
        await dashboard.threads.run(lambda: dashboard.hosted.study(name))
        dashboard.events.admit()
        return StreamingResponse(
            dashboard.events.listen(name, last_event_id),
            media_type="text/event-stream",
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )
