"""What must hold for long: many openings and closings, many forks, threads at once for a minute. Nothing leaks, hangs or crashes.

    endurance.py [--opens 10000] [--forks 1000] [--seconds 60] [--threads 8]

`make endurance` runs it; the tests run a tenth and less of it (`test_endurance.py`).
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import ambo


def held() -> tuple[int, int, int]:
    """Files, threads of Python's, threads of the process."""
    return len(os.listdir("/proc/self/fd")), threading.active_count(), len(os.listdir("/proc/self/task"))


def memory() -> int:
    """Bytes of memory that are this process's own."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(fields["RssAnon"].split()[0]) << 10


def until(holds: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Whether something holds before long: threads of others end a moment after they were told to."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def opens(folder: Path, count: int) -> None:
    """Opens and closes databases, in turn in a directory and in memory, and sees that no file, no thread and no memory is left."""
    path = folder / "opens"

    def turn(n: int) -> None:
        if n % 2 == 0:
            with ambo.connect(path, sync="off") as con:
                con.execute("create table if not exists t (id bigint primary key, n bigint)")
                con.execute("insert into t values (1, ?) on conflict (id) do update set n = excluded.n", (n,))
        else:
            with ambo.connect() as con:
                con.kv("kv")[b"key"] = b"value"
                assert con.execute("select 1").fetchone() == (1,)

    for n in range(max(10, count // 10)):
        turn(n)
    gc.collect()
    files, mine, all_threads = held()
    before = memory()
    for n in range(count):
        turn(n)
    gc.collect()
    assert until(lambda: held() == (files, mine, all_threads)), ((files, mine, all_threads), held())
    grown = memory() - before
    # What the allocator keeps is bounded; a leak of a kilobyte each turn is not.
    assert grown < (16 << 20) + 1024 * count, f"{grown >> 20} MiB more after {count} turns"
    with ambo.connect(path) as con:
        assert con.check() == []


def forks(folder: Path, count: int) -> None:
    """Forks with a database open and used by threads: the child is refused, and ends; the parent goes on."""
    path = folder / "forks"
    con = ambo.connect(path, sync="off")
    con.execute("create table t (a bigint)")
    kv = con.kv("kv", key="int", value="int")
    over = threading.Event()

    def work() -> None:
        n = 0
        while not over.is_set():
            kv[n % 100] = n
            con.execute("select count(*) from t").fetchall()
            n += 1

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(count):
            child = os.fork()
            if child == 0:
                refused = 0
                for act in (lambda: con.execute("select 1"), lambda: kv[1], con.commit):
                    try:
                        act()
                    except ambo.InUseError:
                        refused += 1
                con.close()
                # A database of its own, in memory, is there in the child.
                own = ambo.connect()
                ok = own.execute("select 42").fetchone() == (42,)
                own.close()
                os._exit(0 if refused == 3 and ok else 1)
            end = time.monotonic() + 60
            while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
                assert time.monotonic() < end, "a child hangs"
                time.sleep(0.001)
            assert ended[1] == 0, ended
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert con.check() == []
    con.close()


def threads_at_once(folder: Path, count: int, seconds: float) -> None:
    """Threads read, write, query, commit and give up through one connection and through connections of their own."""
    path = folder / "threads"
    shared = ambo.connect(path, sync="off")
    shared.execute("create table t (who bigint, n bigint, primary key (who, n))")
    counters = shared.kv("counters", key="int", value="int")
    end = time.monotonic() + seconds
    failures: list[BaseException] = []
    done = [0] * count

    def own(con: ambo.Connection, me: int, n: int) -> None:
        def act(con: ambo.Connection) -> None:
            con.execute("insert into t values (?, ?)", (me, n))
            of_me = con.kv("counters", key="int", value="int")
            of_me[me] = of_me.get(me, 0) + 1

        con.retry(act, times=100)

    def work(me: int) -> None:
        chance = random.Random(me)
        try:
            with ambo.connect(path, sync="off") as con:
                while time.monotonic() < end:
                    own(con, me, done[me])
                    done[me] += 1
                    match chance.randrange(6):
                        case 0:
                            frame = con.execute("select * from t where who = ?", (me,)).fetch_arrow_table()
                            assert frame.num_rows == done[me]
                        case 1:
                            assert shared.execute("select count(*) from t where who = ?", (me,)).fetchone() == (done[me],)
                        case 2:
                            assert counters[me] == done[me]
                        case 3:
                            con.begin()
                            con.execute("delete from t where who = ?", (me,))
                            con.rollback()
                        case 4:
                            with ambo.connect(path, sync="off") as other:
                                assert other.execute("select 1").fetchone() == (1,)
                        case _:
                            assert sum(1 for _ in counters.range(me, me + 1)) == 1
        except BaseException as error:
            failures.append(error)

    workers = [threading.Thread(target=work, args=(me,)) for me in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(seconds + 120)
        assert not worker.is_alive(), "a thread hangs"
    assert not failures, failures[0]
    assert shared.execute("select count(*) from t").fetchone() == (sum(done),)
    assert [counters.get(me, 0) for me in range(count)] == done
    assert shared.check() == []
    shared.close()


def main() -> None:
    """Runs all of it, and says how long that took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opens", type=int, default=10_000)
    parser.add_argument("--forks", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--threads", type=int, default=8)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="ambo-endurance-"))
    try:
        for what, act in (
            (f"{options.opens:,} openings and closings", lambda: opens(folder, options.opens)),
            (f"{options.forks:,} forks", lambda: forks(folder, options.forks)),
            (f"{options.threads} threads for {options.seconds:.0f} s", lambda: threads_at_once(folder, options.threads, options.seconds)),
        ):
            begun = time.monotonic()
            act()
            print(f"{what}: {time.monotonic() - begun:.1f} s", flush=True)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
