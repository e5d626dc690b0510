//! Bytes as text that a person can read, type and paste back.
//!
//! Valid UTF-8 stands for itself, but for the control characters and the backslash. The rest are escapes:
//! `\n` `\r` `\t` `\0` `\\` `\"` `\'` and `\xNN`. The bytes `61 00 FF 5C` read `a\0\xff\\`.

use std::fmt::Write as _;

/// Shows bytes; [`unescape`] reads the result back to the same bytes.
pub fn escape(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            escape_char(&mut text, c);
        }
        for byte in chunk.invalid() {
            write_hex(&mut text, *byte);
        }
    }
    text
}

fn escape_char(text: &mut String, c: char) {
    match c {
        '\n' => text.push_str("\\n"),
        '\r' => text.push_str("\\r"),
        '\t' => text.push_str("\\t"),
        '\0' => text.push_str("\\0"),
        '\\' => text.push_str("\\\\"),
        c if c.is_control() => c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| write_hex(text, byte)),
        c => text.push(c),
    }
}

fn write_hex(text: &mut String, byte: u8) {
    write!(text, "\\x{byte:02x}").expect("a String takes any text");
}

/// Reads what [`escape`] writes. The error names the escape and says which there are.
pub fn unescape(text: &[u8]) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, tail)) = rest.split_first() {
        rest = tail;
        if first != b'\\' {
            bytes.push(first);
            continue;
        }
        let (byte, used) = escape_code(rest)?;
        bytes.push(byte);
        rest = &rest[used..];
    }
    Ok(bytes)
}

/// The byte that the escape behind a backslash means, and the escape's length without the backslash.
fn escape_code(rest: &[u8]) -> Result<(u8, usize), String> {
    let byte = match rest.first() {
        Some(b'n') => b'\n',
        Some(b'r') => b'\r',
        Some(b't') => b'\t',
        Some(b'0') => 0,
        Some(&c @ (b'\\' | b'"' | b'\'' | b' ')) => c,
        Some(b'x') => return hex_code(rest),
        Some(&c) => return Err(unknown(&format!("\\{}", char::from(c)))),
        None => return Err("a lone backslash at the end; write it as \\\\".into()),
    };
    Ok((byte, 1))
}

fn hex_code(rest: &[u8]) -> Result<(u8, usize), String> {
    let digits = rest.get(1..3).and_then(|digits| std::str::from_utf8(digits).ok());
    let byte =
        digits.and_then(|digits| u8::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+')));
    byte.map(|byte| (byte, 3)).ok_or_else(|| unknown("\\x without two hexadecimal digits"))
}

fn unknown(what: &str) -> String {
    format!("unknown escape {what}; there are \\n \\r \\t \\0 \\\\ \\\" \\' and \\xNN")
}

/// At most `width` characters of the text, the last one `…` when something is cut off.
pub fn shorten(text: &str, width: usize) -> String {
    match text.char_indices().nth(width) {
        None => text.to_string(),
        Some(_) => text.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away bytes that change when they are shown and pasted back.
    #[test]
    fn every_byte_round_trips() {
        let all: Vec<u8> = (0..=255).collect();
        for bytes in [&all[..], "Zürich\u{85}\u{2028} ✈".as_bytes(), b"", b"\xc3", b"a\xf0\x9f\x92b"] {
            let text = escape(bytes);
            assert!(!text.chars().any(char::is_control), "{text}");
            assert_eq!(unescape(text.as_bytes()).as_deref(), Ok(bytes));
        }
        assert_eq!(escape(b"a\0\xff\\"), "a\\0\\xff\\\\");
    }

    // Keeps away a mistyped escape that is taken for something else.
    #[test]
    fn refuses_unknown_escapes() {
        for text in ["\\", "\\q", "\\x", "\\x1", "\\xg0", "\\x+1"] {
            assert!(unescape(text.as_bytes()).is_err(), "{text}");
        }
    }
}
