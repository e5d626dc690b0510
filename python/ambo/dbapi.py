"""PEP 249: Ambo as other drivers are. A statement that writes begins a transaction, and nothing is committed but by `commit()`.

>>> from ambo import dbapi
>>> con = dbapi.connect()
>>> cursor = con.cursor()
>>> _ = cursor.execute("create table t (a int)")
>>> _ = cursor.execute("insert into t values (?)", (1,))
>>> con.rollback()
>>> con.in_transaction
False
"""

from __future__ import annotations

import datetime
import os
import time
from typing import Any

from . import Connection, Cursor
from . import connect as _connect
from ._errors import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Warning,
)

__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Binary",
    "Connection",
    "Cursor",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Warning",
    "apilevel",
    "connect",
    "paramstyle",
    "threadsafety",
]

apilevel = "2.0"
#: Threads may share the module and connections.
threadsafety = 2
paramstyle = "qmark"


def connect(path: str | os.PathLike[str] = ":memory:", *, autocommit: bool = False, **options: Any) -> Connection:
    """As `ambo.connect`, with transactions that begin by themselves."""
    return _connect(path, autocommit=autocommit, **options)


class _Types:
    """What the second value of a column in `Cursor.description` is compared with."""

    def __init__(self, *names: str) -> None:
        self.names = frozenset(names)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return other.split("(")[0] in self.names
        return self is other

    def __hash__(self) -> int:
        return hash(self.names)


STRING = _Types("text", "json", "uuid")
BINARY = _Types("blob", "bytea", "binary")
NUMBER = _Types(
    "tinyint", "smallint", "int", "bigint", "utinyint", "usmallint", "uint", "ubigint", "real", "double", "decimal", "boolean"
)
DATETIME = _Types("date", "time", "timestamp", "timestamp with time zone", "timestamptz", "interval")
ROWID = _Types()

Date = datetime.date
Time = datetime.time
Timestamp = datetime.datetime
Binary = bytes


def DateFromTicks(ticks: float) -> datetime.date:
    """The local date of a time in seconds since 1970."""
    return Date(*time.localtime(ticks)[:3])


def TimeFromTicks(ticks: float) -> datetime.time:
    """The local time of day of a time in seconds since 1970."""
    return Time(*time.localtime(ticks)[3:6])


def TimestampFromTicks(ticks: float) -> datetime.datetime:
    """The local date and time of a time in seconds since 1970."""
    return Timestamp(*time.localtime(ticks)[:6])
