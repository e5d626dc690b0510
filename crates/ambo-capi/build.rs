//! What the linker is told of the shared library. The version is the major one, and before 1.0 that is 0.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        let name = if std::env::var_os("CARGO_FEATURE_SQL").is_some() { "ambo" } else { "ambo-kv" };
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,lib{name}.so.0");
        // A crate among those that are linked shows functions to C.
        println!("cargo:rustc-cdylib-link-arg=-Wl,--exclude-libs,ALL");
        // Threads of the engine, and what it told about forks, must not be left without their code.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
