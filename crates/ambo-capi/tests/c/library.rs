//! The library under the names that it is installed by, and tools. Tests of other libraries for C include this file.

use std::{
    env,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Where the package is.
pub(crate) fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What cargo made beside the test.
pub(crate) fn built() -> PathBuf {
    let library = env::current_exe().unwrap().parent().unwrap().join(crate::BUILT);
    assert!(library.exists(), "{} is not there", library.display());
    library
}

/// A folder with the library as it is installed.
pub(crate) fn installed() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in crate::INSTALLED {
        std::os::unix::fs::symlink(built(), folder.path().join(name)).unwrap();
    }
    folder
}

/// Whether a tool is there; says so if not.
pub(crate) fn has(tool: &str) -> bool {
    let paths = env::var_os("PATH").unwrap_or_default();
    let is_there = env::split_paths(&paths).any(|folder| folder.join(tool).exists());
    if !is_there {
        assert!(env::var("AMBO_C_TOOLS").as_deref() != Ok("all"), "{tool} is not there");
        say(&format!("left out: {tool} is not there"));
    }
    is_there
}

/// Tells whoever runs the tests.
pub(crate) fn say(what: &str) {
    use std::io::Write;
    // Not by a macro: what tests print is kept from those who run them.
    let _ = writeln!(std::io::stderr(), "{}: {what}", env!("CARGO_PKG_NAME"));
}

/// Runs a program that has to succeed; what it printed.
pub(crate) fn run(program: impl AsRef<OsStr>, set: impl FnOnce(&mut Command)) -> String {
    let mut command = Command::new(&program);
    set(&mut command);
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{printed}\n{complaints}", output.status);
    printed
}

/// The text of a file of the package.
pub(crate) fn text(path: &str) -> String {
    let path = package().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
