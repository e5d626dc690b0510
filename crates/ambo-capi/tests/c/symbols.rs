//! What the library shows of itself.

use std::collections::BTreeSet;

use crate::library::{built, has, run, text};

#[test]
fn only_our_symbols_are_seen_and_all_of_the_header() {
    if !has("nm") {
        return;
    }
    let listed = run("nm", |command| {
        command.args(["-D", "--defined-only"]).arg(built());
    });
    let symbols: BTreeSet<_> = listed.lines().filter_map(|line| line.split_whitespace().last()).collect();
    let others: Vec<_> =
        symbols.iter().filter(|name| !name.starts_with("ambo_") && !name.starts_with("Adbc")).collect();
    assert!(others.is_empty(), "symbols of others: {others:?}");
    let header = text("include/ambo.h");
    let declared: BTreeSet<_> = header
        .lines()
        .filter(|line| line.starts_with("AMBO_API "))
        .filter_map(|line| line.split_once('(')?.0.rsplit([' ', '*']).next())
        .collect();
    assert!(declared.len() > 100, "{declared:?}");
    assert_eq!(declared, symbols.into_iter().filter(|name| name.starts_with("ambo_")).collect());
}

#[test]
fn the_library_has_its_name_and_stays_loaded() {
    if !has("readelf") {
        return;
    }
    let dynamic = run("readelf", |command| {
        command.arg("-dW").arg(built());
    });
    assert!(dynamic.contains("[libambo.so.0]"), "{dynamic}");
    assert!(dynamic.contains("NODELETE"), "{dynamic}");
    // An allocator of its own, or the like, would ask for memory of each thread that a program may not have left.
    let headers = run("readelf", |command| {
        command.arg("-lW").arg(built());
    });
    for line in headers.lines().filter(|line| line.trim_start().starts_with("TLS")) {
        let size = line.split_whitespace().nth(5).unwrap().trim_start_matches("0x");
        let size = u64::from_str_radix(size, 16).unwrap();
        assert!(size < 4096, "{size} bytes of each thread");
    }
}
