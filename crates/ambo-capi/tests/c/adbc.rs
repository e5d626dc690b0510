//! The driver of ADBC in the library, loaded from Go by its driver manager. `AMBO_ADBC_GO` names the program, which `make test` builds.

use std::{env, fs};

use crate::library::{built, run, say};

#[test]
fn go_loads_the_driver() {
    let Some(program) = env::var_os("AMBO_ADBC_GO") else {
        return say("AMBO_ADBC_GO names no program of Go's");
    };
    let place = tempfile::tempdir().unwrap();
    let (drivers, path) = (place.path().join("drivers"), place.path().join("db"));
    fs::create_dir(&drivers).unwrap();
    // As `make install-c` writes it.
    let manifest = fs::read_to_string(crate::library::package().join("ambo.toml.in")).unwrap();
    let manifest =
        manifest.replace("@VERSION@", env!("CARGO_PKG_VERSION")).replace("@PLATFORM@", &platform());
    fs::write(drivers.join("ambo.toml"), manifest.replace("@LIBRARY@", built().to_str().unwrap())).unwrap();
    let printed = run(program, |command| {
        command.arg(built()).arg(&path).env("ADBC_DRIVER_PATH", &drivers);
    });
    assert_eq!(printed, "sound\n");
    let db = ambo::Database::open(&path).unwrap();
    assert_eq!(db.table("towns").unwrap().len().unwrap(), 2);
    assert!(db.check().unwrap().is_sound());
}

/// What driver managers call this machine.
fn platform() -> String {
    let machine = match env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{}_{machine}", env::consts::OS)
}
