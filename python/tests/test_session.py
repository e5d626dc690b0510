"""Errors, interruption, threads, forks, exits."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
import types

import pytest

import ambo
from ambo import _progress, aio

LONG = "select count(*) from range(200000) as a (x), range(200000) as b (y) where (x * y) % 7 = 3"


def test_errors_have_a_place_and_are_pickled(con: ambo.Connection) -> None:
    con.execute("create table towns (id int primary key)")
    with pytest.raises(ambo.NotFoundError) as raised:
        con.execute("select *\nfrom twons")
    error = raised.value
    assert (error.sqlstate, error.line, error.column, error.object, error.retryable) == ("42P01", 2, 6, "twons", False)
    assert "from twons\n     ^" in str(error) and error.hint is not None and "towns" in error.hint
    assert error.statement == "select *\nfrom twons"
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and str(again) == str(error) and again.sqlstate == "42P01"
    assert issubclass(ambo.NotFoundError, ambo.ProgrammingError) and issubclass(ambo.ConflictError, ambo.OperationalError)
    for statement, exception in (
        ("selekt 1", ambo.SqlSyntaxError),
        ("select 1 / id from (values (0)) as v (id)", ambo.DataError),
        ("create temporary external table x (a int) location 'x'", ambo.DatabaseError),
    ):
        with pytest.raises(exception):
            con.execute(statement).fetchall()
    for what in (con, con.cursor(), con.kv("kv"), con.batch()):
        with pytest.raises(TypeError, match="pickled"):
            pickle.dumps(what)


def test_options_are_checked(path: str) -> None:
    with pytest.raises(ambo.ProgrammingError, match="cache_bytes"):
        ambo.connect(path, cache_bytes="many")
    with pytest.raises(ambo.ProgrammingError, match="no option"):
        ambo.connect(path, unknown=1)
    with pytest.raises(ambo.Error):
        ambo.connect(path, create=False)
    with ambo.connect(path, cache_bytes="16MiB", sync="off", threads=1, lock_timeout=0.5):
        with pytest.raises(ambo.ProgrammingError, match="cache_bytes is 16MiB"):
            ambo.connect(path)


def test_a_path_is_shared_in_a_process_and_in_use_for_others(path: str) -> None:
    one, other = ambo.connect(path), ambo.connect(path + "/.")
    one.execute("create table t (a int)")
    other.execute("insert into t values (1)")
    one.close()
    assert other.execute("select * from t").fetchall() == [(1,)]
    program = f"import ambo\ntry:\n ambo.connect({path!r})\nexcept ambo.InUseError as error:\n print(error.sqlstate)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout.strip() == "55006"
    other.close()
    with ambo.connect(path, read_only=True) as reader:
        assert reader.execute("select * from t").fetchall() == [(1,)]
        with pytest.raises(ambo.Error):
            reader.execute("insert into t values (2)")


def test_a_signal_ends_a_query_and_leaves_the_transaction(con: ambo.Connection) -> None:
    # What runs in the background of a shell does not know Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    con.execute("create table t (a int)")
    con.begin()
    con.execute("insert into t values (1)")
    for act in (lambda: con.execute(LONG).fetchall(), lambda: con.execute(LONG).fetch_arrow_table()):
        asked: list[float] = []

        def ask() -> None:
            asked.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(0.3, ask)
        timer.start()
        with pytest.raises((KeyboardInterrupt, Exception)) as raised:
            act()
        took = time.monotonic() - asked[0]
        timer.join()
        assert isinstance(raised.value, KeyboardInterrupt) or "interrupt" in str(raised.value).lower(), raised.value
        # A twentieth of a second, and what a busy machine takes.
        assert took < 0.3, took
    assert con.in_transaction and con.execute("select * from t").fetchall() == [(1,)]
    con.rollback()


def test_other_threads_interrupt(con: ambo.Connection) -> None:
    done = threading.Event()

    def ask() -> None:
        # Again, for a statement that has not begun is not interrupted.
        while not done.wait(0.2):
            con.interrupt()

    thread = threading.Thread(target=ask)
    thread.start()
    with pytest.raises(ambo.CancelledError) as raised:
        con.execute(LONG).fetchall()
    done.set()
    thread.join()
    assert raised.value.sqlstate == "57014"
    assert con.execute("select 1").fetchone() == (1,)


def test_progress_is_told_to_who_asks(con: ambo.Connection) -> None:
    con.execute("create table t as select value as n from range(100000) as r (value)")
    cursor = con.execute("select n from t")
    cursor.fetchone()
    progress = con.progress()
    assert progress is not None and progress.rows_total == 100_000 and progress.rows_read > 0


def test_threads_share_a_connection(con: ambo.Connection) -> None:
    con.execute("create table t (id int primary key, n bigint)")
    kv = con.kv("kv", key="int", value="int")
    failures: list[BaseException] = []

    def work(thread: int) -> None:
        try:
            for n in range(100):
                key = thread * 1000 + n
                con.execute("insert into t values (?, ?)", (key, n))
                kv[key] = n
                assert con.execute("select n from t where id = ?", (key,)).fetchone() == (n,)
                assert kv[key] == n
                if n % 10 == 0:
                    con.execute("select count(*) from t").fetchall()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert con.execute("select count(*) from t").fetchone() == (800,) and len(kv) == 800


def test_a_database_in_a_forked_child_is_refused(path: str) -> None:
    con = ambo.connect(path)
    con.execute("create table t (a int)")
    kv = con.kv("kv")
    kv[b"a"] = b"1"
    for _ in range(20):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            said = []
            for act in (lambda: con.execute("select 1"), lambda: kv[b"a"], con.cursor, lambda: con.commit()):
                try:
                    act()
                    said.append("done")
                except ambo.InUseError:
                    said.append("refused")
            con.close()
            del con
            os.write(write, " ".join(said).encode())
            os._exit(0)
        os.close(write)
        said = os.read(read, 1000)
        os.close(read)
        assert os.waitpid(child, 0)[1] == 0
        assert said == b"refused refused refused refused"
    con.execute("insert into t values (1)")
    assert con.check() == []
    con.close()


@pytest.mark.parametrize("end", ["", "import sys; sys.exit(0)", "raise SystemExit", "del con", "con.begin(); con.execute('insert into t values (2)')"])
def test_python_ends_with_connections_open(path: str, end: str) -> None:
    program = textwrap.dedent(f"""
        import threading, ambo
        con = ambo.connect({path!r})
        con.execute("create table t as select value as a from range(100000) as r (value)")
        cursor = con.execute("select a from t")
        cursor.fetchone()
        kv = con.kv("kv")
        kv[b"a"] = b"b"
        pairs = iter(kv)
        threading.Thread(target=lambda: con.execute({LONG!r}).fetchall(), daemon=True).start()
        {end}
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    with ambo.connect(path) as con:
        assert con.execute("select count(*) from t").fetchone() == (100_000,)


def test_opening_and_closing_leaves_nothing(path: str) -> None:
    # In a process of its own: what other tests leave running ends when it likes.
    program = textwrap.dedent(f"""
        import ambo, os, threading

        def held():
            return len(os.listdir("/proc/self/fd")), threading.active_count(), len(os.listdir("/proc/self/task"))

        def turn(n):
            with ambo.connect({path!r}) as con:
                con.execute("create table if not exists t (a int)")
                con.execute("insert into t values (?)", (n,))
            with ambo.connect() as con:
                con.kv("kv")[b"a"] = b"b"

        turn(0)
        before = held()
        for n in range(50):
            turn(n)
        assert held() == before, (before, held())
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_tasks_await_statements_and_cancel_them() -> None:
    async def main() -> None:
        async with await aio.connect() as con:
            await con.execute("create table t (a int)")
            await con.executemany("insert into t values (?)", [(n,) for n in range(10)])
            rows = [row async for row in await con.execute("select a from t order by a")]
            assert rows == [(n,) for n in range(10)]
            with pytest.raises(KeyError):
                async with con.transaction():
                    await con.execute("delete from t")
                    raise KeyError
            ticks = 0

            async def tick() -> None:
                nonlocal ticks
                while True:
                    await asyncio.sleep(0.01)
                    ticks += 1

            ticking = asyncio.create_task(tick())
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(con.run(lambda: con.sync.execute(LONG).fetchall()), 0.3)
            ticking.cancel()
            assert ticks > 5
            assert await (await con.execute("select count(*) from t")).fetchone() == (10,)

    asyncio.run(main())


def test_a_transaction_that_is_left_open_is_warned_of() -> None:
    with pytest.warns(ResourceWarning, match="rolled back"):
        with ambo.connect() as con:
            con.begin()


def test_a_database_in_memory_with_a_name_is_shared_until_the_last_is_closed() -> None:
    with ambo.connect(":memory:shared") as one:
        one.execute("create table t (a int)")
        with ambo.connect(":memory:shared") as other:
            assert other.path is None
            assert other.execute("select * from t").fetchall() == []
    with ambo.connect(":memory:shared") as con, pytest.raises(ambo.NotFoundError):
        con.execute("select * from t")


def test_what_is_known_of_a_database(path: str) -> None:
    with ambo.connect(path, default_storage="btree") as con:
        info = con.info()
        assert info["version"].startswith("Ambo ") and info["path"] == con.path
        assert info["settings"]["default_storage"] == "btree"
        assert info["figures"]["file_bytes"] > 0


def test_the_progress_of_a_long_query_is_drawn_and_taken_back(capfd: pytest.CaptureFixture[str]) -> None:
    with ambo.connect(progress=True) as con:
        threading.Timer(3, con.interrupt).start()
        with pytest.raises(ambo.CancelledError):
            con.execute(LONG).fetchall()
    drawn = capfd.readouterr().err
    assert "rows read" in drawn or "rows" in drawn
    assert drawn.endswith("\r") and drawn.split("\r")[-2].strip() == ""


def test_nothing_is_drawn_where_nobody_looks(capfd: pytest.CaptureFixture[str]) -> None:
    with ambo.connect() as con:
        threading.Timer(2.5, con.interrupt).start()
        with pytest.raises(ambo.CancelledError):
            con.execute(LONG).fetchall()
    assert capfd.readouterr().err == ""


def test_what_is_cancelled_says_nothing_later() -> None:
    program = f"""
import asyncio, gc
from ambo import _progress, aio

async def main():
    async with await aio.connect() as con:
        task = asyncio.create_task(con.run(lambda: con.sync.execute({LONG!r}).fetchall()))
        await asyncio.sleep(0.2)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            pass
        gc.collect()

asyncio.run(main())
gc.collect()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""


def test_in_a_notebook_progress_is_an_output(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    class Output:
        def update(self, data: dict[str, str], raw: bool) -> None:
            shown.append(data["text/plain"])

    def display(data: dict[str, str], raw: bool, display_id: bool) -> Output:
        shown.append(data["text/plain"])
        return Output()

    shell = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=display))
    assert _progress.draw(50, 200, 0, None)
    assert _progress.draw(300, 200, 3 << 20, None)
    _progress.clear()
    assert shown == [
        "[#####               ]  25 %  50 of about 200 rows",
        "[####################] 100 %  300 of about 200 rows, 3 MiB in temporary files",
        "",
    ]
    # Threads that the user does not look at draw nothing.
    other = threading.Thread(target=lambda: shown.append(str(_progress.draw(1, None, 0, True))))
    other.start()
    other.join()
    assert shown[-1] == "False"
