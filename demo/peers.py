"""Does in SQLite and DuckDB what `ambo-tools demo` did in Ambo, and writes down how long it took.

    peers.py FIGURES DATA RESULT SCRATCH

FIGURES is the JSON file of `ambo-tools demo`, which says what to do (`plan`: tables, keys, statements, numbers of operations), DATA the
directory with the CSV files, RESULT the JSON file to write: `engines`, each in the form that Ambo's have, and `missing`, with reasons. The
databases are made in SCRATCH, which should be on the disk that Ambo's was on, and removed.

Times are taken in this process around execution and fetching, so Python's calls are in them. How much that is, `call` says: the time of a
statement with as many parameters and columns as a point read that reads nothing, and of the measuring itself.
"""

import csv
import gc
import json
import os
import shutil
import sqlite3
import sys
import tempfile
import threading
from time import perf_counter, sleep

try:
    import duckdb
except ImportError as error:
    duckdb, duckdb_missing = None, f"the package duckdb could not be installed ({error})"


class Sqlite:
    """SQLite through Python's own module: write-ahead log, clustered keys, statements prepared and kept."""

    name = "SQLite"
    version = sqlite3.sqlite_version
    begin = "begin immediate"  # What its manual advises for transactions that write.

    def __init__(self, path, durable, threads):
        self.path, self.durable = path, durable
        # No transactions behind the back of who writes the statements; each thread has a connection of its own.
        self.connection = sqlite3.connect(path, isolation_level=None, cached_statements=64, timeout=30, check_same_thread=False)
        for pragma in ("journal_mode = wal", "cache_size = -1048576", f"synchronous = {'full' if durable else 'off'}"):
            self.connection.execute(f"pragma {pragma}").fetchall()

    @staticmethod
    def is_conflict(error):
        return isinstance(error, sqlite3.OperationalError) and "locked" in str(error)

    def another(self):
        return Sqlite(self.path, self.durable, None)

    def create(self, sql):
        if "bigint primary key" in sql:
            self.run(sql.replace("bigint primary key", "integer primary key"))  # Its own number of the row.
        else:
            self.run(sql + " without rowid")

    def load(self, table, path):
        """Python reads the CSV, for the module has no reader of its own. Returns the seconds of that, measured by themselves, too."""
        start = perf_counter()
        with open(path, newline="") as file:
            for row in csv.reader(file):
                pass
        parse = perf_counter() - start
        with open(path, newline="") as file:
            reader = csv.reader(file)
            columns = next(reader)
            marks = ", ".join("?" * len(columns))
            rows = ([None if field == "NA" else field for field in row] for row in reader)
            self.run("begin")
            self.connection.executemany(f"insert into {table} ({', '.join(columns)}) values ({marks})", rows)
            self.run("commit")
        return parse

    def run(self, sql, values=()):
        return self.connection.execute(sql, values).fetchall()

    def settle(self):
        self.run("analyze")
        self.run("pragma wal_checkpoint(truncate)")

    def files(self):
        return [self.path, self.path + "-wal"]

    def close(self):
        self.connection.close()


class Duckdb:
    """DuckDB through its Python package."""

    name = "DuckDB"
    version = duckdb and duckdb.__version__
    begin = "begin"

    def __init__(self, path, durable, threads, database=None):
        self.path = path
        if database:
            self.connection = database.cursor()
            return
        self.connection = duckdb.connect(path)
        self.run(f"set threads = {threads}")
        if not durable:
            self.run("set fsync_mode = 'NONE'")

    @staticmethod
    def is_conflict(error):
        return isinstance(error, duckdb.TransactionException)

    def another(self):
        return Duckdb(self.path, None, None, self.connection)

    def create(self, sql):
        self.run(sql)

    def load(self, table, path):
        columns = ", ".join(next(csv.reader(open(path, newline=""))))
        self.run(f"copy {table} ({columns}) from '{path}' (header, nullstr 'NA')")
        return 0

    def run(self, sql, values=()):
        return self.connection.execute(sql, values).fetchall()

    def settle(self):
        self.run("checkpoint")

    def files(self):
        return [self.path, self.path + ".wal"]

    def close(self):
        self.connection.close()


def say(text):
    print(text, file=sys.stderr, flush=True)


def micros(seconds, part):
    """The time below which this part of the operations stayed, in microseconds."""
    ordered = sorted(seconds)
    return round(ordered[min(int(len(ordered) * part), len(ordered) - 1)] * 1e6, 2)


def timed(engine, sql, rows):
    """Runs a statement with each of the values; how long each took."""
    took, run = [], engine.run
    for values in rows:
        start = perf_counter()
        run(sql, values)
        took.append(perf_counter() - start)
    return took


def each(engine, sql, rows):
    """As `timed`, in few numbers."""
    start = perf_counter()
    took = timed(engine, sql, rows)
    return summary(took, perf_counter() - start)


def summary(took, seconds):
    return {"count": len(took), "seconds": seconds, **{f"p{part}_us": micros(took, part / 100) for part in (10, 50, 99)}}


def load(engine, plan, data):
    rows = parse = 0
    start = perf_counter()
    for table in plan["tables"]:
        engine.create(table["sql"])
        if table["file"]:
            parse += engine.load(table["name"], os.path.join(data, table["file"]))
            rows += engine.run(f"select count(*) from {table['name']}")[0][0]
    engine.settle()
    seconds = perf_counter() - start - parse  # Only this reading was for its own sake.
    return {"seconds": seconds, "parse_seconds": parse, "rows": rows}


def call(engine, plan):
    """What a call costs that reads nothing, and what the measuring does."""
    count = plan["call"]["count"]
    start = perf_counter()
    for _ in range(count):
        perf_counter()
    empty = perf_counter() - start
    return {"empty_us": round(empty / count * 1e6, 3), "p50_us": each(engine, plan["call"]["sql"], [[1]] * count)["p50_us"]}


def points(engine, plan):
    keys = [[key] for key in plan["keys"][: plan["points"]["count"]]]
    rounds = [each(engine, plan["points"]["sql"], keys) for _ in range(plan["points"]["rounds"])]
    found = sum(len(engine.run(plan["points"]["sql"], key)) for key in keys)
    assert found == len(keys), f"{engine.name} found {found} of {len(keys)} flights"
    return min(rounds, key=lambda round: round["seconds"])


def changes(plan, kind, round=0):
    """The values of updates, and their keys."""
    part = plan["updates"][kind]
    start = part["from"] + round * part["count"]
    return [[value % 60, key] for value, key in enumerate(plan["keys"][start : start + part["count"]])]


class DurableUpdates:
    """Updates that wait for the disk, in rounds at several moments, and what a bare write and sync took then."""

    def __init__(self, plan, path):
        self.plan, self.path, self.rounds, self.took, self.bare = plan, path + ".sync", 0, [], []

    def round(self, engine):
        self.bare += self.bare_syncs()
        self.took += timed(engine, self.plan["updates"]["sql"], changes(self.plan, "durable", self.rounds))
        self.rounds += 1

    def bare_syncs(self):
        sync, took = getattr(os, "fdatasync", os.fsync), []
        with open(self.path, "wb", buffering=0) as file:
            for _ in range(25):
                start = perf_counter()
                file.write(bytes(4096))
                sync(file.fileno())
                took.append(perf_counter() - start)
        os.remove(self.path)
        return took

    def all(self):
        assert self.rounds == self.plan["updates"]["durable"]["rounds"]
        return {**summary(self.took, sum(self.took)), "bare_p10_us": micros(self.bare, 0.1)}


def dashboards(engine, plan):
    results = []
    for dashboard in plan["dashboards"]:
        seconds = []
        for _ in range(plan["repeats"]):
            start = perf_counter()
            rows = engine.run(dashboard["sql"])
            seconds.append(perf_counter() - start)
        results.append({"name": dashboard["name"], "seconds": seconds, "rows": rows})
    return results


def conflict(engine, plan):
    """Two transactions that write: other rows, then the same row. What the second one is told, and when."""
    sql, take = plan["sql"], plan["sql"]["take"]
    one, two = [[key] for key in plan["keys"][:2]]
    first, second = engine.another(), engine.another()
    if isinstance(engine, Sqlite):
        second.run("pragma busy_timeout = 0")  # To be told rather than to wait.

    def attempt(key):
        first.run("begin")
        second.run("begin")
        told, after_commit = None, False
        try:
            first.run(sql["free"], one)
            second.run(sql["free"], key)
            first.run(take, one)
            second.run(take, key)
            first.run("commit")
            after_commit = True
            second.run("commit")
        except Exception as error:
            if not engine.is_conflict(error):
                raise
            told = str(error).strip().split("\n")[0]
            roll_back(second)
            if not after_commit:
                first.run("commit")
        return {"told": told, "at": "COMMIT" if after_commit else "UPDATE"} if told else {"told": None, "at": None}

    outcome = {"other_row": attempt(two), "same_row": attempt(one)}
    for key in (one, two):  # As it was.
        engine.run(plan["sql"]["reset"], key)
    for connection in (first, second):
        connection.close()
    return outcome


def roll_back(engine):
    try:
        engine.run("rollback")
    except Exception as error:  # It had rolled back by itself.
        if "transaction" not in str(error):
            raise


class Together:
    """Bookers, a reader and an analyst who also audits, each with a connection and a thread of its own."""

    def __init__(self, engine, plan):
        self.engine, self.plan, self.sql = engine, plan, plan["sql"]
        self.stop = threading.Event()
        self.lock = threading.Lock()
        self.counts = dict.fromkeys(("booked", "cancelled", "conflicts", "reads", "dashboards", "audits"), 0)
        self.dashboard_seconds = []
        self.failure = None

    def count(self, **counts):
        with self.lock:
            for name, number in counts.items():
                self.counts[name] += number

    def transact(self, engine, statements):
        """Runs a transaction until it meets no conflict; returns how many it met."""
        conflicts = 0
        while True:
            try:
                engine.run(engine.begin)
                for sql, values in statements:
                    engine.run(sql, values)
                engine.run("commit")
                return conflicts
            except Exception as error:
                if not engine.is_conflict(error):
                    raise
                conflicts += 1
                roll_back(engine)

    def book(self, engine, booker):
        keys, picks, popular = self.plan["keys"], self.plan["picks"], self.plan["popular"]
        booked = cancelled = conflicts = turn = 0
        while not self.stop.is_set():
            pick = picks[(turn + booker * len(picks) // self.plan["bookers"]) % len(picks)]
            key, number = [keys[pick]], [booker, turn]
            conflicts += self.transact(
                engine, [(self.sql["free"], key), (self.sql["take"], key), (self.sql["book"], number + key + ["demo"])]
            )
            booked += 1
            if pick < popular or turn % 3 == 2:
                conflicts += self.transact(engine, [(self.sql["give"], key), (self.sql["cancel"], number)])
                cancelled += 1
            turn += 1
        self.count(booked=booked, cancelled=cancelled, conflicts=conflicts)

    def read(self, engine, _):
        keys, sql, reads = self.plan["keys"], self.plan["points"]["sql"], 0
        while not self.stop.is_set():
            if len(engine.run(sql, [keys[reads % len(keys)]])) != 1:
                raise AssertionError("a flight was not found")
            reads += 1
        self.count(reads=reads)

    def analyse(self, engine, _):
        queries = [dashboard["sql"] for dashboard in self.plan["dashboards"]] + [self.plan["sales"]]
        turn = audits = 0
        while not self.stop.is_set():
            start = perf_counter()
            engine.run(queries[turn % len(queries)])
            self.dashboard_seconds.append(perf_counter() - start)
            total = engine.run(self.sql["total"])[0][0]
            if total != self.plan["total"]:
                raise AssertionError(f"an audit found {total} seats, not {self.plan['total']}")
            turn, audits = turn + 1, audits + 1
        self.count(dashboards=turn, audits=audits)

    def guarded(self, work, number):
        engine = self.engine.another()
        try:
            work(engine, number)
        except Exception as error:
            self.failure = f"{type(error).__name__}: {error}"
            self.stop.set()
        finally:
            engine.close()

    def run(self):
        tasks = [(self.book, booker) for booker in range(self.plan["bookers"])] + [(self.read, 0), (self.analyse, 0)]
        threads = [threading.Thread(target=self.guarded, args=task, daemon=True) for task in tasks]
        start = perf_counter()
        for thread in threads:
            thread.start()
        while perf_counter() - start < self.plan["seconds"] and not self.stop.is_set():
            sleep(0.01)
        self.stop.set()
        for thread in threads:
            thread.join()
        seconds = perf_counter() - start
        if self.failure:
            raise AssertionError(self.failure)
        p50 = micros(self.dashboard_seconds, 0.5) / 1e6
        return {"seconds": seconds, **self.counts, "dashboard_p50_seconds": p50}


def measure(kind, plan, data, directory):
    say(f"── the same steps in {kind.name} {kind.version}")
    path = os.path.join(directory, kind.name.lower())
    opened = lambda durable: kind(path, durable, plan["threads"])
    figures = {"name": kind.name, "storage": None, "version": kind.version}
    engine = opened(True)
    figures["load"] = load(engine, plan, data)
    figures["bytes"] = sum(os.path.getsize(file) for file in engine.files() if os.path.exists(file))
    figures["call"] = call(engine, plan)
    durable = DurableUpdates(plan, path)
    durable.round(engine)
    figures["points"] = points(engine, plan)
    durable.round(engine)
    engine.close()
    engine = opened(False)
    off = each(engine, plan["updates"]["sql"], changes(plan, "off"))
    engine.close()
    engine = opened(True)
    figures["dashboards"] = dashboards(engine, plan)
    durable.round(engine)
    figures["conflict"] = conflict(engine, plan)
    durable.round(engine)
    figures["updates"] = {"durable": durable.all(), "off": off}
    figures["together"] = Together(engine, plan).run()
    engine.close()
    return figures


def main():
    figures_path, data, result_path, scratch = sys.argv[1:]
    with open(figures_path) as file:
        plan = json.load(file)["plan"]
    result = {"engines": [], "missing": []}
    gc.disable()
    directory = tempfile.mkdtemp(prefix="peers-", dir=scratch)
    try:
        for kind in (Sqlite, Duckdb):
            if kind is Duckdb and not duckdb:
                result["missing"].append({"name": "DuckDB", "why": duckdb_missing})
                continue
            try:
                result["engines"].append(measure(kind, plan, data, directory))
            except Exception as error:  # Whatever it is, the page has to say so.
                result["missing"].append({"name": kind.name, "why": f"{type(error).__name__}: {error}"})
                say(f"{kind.name} failed: {error}")
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    with open(result_path + ".part", "w") as file:
        json.dump(result, file, default=str)
    os.replace(result_path + ".part", result_path)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
