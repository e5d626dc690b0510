"""Ambo: an embedded database with both halves of an application's data.

>>> import ambo
>>> con = ambo.connect()
>>> _ = con.execute("create table towns (id int primary key, name text)")
>>> _ = con.execute("insert into towns values (?, ?), (?, ?)", (1, "Bergen", 2, "Porto"))
>>> con.execute("select name from towns order by id").fetchall()
[('Bergen',), ('Porto',)]
>>> kv = con.kv("seen")
>>> kv[b"Bergen"] = b"2026"
>>> dict(kv)
{b'Bergen': b'2026'}
"""

from __future__ import annotations

import atexit
import os
import warnings
import weakref
from collections.abc import Callable, Generator, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple, TypeVar, cast

from . import _ambo, _errors, _frames
from ._ambo import Batch, Changes, Cursor, Feed, KeyValue, KvCursor, Pairs, Snapshot
from ._changes import BackupReport, Change, Commit, DeletedRange, Unlogged
from ._errors import (
    CancelledError,
    ConflictError,
    DamagedError,
    DatabaseError,
    DataError,
    DiskFullError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    InUseError,
    NotFoundError,
    NotSupportedError,
    OperationalError,
    PoisonedError,
    ProgrammingError,
    SqlSyntaxError,
)

__all__ = [
    "BackupReport",
    "Batch",
    "CancelledError",
    "Change",
    "Changes",
    "Commit",
    "ConflictError",
    "Connection",
    "Cursor",
    "DamagedError",
    "DataError",
    "DatabaseError",
    "DeletedRange",
    "DiskFullError",
    "Error",
    "Feed",
    "InUseError",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "KeyValue",
    "KvCursor",
    "NotFoundError",
    "NotSupportedError",
    "OperationalError",
    "Pairs",
    "PoisonedError",
    "ProgrammingError",
    "Progress",
    "Snapshot",
    "SqlSyntaxError",
    "Unlogged",
    "connect",
    "restore",
    "verify_backup",
]

del _frames

T = TypeVar("T")

# Type checkers take it for a protocol, which knows no `register`.
cast(Any, MutableMapping).register(KeyValue)

#: All that are open, to be closed when Python ends: the threads of a database outlive no interpreter.
_connections: weakref.WeakSet[Connection] = weakref.WeakSet()


class Progress(NamedTuple):
    """How far a query is."""

    #: Rows that scans of tables, files and frames have given to the operators above them.
    rows_read: int
    #: About how many that will be, if it is known.
    rows_total: int | None
    #: Bytes that operators wrote to temporary files.
    bytes_spilled: int


class Connection(_ambo.BaseConnection):
    """A connection to a database: statements, transactions, key-value tables.

    As a context manager it closes itself in the end. Threads may share it; their statements come one after the other.
    """

    # PEP 249: the exceptions, where there is only a connection at hand.
    Warning = _errors.Warning
    Error = Error
    InterfaceError = InterfaceError
    DatabaseError = DatabaseError
    DataError = DataError
    OperationalError = OperationalError
    IntegrityError = IntegrityError
    InternalError = InternalError
    ProgrammingError = ProgrammingError
    NotSupportedError = NotSupportedError

    def __init__(self, *_arguments: Any, **_named: Any) -> None:
        _connections.add(self)

    def __exit__(self, *exception: object) -> None:
        if self.in_transaction and not self.closed and exception[:1] in ((), (None,)):
            warnings.warn("the connection is closed with a transaction open, which is rolled back", ResourceWarning, stacklevel=2)
        super().__exit__(*exception)

    @contextmanager
    def transaction(self, *, serializable: bool = False, read_only: bool = False) -> Generator[Connection]:
        """A transaction: committed at the end, or rolled back if something is raised. Within another it is a savepoint.

        >>> con = connect()
        >>> numbers = con.kv("numbers", key="str", value="int")
        >>> with con.transaction():
        ...     numbers["one"] = 1
        >>> try:
        ...     with con.transaction():
        ...         numbers["two"] = 2
        ...         raise KeyError("three")
        ... except KeyError:
        ...     print(dict(numbers))
        {'one': 1}
        """
        if self.in_transaction:
            with self.savepoint():
                yield self
            return
        self.begin(serializable=serializable, read_only=read_only)
        try:
            yield self
        except BaseException:
            if self.in_transaction:
                self.rollback()
            raise
        if self.in_transaction:
            self.commit()

    @contextmanager
    def savepoint(self) -> Generator[Connection]:
        """A part of the open transaction, which alone is taken back if something is raised."""
        name = f"of_python_{next(_numbers)}"
        self.executescript(f"savepoint {name}")
        try:
            yield self
        except BaseException:
            if self.in_transaction:
                self.executescript(f"rollback to savepoint {name}; release savepoint {name}")
            raise
        if self.in_transaction:
            self.executescript(f"release savepoint {name}")

    def retry(self, act: Callable[[Connection], T], *, times: int = 10, serializable: bool = False) -> T:
        """Calls `act` with the connection in a transaction, and again after a conflict, `times` times at most.

        >>> con = connect()
        >>> counts = con.kv("counts", key="str", value="int")
        >>> def count(con):
        ...     counts["seen"] = counts.get("seen", 0) + 1
        >>> con.retry(count)
        >>> counts["seen"]
        1
        """
        for attempt in range(times):
            try:
                with self.transaction(serializable=serializable):
                    return act(self)
            except ConflictError:
                if attempt + 1 == times:
                    raise
        raise ValueError("times is at least one")

    def sql(self, sql: str, params: Any = None) -> Cursor:
        """As `execute`."""
        return self.execute(sql, params)

    def progress(self) -> Progress | None:
        """How far the query is that runs in another thread, or that ran last; `None` if nothing is left of it."""
        progress = self._progress()
        return None if progress is None else Progress(*progress)

    def backup(self, path: str | os.PathLike[str]) -> BackupReport:
        """Makes a directory a backup of the database as it is now, while it goes on being used. A backup is a database.

        A directory with an earlier backup of the database becomes the new one, and what it has already is not copied again.

        >>> import tempfile
        >>> con = connect()
        >>> con.kv("towns", key="str", value="str")["Bergen"] = "Norway"
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     report = con.backup(folder + "/backup")
        ...     print(report.moment == con.moment, verify_backup(folder + "/backup"))
        True []
        """
        return BackupReport(*self._backup(os.fspath(path)))

    def info(self) -> dict[str, Any]:
        """What is known of the database: its version, where it is, the settings, and figures such as `file_bytes` and `cache_bytes`.

        >>> info = connect().info()
        >>> info["path"], info["settings"]["default_storage"], info["figures"]["damaged_tables"]
        (None, 'column', 0)
        """
        version = self.execute("select version()").fetchall()[0][0]
        settings = self.execute("select name, value from ambo_catalog.settings").fetchall()
        figures = self.execute("select figure, value from ambo_catalog.database").fetchall()
        return {"version": version, "path": self.path, "settings": dict(settings), "figures": dict(figures)}

    def __repr__(self) -> str:
        state = "closed" if self.closed else self.path or "in memory"
        return f"<ambo.Connection {state}>"


def _count() -> Iterator[int]:
    number = 0
    while True:
        number += 1
        yield number


_numbers = _count()


def connect(
    path: str | os.PathLike[str] = ":memory:",
    *,
    read_only: bool = False,
    beside: bool = False,
    create: bool = True,
    autocommit: bool = True,
    sync: Literal["commit", "interval", "off"] = "commit",
    cache_bytes: int | str | None = None,
    memory_bytes: int | str | None = None,
    threads: int | None = None,
    default_storage: str | None = None,
    lock_timeout: float | None = None,
    scan_frames: bool = True,
    progress: bool | None = None,
    **options: Any,
) -> Connection:
    """Opens a database, which is a directory, or one in memory, and connects to it.

    A path that is open in this process already is shared; it is closed with its last connection. Sizes are numbers of bytes or texts
    such as `"256MiB"`. With `beside=True` a database is read that another process writes: what is seen is a second old at most, and
    the statement `CHECKPOINT` asks that process for what is newest. With `autocommit=False` a statement that writes begins a transaction. `scan_frames` lets statements name
    variables of the caller that hold rows. How far a query of more than two seconds is, is drawn in terminals and notebooks; `progress`
    is `False` for never, and `True` for a line of standard error wherever that goes.

    >>> connect().execute("select 6 * 7").fetchone()
    (42,)
    """
    given: dict[str, Any] = {
        "cache_bytes": cache_bytes,
        "memory_bytes": memory_bytes,
        "threads": threads,
        "default_storage": default_storage,
        "lock_timeout": lock_timeout,
        **options,
    }
    if read_only:
        given["read_only"] = True
    if beside:
        given["beside"] = True
    if not create:
        given["create"] = False
    if sync != "commit":
        given["sync"] = sync
    wanted = {name: value for name, value in given.items() if value is not None}
    return Connection(os.fspath(path), wanted, autocommit, scan_frames, progress)


def restore(backup: str | os.PathLike[str], path: str | os.PathLike[str], **options: Any) -> BackupReport:
    """Makes a directory a database like a backup, which stays what it is; or like a database that was closed and nobody has open.

    Of one that is encrypted, `options` such as `key_file` have the key.
    """
    return BackupReport(*_ambo.restore(os.fspath(backup), os.fspath(path), options))


def verify_backup(path: str | os.PathLike[str], **options: Any) -> list[str]:
    """Reads everything in a backup, and returns what is wrong: nothing, if it is sound. `options` are those of `restore`."""
    return _ambo.verify_backup(os.fspath(path), options)


def _close_all() -> None:
    for connection in list(_connections):
        connection.close()


atexit.register(_close_all)
