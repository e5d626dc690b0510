//! Groups of an encrypted database.

use std::sync::Arc;

use ambo_types::Result;

use super::{
    format::{FLAG_SEALED, GROUP_HEADER_BYTES, GroupHeader},
    transaction::Origin,
};
use crate::{
    io::Disk,
    seal::{Keys, Kind, Sealer, TRAILER_BYTES},
};

/// Memory that is kept from group to group.
const KEPT_BYTES: usize = 1 << 20;

/// Seals the groups of one writer.
#[derive(Debug)]
pub(super) struct GroupSealer {
    keys: Arc<Keys>,
    /// None until the first group.
    sealer: Option<Sealer>,
    bytes: Vec<u8>,
}

impl GroupSealer {
    /// What sealing adds to the stored bytes of a group, and to its flags.
    pub const ADDS: (usize, u32) = (TRAILER_BYTES, FLAG_SEALED);

    /// The one for a log on that disk, if it is encrypted.
    pub fn of(disk: &dyn Disk) -> Option<Self> {
        let keys = Arc::clone(disk.sealed()?.keys());
        Some(Self { keys, sealer: None, bytes: Vec::new() })
    }

    /// Room for the header, and the sealed bytes of what follows the header's room in `group`.
    pub fn seal(&mut self, header: &GroupHeader, group: &[u8]) -> Result<&mut Vec<u8>> {
        let sealer = match &self.sealer {
            Some(sealer) => sealer,
            None => self.sealer.insert(Sealer::new(Arc::clone(&self.keys), Kind::Log)?),
        };
        self.bytes.clear();
        self.bytes.reserve(group.len() + TRAILER_BYTES);
        self.bytes.extend_from_slice(group);
        let trailer = sealer.seal(&header.bound(), &mut self.bytes[GROUP_HEADER_BYTES..])?;
        self.bytes.extend_from_slice(&trailer);
        Ok(&mut self.bytes)
    }

    /// Gives back what a large group took.
    pub fn trim(&mut self) {
        self.bytes.truncate(KEPT_BYTES);
        self.bytes.shrink_to(KEPT_BYTES);
    }
}

/// Opens the stored bytes of a group into `opened`, if it is sealed.
pub(super) fn open<'b>(
    keys: Option<&Arc<Keys>>,
    header: &GroupHeader,
    stored: &'b [u8],
    opened: &'b mut Vec<u8>,
    source: Origin<'_>,
) -> Result<&'b [u8]> {
    match (keys, header.flags & FLAG_SEALED != 0) {
        (None, false) => Ok(stored),
        (None, true) => Err(source.damaged("this group is encrypted, but the database is not")),
        (Some(_), false) => Err(source.damaged("this group is not encrypted, but the database is")),
        (Some(keys), true) => {
            opened.clear();
            opened.extend_from_slice(stored);
            let plain = keys.open(Kind::Log, &header.bound(), opened).map(|plain| plain.len());
            let plain = plain.ok_or_else(|| source.damaged("this group is not what was sealed there"))?;
            Ok(&opened[..plain])
        }
    }
}
