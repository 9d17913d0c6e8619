"""A service in a thread, on a port of 127.0.0.1."""

import threading
import time
from contextlib import contextmanager

import pytest
import uvicorn

from policysieve.service import Hosted, Settings, make_app


@pytest.fixture(autouse=True, scope="session")
def not_synced():
    """Do not wait for the disk: no machine is lost here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("policysieve.study.storage._SYNCHRONOUS", "OFF")
        yield


@contextmanager
def serving(url, policies, **settings):
    """The address of a service of the studies at a database."""
    hosted = Hosted(url, policies)
    app = make_app(hosted, Settings(**settings))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", lifespan="on"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()
        hosted.close()
