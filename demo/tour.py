"""What the Python package does with the flights: `tour.py LIBRARY FLIGHTS`."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path


def main(library: str, flights: str) -> None:
    """A frame that is a table, a dict that is durable, and both in one transaction."""
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "ambo"
        package.mkdir()
        for file in (Path(__file__).resolve().parents[1] / "python/ambo").glob("*.py"):
            shutil.copy(file, package)
        (package / "_ambo.abi3.so").symlink_to(Path(library).resolve())
        sys.path.insert(0, folder)
        begun = time.perf_counter()
        import ambo

        print(f"Python: import ambo takes {(time.perf_counter() - begun) * 1e3:.0f} ms.")
        with ambo.connect(f"{folder}/flights.ambo") as con:
            begun = time.perf_counter()
            con.execute(f"create table flights as select * from '{flights}'")
            (rows,) = con.execute("select count(*) from flights").fetchone() or (0,)
            print(f"{rows:,} flights are a table after {time.perf_counter() - begun:.1f} s. The most:")
            for origin, dest, count in con.execute("select origin, dest, count(*) from flights group by all order by 3 desc limit 3"):
                print(f"  {origin} to {dest}: {count:,}")
            seen = con.kv("seen", key="str", value="int")
            with con.transaction():
                for dest, count in con.execute("select dest, count(*) from flights group by dest").fetchall():
                    seen[dest] = count
            print(f"A dict of {len(seen)} destinations is durable, and in order: {', '.join(list(seen)[:5])}, …")


if __name__ == "__main__":
    main(*sys.argv[1:3])
