#!/usr/bin/env bash
# Makes what the suite `sql` compares with and loads, once:
#
#   bench/sql/fetch.sh DIR [SCALE]...
#
# duckdb-venv/              as bench/columns/fetch.sh has it
# tpch-all-SCALE/*.parquet  the tables of TPC-H at each scale factor (default: 1)
# tpcds-all-SCALE/*.parquet those of TPC-DS
set -euo pipefail

inputs_dir=${1:?a directory}
shift
scales=("$@")
[[ ${#scales[@]} -gt 0 ]] || scales=(1)
"$(dirname "$0")/../columns/fetch.sh" "$inputs_dir" "${scales[@]}"
venv=$inputs_dir/duckdb-venv
[[ -x $venv/bin/tpcgen-cli ]] || "$venv/bin/python" -m pip install --quiet --disable-pip-version-check tpcgen-cli==4.0.0
for scale in "${scales[@]}"; do
    dir=$inputs_dir/tpch-all-$scale
    if [[ ! -s $dir/lineitem.parquet ]]; then
        rm -rf "$dir.part"
        "$venv/bin/tpchgen-cli" parquet -s "$scale" --output-dir "$dir.part"
        mv "$dir.part" "$dir"
    fi
    dir=$inputs_dir/tpcds-all-$scale
    if [[ ! -s $dir/store_sales.parquet ]]; then
        rm -rf "$dir.part"
        "$venv/bin/tpcgen-cli" tpcds parquet -s "$scale" --output-dir "$dir.part"
        mv "$dir.part" "$dir"
    fi
done
