#!/usr/bin/env bash
# Builds the library for programs of upscaledb and installs it: headers, the shared library, pkg-config. `make install-ups` calls it.
#   PREFIX   where to, /usr/local
#   DESTDIR  what is put before it, for packagers
set -euo pipefail
cd "$(dirname "$0")"
prefix=${PREFIX:-/usr/local}
to=${DESTDIR:-}$prefix
cargo=${CARGO:-cargo}
metadata=$("$cargo" metadata --format-version 1 --no-deps)
target=$(sed 's/.*"target_directory":"\([^"]*\)".*/\1/' <<< "$metadata")
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' ../../Cargo.toml)
"$cargo" rustc --lib --release --crate-type cdylib

install -d "$to/include/ups" "$to/lib/pkgconfig"
install -m 644 include/ups/*.h "$to/include/ups"
library=$to/lib/libambo-ups.so.$version
install -m 755 "$target/release/libambo_ups.so" "$library"
strip --strip-unneeded "$library"
ln -sf "libambo-ups.so.$version" "$to/lib/libambo-ups.so.0"
ln -sf libambo-ups.so.0 "$to/lib/libambo-ups.so"
sed -e "s|@PREFIX@|$prefix|" -e "s|@VERSION@|$version|" ambo-ups.pc.in > "$to/lib/pkgconfig/ambo-ups.pc"
du -h "$library"
