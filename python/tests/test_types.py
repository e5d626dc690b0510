"""Values of all types, both ways."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import uuid

import numpy
import pytest

import ambo

UTC = dt.timezone.utc

VALUES = [
    ("boolean", True),
    ("smallint", -5),
    ("int", 2**31 - 1),
    ("bigint", -(2**63)),
    ("ubigint", 2**64 - 1),
    ("decimal(38, 0)", decimal.Decimal(10**37)),
    ("decimal(10, 3)", decimal.Decimal("-1234.567")),
    ("double", 0.1),
    ("text", "ä\0€ 𝄞"),
    ("blob", b"\0\xff"),
    ("date", dt.date(1, 1, 1)),
    ("date", dt.date(9999, 12, 31)),
    ("time", dt.time(23, 59, 59, 999999)),
    ("timestamp", dt.datetime(2026, 2, 28, 12, 30, 1, 5)),
    ("timestamp", dt.datetime(1, 1, 1)),
    ("timestamptz", dt.datetime(2026, 2, 28, 12, 30, 1, 5, UTC)),
    ("uuid", uuid.UUID("01234567-89ab-cdef-0123-456789abcdef")),
    ("interval", dt.timedelta(days=3, seconds=7, microseconds=11)),
    ("interval", dt.timedelta(days=-3, seconds=7)),
    ("json", '{"a": [1, null]}'),
]


@pytest.mark.parametrize("storage", ["btree", "column", "memory"])
@pytest.mark.parametrize(("ty", "value"), VALUES, ids=lambda value: str(value)[:20].encode("ascii", "replace").decode())
def test_values_come_back_as_they_were(con: ambo.Connection, ty: str, value: object, storage: str) -> None:
    con.execute(f"create table t (id int primary key, v {ty}) storage = {storage}")
    con.execute("insert into t values (1, ?), (2, null)", (value,))
    # By the key, which needs no planner, and by a query.
    for query in ("select v from t where id = 1", "select max_by(v, id) from t where v is not null"):
        [(back,)] = con.execute(query).fetchall()
        assert back == value and type(back) is type(value), query
    assert con.execute("select v from t where id = 2").fetchone() == (None,)


def test_parameters_have_types_of_their_own(con: ambo.Connection) -> None:
    values = [None, True, 1, 2**70, 1.5, "x", b"x", decimal.Decimal("1.50"), dt.date(2026, 1, 1), dt.time(1), dt.datetime(2026, 1, 1)]
    row = con.execute("select " + ", ".join("?" * len(values)), values).fetchone()
    assert row == tuple(values)
    zone = dt.timezone(dt.timedelta(hours=-5, minutes=-30))
    [(moment,)] = con.execute("select ?", (dt.datetime(2026, 1, 1, 12, tzinfo=zone),)).fetchall()
    assert moment == dt.datetime(2026, 1, 1, 17, 30, tzinfo=UTC) and moment.tzinfo is UTC


def test_buffers_and_numbers_of_numpy_are_values(con: ambo.Connection) -> None:
    row = con.execute("select ?, ?, ?, ?, ?", (bytearray(b"a"), memoryview(b"b"), numpy.int32(5), numpy.float64(0.5), numpy.bool_(True))).fetchone()
    assert row == (b"a", b"b", 5, 0.5, True)


def test_numbers_that_are_none_stay_so(con: ambo.Connection) -> None:
    row = con.execute("select ?, ?", (math.nan, math.inf)).fetchone()
    assert row is not None and math.isnan(row[0]) and row[1] == math.inf


@pytest.mark.parametrize("value", [10**38, decimal.Decimal("1e40"), decimal.Decimal("NaN"), dt.time(1, tzinfo=UTC)])
def test_values_that_do_not_fit_are_errors(con: ambo.Connection, value: object) -> None:
    with pytest.raises(ambo.DataError):
        con.execute("select ?", (value,))


def test_what_is_no_value_is_named(con: ambo.Connection) -> None:
    with pytest.raises(ambo.NotSupportedError, match="object"):
        con.execute("select ?", (object(),))


def test_lists_structs_and_maps_are_those_of_python(con: ambo.Connection) -> None:
    query = "select [1, null, 3], {'a': 1, 'b': ['x']}, map(['k'], [timestamp '2026-01-01']), [[1], []]"
    row = con.execute(query).fetchone()
    assert row == ([1, None, 3], {"a": 1, "b": ["x"]}, {"k": dt.datetime(2026, 1, 1)}, [[1], []])


@pytest.mark.parametrize(("ty", "value"), [
    ("bigint[]", [1, None]),
    ("text[]", ["a", None, "null", 'q"\\\n\tä€𝄞', ""]),
    ("struct(a int, b text, c timestamp[])", {"a": 1, "b": None, "c": [dt.datetime(2026, 1, 1)]}),
    ("decimal(9, 2)[]", [decimal.Decimal("1.50")]),
    ("bigint[]", []),
])
def test_lists_and_structs_are_parameters(con: ambo.Connection, ty: str, value: object) -> None:
    con.execute(f"create table t (id int primary key, v {ty})")
    con.execute("insert into t values (1, ?)", (value,))
    assert con.execute("select v from t").fetchall() == [(value,)]
    assert con.execute(f"select ?::{ty}", (value,)).fetchall() == [(value,)]


def test_what_python_has_no_date_for_is_an_overflow_and_arrow_has_it(con: ambo.Connection) -> None:
    con.execute("create table t (d date, at timestamp)")
    con.execute("insert into t values (date '10000-01-01', timestamp '0000-12-31 00:00:00')")
    for column in ("d", "at"):
        with pytest.raises(OverflowError, match="beyond the range of Python"):
            con.execute(f"select {column} from t").fetchall()
    assert con.execute("select d, at from t").fetch_arrow_table().num_rows == 1


def test_months_are_no_timedelta(con: ambo.Connection) -> None:
    with pytest.raises(ambo.DataError, match="months"):
        con.execute("select interval '1 month'").fetchall()
