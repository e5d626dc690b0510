//! The tests of the Python package, run by the interpreter that `AMBO_PYTHON` names: `make test` makes an environment for it. Without it
//! they are left out, as where no Python is.
//!
//! The extension is built with the tests, for it is the library of this package.

use std::{env, ffi::OsStr, path::Path, process::Command};

#[test]
fn the_tests_of_the_package_pass() {
    let Some(python) = env::var_os("AMBO_PYTHON") else { return };
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = env::current_exe().unwrap();
    // Beside this test is what it was built with.
    let library = program.parent().unwrap().join("lib_ambo.so");
    assert!(library.exists(), "{} is not there", library.display());
    let place = tempfile::tempdir().unwrap();
    for name in ["ambo", "ambo_sqlalchemy", "adbc_driver_ambo"] {
        copy(&package.join(name), &place.path().join(name));
    }
    std::os::unix::fs::symlink(&library, place.path().join("ambo/_ambo.abi3.so")).unwrap();
    let tests = package.join("tests");
    run(
        &python,
        place.path(),
        &[
            "--doctest-modules",
            "--pyargs",
            "ambo",
            "ambo_sqlalchemy",
            "adbc_driver_ambo",
            tests.to_str().unwrap(),
        ],
    );
    let parallel = tests.join("test_parallel.py");
    run(&python, place.path(), &["--parallel-threads=8", parallel.to_str().unwrap()]);
    // Those of SQLAlchemy's make a database, and read their settings where they run.
    let suite = place.path().join("sqlalchemy_suite");
    copy(&tests.join("sqlalchemy_suite"), &suite);
    run(&python, &suite, &["test_suite.py"]);
}

/// Runs pytest in a folder.
fn run(python: &OsStr, folder: &Path, arguments: &[&str]) {
    let status = Command::new(python)
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider"])
        // A test that does not end shows where it is, and ends them all.
        .args(["-o", "faulthandler_timeout=240", "-o", "faulthandler_exit_on_timeout=true"])
        .args(arguments)
        // Not that of the package: Python looks there first.
        .current_dir(folder)
        .env("PYTHONPATH", folder.ancestors().find(|folder| folder.join("ambo").exists()).unwrap())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .status();
    let status = status.unwrap_or_else(|error| panic!("{}: {error}", Path::new(python).display()));
    assert!(status.success(), "pytest: {status}");
}

/// Copies the files of a folder.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for file in std::fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        if file.file_type().unwrap().is_file() {
            std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
        }
    }
}
