//! What definitions of tables, indexes and views are written with: numbers, texts, and texts that may be missing.

use ambo_codec::varint;

/// Appends a text.
pub fn put_text(out: &mut Vec<u8>, text: &str) {
    varint::encode(text.len() as u64, out);
    out.extend_from_slice(text.as_bytes());
}

/// Appends a text that may be missing.
pub fn put_optional(out: &mut Vec<u8>, text: Option<&str>) {
    varint::encode(text.map_or(0, |text| text.len() as u64 + 1), out);
    out.extend_from_slice(text.unwrap_or_default().as_bytes());
}

/// Bytes being decoded. Each method fails with what is wrong with them.
pub struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    /// The next bytes.
    pub fn take(&mut self, len: usize) -> Result<&'a [u8], String> {
        let (head, rest) = self.0.split_at_checked(len).ok_or("a table definition that is cut off")?;
        self.0 = rest;
        Ok(head)
    }
    /// The next byte.
    pub fn byte(&mut self) -> Result<u8, String> {
        Ok(self.take(1)?[0])
    }
    /// A number, `max` at most.
    pub fn count(&mut self, max: usize) -> Result<usize, String> {
        let (value, len) = varint::decode(self.0).ok_or("a bad varint in a table definition")?;
        self.take(len)?;
        usize::try_from(value)
            .ok()
            .filter(|value| *value <= max)
            .ok_or_else(|| format!("{value} is too many"))
    }
    /// A text.
    pub fn text(&mut self) -> Result<String, String> {
        let len = self.count(usize::MAX)?;
        String::from_utf8(self.take(len)?.to_vec()).map_err(|_| "a name that is not UTF-8".into())
    }
    /// A text that may be missing.
    pub fn optional(&mut self) -> Result<Option<String>, String> {
        let Some(len) = self.count(usize::MAX)?.checked_sub(1) else { return Ok(None) };
        let text = String::from_utf8(self.take(len)?.to_vec()).map_err(|_| "a text that is not UTF-8")?;
        Ok(Some(text))
    }
}
