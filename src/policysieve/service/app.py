"""The application: its doors, its gate, and what they share."""

from importlib import metadata

from fastapi import FastAPI

from policysieve.service import problems
from policysieve.service.dashboard import Dashboard, dashboard_router
from policysieve.service.doors import Doors
from policysieve.service.hosting import Hosted
from policysieve.service.routes.running import running_router
from policysieve.service.routes.signing import signing_router
from policysieve.service.routes.studies import studies_router
from policysieve.service.settings import Settings

__all__ = ["make_app"]


def make_app(hosted: Hosted, settings: Settings | None = None) -> FastAPI:
    """The application that serves studies.

    Parameters
    ----------
    hosted : Hosted
        What it answers for.
    settings : Settings, optional
    """
    settings = Settings() if settings is None else settings
    doors = Doors(hosted.storage, settings)
    app = FastAPI(
        title="PolicySieve",
        version=metadata.version("policysieve"),
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
    )
    app.state.hosted, app.state.settings, app.state.doors = hosted, settings, doors
    problems.register(app)
    app.include_router(studies_router(hosted, doors))
    app.include_router(running_router(hosted))
    app.include_router(signing_router(doors))
    dashboard = app.state.dashboard = Dashboard(hosted, doors)
    app.include_router(dashboard_router(dashboard))
    return app
