"""Doors through which a study goes out: its rounds, and what it plays now."""

import tempfile
from pathlib import Path
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request
from fastapi.params import Query
from fastapi.responses import FileResponse, Response
from starlette.background import BackgroundTask

from policysieve.service.doors import Doors
from policysieve.service.hosting import Hosted
from policysieve.service.schema import problems
from policysieve.service.threads import Threads

__all__ = ["exporting_router"]

_KINDS = {
    "parquet": "application/vnd.apache.parquet",
    "csv": "text/csv",
    "jsonl": "application/x-ndjson",
}
_BINARY = {"schema": {"type": "string", "format": "binary"}}


def exporting_router(hosted: Hosted, doors: Doors, threads: Threads) -> APIRouter:
    """The doors ``rounds`` and ``exploration``."""
    router = APIRouter(
        prefix="/v1/studies", tags=["exporting"], dependencies=[Depends(doors.requires("read"))]
    )

    @router.get(
        "/{name}/rounds",
        response_class=FileResponse,
        responses={
            200: {
                "description": "The rounds that were learnt from.",
                "content": dict.fromkeys(_KINDS.values(), _BINARY),
            },
            **problems(404, 422, 503),
        },
    )
    async def rounds(
        name: str, format: Annotated[Literal["parquet", "csv", "jsonl"], Query()] = "parquet"
    ) -> Response:
        """The log, with ids and times, in the order of the decisions."""
        study = await threads.run(lambda: hosted.study(name))
        folder = tempfile.TemporaryDirectory(prefix="policysieve-")
        path = Path(folder.name) / f"rounds.{format}"
        try:
            await threads.run_long(lambda: study.log(path))
        except BaseException:
            folder.cleanup()
            raise
        return FileResponse(
            path,
            media_type=_KINDS[format],
            filename=path.name,
            background=BackgroundTask(folder.cleanup),
        )

    @router.get(
        "/{name}/exploration",
        response_class=Response,
        responses={
            200: {
                "description": "The file that `Exploration.load` reads; its version is in the "
                "header X-PolicySieve-Exploration.",
                "content": {"application/octet-stream": _BINARY},
            },
            304: {"description": "The client has the newest."},
            **problems(404, 422, 503),
        },
    )
    async def exploration(name: str, request: Request) -> Response:
        """What is played now, for processes that decide by themselves."""
        study = await threads.run(lambda: hosted.study(name))
        version, content = await threads.run(study.published)
        tag = f'"{version}"'
        headers = {
            "ETag": tag,
            "X-PolicySieve-Exploration": str(version),
            "Cache-Control": "private, no-cache",
        }
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, media_type="application/octet-stream", headers=headers)

    return router
