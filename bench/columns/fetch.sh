#!/usr/bin/env bash
# Makes what the suite `columns` compares with and loads, once:
#
#   bench/columns/fetch.sh DIR [SCALE]...
#
# duckdb-venv/                 a virtual environment with DuckDB (MIT) and tpchgen-cli (Apache 2) from PyPI; SQLite is Python's
# tpch-SCALE/lineitem.parquet  TPC-H `lineitem` at each scale factor (default: 1), pages compressed with Snappy
# tpch-SCALE-zstd/…            the same with zstd, level 1
set -euo pipefail

inputs_dir=${1:?a directory}
shift
scales=("$@")
[[ ${#scales[@]} -gt 0 ]] || scales=(1)
venv=$inputs_dir/duckdb-venv
duckdb=duckdb==2.0.0
tpchgen=tpchgen-cli==4.0.0

mkdir -p "$inputs_dir"
if ! "$venv/bin/python" -c 'import duckdb' 2>/dev/null || [[ ! -x $venv/bin/tpchgen-cli ]]; then
    python3 -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$duckdb" "$tpchgen"
fi

generate() {
    local scale=$1 compression=$2 dir=$3
    [[ ! -s $dir/lineitem.parquet ]] || return 0
    rm -rf "$dir.part"
    "$venv/bin/tpchgen-cli" parquet -s "$scale" --tables lineitem --compression "$compression" --output-dir "$dir.part"
    mv "$dir.part" "$dir"
}

for scale in "${scales[@]}"; do
    generate "$scale" SNAPPY "$inputs_dir/tpch-$scale"
    generate "$scale" 'ZSTD(1)' "$inputs_dir/tpch-$scale-zstd"
done
