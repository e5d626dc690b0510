"""The exceptions: the tree of PEP 249, with leaves for what programs treat on its own."""

from __future__ import annotations

from typing import Any


class Warning(Exception):  # noqa: A001 - the name is PEP 249's
    """Something that a program may want to know."""


class Error(Exception):
    """What goes wrong. Its text has the line of the statement with a mark below the place, and what may help."""

    def __init__(
        self,
        message: str = "",
        *,
        sqlstate: str | None = None,
        line: int | None = None,
        column: int | None = None,
        hint: str | None = None,
        object: str | None = None,  # noqa: A002
        statement: str | None = None,
        retryable: bool = False,
    ) -> None:
        super().__init__(message)
        #: Five letters and digits, as the standard and PostgreSQL have them.
        self.sqlstate = sqlstate
        #: Where in the statement, both from 1.
        self.line = line
        self.column = column
        #: What may help.
        self.hint = hint
        #: The name that is not there.
        self.object = object
        #: The statement.
        self.statement = statement
        #: Whether the same transaction may succeed when it is run again.
        self.retryable = retryable

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.args, self.__dict__


class InterfaceError(Error):
    """The interface was used in a way that it is not made for."""


class DatabaseError(Error):
    """Something of the database's."""


class DataError(DatabaseError):
    """A value is out of range, or none of its type."""


class OperationalError(DatabaseError):
    """Something that is not the program's fault: memory, a file, another transaction."""


class IntegrityError(DatabaseError):
    """A key is taken, or a rule of a table forbids a row."""


class InternalError(DatabaseError):
    """A fault of Ambo's own."""


class ProgrammingError(DatabaseError):
    """The request cannot be done as it is meant."""


class NotSupportedError(DatabaseError):
    """The request is understood, and not supported."""


class SqlSyntaxError(ProgrammingError):
    """The text is no SQL."""


class NotFoundError(ProgrammingError):
    """Something that is named is not there."""


class ConflictError(OperationalError):
    """Another transaction was in the way: run the transaction again (`Connection.retry` does)."""


class CancelledError(OperationalError):
    """The statement was interrupted. An open transaction stays open."""


class DiskFullError(OperationalError):
    """No space is left. Nothing that was committed is lost."""


class InUseError(OperationalError):
    """Another process has the database open, or it was opened before a fork."""


class PoisonedError(OperationalError):
    """The database refuses writes since an earlier failure: close it and open it again."""


class DamagedError(DatabaseError):
    """What is on the disk is not what was written there."""
