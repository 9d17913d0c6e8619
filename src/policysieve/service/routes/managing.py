"""Doors that change how a study goes on: archive, expire, discard."""

from typing import Any

from fastapi import APIRouter, Depends, Request

from policysieve.service.bodies import json_in
from policysieve.service.doors import Doors
from policysieve.service.hosting import Hosted
from policysieve.service.schema import DISCARD, EXPIRE, problems
from policysieve.service.threads import Threads

__all__ = ["managing_router"]


def managing_router(hosted: Hosted, doors: Doors, threads: Threads) -> APIRouter:
    """The doors that need the scope ``admin``."""
    router = APIRouter(
        prefix="/v1/studies", tags=["managing"], dependencies=[Depends(doors.requires("admin"))]
    )

    @router.post("/{name}/archive", responses=problems(404, 422, 503))
    async def archive(name: str) -> dict[str, bool]:
        """End a study: it can be looked at, and takes nothing any more."""
        await threads.run(lambda: hosted.study(name).archive())
        return {"archived": True}

    @router.post(
        "/{name}/expire",
        openapi_extra=EXPIRE,
        responses=problems(400, 404, 408, 409, 413, 415, 422, 503),
    )
    async def expire(name: str, request: Request) -> dict[str, list[str]]:
        """Settle decisions that have waited too long, with reward 0 or the problem's no_answer."""
        given = await json_in(request, ("older_than",))
        age = given.get("older_than")
        expired = await threads.run(lambda: hosted.study(name).expire(older_than=age))
        return {"expired": expired}

    @router.post(
        "/{name}/discard",
        openapi_extra=DISCARD,
        responses=problems(400, 404, 408, 409, 413, 415, 422, 503),
    )
    async def discard(name: str, request: Request) -> dict[str, list[str]]:
        """Give up on decisions, for reasons that have nothing to do with their rewards."""
        given: dict[str, Any] = await json_in(request, ("ids", "reason"))
        ids, reason = given.get("ids"), given.get("reason")
        found = await threads.run(  # discard itself refuses what is no text
            lambda: hosted.study(name).discard(ids, reason=reason)  # type: ignore[arg-type]
        )
        return {"discarded": found}

    return router
