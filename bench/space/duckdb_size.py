"""Prints the bytes that DuckDB takes for the table of a Parquet file, then for each of its columns alone.

    duckdb_size.py FILE.parquet SCRATCH_DIR

A database has blocks of 256 KiB, so small columns are rounded up. The size of an empty database is taken off.
"""

import os
import sys
import tempfile

import duckdb


def file_bytes(parquet, columns, scratch):
    """Bytes of a database with these columns after a checkpoint."""
    with tempfile.TemporaryDirectory(dir=scratch) as directory:
        path = os.path.join(directory, "table.duckdb")
        with duckdb.connect(path) as connection:
            if columns is not None:
                connection.execute(f"CREATE TABLE t AS SELECT {columns} FROM read_parquet(?)", [parquet])
            connection.execute("CHECKPOINT")
        return os.path.getsize(path)


def main():
    parquet, scratch = sys.argv[1:]
    names = [row[0] for row in duckdb.execute("DESCRIBE SELECT * FROM read_parquet(?)", [parquet]).fetchall()]
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    empty = file_bytes(parquet, None, scratch)
    for columns in ["*", *quoted]:
        print(file_bytes(parquet, columns, scratch) - empty, flush=True)


main()
