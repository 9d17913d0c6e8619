"""Doors that only look: the studies, and where one stands."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from starlette.concurrency import run_in_threadpool

from policysieve.service.doors import Caller, Doors
from policysieve.service.hosting import Hosted

__all__ = ["studies_router"]


def studies_router(hosted: Hosted, doors: Doors) -> APIRouter:
    """The doors under ``/v1/studies`` that change nothing."""
    router = APIRouter(prefix="/v1/studies", tags=["looking"])
    reader = Depends(doors.requires("read"))

    @router.get("")
    async def studies(caller: Annotated[Caller, reader]) -> dict[str, Any]:
        """The studies that the caller may see."""

        def found() -> list[dict[str, Any]]:
            return [
                {**one.to_dict(), "trouble": hosted.trouble(one.name)}
                for one in hosted.summaries()
                if caller.sees(one.name)
            ]

        return {"studies": await run_in_threadpool(found)}

    @router.get("/{name}/status", dependencies=[reader])
    async def status(name: str) -> dict[str, Any]:
        """Where a study stands."""
        return await run_in_threadpool(lambda: hosted.study(name).status().to_dict())

    return router
