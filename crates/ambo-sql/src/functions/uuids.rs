//! UUIDs: `uuid()`, `gen_random_uuid()`, `uuidv4()` of chance, `uuidv7()` in the order of time, and what is in them.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

use datafusion::common::{Result, exec_datafusion_err};
use uuid::{Builder, Uuid};

use super::plain::{
    Form, Given,
    Kind::{self, Text, Whole},
    Made, Named,
};

pub(super) static ALL: [Named; 4] = [
    Named {
        names: &["uuid", "gen_random_uuid", "uuidv4"],
        is_volatile: true,
        forms: &[Form {
            takes: &[],
            gives: Kind::Uuid,
            make: |_| Ok(Made::Uuid(Uuid::new_v4().into_bytes())),
        }],
    },
    Named {
        names: &["uuidv7"],
        is_volatile: true,
        forms: &[Form { takes: &[], gives: Kind::Uuid, make: |_| Ok(Made::Uuid(of_now().into_bytes())) }],
    },
    Named {
        names: &["uuid_extract_version"],
        is_volatile: false,
        forms: &[
            Form { takes: &[Kind::Uuid], gives: Whole, make: version },
            Form { takes: &[Text], gives: Whole, make: version },
        ],
    },
    Named {
        names: &["uuid_milliseconds"],
        is_volatile: false,
        forms: &[
            Form { takes: &[Kind::Uuid], gives: Whole, make: milliseconds },
            Form { takes: &[Text], gives: Whole, make: milliseconds },
        ],
    },
];

/// RFC 9562, 5.7 and 6.2: milliseconds since 1970 and parts of one, each time more than before, and then chance.
#[expect(clippy::disallowed_methods, reason = "as the planner's now(), it is the machine's")]
fn of_now() -> Uuid {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let part = u64::from(since.subsec_nanos() % 1_000_000) * 4096 / 1_000_000;
    let now = (since.as_millis() as u64) << 12 | part;
    let next = |last: u64| Some(now.max(last + 1));
    let last = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).unwrap_or_default();
    let at = now.max(last + 1);
    let mut bytes = [0; 10];
    bytes.copy_from_slice(&Uuid::new_v4().into_bytes()[6..]);
    bytes[..2].copy_from_slice(&((at & 0xFFF) as u16).to_be_bytes());
    // The first of these has the variant of the other in two of its bits.
    bytes[2] = Uuid::new_v4().into_bytes()[0];
    Builder::from_unix_timestamp_millis(at >> 12, &bytes).into_uuid()
}

fn version(of: &[Given<'_>]) -> Result<Made> {
    Ok((read(of)?.get_version_num() as i64).into())
}

fn read(of: &[Given<'_>]) -> Result<Uuid> {
    if let Given::Blob(bytes) = of[0] {
        return Uuid::from_slice(bytes)
            .map_err(|_| exec_datafusion_err!("{} bytes are no uuid", bytes.len()));
    }
    let text = of[0].text();
    Uuid::parse_str(text).map_err(|_| exec_datafusion_err!("'{text}' is no UUID"))
}

/// When a UUID of version 7 was made.
fn milliseconds(of: &[Given<'_>]) -> Result<Made> {
    let uuid = read(of)?;
    Ok(match uuid.get_version_num() {
        7 => Made::Whole((uuid.as_u128() >> 80) as i64),
        _ => Made::Nothing,
    })
}
