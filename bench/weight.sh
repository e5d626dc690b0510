#!/usr/bin/env bash
# What a program weighs that keeps values under keys and nothing else: `crates/ambo/examples/kv.rs`, built cold and on one core as a package
# of its own, with the profile that every package has. Prints the processor time of the build and the size of the stripped program.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/src"
cp "$root/crates/ambo/examples/kv.rs" "$dir/src/main.rs"
# The same versions of all that it depends on.
cp "$root/Cargo.lock" "$dir/"
cat > "$dir/Cargo.toml" <<MANIFEST
[package]
name = "kv"
version = "0.1.0"
edition = "2024"

[workspace]

[dependencies]
ambo = { path = "$root/crates/ambo" }
MANIFEST
cd "$dir"
${CARGO:-cargo} fetch --quiet
TIMEFORMAT='processor time: %U s and %S s of the system (%R s in all)'
time CARGO_TARGET_DIR="$dir/target" ${CARGO:-cargo} build --quiet --release --jobs 1
strip -o kv "$dir/target/release/kv"
echo "stripped: $(stat -c %s kv) bytes"
