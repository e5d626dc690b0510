//! The worked example of `docs/formats/postings.md`.

use ambo_codec::{Type, Value};
use ambo_types::id::TableId;

use super::{
    IndexSpec,
    tests::{SEGMENT, gathered},
};

const DATABASE: u128 = 0x00ff_eedd_ccbb_aa99_8877_6655_4433_2211;

fn hex(bytes: &[u8]) -> String {
    let line = |line: &[u8]| line.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
    bytes.chunks(16).map(line).collect::<Vec<_>>().join("\n")
}

/// Keeps away: files that other versions of the program cannot read.
#[test]
fn worked_example() {
    let spec = IndexSpec { id: TableId(9), columns: vec![0], any: false };
    let rows: Vec<_> = [80u16, 443, 80, 22, 80].map(|port| vec![Value::U16(port)]).into();
    let (bytes, _) = gathered(&spec, &[Type::U16], &rows).writer(SEGMENT).finish(DATABASE).unwrap();
    let page = include_str!("../../../../../docs/formats/postings.md");
    let shown: String = page
        .lines()
        .filter_map(|line| line.strip_prefix("    ")?.split_once("  "))
        .filter(|(at, _)| at.len() == 4 && at.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .map(|(_, bytes)| format!("{bytes}\n"))
        .collect();
    assert_eq!(hex(&bytes), shown.trim_end());
}
