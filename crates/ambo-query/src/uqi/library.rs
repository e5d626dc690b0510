//! Libraries with plug-ins.
//!
//! 1. A library is code in this process: it may read and break everything. None is loaded before its directory was said.
//! 2. Its name is that of a file in there, no path. The file is a regular one, no link; it and the directory belong to the user of this
//!    process or to root, and nobody else may write to them.
//! 3. It is loaded with all that it needs, seen by nobody else, and stays: what it has given out is called as long as the process runs.

use std::{
    collections::HashMap,
    ffi::{CString, c_char},
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use ambo_types::{Error, Result};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW, Symbol};

use super::{
    c_abi::{AMBO_UQI_ABI, AmboUqiPlugin},
    c_plugin,
    plugin::Described,
    ups_abi::{self, UpsPlugin},
};

type Descriptor = unsafe extern "C" fn(*const c_char, u32) -> *const AmboUqiPlugin;
type UpsDescriptor = unsafe extern "C" fn(*const c_char) -> *const UpsPlugin;

/// The libraries that were loaded.
#[derive(Default)]
pub(super) struct Libraries(HashMap<PathBuf, &'static Library>);

impl Libraries {
    /// A function of a library in a directory.
    pub(super) fn function(&mut self, directory: &Path, library: &str, function: &str) -> Result<Described> {
        let wrong = |what: String| Error::Invalid(format!("library \"{library}\" of plug-ins: {what}"));
        let is_plain =
            !library.is_empty() && !library.starts_with('.') && !library.contains(['/', '\\', '\0']);
        if !is_plain {
            return Err(wrong("its name is that of a file in the directory for plug-ins, no path".into()));
        }
        let path = directory.join(library);
        let known = match self.0.get(&path) {
            Some(known) => known,
            None => {
                check(directory, true).and_then(|()| check(&path, false)).map_err(wrong)?;
                // SAFETY: what it does when it is loaded is the matter of whoever put it into the directory: rule 1.
                let loaded = unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_LOCAL) };
                let loaded = loaded.map_err(|error| wrong(error.to_string()))?;
                let loaded: &'static Library = Box::leak(Box::new(loaded));
                self.0.insert(path, loaded);
                loaded
            }
        };
        let name = CString::new(function).map_err(|_| wrong("a name with a zero byte".into()))?;
        described(known, &name).map_err(|error| wrong(error.to_string()))?.ok_or_else(|| {
            Error::NotFound(format!("function \"{function}\" in library \"{library}\" of plug-ins"))
        })
    }
}

/// What a library says of a function; none if it has none of that name.
fn described(library: &'static Library, name: &CString) -> Result<Option<Described>> {
    // SAFETY: the symbol is a function of this type by `ambo_uqi.h`, and what it describes stays, for the library does.
    if let Ok(descriptor) = unsafe { library.get::<Descriptor>(b"ambo_uqi_plugin_descriptor\0") } {
        let descriptor: Symbol<Descriptor> = descriptor;
        // SAFETY: as above.
        let plugin = unsafe { descriptor(name.as_ptr(), AMBO_UQI_ABI) };
        // SAFETY: as above.
        return if plugin.is_null() { Ok(None) } else { unsafe { c_plugin::described(plugin) }.map(Some) };
    }
    // SAFETY: the symbol is a function of this type by upscaledb's rules, and what it describes stays.
    match unsafe { library.get::<UpsDescriptor>(b"plugin_descriptor\0") } {
        Ok(descriptor) => {
            // SAFETY: as above.
            let plugin = unsafe { descriptor(name.as_ptr()) };
            // SAFETY: as above.
            if plugin.is_null() { Ok(None) } else { unsafe { ups_abi::described(plugin) }.map(Some) }
        }
        Err(_) => {
            Err(Error::Invalid("it has neither ambo_uqi_plugin_descriptor nor plugin_descriptor".into()))
        }
    }
}

/// Rule 2, in words where it is broken.
fn check(path: &Path, is_directory: bool) -> Result<(), String> {
    let shown = path.display();
    let of = fs::symlink_metadata(path).map_err(|error| format!("{shown}: {error}"))?;
    let is_right = if is_directory { of.is_dir() } else { of.is_file() };
    if !is_right {
        let what = if is_directory { "directory" } else { "regular file" };
        return Err(format!("{shown} is not a {what}"));
    }
    // SAFETY: it always succeeds.
    let user = unsafe { libc::geteuid() };
    if of.uid() != user && of.uid() != 0 {
        return Err(format!("{shown} belongs to another user than this process and root"));
    }
    if of.mode() & 0o022 != 0 {
        return Err(format!("{shown} can be written by others; take that away (chmod go-w)"));
    }
    Ok(())
}
