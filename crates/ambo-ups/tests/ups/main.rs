//! Programs in the manner of upscaledb's own samples, compiled and run.

use std::path::{Path, PathBuf};

use library::{built, has, installed, package, run};

#[path = "../../../ambo-capi/tests/c/library.rs"]
mod library;

/// What cargo made, and the names that it is installed by.
const BUILT: &str = "libambo_ups.so";
const INSTALLED: [&str; 2] = ["libambo-ups.so", "libambo-ups.so.0"];

/// Compiles a program. Returns where it is.
fn compile(compiler: &str, standard: &str, source: &str, folder: &Path, more: &[&str]) -> PathBuf {
    let source = package().join("tests/ups/programs").join(source);
    let program = folder.join(format!("{}-{compiler}", source.file_stem().unwrap().to_string_lossy()));
    run(compiler, |command| {
        command.arg(format!("-std={standard}")).args(["-Wall", "-Wextra", "-Werror", "-pedantic"]).args(more);
        command.arg(&source).arg("-o").arg(&program).arg("-I").arg(package().join("include"));
        command.arg("-L").arg(folder).args(["-lambo-ups", "-lpthread"]);
        command.arg(format!("-Wl,-rpath,{}", folder.display()));
    });
    program
}

/// What a program prints when it is run with some input, by each compiler.
fn prints(source: &str, input: &str, wanted: &str) {
    let folder = installed();
    let sanitizers = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    let (compilers, standard) = match source.ends_with(".cpp") {
        true => (["g++", "clang++"], "c++17"),
        false => (["gcc", "clang"], "c99"),
    };
    for compiler in compilers.into_iter().filter(|compiler| has(compiler)) {
        let program = compile(compiler, standard, source, folder.path(), &sanitizers);
        let place = tempfile::tempdir().unwrap();
        let given = place.path().join("input");
        std::fs::write(&given, input).unwrap();
        let printed = run(&program, |command| {
            command.current_dir(place.path()).stdin(std::fs::File::open(&given).unwrap());
        });
        assert_eq!(printed, wanted, "{compiler} {source}");
    }
}

#[test]
fn db1_inserts_finds_and_erases() {
    prints("db1.c", "", "10 keys inserted\n10 keys found\n10 keys erased\nerased keys are gone\n");
}

#[test]
fn db2_copies_a_database_by_a_cursor() {
    prints("db2.c", "", "1000 items copied\n");
}

#[test]
fn db3_sorts_words() {
    prints("db3.c", "the quick fox and the lazy dog\n", "and\ndog\nfox\nlazy\nquick\nthe\n");
}

#[test]
fn db4_numbers_lines() {
    prints("db4.c", "one\ntwo\nthree\n", "1: one\n2: two\n3: three\n");
}

#[test]
fn env1_joins_two_databases() {
    prints("env1.c", "", "Ada\n  order 1 (Joe)\n  order 3 (Ben)\nBob\n  order 2 (Tom)\n");
}

#[test]
fn env2_has_an_order_for_each_item_of_a_key() {
    let customers = "customer 1 (Ada)\n  order 1 (Joe)\n  order 2 (Tom)\n  order 8 (Ben)\ncustomer 2 (Bob)\n";
    prints("env2.c", "", &format!("{customers}customer 3 (Cy)\n  order 3 (Joe)\n  order 5 (Ben)\n"));
}

#[test]
fn env3_in_cpp() {
    prints("env3.cpp", "", "Ada has 2 orders\nBob has 1 orders\n");
}

#[test]
fn transactions_commit_abort_and_conflict() {
    prints("txn.c", "", "");
}

#[test]
fn all_of_the_interface() {
    prints("interface.c", "", "");
}

#[test]
fn uqi1_computes() {
    prints("uqi1.c", "", "count 10000, sum 154900, tens 334, distinct tops 28 29 30, three pages of 10000\n");
}

#[test]
fn uqi2_has_plugins_of_its_own() {
    prints("uqi2.c", "", "mycount($record): 334\n");
}

#[test]
fn only_its_symbols_are_seen_and_all_of_the_header() {
    if !has("nm") {
        return;
    }
    let listed = run("nm", |command| {
        command.args(["-D", "--defined-only"]).arg(built());
    });
    let symbols: Vec<_> = listed.lines().filter_map(|line| line.split_whitespace().last()).collect();
    let others: Vec<_> =
        symbols.iter().filter(|name| !name.starts_with("ups_") && !name.starts_with("uqi_")).collect();
    assert!(others.is_empty(), "{others:?}");
    let header = library::text("include/ups/upscaledb.h") + &library::text("include/ups/upscaledb_uqi.h");
    let declared = header.lines().filter(|line| line.starts_with("UPS_EXPORT "));
    let declared: Vec<_> =
        declared.map(|line| line.split_once('(').unwrap().0.rsplit([' ', '*']).next().unwrap()).collect();
    assert!(declared.len() >= 39, "{declared:?}");
    for name in &declared {
        assert!(symbols.contains(name), "{name} is declared and not there");
    }
    assert_eq!(declared.len(), symbols.len());
}
