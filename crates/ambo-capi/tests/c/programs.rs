//! Programs in C and C++, compiled by each compiler that is there with all warnings, and run under its sanitizers.

use std::path::{Path, PathBuf};

use crate::library::{has, installed, package, run, text};

/// What may not be said of a program.
const STRICT: [&str; 5] = ["-Wall", "-Wextra", "-Wshadow", "-Werror", "-pedantic"];
const SANITIZERS: [&str; 3] = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

/// Compiles a program. Returns where it is.
fn compile(compiler: &str, standard: &str, source: &str, folder: &Path, more: &[&str]) -> PathBuf {
    let source = package().join(source);
    let program =
        folder.join(format!("{}-{compiler}-{standard}", source.file_stem().unwrap().to_string_lossy()));
    run(compiler, |command| {
        command.arg(format!("-std={standard}")).args(STRICT).args(more).arg(&source).arg("-o").arg(&program);
        command.arg("-I").arg(package().join("include")).arg("-L").arg(folder).args(["-lambo", "-lpthread"]);
        command.arg(format!("-Wl,-rpath,{}", folder.display()));
    });
    program
}

/// Runs a program with a place for a database. What it printed.
fn start(program: &Path) -> String {
    let place = tempfile::tempdir().unwrap();
    run(program, |command| {
        command.arg(place.path().join("db")).env("ASAN_OPTIONS", "detect_leaks=1");
    })
}

/// Compiles and runs an example, which prints what its `.out` has.
fn example(compilers: [&str; 2], standard: &str, source: &str) {
    let folder = installed();
    let wanted = text(&format!("{}.out", source.rsplit_once('.').unwrap().0));
    for compiler in compilers.into_iter().filter(|compiler| has(compiler)) {
        let program = compile(compiler, standard, source, folder.path(), &SANITIZERS);
        assert_eq!(start(&program), wanted, "{compiler} {source}");
    }
}

/// The same of a program that says whether all is well.
fn test(source: &str, more: &[&str]) {
    let folder = installed();
    for compiler in ["gcc", "clang"].into_iter().filter(|compiler| has(compiler)) {
        let program = compile(compiler, "c99", &format!("tests/c/programs/{source}"), folder.path(), more);
        assert_eq!(start(&program), "", "{compiler} {source}");
    }
}

#[test]
fn keys_in_c() {
    example(["gcc", "clang"], "c99", "examples/c/keys.c");
}

#[test]
fn transactions_in_c() {
    example(["gcc", "clang"], "c99", "examples/c/transactions.c");
}

#[test]
fn sql_in_c() {
    example(["gcc", "clang"], "c99", "examples/c/sql.c");
}

#[test]
fn arrow_in_c() {
    example(["gcc", "clang"], "c99", "examples/c/arrow.c");
}

#[test]
fn keys_in_cpp() {
    example(["g++", "clang++"], "c++17", "examples/cpp/keys.cpp");
}

#[test]
fn sql_in_cpp() {
    example(["g++", "clang++"], "c++17", "examples/cpp/sql.cpp");
}

#[test]
fn examples_of_the_book() {
    let folder = installed();
    let page = text("../../docs/book/src/c.md");
    for (fence, compilers, standard, printed) in
        [("```c\n", ["gcc", "clang"], "c99", "Norway\n"), ("```cpp\n", ["g++", "clang++"], "c++17", "2\n")]
    {
        let (_, source) = page.split_once(fence).unwrap();
        let place = folder.path().join(format!("book.{}", &fence[3..fence.len() - 1]));
        std::fs::write(&place, source.split_once("```").unwrap().0).unwrap();
        for compiler in compilers.into_iter().filter(|compiler| has(compiler)) {
            let program = compile(compiler, standard, place.to_str().unwrap(), folder.path(), &[]);
            assert_eq!(run(program, |_| ()), printed);
        }
    }
}

#[test]
fn misuse_is_found_out() {
    test("misuse.c", &SANITIZERS);
}

#[test]
fn what_was_freed_is_found_out() {
    test("used_again.c", &[]);
}

#[test]
fn values_of_all_kinds_and_all_ways_to_seek() {
    test("everything.c", &SANITIZERS);
}

#[test]
fn aggregates_by_uqi() {
    test("uqi.c", &SANITIZERS);
}

#[test]
fn backups_changes_and_ranges() {
    test("following.c", &SANITIZERS);
}

#[test]
fn sources_are_fed_with_tokens() {
    test("feed.c", &SANITIZERS);
}

#[test]
fn backups_and_changes_in_cpp() {
    example(["g++", "clang++"], "c++17", "examples/cpp/following.cpp");
}

#[test]
fn threads_share_handles() {
    test("threads.c", &SANITIZERS);
}

#[test]
fn statements_are_interrupted() {
    test("interrupts.c", &SANITIZERS);
}

#[test]
fn children_of_forks_use_nothing_of_their_parents() {
    test("forks.c", &[]);
}

#[test]
fn the_headers_are_of_each_standard() {
    let header = package().join("include/ambo.h");
    for (compilers, language, standards, header) in [
        (["gcc", "clang"], "c", &["c99", "c11", "c17"][..], header.clone()),
        (["g++", "clang++"], "c++", &["c++17", "c++20"][..], header.with_extension("hpp")),
    ] {
        for compiler in compilers.into_iter().filter(|compiler| has(compiler)) {
            for standard in standards {
                run(compiler, |command| {
                    command.arg(format!("-std={standard}")).args(STRICT).args([
                        "-fsyntax-only",
                        "-x",
                        language,
                    ]);
                    // A header as the program itself is warned of.
                    command.args(["-include".as_ref(), header.as_os_str(), "/dev/null".as_ref()]);
                });
            }
        }
    }
}

#[test]
fn valgrind_finds_nothing() {
    if !has("valgrind") || !has("gcc") || !has("strip") {
        return;
    }
    let folder = installed();
    let examples = ["keys", "transactions", "sql", "arrow"].map(|name| {
        let source = format!("examples/c/{name}.c");
        (compile("gcc", "c99", &source, folder.path(), &["-g"]), format!("examples/c/{name}.out"))
    });
    // Valgrind would read half a gigabyte of what debuggers want to know.
    let small = folder.path().join("libambo.so.0");
    std::fs::remove_file(&small).unwrap();
    run("strip", |command| {
        command.args(["--strip-all", "-o"]).arg(&small).arg(crate::library::built());
    });
    for (program, wanted) in examples {
        let place = tempfile::tempdir().unwrap();
        let printed = run("valgrind", |command| {
            command.args(["-q", "--error-exitcode=9", "--leak-check=full"]);
            command.arg("--errors-for-leak-kinds=definite").arg(&program).arg(place.path().join("db"));
        });
        assert_eq!(printed, text(&wanted), "{wanted}");
    }
}
