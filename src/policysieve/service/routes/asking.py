"""The doors that decide and take rewards. They read the body themselves, once."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute

from policysieve.service.bodies import answered, ask_in, tell_in
from policysieve.service.desks import Desk, Desks
from policysieve.service.doors import Doors
from policysieve.service.hosting import Hosted
from policysieve.service.metrics import Metrics
from policysieve.service.schema import ASK, TELL, problems
from policysieve.service.settings import Settings
from policysieve.service.threads import Threads

__all__ = ["asking_router"]


class _Direct(APIRoute):
    """A door of a study that reads its request itself, and has one dependency: who may come in.

    FastAPI would solve that anew for each request, which takes longer than the door itself.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """What answers a request."""
        (requires,) = (each.dependency for each in self.dependencies)
        assert requires is not None
        let_in, endpoint = requires, self.endpoint

        async def handle(request: Request) -> Response:
            await let_in(request)
            found: Response = await endpoint(request.path_params["name"], request)
            return found

        return handle


def asking_router(
    hosted: Hosted,
    doors: Doors,
    threads: Threads,
    desks: Desks,
    metrics: Metrics,
    settings: Settings,
) -> APIRouter:
    """The doors ``ask`` and ``tell``."""
    router = APIRouter(prefix="/v1/studies", tags=["deciding"], route_class=_Direct)

    async def desk_of(name: str) -> Desk:
        study = hosted.opened(name)
        if study is None:
            study = await threads.run(lambda: hosted.study(name))
        return desks.desk(study)

    @router.post(
        "/{name}/ask",
        dependencies=[Depends(doors.requires("decide"))],
        response_class=Response,
        openapi_extra=ASK,
        responses=problems(400, 404, 408, 409, 413, 415, 422, 502, 503, 504),
    )
    async def ask(name: str, request: Request) -> Response:
        """Decide what to show at contexts. The decisions are on disk when they are returned.

        With `ids` the request may be sent again: the same ids with the same contexts get the
        decisions that they got.
        """
        wanted = await ask_in(request, settings.batch)
        desk = await desk_of(name)
        found = await desk.ask(wanted)
        metrics.rounds(name, "decided", len(found))
        return answered(request, found)

    @router.post(
        "/{name}/tell",
        dependencies=[Depends(doors.requires("tell"))],
        response_class=Response,
        openapi_extra=TELL,
        responses=problems(400, 404, 408, 409, 413, 415, 422, 503, 504),
    )
    async def tell(name: str, request: Request) -> Response:
        """Report the rewards of what was shown. They are on disk when this returns.

        Telling the same again changes nothing.
        """
        told = await tell_in(request, settings.batch)
        desk = await desk_of(name)
        found = await desk.tell(told.ids, told.rewards)
        metrics.rounds(name, "told", found.counted)
        metrics.rounds(name, "told again", found.again)
        metrics.rounds(name, "late", len(found.late))
        return answered(request, found)

    return router
