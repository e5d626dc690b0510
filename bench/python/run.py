"""Ambo from Python beside sqlite3, DuckDB, LMDB, LevelDB (plyvel) and RocksDB (rocksdict), with the same data in one run.

    run.py --library target/release/lib_ambo.so [--rows 10000000] [--operations 100000] [--only kv,point,update,fetch,ingest,import] [--json FILE]

`--rows` are those of tables that are fetched and ingested as a whole, `--operations` those that are done one by one. Each figure is the best
of `--runs`. Writes are durable with each commit unless the line says otherwise: those of peers with their setting for it.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parents[2] / "python/ambo"

#: suite, what is measured, store, how many, seconds.
Line = tuple[str, str, str, int, float]


class Bench:
    """Measures and keeps the lines."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.rows: int = options.rows
        self.operations: int = options.operations
        self.runs: int = options.runs
        self.lines: list[Line] = []
        self.folder = Path(tempfile.mkdtemp(prefix="ambo-bench-", dir=options.dir))
        self._count = 0

    def fresh(self) -> str:
        """A path that is not there."""
        self._count += 1
        return str(self.folder / str(self._count))

    def measure(self, suite: str, what: str, store: str, count: int, act: Callable[[], Any], prepare: Callable[[], Any] | None = None) -> None:
        """The best of some runs."""
        best = float("inf")
        for _ in range(self.runs):
            if prepare is not None:
                prepare()
            begun = time.perf_counter()
            act()
            best = min(best, time.perf_counter() - begun)
        self.lines.append((suite, what, store, count, best))
        each = best / count * 1e6
        print(f"{suite:8} {what:34} {store:18} {count:>11,} {best:9.3f} s {each:10.3f} us each {count / best:14,.0f} /s", flush=True)


def has(module: str) -> bool:
    """Whether a peer is installed: those that are not are left out, and said so."""
    found = importlib.util.find_spec(module) is not None
    if not found:
        print(f"{module} is not installed, and left out", file=sys.stderr)
    return found


@contextmanager
def closing(thing: Any) -> Iterator[Any]:
    """Closes what has no context manager."""
    try:
        yield thing
    finally:
        thing.close()


def keys(count: int) -> list[bytes]:
    """Keys in no order."""
    made = [b"key%012d" % number for number in range(count)]
    random.Random(1).shuffle(made)
    return made


VALUE = bytes(range(100))


def kv(bench: Bench) -> None:
    """A mapping: loaded at once, read by key, written by key with a durable commit each."""
    import ambo

    all_keys = keys(bench.operations)
    # A durable write waits for the disk: fewer tell the same.
    some = all_keys[: max(1, len(all_keys) // 50)]

    def both(store: str, get: Callable[[bytes], Any], put: Callable[[bytes, bytes], Any] | None) -> None:
        bench.measure("kv", "get", store, len(all_keys), lambda: [get(key) for key in all_keys])
        if put is not None:
            bench.measure("kv", "set, durable", store, len(some), lambda: [put(key, VALUE) for key in some])

    with ambo.connect(bench.fresh()) as con:
        table = con.kv("kv")
        table.update((key, VALUE) for key in all_keys)
        con.settle()
        both("ambo", table.__getitem__, table.__setitem__)
    with ambo.connect(bench.fresh(), sync="off") as con:
        table = con.kv("kv")
        bench.measure("kv", "set, not durable", "ambo", len(all_keys), lambda: [table.__setitem__(key, VALUE) for key in all_keys])
    if has("lmdb"):
        import lmdb

        with closing(lmdb.open(bench.fresh(), map_size=8 << 30)) as env:
            with env.begin(write=True) as txn:
                for key in sorted(all_keys):
                    txn.put(key, VALUE)

            def put(key: bytes, value: bytes) -> None:
                with env.begin(write=True) as txn:
                    txn.put(key, value)

            def get(key: bytes) -> Any:
                with env.begin() as txn:
                    return txn.get(key)

            both("lmdb", get, put)
            with env.begin() as txn:
                bench.measure("kv", "get in one transaction", "lmdb", len(all_keys), lambda: [txn.get(key) for key in all_keys])
        with closing(lmdb.open(bench.fresh(), map_size=8 << 30, sync=False)) as env:

            def put_unsynced(key: bytes) -> None:
                with env.begin(write=True) as txn:
                    txn.put(key, VALUE)

            bench.measure("kv", "set, not durable", "lmdb", len(all_keys), lambda: [put_unsynced(key) for key in all_keys])
    if has("plyvel"):
        import plyvel

        with closing(plyvel.DB(bench.fresh(), create_if_missing=True)) as db:
            with db.write_batch() as batch:
                for key in all_keys:
                    batch.put(key, VALUE)
            db.compact_range()
            both("plyvel", db.get, lambda key, value: db.put(key, value, sync=True))
            bench.measure("kv", "set, not durable", "plyvel", len(all_keys), lambda: [db.put(key, VALUE) for key in all_keys])
    if has("rocksdict"):
        import rocksdict

        with closing(rocksdict.Rdict(bench.fresh(), rocksdict.Options(raw_mode=True))) as db:
            batch = rocksdict.WriteBatch(raw_mode=True)
            for key in all_keys:
                batch.put(key, VALUE)
            db.write(batch)
            db.compact_range(None, None)
            durable = rocksdict.WriteOptions()
            durable.sync = True
            both("rocksdict", db.get, lambda key, value: db.put(key, value, durable))
            bench.measure("kv", "set, not durable", "rocksdict", len(all_keys), lambda: [db.put(key, VALUE) for key in all_keys])


DEFINED = "create table t (id bigint primary key, name text, amount double)"


def table_of(bench: Bench, store: str) -> Any:
    """A connection to a table of `--operations` rows."""
    rows = [(n, f"name {n}", n * 0.5) for n in range(bench.operations)]
    if store == "sqlite3":
        import sqlite3

        con: Any = sqlite3.connect(bench.fresh(), isolation_level=None)
        con.execute("pragma journal_mode = wal")
        con.execute("pragma synchronous = full")
    elif store == "duckdb":
        import duckdb

        con = duckdb.connect(bench.fresh())
    else:
        import ambo

        con = ambo.connect(bench.fresh(), default_storage="btree")
    con.execute(DEFINED)
    con.execute("begin")
    if store == "duckdb":
        # Row by row it takes minutes.
        con.execute("insert into t select n, 'name ' || n, n * 0.5 from range(?) as r (n)", (bench.operations,))
    else:
        con.executemany("insert into t values (?, ?, ?)", rows)
    con.execute("commit")
    return con


def peers() -> list[str]:
    return ["ambo", "sqlite3", *(["duckdb"] if has("duckdb") else [])]


def point(bench: Bench) -> None:
    """A row by its key, through `execute` and `fetchone`."""
    for store in peers():
        count = bench.operations if store != "duckdb" else max(1, bench.operations // 20)
        wanted = random.Random(2).choices(range(bench.operations), k=count)
        with closing(table_of(bench, store)) as con:
            bench.measure(
                "point", "select by key", store, count, lambda: [con.execute("select name, amount from t where id = ?", (n,)).fetchone() for n in wanted]
            )


def update(bench: Bench) -> None:
    """A row by its key, each a durable commit."""
    for store in peers():
        count = max(1, bench.operations // 50)
        wanted = random.Random(3).choices(range(bench.operations), k=count)
        with closing(table_of(bench, store)) as con:
            bench.measure(
                "update", "update by key, durable", store, count, lambda: [con.execute("update t set amount = ? where id = ?", (1.5, n)) for n in wanted]
            )


def frame(rows: int) -> Any:
    """Rows as a table of pyarrow's."""
    import numpy
    import pyarrow

    random_numbers = numpy.random.default_rng(4)
    words = numpy.array([f"word {n}" for n in range(1000)])
    return pyarrow.table(
        {
            "id": numpy.arange(rows),
            "amount": random_numbers.random(rows),
            "quantity": random_numbers.integers(0, 100, rows, dtype=numpy.int32),
            "day": numpy.datetime64("2020-01-01") + random_numbers.integers(0, 2000, rows).astype("timedelta64[D]"),
            "word": words[random_numbers.integers(0, 1000, rows)],
        }
    )


def columnar() -> list[str]:
    return ["ambo", *(["duckdb"] if has("duckdb") else [])]


def connected(store: str, path: str) -> Any:
    if store == "duckdb":
        import duckdb

        return duckdb.connect(path)
    import ambo

    return ambo.connect(path)


def arrow_of(cursor: Any) -> Any:
    """All rows as a table of pyarrow's: DuckDB has another name for it."""
    return cursor.to_arrow_table() if hasattr(cursor, "to_arrow_table") else cursor.fetch_arrow_table()


def fetch(bench: Bench) -> None:
    """A whole table as Arrow, as pandas, and as tuples."""
    given = frame(bench.rows)
    for store in columnar():
        with closing(connected(store, bench.fresh())) as con:
            con.execute("create table t as select * from given")
            if store == "ambo":
                con.settle()
            query = "select * from t"
            bench.measure("fetch", "an Arrow table", store, bench.rows, lambda: arrow_of(con.sql(query)))
            bench.measure("fetch", "fetch_df", store, bench.rows, lambda: con.execute(query).fetch_df())
            some = max(1, bench.rows // 10)
            bench.measure("fetch", "fetchall", store, some, lambda: con.execute(f"{query} limit {some}").fetchall())


def ingest(bench: Bench) -> None:
    """A table of pyarrow's and a frame of pandas', durable."""
    given = frame(bench.rows)
    as_pandas = given.to_pandas()
    for store in columnar():
        for what, rows in (("of pyarrow", given), ("of pandas", as_pandas)):
            with closing(connected(store, bench.fresh())) as con:

                def load(rows: Any = rows, con: Any = con) -> None:
                    con.execute("create table t as select * from rows")

                bench.measure("ingest", what, store, bench.rows, load, lambda con=con: con.execute("drop table if exists t"))


def imports(bench: Bench) -> None:
    """A new interpreter that does nothing else, less one that does nothing."""

    def run(program: str) -> float:
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-c", program], check=True)
        return time.perf_counter() - begun

    bare = min(run("pass") for _ in range(10))
    for module in ("ambo", "sqlite3", *(peer for peer in ("duckdb", "lmdb", "plyvel", "rocksdict") if has(peer))):
        seconds = min(run(f"import {module}") for _ in range(10)) - bare
        bench.lines.append(("import", "import", module, 1, seconds))
        print(f"{'import':8} {'import':34} {module:18} {seconds * 1e3:9.1f} ms", flush=True)


SUITES = {"kv": kv, "point": point, "update": update, "fetch": fetch, "ingest": ingest, "import": imports}


def main() -> None:
    """Runs the suites."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=Path, help="lib_ambo.so; without it, the package that is installed")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--operations", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default=",".join(SUITES))
    parser.add_argument("--dir", help="where databases are made")
    parser.add_argument("--json", type=Path, help="where the figures go, too")
    options = parser.parse_args()
    bench = Bench(options)
    if options.library is not None:
        package = bench.folder / "site/ambo"
        package.mkdir(parents=True)
        for file in PACKAGE.glob("*.py"):
            shutil.copy(file, package)
        (package / "_ambo.abi3.so").symlink_to(options.library.resolve())
        sys.path.insert(0, str(package.parent))
        os.environ["PYTHONPATH"] = str(package.parent)
    try:
        for name in options.only.split(","):
            SUITES[name](bench)
    finally:
        shutil.rmtree(bench.folder)
    if options.json is not None:
        names = ("suite", "what", "store", "count", "seconds")
        options.json.write_text(json.dumps([dict(zip(names, line, strict=True)) for line in bench.lines], indent=1))


if __name__ == "__main__":
    main()
