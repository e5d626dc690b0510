"""What asyncpg does: all in binary, with prepared statements, cursors and COPY."""

import asyncio
import datetime
import decimal
import sys
import uuid

import asyncpg

URL = sys.argv[1]

VALUES = [
    ("boolean", True),
    ("int", -5),
    ("bigint", 1 << 60),
    ("real", 0.5),
    ("double", 1e300),
    ("decimal(20, 4)", decimal.Decimal("99999.1234")),
    ("text", "ü"),
    ("blob", b"\0\xff"),
    ("date", datetime.date(2024, 2, 29)),
    ("time", datetime.time(1, 2, 3, 4)),
    ("timestamp", datetime.datetime(2024, 2, 29, 1, 2, 3, 4)),
    ("timestamptz", datetime.datetime(2024, 2, 29, 1, 2, 3, 4, datetime.timezone.utc)),
    ("interval", datetime.timedelta(days=3, seconds=5)),
    ("uuid", uuid.UUID("5b1d1f9a-6d0c-4f1e-8d6e-111111111111")),
]


async def main():
    connection = await asyncpg.connect(URL)
    # Statements are kept by their texts, with the types of their parameters: each type has a table of its own.
    for nth, (ty, value) in enumerate(VALUES):
        await connection.execute(f"create table v{nth} (id int primary key, v {ty})")
        await connection.execute(f"insert into v{nth} values ($1, $2)", 1, value)
        await connection.execute(f"insert into v{nth} values ($1, $2)", 2, None)
        got = await connection.fetch(f"select v from v{nth} order by id")
        assert [row["v"] for row in got] == [value, None], (ty, got)
    # What it does not know it asks pg_type for: arrays, and what they are of.
    assert await connection.fetchval("select array[1, 2, 3]") == [1, 2, 3]
    assert await connection.fetchval("select 'pg_class'::regclass::oid") == 1259
    assert [row["oid"] for row in await connection.fetch("select oid from pg_type where typname = $1", "int4")] == [23]
    # Enums that users have created are types of their own.
    await connection.execute("create type mood as enum ('sad', 'ok')")
    await connection.execute("create table felt (id int primary key, v mood)")
    await connection.execute("insert into felt values (1, $1)", "ok")
    felt = await connection.prepare("select v from felt")
    [attribute] = felt.get_attributes()
    assert attribute.type.name == "mood", attribute
    assert await felt.fetchval() == "ok"
    # Lists are parameters of their own types, beside columns and casts.
    await connection.execute("create table lists (id int primary key, tags text[])")
    await connection.execute("insert into lists values ($1, $2)", 1, ["x", "y"])
    assert await connection.fetchval("select id from lists where id = any($1)", [1, 2]) == 1
    assert await connection.fetchval("select id from lists where tags = $1", ["x", "y"]) == 1
    assert await connection.fetchval("select $1::bigint[]", [3, None]) == [3, None]
    assert [row["x"] for row in await connection.fetch("select unnest($1::text[]) as x", ["a", "b"])] == ["a", "b"]
    await connection.reset()
    await connection.execute("create table t (id int primary key, name text)")
    await connection.executemany("insert into t values ($1, $2)", [(n, str(n)) for n in range(1000)])
    async with connection.transaction():
        seen = 0
        async for row in connection.cursor("select id from t order by id", prefetch=7):
            assert row["id"] == seen
            seen += 1
        assert seen == 1000
    try:
        async with connection.transaction(isolation="serializable"):
            await connection.execute("insert into t values (1, 'again')")
        raise AssertionError("the key was there")
    except asyncpg.UniqueViolationError:
        pass
    copied = await connection.copy_records_to_table("t", records=[(n, None) for n in range(1000, 3000)], columns=["id", "name"])
    assert copied == "COPY 2000", copied
    assert await connection.fetchval("select count(*) from t") == 3000
    statement = await connection.prepare("select name from t where id = $1")
    for n in range(20):
        assert await statement.fetchval(n) == str(n)
    try:
        await connection.fetch("with recursive t (n) as (select 1 union all select n % 7 + 1 from t) select max(n) from t", timeout=0.3)
        raise AssertionError("it has no end")
    except asyncio.TimeoutError:
        pass
    assert await connection.fetchval("select 1") == 1
    await connection.close()


asyncio.run(main())
