"""What psycopg does: types in text and binary, cursors, pipelines, COPY, transactions, errors."""

import datetime
import decimal
import enum
import sys
import uuid

import psycopg
from psycopg.types.enum import EnumInfo, register_enum

URL = sys.argv[1]

VALUES = [
    ("boolean", True),
    ("smallint", -7),
    ("int", 1 << 30),
    ("bigint", -(1 << 60)),
    ("double", 1.25),
    ("decimal(20, 4)", decimal.Decimal("-12345.6700")),
    ("text", "ünï'\\\n"),
    ("blob", bytes(range(256))),
    ("date", datetime.date(1999, 12, 31)),
    ("time", datetime.time(23, 59, 59, 123456)),
    ("timestamp", datetime.datetime(2024, 2, 29, 1, 2, 3, 4)),
    ("timestamptz", datetime.datetime(2024, 2, 29, 1, 2, 3, 4, datetime.timezone.utc)),
    ("interval", datetime.timedelta(days=3, seconds=5, microseconds=7)),
    ("uuid", uuid.UUID("5b1d1f9a-6d0c-4f1e-8d6e-111111111111")),
    ("int[]", [1, None, 3]),
    ("text[]", ["a", 'b,"c"', ""]),
]


def types(connection):
    for ty, value in VALUES:
        connection.execute(f"create table v (id int primary key, v {ty})")
        for binary in (False, True):
            connection.execute("delete from v")
            mark = "%b" if binary else "%t"
            connection.execute(f"insert into v values (1, {mark}), (2, null)", [value])
            cursor = connection.cursor(binary=binary)
            got = cursor.execute("select v from v order by id").fetchall()
            assert got == [(value,), (None,)], (ty, binary, got)
        connection.execute("drop table v")


class Mood(enum.Enum):
    sad = "sad"
    ok = "ok"


def enums(connection):
    """Enums that users have created are types of their own."""
    connection.execute("create type mood as enum ('sad', 'ok')")
    connection.execute("create table felt (id int primary key, v mood)")
    info = EnumInfo.fetch(connection, "mood")
    assert list(info.labels) == ["sad", "ok"], info
    register_enum(info, connection, Mood)
    for nth, binary in enumerate((False, True)):
        mark = "%b" if binary else "%t"
        connection.execute(f"insert into felt values (%s, {mark})", [nth, Mood.ok])
        for query in ("select v from felt where id = %s", "select max(v) from felt where id = %s"):
            cursor = connection.cursor(binary=binary).execute(query, [nth])
            assert cursor.description[0].type_code == info.oid, (query, cursor.description)
            assert cursor.fetchone() == (Mood.ok,), query
    # Which of two with the same labels it is, labels do not say.
    connection.execute("create type temper as enum ('sad', 'ok')")
    assert connection.execute("select v::text from felt where id = 0").fetchone() == ("ok",)
    assert connection.execute("select v from felt where id = 0").fetchone() == ("ok",)
    connection.execute("drop table felt; drop type temper; drop type mood")


def transactions(connection):
    connection.execute("create table t (id int primary key, n int)")
    connection.commit()
    connection.execute("insert into t values (1, 1)")
    connection.rollback()
    assert connection.execute("select count(*) from t").fetchone() == (0,)
    with connection.transaction():
        connection.execute("insert into t values (1, 1)")
        try:
            with connection.transaction():
                connection.execute("insert into t values (2, 2)")
                connection.execute("insert into t values (1, 1)")
            raise AssertionError("the key was there")
        except psycopg.errors.UniqueViolation as error:
            assert error.sqlstate == "23505"
        connection.execute("insert into t values (3, 3)")
    assert connection.execute("select id from t order by id").fetchall() == [(1,), (3,)]
    connection.commit()
    # A plan is prepared after some runs, and is right when the table has changed.
    for n in range(8):
        assert connection.execute("select %s::int + count(*) from t", [n]).fetchone() == (n + 2,)
    connection.commit()


def pipelines(connection):
    connection.execute("create table p (id int primary key)")
    connection.commit()
    connection.autocommit = True
    try:
        with connection.pipeline():
            connection.execute("insert into p values (1)")
            connection.execute("insert into p values (2)")
            connection.execute("insert into p values (1)")
        raise AssertionError("the key was there")
    except psycopg.errors.UniqueViolation:
        pass
    assert connection.execute("select count(*) from p").fetchone() == (0,)
    with connection.pipeline():
        for n in range(100):
            connection.execute("insert into p values (%s)", [n])
    assert connection.execute("select count(*) from p").fetchone() == (100,)
    connection.cursor().executemany("insert into p values (%s)", [(n,) for n in range(100, 200)])
    assert connection.execute("select count(*) from p").fetchone() == (200,)
    connection.autocommit = False


def copies(connection):
    connection.execute("create table c (id int, name text, at timestamp, b blob, l int[])")
    rows = [(n, None if n % 3 else f"n\t{n}\\", datetime.datetime(2024, 1, 1) + datetime.timedelta(hours=n), b"\0\x01", [n]) for n in range(20_000)]
    for form in ("", " (format binary)"):
        connection.execute("delete from c")
        with connection.cursor().copy(f"copy c from stdin{form}") as copy:
            copy.set_types(["int4", "text", "timestamp", "bytea", "int4[]"])
            for row in rows:
                copy.write_row(row)
        got = connection.execute("select * from c order by id").fetchall()
        assert got == rows, (form, got[:2])
        with connection.cursor().copy(f"copy (select * from c order by id) to stdout{form}") as copy:
            copy.set_types(["int4", "text", "timestamp", "bytea", "int4[]"])
            assert list(copy.rows()) == rows, form
    connection.commit()


def cursors(connection):
    with connection.transaction(), connection.cursor("on the server") as cursor:
        cursor.execute("select range, 'x' from range(0, 1000)")
        assert cursor.fetchone() == (0, "x")
        assert [row[0] for row in cursor.fetchmany(3)] == [1, 2, 3]
        assert sum(1 for _ in cursor) == 996
    info = psycopg.types.TypeInfo.fetch(connection, "int4")
    assert (info.oid, info.array_oid) == (23, 1007), info
    cursor = connection.cursor()
    cursor.execute("select range from range(0, 100000)")
    assert sum(1 for _ in cursor) == 100_000
    total = 0
    for row in connection.cursor().stream("select range from range(0, 1000)"):
        total += row[0]
    assert total == 499_500
    assert cursor.execute("select 1 as a, 'x' as b").description[1].name == "b"


def main():
    with psycopg.connect(URL) as connection:
        types(connection)
        enums(connection)
        connection.commit()
        transactions(connection)
        pipelines(connection)
        copies(connection)
        cursors(connection)
        assert connection.info.server_version == 150013, connection.info.server_version
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS
        connection.rollback()
        connection.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
        connection.read_only = True
        try:
            connection.execute("delete from t")
            raise AssertionError("the transaction is read only")
        except psycopg.errors.ReadOnlySqlTransaction:
            pass


main()
