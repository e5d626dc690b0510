"""Gets of single keys over HTTP and Thrift, by 1 to 200 clients: `kv.py http://127.0.0.1:8765 [--thrift 127.0.0.1:8766] [--seconds 5]`.

Each client has a connection that it keeps, and asks for random keys, one after the other. The clients are spread over processes, so that
Python's lock is not what is measured; still, most of the time goes to the clients, which are on the same machine. A table
like KeksDB's is printed: requests a second, and the times within which half, 99 and 99.9 of 100 answers came.
"""

import argparse
import http.client
import json
import multiprocessing
import random
import socket
import struct
import threading
import time

CLIENTS = [1, 4, 8, 16, 32, 50, 100, 160, 200]
PROCESSES = 4
TABLE = "bench_kv"
#: Bytes of a value.
VALUE = 500


def load(host, keys):
    """Makes the table anew, with values of 500 bytes."""
    connection = http.client.HTTPConnection(host)

    def ask(method, path, body=None, kind="application/json"):
        connection.request(method, path, body, {"Content-Type": kind})
        answer = connection.getresponse()
        said = answer.read()
        if answer.status >= 300:
            raise SystemExit(f"{method} {path}: {said.decode()}")

    ask("POST", "/sql", json.dumps({"sql": f"drop table if exists {TABLE}"}))
    ask("PUT", f"/kv/{TABLE}")
    for begin in range(0, keys, 10_000):
        rows = [{"key": f"{key:012}", "value": "v" * VALUE} for key in range(begin, min(keys, begin + 10_000))]
        ask("POST", f"/kv/{TABLE}", json.dumps(rows))


class Http:
    """A connection that gets values over HTTP."""

    def __init__(self, host):
        self.connection = http.client.HTTPConnection(host)

    def get(self, key):
        self.connection.request("GET", f"/kv/{TABLE}/{key}")
        return self.connection.getresponse().read()


class Thrift:
    """The same over Ambo's service of Thrift: strict, without frames, written here so that no library is measured."""

    CALL = struct.pack(">II3sI", 0x80010001, 3, b"get", 0) + struct.pack(">BHI", 11, 1, len(TABLE)) + TABLE.encode()
    #: The message, its result, the value in it, and the length of that; two structs end behind it.
    HEAD = 4 + 4 + 3 + 4 + 3 + 3 + 4

    def __init__(self, host):
        name, port = host.rsplit(":", 1)
        self.socket = socket.create_connection((name, int(port)), timeout=30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def get(self, key):
        self.socket.sendall(self.CALL + struct.pack(">BHI", 11, 2, len(key)) + key.encode() + b"\0")
        answer = b""
        while len(answer) < self.HEAD + VALUE + 2:
            more = self.socket.recv(4096)
            if not more:
                break
            answer += more
        return answer[self.HEAD : -2]


def client(kind, host, keys, end, times):
    connection = kind(host)
    while time.perf_counter() < end:
        key = f"{random.randrange(keys):012}"
        begin = time.perf_counter()
        value = connection.get(key)
        times.append(time.perf_counter() - begin)
        if value != b"v" * VALUE:
            raise SystemExit(f"{key}: {value[:100]}")


def clients(kind, host, keys, count, seconds, queue):
    times = []
    end = time.perf_counter() + seconds
    threads = [threading.Thread(target=client, args=(kind, host, keys, end, times)) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    queue.put(times)


def measure(kind, host, keys, count, seconds):
    """The times of all answers."""
    queue = multiprocessing.Queue()
    shares = [count // PROCESSES + (nth < count % PROCESSES) for nth in range(PROCESSES)]
    processes = [multiprocessing.Process(target=clients, args=(kind, host, keys, share, seconds, queue)) for share in shares if share]
    for process in processes:
        process.start()
    times = sorted(time for _ in processes for time in queue.get())
    for process in processes:
        process.join()
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("--thrift", help="where the service of Thrift listens, if it is to be measured")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--keys", type=int, default=100_000)
    arguments = parser.parse_args()
    host = arguments.url.removeprefix("http://").rstrip("/")
    load(host, arguments.keys)
    print("| by | clients | gets/s | p50 ms | p99 ms | p99.9 ms |\n|---|--:|--:|--:|--:|--:|")
    ways = [("HTTP", Http, host)] + ([("Thrift", Thrift, arguments.thrift)] if arguments.thrift else [])
    for name, kind, where in ways:
        for count in CLIENTS:
            times = measure(kind, where, arguments.keys, count, arguments.seconds)
            at = lambda share: times[min(len(times) - 1, int(len(times) * share))] * 1000
            rate = len(times) / arguments.seconds
            print(f"| {name} | {count} | {rate:,.0f} | {at(0.5):.2f} | {at(0.99):.2f} | {at(0.999):.2f} |", flush=True)


if __name__ == "__main__":
    main()
