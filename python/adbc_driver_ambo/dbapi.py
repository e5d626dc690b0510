"""PEP 249 over ADBC: what pandas and polars read and write by."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import adbc_driver_manager
from adbc_driver_manager import dbapi as _dbapi
from adbc_driver_manager.dbapi import (
    BINARY,
    DATETIME,
    NUMBER,
    ROWID,
    STRING,
    Connection,
    Cursor,
    DatabaseError,
    DataError,
    Date,
    DateFromTicks,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Time,
    TimeFromTicks,
    Timestamp,
    TimestampFromTicks,
    Warning,
)

from . import connect as _connect

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

apilevel = _dbapi.apilevel
threadsafety = _dbapi.threadsafety
Binary = bytes
paramstyle = "qmark"


def connect(
    uri: str | os.PathLike[str] = ":memory:",
    *,
    db_kwargs: Mapping[str, str] | None = None,
    conn_kwargs: Mapping[str, str] | None = None,
    autocommit: bool = False,
) -> Connection:
    """A connection to a database, by its path or an address such as `ambo:///path`."""
    database = _connect(uri, db_kwargs=db_kwargs)
    connection = None
    try:
        connection = adbc_driver_manager.AdbcConnection(database, **dict(conn_kwargs or {}))
        options: dict[str, Any] = {"conn_kwargs": conn_kwargs, "autocommit": autocommit}
        return Connection(database, connection, **options)
    except Exception:
        if connection is not None:
            connection.close()
        database.close()
        raise
