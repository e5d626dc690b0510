"""Data larger than memory from Python: Ambo's tables of storage btree and lsm, RocksDB (rocksdict) and LMDB, phase by phase.

    ../limit-memory.sh 256 python bigger.py --library target/release/lib_ambo.so --store lsm --records 5000000 [--dir DIR] >> figures.jsonl

16-byte keys in random order, 400-byte values of which half is redundant, LZ4 where there is any, log on, no sync, one operation a
transaction, one thread. `--tables FILE` prints what was measured. Each phase is a line of JSON: operations
a second, latencies in microseconds, and what the process read from the disk and wrote to it. Python's share is in all of the rates.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import sys
import tempfile
import time
from array import array
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parents[2] / "python/ambo"
VALUE_BYTES = 400
SEEK_ROWS = 10
MIB = 1 << 20
POOL = random.Random(7).randbytes(256 << 10)


def key(record: int) -> bytes:
    return blake2b(record.to_bytes(8, "little"), digest_size=16).digest()


def value(record: int, version: int = 0) -> bytes:
    at = (record * 2654435761 + version * 40503) % (len(POOL) - VALUE_BYTES // 2)
    half = POOL[at : at + VALUE_BYTES // 2]
    return record.to_bytes(8, "little") + half[8:] + half


class Ambo:
    def __init__(self, path: str, options: argparse.Namespace) -> None:
        import ambo

        budget = f"{options.buffer_mib}MiB"
        self.con = ambo.connect(path, sync="off", cache_bytes=budget, memtable_bytes=budget, page_size=options.page_bytes)
        self.table = self.con.kv("kv")
        self.con.execute(f"ALTER TABLE kv SET STORAGE = {options.store}")
        self.con.execute("ALTER TABLE kv SET RECORD COMPRESSION = 'lz4'")
        self.get, self.put, self.delete = self.table.get, self.table.put, self.table.delete

    def seek(self, start: bytes) -> list[tuple[bytes, bytes]]:
        return list(self.table.range(start, limit=SEEK_ROWS))

    def compact(self) -> None:
        self.con.compact()

    def close(self) -> None:
        self.con.close()


class RocksDb:
    def __init__(self, path: str, options: argparse.Namespace) -> None:
        import rocksdict as r

        budget = options.buffer_mib * MIB
        opt = r.Options(raw_mode=True)
        opt.create_if_missing(True)
        opt.set_compression_type(r.DBCompressionType.lz4())
        opt.set_write_buffer_size(budget // 4)
        opt.set_max_write_buffer_number(4)
        opt.set_db_write_buffer_size(budget)
        opt.increase_parallelism(2)
        opt.set_max_background_jobs(4)
        opt.set_bytes_per_sync(MIB)
        table = r.BlockBasedOptions()
        table.set_block_cache(r.Cache(budget))
        table.set_bloom_filter(10, False)
        table.set_cache_index_and_filter_blocks(True)
        table.set_pin_l0_filter_and_index_blocks_in_cache(True)
        table.set_data_block_index_type(r.DataBlockIndexType.binary_and_hash())
        opt.set_block_based_table_factory(table)
        self.db = r.Rdict(path, opt)
        self.get, self.put, self.delete = self.db.get, self.db.put, self.db.delete

    def seek(self, start: bytes) -> list[tuple[bytes, bytes]]:
        rows = []
        cursor = self.db.iter()
        cursor.seek(start)
        while cursor.valid() and len(rows) < SEEK_ROWS:
            rows.append((cursor.key(), cursor.value()))
            cursor.next()
        return rows

    def compact(self) -> None:
        self.db.flush()
        self.db.compact_range(None, None)

    def close(self) -> None:
        self.db.close()


class Lmdb:
    def __init__(self, path: str, options: argparse.Namespace) -> None:
        import lmdb

        self.env = lmdb.open(path, map_size=64 << 30, sync=False, readahead=False)

    def get(self, key: bytes) -> bytes | None:
        with self.env.begin() as txn:
            return txn.get(key)

    def put(self, key: bytes, value: bytes) -> None:
        with self.env.begin(write=True) as txn:
            txn.put(key, value)

    def delete(self, key: bytes) -> None:
        with self.env.begin(write=True) as txn:
            txn.delete(key)

    def seek(self, start: bytes) -> list[tuple[bytes, bytes]]:
        with self.env.begin() as txn:
            cursor = txn.cursor()
            rows = []
            there = cursor.set_range(start)
            while there and len(rows) < SEEK_ROWS:
                rows.append(cursor.item())
                there = cursor.next()
            return rows

    def compact(self) -> None:
        self.env.sync(True)

    def close(self) -> None:
        self.env.close()


STORES: dict[str, Callable[[str, argparse.Namespace], Any]] = {"btree": Ambo, "lsm": Ambo, "rocksdb": RocksDb, "lmdb": Lmdb}


def usage() -> tuple[int, int, float]:
    """Bytes read from the disk and written to it, and seconds of processors."""
    fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    times = resource.getrusage(resource.RUSAGE_SELF)
    return int(fields["read_bytes"]), int(fields["write_bytes"]), times.ru_utime + times.ru_stime


class Latencies:
    """How many operations took how many nanoseconds, to a sixteenth: a list of all of them would be most of the memory."""

    def __init__(self) -> None:
        self.counts = array("q", bytes(8 * 64 * 16))
        self.most = 0

    def add(self, nanoseconds: int) -> None:
        above = max(nanoseconds.bit_length() - 5, 0)
        self.counts[(above << 4) + (nanoseconds >> above)] += 1
        if nanoseconds > self.most:
            self.most = nanoseconds

    def micros(self, percent: float) -> float:
        left = sum(self.counts) * percent / 100
        for at, count in enumerate(self.counts):
            left -= count
            if left < 0:
                above = max((at >> 4) - 1, 0)
                return round((at - (above << 4) << above) / 1e3, 1)
        return round(self.most / 1e3, 1)


class Bench:
    def __init__(self, options: argparse.Namespace, store: Any) -> None:
        self.options, self.store = options, store
        self.random = random.Random(11)

    def phase(self, name: str, count: int, seconds: float, act: Callable[[int], None]) -> int:
        """Does this so many times, or for so long; how many times it was."""
        clock, took = time.perf_counter_ns, Latencies()
        before, begun = usage(), clock()
        last, done, end = begun, 0, begun + int(seconds * 1e9)
        while done < count and last < end:
            act(done)
            now = clock()
            took.add(now - last)
            last, done = now, done + 1
        self.line(name, done, (clock() - begun) / 1e9, before, took)
        return done

    def line(self, name: str, count: int, seconds: float, before: tuple[int, int, float], took: Latencies | None) -> None:
        read, written, cpu = (now - then for now, then in zip(usage(), before))
        each = max(count, 1)
        figures = {
            "store": self.options.name or self.options.store, "records": self.options.records, "phase": name, "count": count, "seconds": round(seconds, 2),
            "rate": round(count / seconds), "cpu_us": round(cpu * 1e6 / each, 2), "read_mib": read // MIB, "written_mib": written // MIB,
            "read_bytes_each": round(read / each), "written_bytes_each": round(written / each),
        }
        for percent in ("50", "99", "99.9", "99.99", "100"):
            if took is not None:
                figures["p" + percent] = took.micros(float(percent))
        print(json.dumps(figures), flush=True)

    def reads(self, suffix: str) -> None:
        count, store, rnd = self.options.records, self.store, self.random

        def present() -> int:
            # Those whose number is a multiple of 4 are deleted in the end.
            return rnd.randrange(count // 4) * 4 + rnd.randrange(1, 4)

        def get(_: int) -> None:
            record = present()
            found = store.get(key(record))
            if found is None or found[:8] != record.to_bytes(8, "little"):
                sys.exit(f"record {record} is missing or wrong")

        def miss(_: int) -> None:
            if store.get(key(count + rnd.randrange(count))) is not None:
                sys.exit("a record is there that was never put")

        def seek(_: int) -> None:
            record = present()
            if store.seek(key(record))[0][1][:8] != record.to_bytes(8, "little"):
                sys.exit(f"no seek to record {record}")

        for name, act in (("get", get), ("missing", miss), ("seek", seek)):
            self.phase(name + suffix, sys.maxsize, self.options.seconds, act)

    def run(self) -> None:
        count, store, limit = self.options.records, self.store, self.options.load_seconds
        put = store.put
        done = self.phase("fill", count, limit, lambda n: put(key(n), value(n)))
        for n in range(done, count):
            put(key(n), value(n))
        self.reads(", filled")
        self.phase("overwrite", count // 2, limit, lambda n: self.overwrite(n))
        self.reads(", overwritten")
        deleted = count // 4
        done = self.phase("delete", deleted, limit, lambda n: store.delete(key(n * 4)))
        for n in range(done, deleted):
            store.delete(key(n * 4))
        before, begun = usage(), time.perf_counter()
        store.compact()
        self.line("compact", 1, time.perf_counter() - begun, before, None)
        self.reads(", compacted")

    def overwrite(self, n: int) -> None:
        record = self.random.randrange(self.options.records)
        self.store.put(key(record), value(record, n + 1))


def tables(file: Path) -> None:
    """Prints the figures of a file as tables."""
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    stores = list(dict.fromkeys(line["store"] for line in lines))
    phases = list(dict.fromkeys(line["phase"] for line in lines))
    found = {(line["store"], line["phase"]): line for line in lines}

    def table(title: str, keep: Callable[[str], bool], cell: Callable[[dict[str, Any]], str]) -> None:
        print(f"{title}\n\n| |" + "".join(f" {store} |" for store in stores) + "\n|---|" + "--:|" * len(stores))
        for phase in filter(keep, phases):
            cells = [cell(found[store, phase]) if (store, phase) in found else "–" for store in stores]
            print(f"| {phase} |" + "".join(f" {text} |" for text in cells))
        print()

    def is_timed(phase: str) -> bool:
        return phase not in ("compact", "size")

    def is_write(phase: str) -> bool:
        return phase in ("fill", "overwrite", "delete")

    table("Operations a second", is_timed, lambda line: f"{line['rate']:,}")
    table("Bytes read from the disk for each", is_timed, lambda line: f"{line['read_bytes_each']:,}")
    table("Bytes written for each", is_write, lambda line: f"{line['written_bytes_each']:,}")
    tail = ("p50", "p99.9", "p99.99", "p100")
    table("Microseconds of a write: median, p99.9, p99.99, longest", is_write, lambda line: " / ".join(f"{line[p]:,.0f}" for p in tail))
    table("Seconds, and MiB read / written", lambda phase: phase == "compact", lambda line: f"{line['seconds']} s, {line['read_mib']} / {line['written_mib']}")
    table("MiB at the end", lambda phase: phase == "size", lambda line: str(line["mib"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=Path, help="lib_ambo.so; without it, the package that is installed")
    parser.add_argument("--store", choices=STORES)
    parser.add_argument("--tables", type=Path, help="prints what is in a file of figures, and runs nothing")
    parser.add_argument("--records", type=int, default=5_000_000)
    parser.add_argument("--buffer-mib", type=int, default=64, help="of the cache, and of write buffers")
    parser.add_argument("--page-bytes", type=int, default=16384, help="of Ambo's databases")
    parser.add_argument("--name", help="what the figures are called, if not as the store")
    parser.add_argument("--seconds", type=float, default=10, help="of a phase of reads")
    parser.add_argument("--load-seconds", type=float, default=180, help="of a phase of writes; the rest is written untimed")
    parser.add_argument("--dir", help="where the store is made, and removed")
    options = parser.parse_args()
    if options.tables is not None:
        return tables(options.tables)
    if options.store is None:
        parser.error("--store or --tables")
    folder = Path(tempfile.mkdtemp(prefix="ambo-bigger-", dir=options.dir))
    try:
        if options.library is not None:
            package = folder / "package" / "ambo"
            shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
            (package / "_ambo.abi3.so").symlink_to(options.library.resolve())
            sys.path.insert(0, str(package.parent))
        data = folder / "data"
        store = STORES[options.store](str(data), options)
        bench = Bench(options, store)
        bench.run()
        store.close()
        size = sum(os.lstat(file).st_blocks * 512 for file in data.rglob("*") if file.is_file())
        print(json.dumps({"store": options.name or options.store, "records": options.records, "phase": "size", "mib": size // MIB}), flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
