"""Runs statements in DuckDB or SQLite and times them: a request in JSON on each line of standard input, an answer on each line of standard output.

    peers.py duckdb|sqlite

| request | answer |
|---|---|
| `{"do": "open", "path", "threads", "sync"}` | `{"version"}` |
| `{"do": "run", "sql": [..]}` | `{"seconds"}`: of all statements |
| `{"do": "repeat", "sql", "times", "least"}` | `{"seconds": [..], "rows"}`: at least so many times, and for at least so many seconds |
| `{"do": "each", "sql", "parameters": [[..], ..], "commits"}` | `{"seconds", "us": [..], "rows"}`: time of each execution in microseconds, and how many rows came |
| `{"do": "fill", "table", "parquet"}` | `{"seconds"}`: SQLite only, the rows of a Parquet file in one transaction; reading the file is part of the time |
| `{"do": "close"}` | `{"bytes"}`: of the files, after a checkpoint |

Whatever fails is answered with `{"error"}`. Times are taken around execution and fetching in this process, so Python's own call, about a microsecond,
is in each. With `"commits": true` each execution is a transaction of its own, else all are one.
"""

import gc
import json
import os
import sqlite3
import sys
from time import perf_counter

import duckdb

ROWS_AT_ONCE = 100_000


class Duckdb:
    def open(self, path, threads, sync):
        self.path = path
        self.connection = duckdb.connect(path)
        self.connection.execute(f"SET threads = {int(threads)}")
        if not sync:
            self.connection.execute("SET fsync_mode = 'NONE'")
        return {"version": duckdb.__version__}

    def execute(self, sql, parameters=()):
        return self.connection.execute(sql, parameters).fetchall()

    def checkpoint(self):
        self.connection.execute("CHECKPOINT")


class Sqlite:
    def open(self, path, threads, sync):
        self.path = path
        # No transactions behind the back of who writes the statements.
        self.connection = sqlite3.connect(path, isolation_level=None, cached_statements=64)
        self.connection.execute("PRAGMA journal_mode = WAL").fetchall()
        self.connection.execute("PRAGMA cache_size = -1048576")
        self.connection.execute(f"PRAGMA synchronous = {'FULL' if sync else 'OFF'}")
        return {"version": sqlite3.sqlite_version}

    def execute(self, sql, parameters=()):
        return self.connection.execute(sql, parameters).fetchall()

    def checkpoint(self):
        self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def fill(self, table, parquet):
        reader = duckdb.connect()
        reader.execute("SELECT * FROM read_parquet(?)", [parquet])
        marks = ", ".join("?" * len(reader.description))
        start = perf_counter()
        self.connection.execute("BEGIN")
        while rows := reader.fetchmany(ROWS_AT_ONCE):
            self.connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
        self.connection.execute("COMMIT")
        return {"seconds": perf_counter() - start}


def run(engine, sql):
    start = perf_counter()
    for statement in sql:
        engine.execute(statement)
    return {"seconds": perf_counter() - start}


def repeat(engine, sql, times, least):
    seconds = []
    while len(seconds) < times or sum(seconds) < least:
        start = perf_counter()
        rows = engine.execute(sql)
        seconds.append(perf_counter() - start)
    return {"seconds": seconds, "rows": rows}


def each(engine, sql, parameters, commits):
    found = 0
    took = []
    execute = engine.execute
    begin = perf_counter()
    if not commits:
        execute("BEGIN")
    for values in parameters:
        start = perf_counter()
        found += len(execute(sql, values))
        took.append(round((perf_counter() - start) * 1e6, 2))
    if not commits:
        execute("COMMIT")
    return {"seconds": perf_counter() - begin, "us": took, "rows": found}


def close(engine):
    engine.checkpoint()
    engine.connection.close()
    paths = [engine.path, engine.path + ".wal", engine.path + "-wal"]
    return {"bytes": sum(os.path.getsize(path) for path in paths if os.path.exists(path))}


def answer(engine, request):
    do = request.pop("do")
    if do in ("open", "fill"):
        return getattr(engine, do)(**request)
    return {"run": run, "repeat": repeat, "each": each, "close": close}[do](engine, **request)


def main():
    engine = {"duckdb": Duckdb, "sqlite": Sqlite}[sys.argv[1]]()
    gc.disable()
    for line in sys.stdin:
        try:
            reply = answer(engine, json.loads(line))
        except Exception as error:  # Whatever it is, who asked has to hear it.
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply, default=str), flush=True)


main()
