"""Does something by Flight SQL, says so, and waits to be killed. The arguments: the address, and what to do."""

import sys
import threading
import time

import adbc_driver_flightsql.dbapi
import pyarrow

ROWS = "select repeat('x', 1000) as x from range(0, 3000000)"
ENDLESS = "with recursive t (n) as (select 1 union all select n % 7 + 1 from t) select max(n) from t"


def ready():
    print("ready", flush=True)
    time.sleep(60)


def transaction(connection, cursor):
    cursor.execute("update t set n = 9000 where id = 1")
    cursor.fetchall()
    cursor.execute("insert into filled values (7, 1)")
    cursor.fetchall()
    ready()


def rows(_, cursor):
    cursor.execute(ROWS)
    cursor.fetch_record_batch().read_next_batch()
    ready()


def runs(_, cursor):
    threading.Timer(0.5, ready).start()
    cursor.execute(ENDLESS)
    cursor.fetchall()


def ingest(_, cursor):
    schema = pyarrow.schema([("id", pyarrow.int32()), ("n", pyarrow.int32())])

    def batches():
        for nth in range(10):
            yield pyarrow.record_batch([pyarrow.array([7 + nth], pyarrow.int32()), pyarrow.array([1], pyarrow.int32())], schema)
        ready()

    cursor.adbc_ingest("filled", pyarrow.RecordBatchReader.from_batches(schema, batches()), mode="append")


does = {"transaction": transaction, "rows": rows, "runs": runs, "ingest": ingest}[sys.argv[2]]
with adbc_driver_flightsql.dbapi.connect(f"grpc://{sys.argv[1]}", autocommit=sys.argv[2] != "transaction") as connection:
    with connection.cursor() as cursor:
        does(connection, cursor)
