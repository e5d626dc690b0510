//! Hashes that the planner does not have.

use sha1::{Digest, Sha1};

use super::plain::{
    Form,
    Kind::{Blob, Text},
    Named,
};

pub(super) static ALL: [Named; 1] = [Named {
    names: &["sha1"],
    is_volatile: false,
    forms: &[
        Form { takes: &[Text], gives: Text, make: |of| Ok(sha1(of[0].bytes()).into()) },
        Form { takes: &[Blob], gives: Text, make: |of| Ok(sha1(of[0].bytes()).into()) },
    ],
}];

/// Its digits, as DuckDB, SQLite and MySQL have them.
fn sha1(bytes: &[u8]) -> String {
    Sha1::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
