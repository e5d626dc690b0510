"""ADBC's driver for Flight SQL: what programs that work with Arrow do. Says nothing where all is right.

The arguments: the address, and a role and its password if there are roles.
"""

import datetime
import decimal
import sys
import threading
import time

import adbc_driver_flightsql
import adbc_driver_flightsql.dbapi
import adbc_driver_manager
import pyarrow

URI = f"grpc://{sys.argv[1]}"
LOGIN = {"username": sys.argv[2], "password": sys.argv[3]} if len(sys.argv) > 3 else {}
ENDLESS = "with recursive t (n) as (select 1 union all select n % 7 + 1 from t) select max(n) from t"


def connect(**options):
    return adbc_driver_flightsql.dbapi.connect(URI, db_kwargs=LOGIN, **options)


def is_equal(one, other):
    assert one == other, f"{one!r} is not {other!r}"


def fails(act, what):
    try:
        act()
    except Exception as error:
        assert what in str(error), f"{error} does not say {what}"
        return
    raise AssertionError(f"it was done, and should say {what}")


def run(cursor, statement, *more):
    cursor.execute(statement, *more)
    return cursor.fetchall()


def statements():
    with connect(autocommit=True) as connection, connection.cursor() as cursor:
        run(cursor, "create table towns (id int primary key, name text, height double)")
        # Through DoGet, once.
        run(cursor, "insert into towns values (1, 'Bergen', 12.5), (2, 'Porto', null)")
        is_equal(run(cursor, "select count(*) as n from towns"), [(2,)])
        cursor.execute("select * from towns order by id")
        table = cursor.fetch_arrow_table()
        is_equal(table.column_names, ["id", "name", "height"])
        is_equal(table.schema.types, [pyarrow.int32(), pyarrow.string(), pyarrow.float64()])
        is_equal(table.to_pylist()[1], {"id": 2, "name": "Porto", "height": None})
        is_equal(run(cursor, "select name from towns where id = ?", (2,)), [("Porto",)])
        is_equal(run(cursor, "select name from towns where id = $1 and name = $2", (1, "Bergen")), [("Bergen",)])
        cursor.executemany("insert into towns values (?, ?, ?)", [(3, "Bath", 1.0), (4, "Lund", 2.0)])
        is_equal(run(cursor, "select sum(id)::bigint from towns"), [(10,)])
        # All rows of values or none.
        fails(lambda: cursor.executemany("insert into towns values (?, ?, ?)", [(5, "a", 0.0), (1, "b", 0.0)]), "23505")
        is_equal(run(cursor, "select count(*) from towns"), [(4,)])
        fails(lambda: run(cursor, "select nothing from towns"), "42703")
        fails(lambda: run(cursor, "selec"), "42601")
        fails(lambda: run(cursor, "select * from nowhere"), "42P01")
        fails(lambda: run(cursor, "insert into towns values (1, 'x', 0)"), "23505")
        fails(lambda: run(cursor, "select 1 / (range - 200000) from range(0, 300000)"), "22012")
        is_equal(run(cursor, "delete from towns where id > 2 returning id"), [(3,), (4,)])
        # Prepared once, run with other values.
        statement = "select ? + id from towns order by id"
        is_equal([run(cursor, statement, (nth,)) for nth in (1, 10)], [[(2,), (3,)], [(11,), (12,)]])


def rows():
    with connect(autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("select range as n, 'text ' || range as t from range(0, 300000)")
        seen = 0
        with cursor.fetch_record_batch() as reader:
            for batch in reader:
                assert batch.num_rows <= 65536, batch.num_rows
                seen += batch.num_rows
        is_equal(seen, 300000)
        # What is not taken to its end is ended, and another statement runs.
        cursor.execute("select range from range(0, 1000000000)")
        assert cursor.fetchone() is not None
        is_equal(run(cursor, "select 1"), [(1,)])


VALUES = [
    ("boolean", True),
    ("tinyint", -5),
    ("bigint", 1 << 60),
    ("ubigint", (1 << 63) - 1),
    ("real", 0.5),
    ("decimal(20, 4)", decimal.Decimal("99999.1234")),
    ("text", "ü"),
    ("blob", b"\0\xff"),
    ("date", datetime.date(2024, 2, 29)),
    ("time", datetime.time(1, 2, 3, 4)),
    ("timestamp", datetime.datetime(2024, 2, 29, 1, 2, 3, 4)),
    ("int[]", [1, None, 3]),
    ("struct(a int, b text)", {"a": 1, "b": "x"}),
]


def types():
    with connect(autocommit=True) as connection, connection.cursor() as cursor:
        for nth, (ty, value) in enumerate(VALUES):
            run(cursor, f"create table v{nth} (id int primary key, v {ty})")
            if ty not in ("int[]", "struct(a int, b text)"):
                run(cursor, f"insert into v{nth} values (?, ?)", (1, value))
                run(cursor, f"insert into v{nth} values (?, ?)", (2, None))
            else:
                is_equal(cursor.adbc_ingest(f"v{nth}", pyarrow.table({"id": [1, 2], "v": pyarrow.array([value, None])}), mode="append"), 2)
            cursor.execute(f"select v from v{nth} order by id")
            is_equal(cursor.fetch_arrow_table().column(0).to_pylist(), [value, None])
        cursor.execute("select uuid '5b1d1f9a-6d0c-4f1e-8d6e-111111111111' as u")
        is_equal(cursor.fetch_arrow_table().schema.field(0).type, pyarrow.uuid())


def transactions():
    with connect() as connection, connection.cursor() as cursor:
        run(cursor, "insert into towns values (10, 'Oslo', 1)")
        is_equal(run(cursor, "select count(*) from towns"), [(3,)])
        with connect(autocommit=True) as other, other.cursor() as seen:
            is_equal(run(seen, "select count(*) from towns"), [(2,)])
        connection.rollback()
        is_equal(run(cursor, "select count(*) from towns"), [(2,)])
        run(cursor, "insert into towns values (11, 'Faro', 1)")
        # An error ends no transaction that its statement did not end.
        fails(lambda: run(cursor, "select nothing from towns"), "42703")
        connection.commit()
    with connect(autocommit=True) as connection, connection.cursor() as cursor:
        is_equal(run(cursor, "select name from towns where id = 11"), [("Faro",)])
    # What is not committed is gone with its connection.
    with connect() as connection, connection.cursor() as cursor:
        run(cursor, "delete from towns")
    with connect(autocommit=True) as connection, connection.cursor() as cursor:
        is_equal(run(cursor, "select count(*) from towns"), [(3,)])


def ingest():
    numbers = pyarrow.table({"id": pyarrow.array(range(100000), pyarrow.int64()), "t": [f"t{n}" for n in range(100000)]})
    with connect(autocommit=True) as connection, connection.cursor() as cursor:
        is_equal(cursor.adbc_ingest("numbers", numbers, mode="create"), 100000)
        is_equal(cursor.adbc_ingest("numbers", numbers, mode="append"), 100000)
        is_equal(run(cursor, "select count(*), count(distinct t) from numbers"), [(200000, 100000)])
        fails(lambda: cursor.adbc_ingest("numbers", numbers, mode="create"), "numbers")
        is_equal(cursor.adbc_ingest("numbers", numbers.slice(0, 10), mode="replace"), 10)
        is_equal(cursor.adbc_ingest("more", numbers.slice(0, 10), mode="create_append"), 10)
        is_equal(cursor.adbc_ingest("more", numbers.slice(0, 10), mode="create_append"), 10)
        is_equal(run(cursor, "select (select count(*) from numbers), (select count(*) from more)"), [(10, 20)])
        fails(lambda: cursor.adbc_ingest("nowhere", numbers, mode="append"), "nowhere")
        fails(lambda: cursor.adbc_ingest("more", numbers, mode="append", temporary=True), "temporary")
        # All or none.
        run(cursor, "create table keyed (id bigint primary key, t text)")
        twice = pyarrow.concat_tables([numbers, numbers.slice(5, 1)])
        fails(lambda: cursor.adbc_ingest("keyed", twice, mode="append"), "23505")
        is_equal(run(cursor, "select count(*) from keyed"), [(0,)])
        run(cursor, "create schema deep")
        is_equal(cursor.adbc_ingest("dotted.name", numbers.slice(0, 3), mode="create", db_schema_name="deep"), 3)
        is_equal(run(cursor, 'select count(*) from deep."dotted.name"'), [(3,)])


def metadata():
    with connect(autocommit=True) as connection:
        info = connection.adbc_get_info()
        is_equal(info["vendor_name"], "Ambo")
        is_equal(set(connection.adbc_get_table_types()), {"TABLE", "VIEW"})
        with connection.cursor() as cursor:
            run(cursor, "create table child (id int primary key, town int references towns (id))")
            run(cursor, "create view few as select name from towns")
        schema = connection.adbc_get_table_schema("towns")
        is_equal(schema.names, ["id", "name", "height"])
        is_equal(schema.types, [pyarrow.int32(), pyarrow.string(), pyarrow.float64()])
        objects = connection.adbc_get_objects(depth="all").read_all().to_pylist()
        is_equal([catalog["catalog_name"] for catalog in objects], ["ambo"])
        main = next(of for of in objects[0]["catalog_db_schemas"] if of["db_schema_name"] == "main")
        tables = {table["table_name"]: table for table in main["db_schema_tables"]}
        assert {"towns", "child", "numbers", "few"} <= set(tables), tables
        is_equal(tables["few"]["table_type"], "VIEW")
        is_equal([column["column_name"] for column in tables["child"]["table_columns"]], ["id", "town"])
        some = connection.adbc_get_objects(depth="tables", db_schema_filter="main", table_name_filter="ch%").read_all().to_pylist()
        found = [table["table_name"] for of in some[0]["catalog_db_schemas"] for table in of["db_schema_tables"]]
        is_equal(found, ["child"])


def cancel():
    with connect(autocommit=True) as connection, connection.cursor() as cursor:
        timer = threading.Timer(0.5, cursor.adbc_cancel)
        timer.start()
        began = time.monotonic()
        fails(lambda: run(cursor, ENDLESS), "ancel")
        assert time.monotonic() - began < 20
    with connect(autocommit=True) as connection, connection.cursor() as cursor:
        is_equal(run(cursor, "select 1"), [(1,)])
        run(cursor, "create table after_all (id int)")


if LOGIN.get("username") == "bob":
    with connect(autocommit=True) as connection, connection.cursor() as cursor:
        is_equal(run(cursor, "select 1"), [(1,)])
        run(cursor, "create table no (id int)")
elif len(sys.argv) == 3:
    # A token instead of a password.
    LOGIN = {adbc_driver_flightsql.DatabaseOptions.AUTHORIZATION_HEADER.value: f"Bearer {sys.argv[2]}"}
    with connect(autocommit=True) as connection, connection.cursor() as cursor:
        is_equal(run(cursor, "select 1"), [(1,)])
else:
    for part in (statements, rows, types, transactions, ingest, metadata, cancel):
        part()
