"""Ambo in asyncio: each connection has a thread, so that no statement stops the loop. Cancelling a task interrupts its statement.

>>> import asyncio
>>> from ambo import aio
>>> async def main():
...     async with await aio.connect() as con:
...         cursor = await con.execute("select ? + 1", (41,))
...         return await cursor.fetchone()
>>> asyncio.run(main())
(42,)
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from . import Connection, Cursor
from . import connect as _connect

__all__ = ["AsyncConnection", "AsyncCursor", "connect"]

T = TypeVar("T")


class AsyncConnection:
    """A connection whose methods are awaited. What is not here is done by `run`."""

    def __init__(self, connection: Connection, thread: ThreadPoolExecutor) -> None:
        self._connection = connection
        self._thread = thread

    async def run(self, act: Callable[..., T], *arguments: Any) -> T:
        """Calls a function in the thread of the connection: `await con.run(con.sync.ingest, "t", frame)`."""
        begun = self._thread.submit(act, *arguments)
        waited = asyncio.wrap_future(begun)
        try:
            return await asyncio.shield(waited)
        except asyncio.CancelledError:
            # Whoever was cancelled is told so, and not what came of the statement.
            waited.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
            if not begun.cancel():
                # The thread is free when the statement has ended. What has not begun yet is not interrupted.
                while not waited.done():
                    self._connection.interrupt()
                    await asyncio.wait([waited], timeout=0.05)
            raise

    @property
    def sync(self) -> Connection:
        """The connection behind this one, to be used in its thread: by `run`."""
        return self._connection

    async def execute(self, sql: str, params: Any = None) -> AsyncCursor:
        """As `Connection.execute`."""
        return AsyncCursor(self, await self.run(self._connection.execute, sql, params))

    async def executemany(self, sql: str, seq_of_params: Any) -> AsyncCursor:
        """As `Connection.executemany`."""
        return AsyncCursor(self, await self.run(self._connection.executemany, sql, seq_of_params))

    async def executescript(self, sql: str) -> None:
        """As `Connection.executescript`."""
        await self.run(self._connection.executescript, sql)

    async def commit(self) -> None:
        """As `Connection.commit`."""
        await self.run(self._connection.commit)

    async def rollback(self) -> None:
        """As `Connection.rollback`."""
        await self.run(self._connection.rollback)

    @asynccontextmanager
    async def transaction(self, *, serializable: bool = False) -> AsyncGenerator[AsyncConnection]:
        """A transaction: committed at the end, or rolled back if something is raised."""
        await self.run(lambda: self._connection.begin(serializable=serializable))
        try:
            yield self
        except BaseException:
            await self.rollback()
            raise
        await self.commit()

    async def close(self) -> None:
        """Closes the connection."""
        await self.run(self._connection.close)
        self._thread.shutdown(wait=False)

    async def __aenter__(self) -> AsyncConnection:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()


class AsyncCursor:
    """A cursor whose methods are awaited."""

    def __init__(self, connection: AsyncConnection, cursor: Cursor) -> None:
        self._connection = connection
        self._cursor = cursor

    @property
    def sync(self) -> Cursor:
        """The cursor behind this one, to be used in the thread of its connection."""
        return self._cursor

    @property
    def description(self) -> list[tuple[Any, ...]] | None:
        """As `Cursor.description`."""
        return self._cursor.description

    @property
    def rowcount(self) -> int:
        """As `Cursor.rowcount`."""
        return self._cursor.rowcount

    async def fetchone(self) -> tuple[Any, ...] | None:
        """As `Cursor.fetchone`."""
        return await self._connection.run(self._cursor.fetchone)

    async def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """As `Cursor.fetchmany`."""
        return await self._connection.run(self._cursor.fetchmany, size)

    async def fetchall(self) -> list[tuple[Any, ...]]:
        """As `Cursor.fetchall`."""
        return await self._connection.run(self._cursor.fetchall)

    async def __aiter__(self) -> AsyncIterator[tuple[Any, ...]]:
        while rows := await self.fetchmany(1000):
            for row in rows:
                yield row


async def connect(path: str | os.PathLike[str] = ":memory:", **options: Any) -> AsyncConnection:
    """As `ambo.connect`."""
    thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ambo")
    connection = await asyncio.wrap_future(thread.submit(lambda: _connect(path, **options)))
    return AsyncConnection(connection, thread)
