"""Arrow, frames and arrays, in and out."""

from __future__ import annotations

import numpy
import pandas
import polars
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest

import ambo

TABLE = pa.table({"n": pa.array(range(100_000), pa.int64()), "t": pa.array([f"t{n % 7}" for n in range(100_000)], pa.large_string())})


def test_results_are_arrow_pandas_polars_and_numpy(con: ambo.Connection) -> None:
    con.execute("create table t as select value as n, 'x' || value as t from range(5000) as r (value)")
    query = "select n, t from t order by n"
    table = con.execute(query).fetch_arrow_table()
    assert table.schema == pa.schema({"n": pa.int64(), "t": pa.string()}) or table.column_names == ["n", "t"]
    assert table["n"].to_pylist() == list(range(5000))
    assert con.execute(query).fetch_record_batch().read_all().equals(table)
    assert list(con.execute(query).fetch_df()["t"][:2]) == ["x0", "x1"]
    assert con.execute(query).fetch_polars()["n"].sum() == sum(range(5000))
    arrays = con.execute(query).fetch_numpy()
    assert isinstance(arrays["n"], numpy.ndarray) and arrays["n"][4999] == 4999
    # Whoever knows the capsules takes a cursor as it is.
    assert pa.table(con.execute(query)).equals(table)
    assert polars.DataFrame(con.execute(query)).shape == (5000, 2)
    assert pandas.DataFrame.from_arrow(con.execute(query)).shape == (5000, 2)


def test_a_result_is_taken_once(con: ambo.Connection) -> None:
    cursor = con.execute("select * from range(3) as r (n)")
    pa.table(cursor)
    with pytest.raises(ambo.InterfaceError, match="taken already"):
        pa.table(cursor)
    with pytest.raises(ambo.InterfaceError, match="taken already"):
        cursor.fetchone()
    cursor.execute("select * from range(3) as r (n)").fetchone()
    with pytest.raises(ambo.InterfaceError, match="fetched already"):
        pa.table(cursor)


def test_a_stream_outlives_its_cursor_and_not_its_connection() -> None:
    con = ambo.connect()
    con.execute("create table t as select value as n from range(200000) as r (value)")
    reader = con.execute("select n from t").fetch_record_batch()
    con.execute("drop table t")
    assert reader.read_all().num_rows == 200_000
    con.close()


@pytest.mark.parametrize("make", [
    lambda: TABLE,
    lambda: TABLE.to_batches()[0],
    lambda: polars.from_arrow(TABLE),
    lambda: polars.from_arrow(TABLE).lazy(),
    lambda: TABLE.to_pandas(),
    lambda: TABLE.to_reader(),
], ids=["table", "batch", "polars", "lazy", "pandas", "reader"])
def test_variables_that_hold_rows_are_tables(con: ambo.Connection, make) -> None:
    Frame = make()
    assert con.execute("select count(*), sum(n)::bigint, count(distinct t) from frame").fetchone() == (100_000, 4_999_950_000, 7)
    del Frame
    with pytest.raises(ambo.NotFoundError):
        con.execute("select * from frame")


a_global = pa.table({"n": [1, 2]})


def test_only_variables_of_the_caller_are_looked_at(con: ambo.Connection) -> None:
    mine = pa.table({"n": [1]})

    def inner() -> object:
        return con.execute("select * from mine").fetchall()

    with pytest.raises(ambo.NotFoundError):
        inner()
    assert con.execute("select * from mine").fetchall() == [(1,)]
    assert con.sql("select * from mine").fetchall() == [(1,)]
    assert con.cursor().execute("select sum(n)::int from a_global").fetchall() == [(3,)]
    # What is stored comes first, and what holds no rows is none.
    con.execute("create table mine (n int)")
    assert con.execute("select * from mine").fetchall() == []
    number, text, listed = 5, "text", [1, 2]
    for name in ("number", "text", "listed"):
        with pytest.raises(ambo.NotFoundError):
            con.execute(f"select * from {name}")
    del mine, number, text, listed
    with ambo.connect(scan_frames=False) as other, pytest.raises(ambo.NotFoundError):
        other.execute("select * from a_global")


def test_what_is_registered_is_a_table(con: ambo.Connection, tmp_path) -> None:
    con.register("frame", TABLE)
    assert con.execute("select count(*) from frame as a join frame as b using (n)").fetchone() == (100_000,)
    con.register("frame", {"a": numpy.arange(3), "b": ["x", "y", None]})
    assert con.execute("select a, b from frame order by a").fetchall() == [(0, "x"), (1, "y"), (2, None)]
    con.register("frame", [{"a": 1}, {"a": 2}])
    assert con.execute("select sum(a)::int from frame").fetchone() == (3,)
    assert con.unregister("frame") and not con.unregister("frame")
    with pytest.raises(ambo.NotSupportedError):
        con.register("frame", 5)
    pyarrow.parquet.write_table(TABLE, tmp_path / "one.parquet")
    pyarrow.parquet.write_table(TABLE, tmp_path / "two.parquet")
    con.register("files", pyarrow.dataset.dataset(tmp_path))
    for _ in range(2):
        assert con.execute("select count(*), max(n) from files").fetchone() == (200_000, 99_999)


def test_a_reader_of_python_is_read_while_python_waits(con: ambo.Connection) -> None:
    def batches():
        for n in range(50):
            yield pa.record_batch({"n": pa.array([n] * 100, pa.int64())})

    def reader():
        return pa.RecordBatchReader.from_batches(pa.schema({"n": pa.int64()}), batches())

    con.register("r", reader())
    assert con.execute("select count(*), sum(n)::bigint from r").fetchone() == (5000, 122_500)
    with pytest.raises(ambo.Error, match="read already"):
        con.execute("select count(*) from r").fetchone()
    con.register("r", reader())
    # Who takes the result may have the GIL.
    assert pa.table(con.execute("select n from r")).num_rows == 5000
    con.register("r", reader())
    assert con.execute("select n from r limit 3").fetchall() == [(0,), (0,), (0,)]
    assert con.ingest("t", reader(), mode="create") == 5000

    def failing():
        yield pa.record_batch({"n": pa.array([1], pa.int64())})
        raise KeyError("a generator of a test")

    rows = pa.RecordBatchReader.from_batches(pa.schema({"n": pa.int64()}), failing())
    with pytest.raises(ambo.Error, match="a generator of a test"):
        con.ingest("u", rows, mode="create")
    with pytest.raises(ambo.NotFoundError):
        con.execute("select * from u")


def test_ingest_has_modes(con: ambo.Connection) -> None:
    with pytest.raises(ambo.NotFoundError):
        con.ingest("t", TABLE)
    assert con.ingest("t", TABLE, mode="create", storage="column") == 100_000
    with pytest.raises(ambo.IntegrityError):
        con.ingest("t", TABLE, mode="create")
    assert con.ingest("t", TABLE.slice(0, 10)) == 10
    assert con.ingest("t", TABLE.select(["t"]).slice(0, 5), mode="create_append") == 5
    assert con.execute("select count(*), count(n) from t").fetchone() == (100_015, 100_010)
    assert con.ingest("t", TABLE.to_pandas(), mode="replace") == 100_000
    with con.transaction():
        con.ingest("t", polars.from_arrow(TABLE))
        assert con.execute("select count(*) from t").fetchone() == (200_000,)
        con.rollback()
    assert con.execute("select count(*) from t").fetchone() == (100_000,)
    with pytest.raises(ambo.ProgrammingError, match="there is no mode"):
        con.ingest("t", TABLE, mode="upsert")  # type: ignore[arg-type]


def test_rows_go_round_in_all_types(con: ambo.Connection) -> None:
    query = """select 1::tinyint as a, 2::ubigint as b, 1.5::real as c, 1.25::decimal(9, 2) as d, 'x' as e, x'00' as f,
        date '2026-01-01' as g, time '01:02:03' as h, timestamp '2026-01-01 01:02:03' as i,
        timestamptz '2026-01-01 00:00:00+00' as j, '00000000-0000-0000-0000-000000000001'::uuid as k,
        interval '1 month' as l, [1, 2] as m, {'x': 1} as n, map(['k'], [1]) as o, true as p"""
    table = con.execute(query).fetch_arrow_table()
    con.ingest("t", table, mode="create")
    back = con.execute("select * from t").fetch_arrow_table()
    assert back.to_pylist() == table.to_pylist()
    # But for what may be NULL.
    for name in table.column_names:
        assert str(back.schema.field(name).type).replace(" not null", "") == str(table.schema.field(name).type).replace(" not null", "")


def test_a_table_that_is_made_of_rows_has_a_key(con: ambo.Connection) -> None:
    rows = pyarrow.table({"a": [1, 2], "b c": [3, 4]})
    assert con.ingest("t", rows, mode="create", key="a", storage="btree") == 2
    assert con.ingest("u", rows, mode="create", key=["b c", "a"]) == 2
    with pytest.raises(ambo.IntegrityError):
        con.ingest("t", rows)
    keys = con.execute("select table_name, column_name from information_schema.key_column_usage order by 1, ordinal_position").fetchall()
    assert keys == [("t", "a"), ("u", "b c"), ("u", "a")]
    with pytest.raises(ambo.Error, match="options are for tables that are made"):
        con.ingest("t", rows, key="a")


def test_texts_that_are_put_together_are_texts(con: ambo.Connection) -> None:
    query = "select string_agg(a, ',' order by a desc) from (values ('x'), ('y')) as t (a)"
    assert con.execute(query).fetchone() == ("y,x",)
