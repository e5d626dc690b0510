"""What threads do at once. `pytest --parallel-threads=8` runs each of these in eight threads, with one connection."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import ambo


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("parallel") / "db")


@pytest.fixture(scope="module")
def shared(path: str) -> Iterator[ambo.Connection]:
    with ambo.connect(path) as con:
        con.execute("create table t (who bigint, n int, primary key (who, n))")
        yield con
        assert con.check() == []


def test_threads_write_and_read_a_mapping(shared: ambo.Connection) -> None:
    kv = shared.kv("seen", key="str", value="int")
    me = threading.get_ident()
    for n in range(50):
        kv[f"{me}-{n:03}"] = n
        assert kv[f"{me}-{n:03}"] == n
    assert [value for _, value in kv.prefix(f"{me}-")] == list(range(50))
    for n in range(50):
        del kv[f"{me}-{n:03}"]


def test_threads_run_statements_of_one_connection(shared: ambo.Connection) -> None:
    me = threading.get_ident()
    for n in range(20):
        shared.execute("insert into t values (?, ?)", (me, n))
    cursor = shared.execute("select n from t where who = ? order by n", (me,))
    assert [n for (n,) in cursor] == list(range(20))
    assert shared.execute("delete from t where who = ?", (me,)).rowcount == 20


def test_threads_have_connections_of_their_own(shared: ambo.Connection, path: str) -> None:
    me = threading.get_ident()
    with ambo.connect(path) as con:

        def act(con: ambo.Connection) -> None:
            con.executemany("insert into t values (?, ?)", [(me, n) for n in range(20)])

        con.retry(act)
        assert con.execute("select sum(n) from t where who = ?", (me,)).fetchone() == (190,)
        assert con.execute("select n from t where who = ? order by n", (me,)).fetch_arrow_table().num_rows == 20
        con.execute("delete from t where who = ?", (me,))


def test_threads_open_and_close_a_database(tmp_path: Path) -> None:
    for _ in range(3):
        with ambo.connect(str(tmp_path / "db")) as con:
            assert con.execute("select 1").fetchall() == [(1,)]


def test_threads_read_one_result_each(shared: ambo.Connection) -> None:
    for _ in range(5):
        frame = shared.execute("select * from range(10000) as t (n)").fetch_polars()
        assert frame["n"].sum() == 49995000
