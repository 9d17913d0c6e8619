"""The application: its doors, its gate, and what they share."""

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import metadata

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware

from policysieve.service import problems
from policysieve.service.dashboard import Dashboard, dashboard_router
from policysieve.service.desks import Desks
from policysieve.service.doors import Doors
from policysieve.service.gate import Gate
from policysieve.service.hosting import Hosted
from policysieve.service.metrics import Metrics
from policysieve.service.routes.asking import asking_router
from policysieve.service.routes.exporting import exporting_router
from policysieve.service.routes.managing import managing_router
from policysieve.service.routes.running import running_router
from policysieve.service.routes.signing import signing_router
from policysieve.service.routes.studies import studies_router
from policysieve.service.settings import Settings
from policysieve.service.threads import Threads

__all__ = ["make_app"]


def make_app(hosted: Hosted, settings: Settings | None = None) -> FastAPI:
    """The application that serves studies.

    It closes `hosted` when it ends.

    Parameters
    ----------
    hosted : Hosted
        What it answers for.
    settings : Settings, optional
    """
    settings = Settings() if settings is None else settings
    doors, metrics = Doors(hosted.storage, settings), Metrics()
    desks, threads = Desks(settings, learns=hosted.learns), Threads(settings)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        dashboard.close()
        desks.close()
        hosted.close()

    app = FastAPI(
        title="PolicySieve",
        description="Studies over HTTP: ask what to show, tell what came of it, and see the proof.",
        version=metadata.version("policysieve"),
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=lifespan,
    )
    app.state.hosted, app.state.settings, app.state.doors = hosted, settings, doors
    app.state.desks = desks
    app.state.ending = threading.Event()  # set when the server wants to end
    dashboard = Dashboard(hosted, doors, threads, app.state.ending)
    problems.register(app)
    for router in (
        asking_router(hosted, doors, threads, desks, metrics, settings),
        studies_router(hosted, doors, threads),
        exporting_router(hosted, doors, threads),
        managing_router(hosted, doors, threads),
        running_router(app, hosted, doors, threads, metrics),
        signing_router(doors),
        dashboard_router(dashboard),
    ):
        app.include_router(router)
    if settings.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.origins,
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type"],
            expose_headers=["X-PolicySieve-Exploration", "ETag"],
        )
    app.add_middleware(Gate, settings=settings, metrics=metrics)
    return app
