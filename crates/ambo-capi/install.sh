#!/usr/bin/env bash
# Builds the C library and installs it: headers, the shared and the static library, pkg-config. `make install-c` calls it.
#   PREFIX   where to, /usr/local
#   DESTDIR  what is put before it, for packagers
#   SQL      "no" installs libambo-kv, which has keys, tables and transactions alone
#   PROFILE  a profile of Cargo.toml: release, or small without SQL
set -euo pipefail
cd "$(dirname "$0")"
prefix=${PREFIX:-/usr/local}
to=${DESTDIR:-}$prefix
profile=release
name=ambo description="One embedded store for keys, rows and columns." features=() cflags=""
if [ "${SQL:-yes}" = no ]; then
    name=ambo-kv description="One embedded store: keys, tables, transactions." features=(--no-default-features) cflags=" -DAMBO_NO_SQL"
    profile=small
fi
profile=${PROFILE:-$profile}
cargo=${CARGO:-cargo}
metadata=$("$cargo" metadata --format-version 1 --no-deps)
target=$(sed 's/.*"target_directory":"\([^"]*\)".*/\1/' <<< "$metadata")
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' ../../Cargo.toml)
"$cargo" rustc --lib --profile "$profile" ${features[@]+"${features[@]}"} --crate-type cdylib,staticlib
built=$target/$profile

install -d "$to/include" "$to/lib/pkgconfig"
install -m 644 include/ambo.h include/ambo.hpp include/ambo_uqi.h "$to/include"
install -m 755 "$built/libambo_capi.so" "$to/lib/lib$name.so.$version"
# The version of the binary interface is the first number.
ln -sf "lib$name.so.$version" "$to/lib/lib$name.so.${version%%.*}"
ln -sf "lib$name.so.${version%%.*}" "$to/lib/lib$name.so"
install -m 644 "$built/libambo_capi.a" "$to/lib/lib$name.a"
for library in "$to/lib/lib$name.so.$version" "$to/lib/lib$name.a"; do
    strip --strip-debug "$library"
done
strip --strip-unneeded "$to/lib/lib$name.so.$version"
sed -e "s|@PREFIX@|$prefix|" -e "s|@NAME@|$name|" -e "s|@LIB@|$name|" -e "s|@VERSION@|$version|" \
    -e "s|@DESCRIPTION@|$description|" -e "s|@CFLAGS@|$cflags|" ambo.pc.in > "$to/lib/pkgconfig/$name.pc"
if [ "$name" = ambo ]; then
    # By it driver managers of ADBC find the driver as "ambo". They look in /etc; for other folders, ADBC_DRIVER_PATH names them.
    case $prefix in /usr | /usr/local) drivers=${DESTDIR:-}/etc/adbc/drivers ;; *) drivers=$to/etc/adbc/drivers ;; esac
    case $(uname -m) in x86_64) machine=amd64 ;; aarch64 | arm64) machine=arm64 ;; *) machine=$(uname -m) ;; esac
    install -d "$drivers"
    sed -e "s|@VERSION@|$version|" -e "s|@PLATFORM@|$(uname -s | tr A-Z a-z | sed s/darwin/macos/)_$machine|" -e "s|@LIBRARY@|$prefix/lib/lib$name.so.0|" \
        ambo.toml.in > "$drivers/ambo.toml"
fi
du -h "$to/lib/lib$name.so.$version" "$to/lib/lib$name.a"
