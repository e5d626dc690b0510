//! Plug-ins of libraries, which are compiled here: Ambo's and upscaledb's descriptions, and what is not loaded.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    process::Command,
};

use ambo::{Database, Datum, Options, Storage, Type};

use crate::{create, error, single};

/// A predicate as upscaledb describes it.
const OF_UPSCALEDB: &str = r#"
#include <stddef.h>
#include <stdint.h>
typedef struct {
  const char *name;
  uint32_t type, flags, version;
  void *(*init)(int, int, uint32_t, int, uint32_t, const char *);
  void (*cleanup)(void *);
  void (*single)(void *, const void *, uint32_t, const void *, uint32_t);
  void (*many)(void *, const void *, const void *, size_t);
  int (*pred)(void *, const void *, uint32_t, const void *, uint32_t);
  void (*results)(void *, void *);
} plugin;
static uint64_t limit;
static void *init(int flags, int key, uint32_t key_size, int record, uint32_t record_size, const char *reserved) {
  (void)reserved;
  limit = flags == 3 && key == 7 && key_size == 4 && record == 9 && record_size == 8 ? 100 : 0;
  return &limit;
}
static int both_below(void *state, const void *key, uint32_t key_size, const void *record, uint32_t record_size) {
  return key_size == 4 && record_size == 8 && *(const uint32_t *)key + *(const uint64_t *)record < *(uint64_t *)state;
}
static plugin described = {"both_below", 1, 1, 0, init, NULL, NULL, NULL, both_below, NULL};
plugin *plugin_descriptor(const char *name) { return name[0] == 'b' ? &described : NULL; }
"#;

/// Compiles a library.
fn compile(source: &Path, library: &Path) {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ambo-capi/include");
    let done = Command::new("gcc")
        .args(["-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(include)
        .arg("-o")
        .args([library, source])
        .output()
        .expect("gcc is needed for this test");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    fs::set_permissions(library, fs::Permissions::from_mode(0o755)).unwrap();
}

fn sample() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../ambo-capi/examples/c/uqi_plugin.c")
}

/// A directory that nobody else writes to.
fn directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    directory
}

fn numbers(directory: &Path) -> Database {
    let db = Options::new().plugin_directory(directory).open_in_memory().unwrap();
    let t = create(&db, "numbers", Type::U32, Type::U64, Storage::BTree);
    for key in 0..1000u32 {
        let record = if key == 999 { Datum::Null } else { Datum::U64(u64::from(key) % 10) };
        t.insert_row(&[key.into(), record]).unwrap();
    }
    db
}

#[test]
fn functions_come_from_libraries() {
    let directory = directory();
    compile(&sample(), &directory.path().join("squares.so"));
    let source = directory.path().join("ups.c");
    fs::write(&source, OF_UPSCALEDB).unwrap();
    compile(&source, &directory.path().join("ups.so"));
    let db = numbers(directory.path());
    // 100 of each digit, less the 9 that is NULL.
    assert_eq!(
        single(&db, "\"sum_of_squares@squares.so\"($record) FROM numbers"),
        Datum::F64(28_500.0 - 81.0)
    );
    let even =
        "\"sum_of_squares@squares.so\"($record) FROM numbers WHERE \"even@squares.so\"($key) AND $key >= 500";
    assert_eq!(single(&db, even), Datum::F64(50.0 * (4.0 + 16.0 + 36.0 + 64.0)));
    assert_eq!(
        single(&db, "COUNT($key) FROM numbers WHERE NOT \"EVEN@squares.so\"($record)"),
        Datum::U64(500)
    );
    assert_eq!(single(&db, "COUNT($key) FROM numbers WHERE \"both_below@ups.so\"($key)"), Datum::U64(95));
    for (text, what) in [
        ("\"sum_of_squares@squares.so\"($key) FROM numbers", "`init` answered -1"),
        ("\"fails@squares.so\"($key) FROM numbers", "plug-in \"fails\": it was asked to fail"),
        ("\"even@squares.so\"($key) FROM numbers", "a predicate, not an aggregate"),
        (
            "COUNT($key) FROM numbers WHERE \"newer@squares.so\"($key)",
            "made for interface 2, and this is interface 1",
        ),
        ("\"none@squares.so\"($key) FROM numbers", "function \"none\" in library \"squares.so\""),
        ("\"x@ups.so\"($key) FROM numbers", "function \"x\" in library \"ups.so\""),
    ] {
        assert!(error(&db, text).contains(what), "{text}: {}", error(&db, text));
    }
}

#[test]
fn libraries_that_others_can_change_are_not_loaded() {
    let directory = directory();
    let library = directory.path().join("squares.so");
    compile(&sample(), &library);
    symlink(&library, directory.path().join("link.so")).unwrap();
    fs::write(directory.path().join("text.so"), "no library").unwrap();
    fs::copy(&library, directory.path().join("open.so")).unwrap();
    fs::set_permissions(directory.path().join("open.so"), fs::Permissions::from_mode(0o777)).unwrap();
    let db = numbers(directory.path());
    for (library, what) in [
        ("../squares.so", "no path"),
        ("/lib/squares.so", "no path"),
        (".", "no path"),
        ("link.so", "is not a regular file"),
        ("open.so", "can be written by others"),
        ("missing.so", "No such file"),
        ("text.so", "library \"text.so\" of plug-ins"),
    ] {
        let text = format!("COUNT($key) FROM numbers WHERE \"even@{library}\"($key)");
        assert!(error(&db, &text).contains(what), "{library}: {}", error(&db, &text));
    }
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let said = error(&db, "COUNT($key) FROM numbers WHERE \"even@squares.so\"($key)");
    assert!(said.contains("can be written by others"), "{said}");
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(single(&db, "COUNT($key) FROM numbers WHERE \"even@squares.so\"($key)"), Datum::U64(500));
    // Without a directory there is none, wherever the library lies.
    let closed = Database::in_memory().unwrap();
    create(&closed, "numbers", Type::U32, Type::U64, Storage::BTree);
    let said = error(&closed, "COUNT($key) FROM numbers WHERE \"even@squares.so\"($key)");
    assert!(said.contains("no library is loaded before a directory"), "{said}");
}
