"""Statements that the driver runs say and raise what those of SQLAlchemy do."""

import pytest
from sqlalchemy import bindparam, insert, select, text, update
from sqlalchemy.exc import DBAPIError, IntegrityError

from policysieve.study.schema import counters, rewards
from policysieve.study.statements import Statement
from policysieve.study.storage import Storage

INSERT = Statement(insert(rewards))
ROUNDS = Statement(
    update(counters)
    .where(counters.c.study == bindparam("number"))
    .values(rounds=counters.c.rounds + bindparam("n"))
    .returning(counters.c.rounds)
)
PLACES = Statement(select(rewards.c.place).where(rewards.c.study == bindparam("number")))


def reward(place):
    return {"study": 1, "place": place, "state": 1, "rewards": b"\x00\xff", "told": 0.25}


class Contract:
    @pytest.fixture
    def storage(self, where):
        storage = Storage(where, create=True)
        with storage.writing() as connection:
            connection.execute(
                text(
                    "INSERT INTO ps_studies (study, name, mark, problem, learner, settings, seed, "
                    "identity, keep_contexts, package, created) VALUES "
                    "(1, 'a', 'b', '', '', '', '', '', :no, '', 0)"
                ),
                {"no": False},
            )
            connection.execute(insert(counters), {"study": 1, "rounds": 3, "exploration": 0})
        yield storage
        storage.close()

    def test_they_belong_to_the_transaction(self, storage):
        with storage.writing() as connection:
            INSERT.run(connection, reward(0))
            INSERT.run_all(connection, [reward(1), reward(2)])
            assert ROUNDS.rows(connection, {"number": 1, "n": 4}) == [(7,)]
        with storage.writing() as connection:
            INSERT.run(connection, reward(3))
            connection.rollback()
        with storage.reading() as connection:
            assert PLACES.rows(connection, {"number": 1}) == [(0,), (1,), (2,)]
            found = connection.execute(select(rewards.c.rewards, rewards.c.told)).first()
        assert tuple(found) == (b"\x00\xff", 0.25)

    def test_a_reader_sees_one_state_from_its_first_statement_on(self, storage):
        with storage.reading() as reader:
            assert PLACES.rows(reader, {"number": 1}) == []
            with storage.writing() as writer:
                INSERT.run(writer, reward(0))
            assert PLACES.rows(reader, {"number": 1}) == []

    def test_errors_are_those_of_sqlalchemy(self, storage):
        with storage.writing() as connection:
            INSERT.run(connection, reward(0))
        with pytest.raises(IntegrityError), storage._own().begin() as connection:
            INSERT.run(connection, reward(0))
        broken = Statement(text("SELECT place FROM nowhere"))
        with pytest.raises(DBAPIError, match="nowhere"), storage._own().begin() as connection:
            broken.rows(connection, {})
        with storage.reading() as connection:  # and nothing is left behind
            assert PLACES.rows(connection, {"number": 1}) == [(0,)]


class TestOnSQLite(Contract):
    @pytest.fixture
    def where(self, tmp_path):
        return f"sqlite:///{tmp_path / 'studies.db'}"


class TestOnPostgreSQL(Contract):
    @pytest.fixture
    def where(self, database):
        return database

    def test_a_connection_that_was_cut_is_not_used_again(self, storage):
        with storage._own().connect() as connection:
            with storage.writing() as other:
                mine = connection.connection.driver_connection.info.backend_pid
                other.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": mine})
            with pytest.raises(DBAPIError):
                PLACES.rows(connection, {"number": 1})
        with storage.reading() as connection:
            assert PLACES.rows(connection, {"number": 1}) == []
