"""Doors for those who run the service: is it alive, is it ready."""

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool

from policysieve.service.hosting import Hosted

__all__ = ["running_router"]


def running_router(hosted: Hosted) -> APIRouter:
    """The doors ``/healthz`` and ``/readyz``."""
    router = APIRouter(tags=["running"])

    @router.get("/healthz")
    async def healthz() -> dict[str, str]:
        """Whether the process answers."""
        return {"status": "ok"}

    @router.get("/readyz")
    async def readyz() -> dict[str, str]:
        """Whether the database answers, too."""
        await run_in_threadpool(hosted.names)
        return {"status": "ok"}

    return router
