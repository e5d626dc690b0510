//! Small files that are written as a whole, under another name first: at any moment there is the one before, or the new one.

use std::{io::ErrorKind, sync::Arc};

use ambo_pages::io::{Disk, OpenMode};
use ambo_types::{Error, Result};

/// Replaces the file `name`, which is called `new_name` until its bytes are durable; durably.
pub(super) fn put(disk: &Arc<dyn Disk>, new_name: &str, name: &str, bytes: &[u8]) -> Result<()> {
    remove_if_there(disk, new_name)?;
    let write = || -> std::io::Result<()> {
        let file = disk.open(new_name, OpenMode::Create)?;
        file.write_at(bytes, 0)?;
        file.sync()?;
        disk.rename(new_name, name)?;
        disk.sync_directory()
    };
    write().map_err(|error| Error::io(format!("writing {name}"), error))
}

/// The bytes of a file; none if it is not there.
///
/// # Errors
/// [`Error::Damaged`] for one of more than `most` bytes.
pub(super) fn read(disk: &Arc<dyn Disk>, name: &str, most: u64) -> Result<Option<Vec<u8>>> {
    let failed = |error| ambo_pages::io::read_failed(name, 0, error);
    let file = match disk.open(name, OpenMode::Read) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        file => file.map_err(failed)?,
    };
    let len = file.len().map_err(failed)?;
    if len > most {
        return Err(Error::damaged(
            name,
            most,
            format!("the file has {len} bytes and should have {most} at most"),
        ));
    }
    let mut bytes = vec![0; len as usize];
    file.read_at(&mut bytes, 0).map_err(failed)?;
    Ok(Some(bytes))
}

/// Removes a file, if it is there.
pub(super) fn remove_if_there(disk: &Arc<dyn Disk>, name: &str) -> Result<()> {
    match disk.remove(name) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(Error::io(format!("removing {name}"), error))
        }
        _ => Ok(()),
    }
}
