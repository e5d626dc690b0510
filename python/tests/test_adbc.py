"""The driver of ADBC, by the driver manager of Python's, with pandas and polars."""

from __future__ import annotations

import datetime
import decimal
import threading
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow
import pytest
from adbc_driver_manager import dbapi as manager

import adbc_driver_ambo
import ambo
from adbc_driver_ambo import dbapi


@pytest.fixture
def con() -> Any:
    with dbapi.connect() as con:
        yield con


def rows(con: Any, sql: str, params: Any = None) -> list[dict[str, Any]]:
    with con.cursor() as cursor:
        cursor.execute(sql, params)
        return cursor.fetch_arrow_table().to_pylist()


def test_values_go_in_and_come_back(con: Any) -> None:
    given = (
        1,
        2.5,
        "text",
        b"\x00\xff",
        True,
        None,
        datetime.date(2026, 1, 2),
        datetime.time(1, 2, 3, 4),
        datetime.datetime(2026, 1, 2, 3, 4, 5, 6),
        datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC),
        decimal.Decimal("1.25"),
    )
    query = "select " + ", ".join(f"? as c{nth}" for nth in range(len(given)))
    with con.cursor() as cursor:
        cursor.execute(query, given)
        assert cursor.fetchone() == given


def test_statements_are_prepared_and_run_for_each_row(con: Any) -> None:
    with con.cursor() as cursor:
        cursor.execute("create table t (a int primary key, b text)")
        cursor.executemany("insert into t values (?, ?)", [(1, "one"), (2, "two"), (3, None)])
        assert cursor.rowcount == 3
        schema = cursor.adbc_prepare("select b from t where a = ?")
        assert schema is not None and schema.field(0).type in (pyarrow.int32(), pyarrow.int64())
        cursor.execute("select b from t where a = ?", (2,))
        assert cursor.fetchall() == [("two",)]
        assert cursor.adbc_execute_schema("select a, b from t").types == [pyarrow.int32(), pyarrow.string()]
        # All or none.
        with pytest.raises(dbapi.IntegrityError) as error:
            cursor.executemany("insert into t values (?, ?)", [(4, "four"), (1, "one again")])
        assert error.value.sqlstate == "23505"
    con.rollback()


def test_transactions(tmp_path: Path) -> None:
    path = str(tmp_path / "db")
    with dbapi.connect(path) as one, dbapi.connect(f"ambo://{path}", autocommit=True) as other:
        with one.cursor() as cursor:
            cursor.execute("create table t (a int)")
        with pytest.raises(dbapi.ProgrammingError, match="no table"):
            rows(other, "select * from t")
        one.commit()
        assert rows(other, "select count(*) as n from t") == [{"n": 0}]
        with one.cursor() as cursor:
            cursor.execute("insert into t values (1)")
        one.rollback()
        assert rows(one, "select count(*) as n from t") == [{"n": 0}]
        one.rollback()
        assert one.adbc_connection.get_option("adbc.connection.autocommit") == "false"
        with pytest.raises(manager.Error, match="autocommit"):
            other.adbc_connection.commit()
        # The same database for the rest of the package.
        with ambo.connect(path) as con:
            assert con.tables() == ["main.t"]
            assert con.check() == []


def test_rows_are_ingested_in_all_modes(con: Any) -> None:
    table = pyarrow.table({"a": [1, 2], "b": ["x", None]})
    with con.cursor() as cursor:
        assert cursor.adbc_ingest("t", table, mode="create") == 2
        with pytest.raises(dbapi.Error, match="t"):
            cursor.adbc_ingest("t", table, mode="create")
        assert cursor.adbc_ingest("t", table.to_reader(), mode="append") == 2
        assert cursor.adbc_ingest("t", table, mode="create_append") == 2
        cursor.execute("select count(*) from t")
        assert cursor.fetchone() == (6,)
        assert cursor.adbc_ingest("t", table, mode="replace") == 2
        cursor.execute("create schema s")
        assert cursor.adbc_ingest("a.b", table, mode="create", db_schema_name="s") == 2
        cursor.execute('select count(*) from s."a.b"')
        assert cursor.fetchone() == (2,)
        with pytest.raises(dbapi.NotSupportedError, match="temporary"):
            cursor.adbc_ingest("u", table, mode="create", temporary=True)
        with pytest.raises(dbapi.Error, match="none"):
            cursor.adbc_ingest("none", table, mode="append")


def test_what_there_is(con: Any) -> None:
    with con.cursor() as cursor:
        cursor.execute("create table parents (id int primary key, name text not null unique comment 'called')")
        cursor.execute("create table children (a int auto_increment primary key, p int references parents, d decimal(8, 2) default 1 check (d > 0))")
        cursor.execute("create view v as select * from parents")
    con.commit()
    objects = con.adbc_get_objects(depth="all", db_schema_filter="main").read_all().to_pylist()
    assert [catalog["catalog_name"] for catalog in objects] == ["ambo"]
    (schema,) = objects[0]["catalog_db_schemas"]
    tables = {table["table_name"]: table for table in schema["db_schema_tables"]}
    assert {name: table["table_type"] for name, table in tables.items()} == {"children": "TABLE", "parents": "TABLE", "v": "VIEW"}
    columns = {column["column_name"]: column for column in tables["children"]["table_columns"]}
    assert columns["a"]["xdbc_is_autoincrement"] and not columns["p"]["xdbc_is_autoincrement"]
    assert (columns["d"]["xdbc_column_size"], columns["d"]["xdbc_decimal_digits"], columns["d"]["xdbc_nullable"]) == (8, 2, 1)
    assert {column["column_name"]: column["remarks"] for column in tables["parents"]["table_columns"]} == {"id": None, "name": "called"}
    constraints = {of["constraint_type"]: of for of in tables["children"]["table_constraints"]}
    assert constraints["PRIMARY KEY"]["constraint_column_names"] == ["a"]
    assert constraints["FOREIGN KEY"]["constraint_column_usage"] == [
        {"fk_catalog": "ambo", "fk_db_schema": "main", "fk_table": "parents", "fk_column_name": "id"}
    ]
    assert constraints["CHECK"]["constraint_column_names"] == []
    one = con.adbc_get_objects(depth="tables", table_name_filter="par%", table_types_filter=["TABLE"]).read_all().to_pylist()
    found = [table for schema in one[0]["catalog_db_schemas"] for table in schema["db_schema_tables"]]
    assert [(table["table_name"], table["table_columns"]) for table in found] == [("parents", None)]
    assert con.adbc_get_objects(depth="catalogs", catalog_filter="other").read_all().num_rows == 0
    assert con.adbc_get_objects(depth="db_schemas").read_all().to_pylist()[0]["catalog_db_schemas"][0]["db_schema_tables"] is None
    assert con.adbc_get_table_types() == ["TABLE", "VIEW", "SYSTEM VIEW"]
    schema = con.adbc_get_table_schema("children")
    assert schema.names == ["a", "p", "d"] and schema.field("d").type == pyarrow.decimal128(8, 2)
    with pytest.raises(dbapi.ProgrammingError, match="no table"):
        con.adbc_get_table_schema("none")
    info = con.adbc_get_info()
    # The manager has no name for whether the vendor speaks SQL.
    assert (info["vendor_name"], info[3], info["driver_adbc_version"]) == ("Ambo", True, 1001000)


def test_pandas_reads_and_writes(con: Any) -> None:
    frame = pandas.DataFrame({"id": [1, 2], "name": ["Bergen", None], "at": pandas.to_datetime(["2026-01-01", "2026-01-02"])})
    assert frame.to_sql("towns", con, index=False) == 2
    assert frame.to_sql("towns", con, index=False, if_exists="append") == 2
    back = pandas.read_sql("select * from towns where id = 2", con)
    assert back["id"].tolist() == [2, 2] and back["name"].isna().all()
    assert pandas.read_sql("towns", con).shape == (4, 3)
    assert frame.to_sql("towns", con, index=False, if_exists="replace") == 2


def test_polars_reads_and_writes(tmp_path: Path) -> None:
    frame = polars.DataFrame({"id": [1, 2], "name": ["Bergen", None], "day": [datetime.date(2026, 1, 1), None]})
    with dbapi.connect(str(tmp_path / "db")) as con:
        assert frame.write_database("towns", con, engine="adbc") == 2
        back = polars.read_database("select * from towns order by id", con)
        assert back.equals(frame)
        back = polars.read_database("select * from towns where id = ?", con, execute_options={"parameters": (1,)})
        assert back["name"].to_list() == ["Bergen"]


def test_a_statement_is_cancelled(con: Any) -> None:
    endless = "with recursive t (n) as (select 1 union all select n % 7 + 1 from t) select max(n) from t"
    with con.cursor() as cursor:
        timer = threading.Timer(0.3, cursor.adbc_cancel)
        timer.start()
        with pytest.raises((dbapi.OperationalError, pyarrow.ArrowException, OSError), match="interrupt|cancel"):
            cursor.execute(endless)
            cursor.fetchall()
        timer.join()
    assert rows(con, "select 1 as one") == [{"one": 1}]


def test_a_result_holds_its_database() -> None:
    con = dbapi.connect()
    cursor = con.cursor()
    cursor.execute("select * from range(100000) as t (n)")
    reader = cursor.fetch_record_batch()
    total = sum(batch.num_rows for batch in reader)
    cursor.close()
    con.close()
    assert total == 100000


def test_options_are_those_of_the_package(tmp_path: Path) -> None:
    path = str(tmp_path / "db")
    dbapi.connect(path, db_kwargs={"sync": "off", "ambo.cache_bytes": "64MiB"}).close()
    with dbapi.connect(path, db_kwargs={"read_only": "true"}) as con:
        assert rows(con, "select 1 as one") == [{"one": 1}]
        with pytest.raises(dbapi.Error, match="read"), con.cursor() as cursor:
            cursor.execute("create table t (a int)")
    with pytest.raises(dbapi.Error, match="cache_bytes"):
        dbapi.connect(path, db_kwargs={"cache_byte": "1"})
    with pytest.raises(dbapi.Error, match="postgres"):
        dbapi.connect("postgres://localhost")


def test_levels_of_isolation() -> None:
    level = "adbc.connection.transaction.isolation_level"
    with dbapi.connect(conn_kwargs={level: "adbc.connection.transaction.isolation.serializable"}) as con:
        assert con.adbc_connection.get_option(level).endswith("serializable")
        assert rows(con, "select 1 as one") == [{"one": 1}]
        with pytest.raises(manager.NotSupportedError, match="isolation"):
            con.adbc_connection.set_options(**{level: "adbc.connection.transaction.isolation.linearizable"})


def test_a_manifest_makes_the_driver_known_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = adbc_driver_ambo.install(tmp_path)
    assert manifest.name == "ambo.toml"
    monkeypatch.setenv("ADBC_DRIVER_PATH", str(tmp_path))
    with manager.connect(driver="ambo", autocommit=True) as con:
        assert rows(con, "select 1 as one") == [{"one": 1}]
