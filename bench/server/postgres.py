"""Ambo's server beside PostgreSQL, by PostgreSQL's own clients: `postgres.py --ambo target/release/ambo [--scale 10] [--seconds 10]`.

Both are started here, on loopback, over new databases on the same disk, as they come (both sync the log at each commit); pgbench, psql and
(where it is installed) sysbench ask them in turns. A table is printed: the median rate of each over RUNS rounds, and Ambo's as a multiple of PostgreSQL's. Nothing of it stays.
"""

import argparse
import glob
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

PGBENCH = [
    ("pgbench -S, 1 client", ["-S", "-M", "prepared", "-c", "1", "-j", "1"]),
    ("pgbench -S, 8 clients", ["-S", "-M", "prepared", "-c", "8", "-j", "2"]),
    ("pgbench -S, 64 clients", ["-S", "-M", "prepared", "-c", "64", "-j", "2"]),
    ("pgbench simple update, 8 clients", ["-N", "-M", "prepared", "-c", "8", "-j", "2"]),
    ("pgbench TPC-B, 8 clients", ["-b", "tpcb-like", "-M", "prepared", "-c", "8", "-j", "2"]),
]
COPIED = "create table copied (id bigint primary key, day date, name text, amount double precision)"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Peer:
    """A server that listens at a port."""

    def __init__(self, name, port, process):
        self.name, self.port, self.process = name, port, process
        self.env = {**os.environ, "PGHOST": "127.0.0.1", "PGPORT": str(port), "PGUSER": "postgres", "PGDATABASE": "postgres"}

    def ask(self, *command, **more):
        done = subprocess.run(command, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
        if done.returncode:
            raise SystemExit(f"{self.name}: {' '.join(command)}\n{done.stderr[-2000:]}")
        return done.stdout

    def psql(self, sql):
        return self.ask("psql", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", sql)

    def wait(self):
        for _ in range(300):
            if self.process.poll() is not None:
                raise SystemExit(f"{self.name} has ended: {self.process.returncode}")
            if subprocess.run(["psql", "-c", "select 1"], env=self.env, capture_output=True).returncode == 0:
                return self
            time.sleep(0.1)
        raise SystemExit(f"{self.name} does not answer")

    def memory(self):
        """Bytes of memory that the server's processes have, files of the page cache and shared pages aside."""
        total = 0
        for pid in [self.process.pid, *children(self.process.pid)]:
            try:
                with open(f"/proc/{pid}/status") as status:
                    total += sum(int(line.split()[1]) for line in status if line.startswith("RssAnon"))
            except FileNotFoundError:
                pass
        return total * 1024


def children(pid):
    found = []
    for task in glob.glob(f"/proc/{pid}/task/*/children"):
        with open(task) as children_:
            for child in children_.read().split():
                found += [int(child), *children(child)]
    return found


def postgres(place):
    """PostgreSQL with its own settings. It does not run as root."""
    programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    if not programs:
        raise SystemExit("PostgreSQL is missing: apt-get install -y postgresql")
    port, data = free_port(), os.path.join(place, "postgres")
    os.mkdir(data)
    user = []
    if os.geteuid() == 0:
        shutil.chown(data, "postgres")
        os.chmod(place, 0o755)
        user = ["runuser", "-u", "postgres", "--"]
    subprocess.run([*user, f"{programs[-1]}/initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8"],
                   check=True, stdout=subprocess.DEVNULL)
    process = subprocess.Popen([*user, f"{programs[-1]}/postgres", "-D", data, "-p", str(port), "-h", "127.0.0.1", "-k", ""],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return Peer("PostgreSQL", port, process).wait()


def ambo(place, program):
    port = free_port()
    command = [program, "serve", os.path.join(place, "ambo"), "--listen", f"127.0.0.1:{port}", "--http", "none"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    return Peer("Ambo", port, process).wait()


def transactions(peer, arguments, seconds):
    said = peer.ask("pgbench", "-n", "-T", str(seconds), *arguments)
    return next(float(line.split()[2]) for line in said.splitlines() if line.startswith("tps ="))


SYSBENCH = ["--db-driver=pgsql", "--tables=4", "--table-size=100000", "--threads=8"]


def sysbench(peer, seconds, step):
    env = peer.env
    place = [f"--pgsql-host={env['PGHOST']}", f"--pgsql-port={env['PGPORT']}", f"--pgsql-user={env['PGUSER']}", f"--pgsql-db={env['PGDATABASE']}"]
    return peer.ask("sysbench", "oltp_read_write", *SYSBENCH, *place, f"--time={seconds}", step)


def oltp(peer, seconds):
    said = sysbench(peer, seconds, "run")
    line = next(line for line in said.splitlines() if line.strip().startswith("transactions:"))
    return float(line.split("(")[1].split()[0])


def timed(peer, command, **more):
    """Seconds, and the bytes of memory that the server took meanwhile at most."""
    before, most, is_over = peer.memory(), 0, threading.Event()

    def look():
        nonlocal most
        while not is_over.wait(0.05):
            most = max(most, peer.memory())

    watcher = threading.Thread(target=look)
    watcher.start()
    begin = time.perf_counter()
    peer.ask(*command, **more)
    took = time.perf_counter() - begin
    is_over.set()
    watcher.join()
    return took, max(0, most - before)


def copies(peer, rows, file):
    """Rates of COPY in, COPY out and a SELECT of all rows, and the memory of the last."""
    peer.psql("drop table if exists copied")
    peer.psql(COPIED)
    with open(file) as text:
        into, _ = timed(peer, ["psql", "-q", "-c", "copy copied from stdin"], stdin=text)
    counted = peer.psql("select count(*), sum(id) from copied").strip()
    if counted != f"{rows}|{rows * (rows - 1) // 2}":
        raise SystemExit(f"{peer.name} has {counted}")
    out, _ = timed(peer, ["sh", "-c", "psql -q -c 'copy copied to stdout' > /dev/null"])
    select, memory = timed(peer, ["sh", "-c", "psql -q -A -t -v FETCH_COUNT=10000 -c 'select * from copied' > /dev/null"])
    return rows / into, rows / out, rows / select, memory


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ambo", required=True)
    parser.add_argument("--scale", type=int, default=10)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--dir", help="where both databases lie meanwhile")
    options = parser.parse_args()
    place = tempfile.mkdtemp(prefix="ambo-bench-", dir=options.dir)
    peers = []
    try:
        peers.append(postgres(place))
        peers.append(ambo(place, options.ambo))
        report(peers, options, place)
    finally:
        for peer in peers:
            peer.process.terminate()
        for peer in peers:
            peer.process.wait(60)
        shutil.rmtree(place, ignore_errors=True)


def report(peers, options, place):
    for peer in peers:
        peer.ask("pgbench", "-i", "-q", "-s", str(options.scale))
    print(f"| {'':38} | {'PostgreSQL':>12} | {'Ambo':>12} | ratio |\n|---|---:|---:|---:|", flush=True)

    def line(name, rates):
        theirs, ours = (statistics.median(one) for one in rates)
        print(f"| {name:38} | {theirs:12,.0f} | {ours:12,.0f} | {ours / theirs:5.2f} |", flush=True)

    for name, arguments in PGBENCH:
        rounds = [[transactions(peer, arguments, options.seconds) for peer in peers] for _ in range(options.runs)]
        line(f"{name}, per second", zip(*rounds))
    if shutil.which("sysbench"):
        for peer in peers:
            sysbench(peer, 0, "prepare")
        rounds = [[oltp(peer, options.seconds) for peer in peers] for _ in range(options.runs)]
        line("sysbench oltp_read_write, 8 clients, per second", zip(*rounds))
    file = os.path.join(place, "rows.tsv")
    with open(file, "w") as text:
        for row in range(options.rows):
            text.write(f"{row}\t2026-{row % 12 + 1:02}-{row % 28 + 1:02}\tname {row % 100_000}\t{row * 0.25}\n")
    rounds = [[copies(peer, options.rows, file) for peer in peers] for _ in range(options.runs)]
    for at, name in enumerate(["COPY from stdin, rows/s", "COPY to stdout, rows/s", "SELECT *, rows/s", "SELECT *, MiB more of memory"]):
        scale = 2**20 if at == 3 else 1
        line(name, ([(peer[at] or 1) / scale for peer in peers_] for peers_ in zip(*rounds)))


if __name__ == "__main__":
    sys.exit(main())
