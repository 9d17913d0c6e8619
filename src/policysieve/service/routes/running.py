"""Doors for those who run the service: is it alive, is it ready, what does it count."""

from typing import Any

from fastapi import APIRouter, Depends, FastAPI
from fastapi.responses import Response

from policysieve.service.doors import Doors
from policysieve.service.hosting import Hosted
from policysieve.service.metrics import Metrics
from policysieve.service.schema import problems
from policysieve.service.threads import Threads

__all__ = ["running_router"]

_TEXT = "text/plain; version=0.0.4; charset=utf-8"


def running_router(
    app: FastAPI, hosted: Hosted, doors: Doors, threads: Threads, metrics: Metrics
) -> APIRouter:
    """The doors ``/healthz``, ``/readyz``, ``/metrics`` and ``/openapi.json``."""
    router = APIRouter(tags=["running"])

    @router.get("/healthz")
    async def healthz() -> dict[str, str]:
        """Whether the process answers."""
        return {"status": "ok"}

    @router.get("/readyz", responses=problems(503))
    async def readyz() -> dict[str, str]:
        """Whether the database answers, too."""
        await threads.run(hosted.check)
        return {"status": "ok"}

    @router.get(
        "/metrics",
        dependencies=[Depends(doors.requires("read", whole=True))],
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **problems()},
    )
    async def counted() -> Response:
        """Requests, rounds and seconds, for Prometheus."""
        return Response(metrics.text(), media_type=_TEXT)

    @router.get("/openapi.json", include_in_schema=False)
    async def openapi() -> dict[str, Any]:
        return app.openapi()

    return router
