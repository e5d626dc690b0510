//! Texts of UUIDs, and back: 32 digits with hyphens as RFC 9562 has them, or, as PostgreSQL reads them, behind any four digits, or none;
//! and in braces.

use std::sync::Arc;

use super::UUID_LEN;
use ambo::uuid_text;
use arrow::{
    array::{Array, ArrayRef, AsArray, FixedSizeBinaryArray, FixedSizeBinaryBuilder, StringArray},
    compute::cast,
    datatypes::DataType,
};
use datafusion::common::{Result, exec_err};

/// The bytes of the UUID that a text is.
fn read_uuid(text: &str) -> Option<[u8; 16]> {
    let text = text.trim();
    let text = text.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')).unwrap_or(text);
    let (mut number, mut digits) = (0u128, 0);
    for sign in text.chars() {
        match sign.to_digit(16) {
            Some(digit) if digits < 32 => {
                number = number << 4 | u128::from(digit);
                digits += 1;
            }
            None if sign == '-' && digits % 4 == 0 && digits > 0 && digits < 32 => {}
            _ => return None,
        }
    }
    (digits == 32 && !text.contains("--")).then(|| number.to_be_bytes())
}

/// The texts of UUIDs; NULL of NULL.
pub(crate) fn uuid_texts(uuids: &FixedSizeBinaryArray) -> StringArray {
    let text = |row| uuids.is_valid(row).then(|| uuid_text(uuids.value(row)));
    (0..uuids.len()).map(text).collect()
}

/// Texts as UUIDs; what is none is an error, or NULL if that is not `strict`.
pub(super) fn uuids(texts: &ArrayRef, strict: bool) -> Result<ArrayRef> {
    let texts = cast(texts, &DataType::Utf8)?;
    let mut uuids = FixedSizeBinaryBuilder::with_capacity(texts.len(), UUID_LEN);
    for text in texts.as_string::<i32>() {
        match text.map(|text| (text, read_uuid(text))) {
            Some((_, Some(uuid))) => uuids.append_value(uuid)?,
            Some((text, None)) if strict => return exec_err!("'{text}' is no uuid"),
            _ => uuids.append_null(),
        }
    }
    Ok(Arc::new(uuids.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps away: texts that are taken for another UUID, or for one at all.
    #[test]
    fn uuids_are_read_as_postgresql_does() {
        let text = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";
        for same in [
            text,
            "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",
            "{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}",
            "a0eebc999c0b4ef8bb6d6bb9bd380a11",
            " a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11 ",
        ] {
            assert_eq!(read_uuid(same).map(|uuid| uuid_text(&uuid)).as_deref(), Some(text), "{same}");
        }
        for other in [
            "",
            "{",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a111",
            "a0eebc9-99c0b-4ef8-bb6d-6bb9bd380a11",
            "a0eebc99--9c0b-4ef8-bb6d-6bb9bd380a11",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11-",
            "g0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
            "{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        ] {
            assert_eq!(read_uuid(other), None, "{other}");
        }
    }
}
