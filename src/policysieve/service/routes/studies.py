"""Doors that only look: the studies, and where one stands."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.params import Query

from policysieve.service.bodies import listed
from policysieve.service.doors import Caller, Doors
from policysieve.service.hosting import Hosted
from policysieve.service.schema import decisions, problems
from policysieve.service.threads import Threads

__all__ = ["studies_router"]

_LISTED: dict[str, Any] = {
    "200": {"description": "In order.", "content": {"application/json": {"schema": decisions()}}}
}
_OPEN: dict[str, Any] = {
    "200": {
        "description": "In order, the oldest first.",
        "content": {"application/json": {"schema": decisions("asked")}},
    }
}


def studies_router(hosted: Hosted, doors: Doors, threads: Threads) -> APIRouter:
    """The doors under ``/v1/studies`` that change nothing."""
    router = APIRouter(prefix="/v1/studies", tags=["looking"])
    reader = Depends(doors.requires("read"))

    @router.get("", responses=problems(503))
    async def studies(caller: Annotated[Caller, reader]) -> dict[str, Any]:
        """The studies that the caller may see; `trouble` says why one gets no answers here."""

        def found() -> list[dict[str, Any]]:
            return [
                {**one.to_dict(), "trouble": hosted.trouble(one.name)}
                for one in hosted.summaries()
                if caller.sees(one.name)
            ]

        return {"studies": await threads.run(found)}

    @router.get("/{name}/status", dependencies=[reader], responses=problems(404, 422, 503))
    async def status(name: str) -> dict[str, Any]:
        """Where a study stands: what is open, settled and learnt, and what it recommends."""
        return await threads.run(lambda: hosted.study(name).status().to_dict())

    @router.get("/{name}/recommendation", dependencies=[reader], responses=problems(404, 422, 503))
    async def recommendation(name: str) -> dict[str, Any]:
        """The policy to deploy now, and what is known about it."""
        return await threads.run(lambda: hosted.study(name).recommend().to_dict())

    @router.get(
        "/{name}/decisions",
        dependencies=[reader],
        responses=problems(404, 409, 413, 422, 503),
        openapi_extra={"responses": _LISTED},
    )
    async def decided(name: str, id: Annotated[list[str], Query()]) -> dict[str, Any]:
        """What was decided for some ids, for a program that asked and did not get the answer."""

        def found() -> list[dict[str, Any]]:
            return listed(hosted.study(name).decisions(id))

        return {"decisions": await threads.run(found)}

    @router.get(
        "/{name}/open",
        dependencies=[reader],
        responses=problems(404, 422, 503),
        openapi_extra={"responses": _OPEN},
    )
    async def waiting(
        name: str,
        older_than: Annotated[str | None, Query()] = None,
        limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
    ) -> dict[str, Any]:
        """Decisions that wait for their rewards; `total` says how many there are."""

        def found() -> dict[str, Any]:
            every = hosted.study(name).open_decisions(older_than=older_than)
            return {"decisions": listed(every[:limit], ages=True), "total": len(every)}

        return await threads.run(found)

    return router
