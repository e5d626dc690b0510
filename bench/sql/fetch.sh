#!/usr/bin/env bash
# Makes what the suite `sql` compares with and loads, once:
#
#   bench/sql/fetch.sh DIR [SCALE]...
#
# duckdb-venv/              as bench/columns/fetch.sh has it
# tpch-all-SCALE/*.parquet  the tables of TPC-H at each scale factor (default: 1)
set -euo pipefail

inputs_dir=${1:?a directory}
shift
scales=("$@")
[[ ${#scales[@]} -gt 0 ]] || scales=(1)
"$(dirname "$0")/../columns/fetch.sh" "$inputs_dir" "${scales[@]}"
for scale in "${scales[@]}"; do
    dir=$inputs_dir/tpch-all-$scale
    [[ ! -s $dir/lineitem.parquet ]] || continue
    rm -rf "$dir.part"
    "$inputs_dir/duckdb-venv/bin/tpchgen-cli" parquet -s "$scale" --output-dir "$dir.part"
    mv "$dir.part" "$dir"
done
