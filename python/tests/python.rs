//! The tests of the Python package, run by the interpreter that `AMBO_PYTHON` names: `make test` makes an environment for it. Without it
//! they are left out, as where no Python is.
//!
//! The extension is built with the tests, for it is the library of this package.

use std::{env, path::Path, process::Command};

#[test]
fn the_tests_of_the_package_pass() {
    let Some(python) = env::var_os("AMBO_PYTHON") else { return };
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = env::current_exe().unwrap();
    // Beside this test is what it was built with.
    let library = program.parent().unwrap().join("lib_ambo.so");
    assert!(library.exists(), "{} is not there", library.display());
    let place = tempfile::tempdir().unwrap();
    let ambo = place.path().join("ambo");
    std::fs::create_dir(&ambo).unwrap();
    for file in std::fs::read_dir(package.join("ambo")).unwrap() {
        let file = file.unwrap();
        if file.file_type().unwrap().is_file() {
            std::fs::copy(file.path(), ambo.join(file.file_name())).unwrap();
        }
    }
    std::os::unix::fs::symlink(&library, ambo.join("_ambo.abi3.so")).unwrap();
    let status = Command::new(&python)
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "--doctest-modules"])
        // A test that does not end shows where it is, and ends them all.
        .args(["-o", "faulthandler_timeout=240", "-o", "faulthandler_exit_on_timeout=true"])
        .args([package.join("tests").as_os_str(), "--pyargs".as_ref(), "ambo".as_ref()])
        // Not that of the package: Python looks there first.
        .current_dir(place.path())
        .env("PYTHONPATH", place.path())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .status();
    let status = status.unwrap_or_else(|error| panic!("{}: {error}", Path::new(&python).display()));
    assert!(status.success(), "pytest: {status}");
}
