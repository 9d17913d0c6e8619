"""Statements that every ask and tell runs: SQLAlchemy writes them once, the driver runs them.

Most of what a small statement costs is the way through SQLAlchemy's layers, which these do not
take. They are of the same transaction as all others of a connection.
"""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Dialect
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.sql import ClauseElement

__all__ = ["Statement"]

Row = tuple[Any, ...]


class Statement:
    """A statement with named parameters, none of which is a list.

    Parameters
    ----------
    statement : ClauseElement
        Of SQLAlchemy. An insert takes a value for every one of the `columns`.
    columns : sequence of str, optional
        That an insert fills; by default all of the table.
    """

    def __init__(self, statement: ClauseElement, columns: Sequence[str] | None = None) -> None:
        self._statement, self._columns = statement, columns
        self._written: dict[str, tuple[str, Any]] = {}

    def rows(self, connection: Connection, values: Mapping[str, Any]) -> list[Row]:
        """Run it, and return its rows."""
        text, order = self._text(connection.dialect)
        found: list[Row] = self._run(
            connection, lambda driver: driver.execute(text, order(values)).fetchall()
        )
        return found

    def run(self, connection: Connection, values: Mapping[str, Any]) -> None:
        """Run it."""
        text, order = self._text(connection.dialect)
        self._run(connection, lambda driver: driver.execute(text, order(values)))

    def run_all(self, connection: Connection, values: Sequence[Mapping[str, Any]]) -> None:
        """Run it once for each of some values."""
        text, order = self._text(connection.dialect)
        every = [order(each) for each in values]
        self._run(connection, lambda driver: driver.cursor().executemany(text, every))

    def _run(self, connection: Connection, call: Any) -> Any:
        """Call with the driver's connection; errors are SQLAlchemy's, as those of others are."""
        driver: Any = connection.connection.driver_connection
        dialect = connection.dialect
        assert dialect.dbapi is not None
        try:
            return call(driver)
        except dialect.dbapi.IntegrityError as error:
            raise IntegrityError(None, None, error) from error
        except dialect.dbapi.Error as error:
            if dialect.is_disconnect(error, driver, None):
                connection.invalidate(error)
            raise DBAPIError(None, None, error) from error

    def _text(self, dialect: Dialect) -> tuple[str, Any]:
        """How a database writes it, and what puts the values of its parameters in order."""
        found = self._written.get(dialect.name)
        if found is None:
            compiled: Any = self._statement.compile(dialect=dialect, column_keys=self._columns)
            if compiled.positional:
                names = tuple(compiled.positiontup)
                found = str(compiled), _in_order(names)
            else:
                found = str(compiled), lambda values: values
            self._written[dialect.name] = found
        return found


def _in_order(names: tuple[str, ...]) -> Any:
    """What takes the values of these names, as a tuple."""
    if len(names) > 1:
        return itemgetter(*names)
    return lambda values: tuple(values[name] for name in names)
