"""Writes numbers by Flight SQL until the server is gone, and says each that it was told is written."""

import sys

import adbc_driver_flightsql.dbapi

number = int(sys.argv[2])
try:
    with adbc_driver_flightsql.dbapi.connect(f"grpc://{sys.argv[1]}", autocommit=True) as connection, connection.cursor() as cursor:
        while True:
            cursor.execute(f"insert into flight values ({number})")
            cursor.fetchall()
            print(number, flush=True)
            number += 1
except Exception:
    pass
