"""Gets of single keys over HTTP, by 1 to 200 clients: `kv.py http://127.0.0.1:8765 [--seconds 5] [--keys 100000]`.

Each client has a connection that it keeps, and asks for random keys, one after the other. The clients are spread over processes, so that
Python's lock is not what is measured; still, most of the time goes to the clients, which are on the same machine. A table
like KeksDB's is printed: requests a second, and the times within which half, 99 and 99.9 of 100 answers came.
"""

import argparse
import http.client
import json
import multiprocessing
import random
import threading
import time

CLIENTS = [1, 4, 8, 16, 32, 50, 100, 160, 200]
PROCESSES = 4
TABLE = "bench_kv"


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
        rows = [{"key": f"{key:012}", "value": "v" * 500} for key in range(begin, min(keys, begin + 10_000))]
        ask("POST", f"/kv/{TABLE}", json.dumps(rows))


def client(host, keys, end, times):
    connection = http.client.HTTPConnection(host)
    while time.perf_counter() < end:
        path = f"/kv/{TABLE}/{random.randrange(keys):012}"
        begin = time.perf_counter()
        connection.request("GET", path)
        answer = connection.getresponse()
        if len(answer.read()) != 500:
            raise SystemExit(f"{path}: {answer.status}")
        times.append(time.perf_counter() - begin)


def clients(host, keys, count, seconds, queue):
    times = []
    end = time.perf_counter() + seconds
    threads = [threading.Thread(target=client, args=(host, keys, end, times)) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    queue.put(times)


def measure(host, keys, count, seconds):
    """The times of all answers."""
    queue = multiprocessing.Queue()
    shares = [count // PROCESSES + (nth < count % PROCESSES) for nth in range(PROCESSES)]
    processes = [multiprocessing.Process(target=clients, args=(host, keys, share, seconds, queue)) for share in shares if share]
    for process in processes:
        process.start()
    times = sorted(time for _ in processes for time in queue.get())
    for process in processes:
        process.join()
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--keys", type=int, default=100_000)
    arguments = parser.parse_args()
    host = arguments.url.removeprefix("http://").rstrip("/")
    load(host, arguments.keys)
    print("| clients | gets/s | p50 ms | p99 ms | p99.9 ms |\n|--:|--:|--:|--:|--:|")
    for count in CLIENTS:
        times = measure(host, arguments.keys, count, arguments.seconds)
        at = lambda share: times[min(len(times) - 1, int(len(times) * share))] * 1000
        print(f"| {count} | {len(times) / arguments.seconds:.0f} | {at(0.5):.2f} | {at(0.99):.2f} | {at(0.999):.2f} |", flush=True)


if __name__ == "__main__":
    main()
