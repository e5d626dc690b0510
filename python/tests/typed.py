"""A program with types, which mypy and pyright read in strict mode: what is known of each value is what the stubs say."""

from __future__ import annotations

from typing import Any, assert_type

import ambo
from ambo import aio, dbapi


def statements(con: ambo.Connection) -> None:
    cursor = con.execute("select ?", (1,))
    assert_type(cursor, ambo.Cursor)
    assert_type(cursor.fetchone(), tuple[Any, ...] | None)
    assert_type(cursor.fetchall(), list[tuple[Any, ...]])
    for row in cursor:
        assert_type(row, tuple[Any, ...])
    assert_type(con.ingest("t", [{"a": 1}], mode="create", key="a"), int)
    with con.transaction(serializable=True) as within:
        assert_type(within, ambo.Connection)
    assert_type(con.retry(lambda con: con.execute("select 1").fetchone()), tuple[Any, ...] | None)
    assert_type(con.progress(), ambo.Progress | None)


def mappings(con: ambo.Connection) -> None:
    kv = con.kv("kv", key="str", value="int")
    kv["a"] = 1
    assert_type(kv.range("a", "b", limit=10), ambo.Pairs)
    assert_type(kv.count(), int)
    kv.delete_range("a", stop_inclusive=True)
    cursor = kv.cursor()
    assert_type(cursor.seek("a", "ge"), bool)
    with con.batch() as batch:
        batch.put(kv, "a", 1)
    snapshot = con.snapshot()
    assert_type(snapshot[kv], ambo.KeyValue)
    assert_type(snapshot.moment, int)


def store(con: ambo.Connection) -> None:
    assert_type(con.backup("backup"), ambo.BackupReport)
    assert_type(ambo.verify_backup("backup"), list[str])
    for change in con.changes(con.moment):
        if isinstance(change, ambo.Commit):
            assert_type(change.rows, list[ambo.Change])
        else:
            assert_type(change, ambo.Unlogged)
    feed = con.feed("t", "source")
    assert_type(feed.token, bytes | None)
    assert_type(feed.checkpoint(b"token"), int)


def pep_249() -> None:
    with dbapi.connect("path") as con:
        assert_type(con.cursor(), ambo.Cursor)
        con.commit()


async def tasks() -> None:
    async with await aio.connect() as con:
        cursor = await con.execute("select 1")
        assert_type(await cursor.fetchone(), tuple[Any, ...] | None)
