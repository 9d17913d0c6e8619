"""Pages for people who watch: server-rendered, live where scripts run, and with forms to act."""

from policysieve.service.dashboard.routes import Dashboard, dashboard_router

__all__ = ["Dashboard", "dashboard_router"]
