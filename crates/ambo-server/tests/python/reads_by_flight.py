"""Reads many rows by Flight SQL, the first of them slowly. The arguments: the address, how many rows, and the bytes of each."""

import sys
import time

import adbc_driver_flightsql.dbapi

address, rows, length = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with adbc_driver_flightsql.dbapi.connect(f"grpc://{address}", autocommit=True) as connection, connection.cursor() as cursor:
    cursor.execute(f"select range as n, repeat('x', {length}) as x from range(0, {rows})")
    seen = 0
    with cursor.fetch_record_batch() as reader:
        for batch in reader:
            assert len(batch.column(1)[0].as_py()) == length
            if seen == 0:
                time.sleep(1)
            seen += batch.num_rows
    assert seen == rows, seen
