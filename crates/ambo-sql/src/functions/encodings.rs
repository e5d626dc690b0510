//! Bytes and numbers as texts, and back: `hex`, `unhex`, `bin`, `unbin`, `url_encode`, `url_decode`.

use datafusion::common::{Result, exec_datafusion_err, exec_err};

use super::plain::{
    Form, Given,
    Kind::{Blob, Huge, Text, Whole},
    Made, Named, plain,
};

pub(super) static ALL: [Named; 7] = [
    Named {
        names: &["hex"],
        is_volatile: false,
        forms: &[
            Form { takes: &[Text], gives: Text, make: hex },
            Form { takes: &[Blob], gives: Text, make: hex },
            Form { takes: &[Huge], gives: Text, make: |of| Ok(format!("{:X}", of[0].huge()).into()) },
            Form { takes: &[Whole], gives: Text, make: |of| Ok(format!("{:X}", of[0].whole()).into()) },
        ],
    },
    plain!(["unhex", "from_hex"], [Text] => Blob, unhex),
    Named {
        names: &["bin", "to_binary"],
        is_volatile: false,
        forms: &[
            Form { takes: &[Text], gives: Text, make: bin },
            Form { takes: &[Blob], gives: Text, make: bin },
            Form { takes: &[Huge], gives: Text, make: |of| Ok(format!("{:b}", of[0].huge()).into()) },
            Form { takes: &[Whole], gives: Text, make: |of| Ok(format!("{:b}", of[0].whole()).into()) },
        ],
    },
    plain!(["unbin", "from_binary"], [Text] => Blob, unbin),
    Named {
        names: &["bytes_of"],
        is_volatile: false,
        forms: &[
            Form { takes: &[Text], gives: Blob, make: |of| Ok(Made::Blob(of[0].bytes().to_vec())) },
            Form { takes: &[Blob], gives: Blob, make: |of| Ok(Made::Blob(of[0].bytes().to_vec())) },
        ],
    },
    plain!(["url_encode"], [Text] => Text, url_encode),
    plain!(["url_decode"], [Text] => Text, url_decode),
];

fn hex(of: &[Given<'_>]) -> Result<Made> {
    Ok(of[0].bytes().iter().map(|byte| format!("{byte:02X}")).collect::<String>().into())
}

fn bin(of: &[Given<'_>]) -> Result<Made> {
    Ok(of[0].bytes().iter().map(|byte| format!("{byte:08b}")).collect::<String>().into())
}

fn unhex(of: &[Given<'_>]) -> Result<Made> {
    read_digits("unhex", of[0].text(), 16, 2)
}

fn unbin(of: &[Given<'_>]) -> Result<Made> {
    read_digits("unbin", of[0].text(), 2, 8)
}

/// Bytes of so many digits each; the first may have fewer.
fn read_digits(name: &str, text: &str, base: u32, of_byte: usize) -> Result<Made> {
    let digits = text.chars().map(|c| {
        c.to_digit(base).ok_or_else(|| {
            exec_datafusion_err!("{name}: '{c}' in '{text}' is no digit to the base of {base}")
        })
    });
    let digits = digits.collect::<Result<Vec<_>>>()?;
    let (first, rest) = digits.split_at(digits.len() % of_byte);
    let byte = |digits: &[u32]| digits.iter().fold(0, |byte, digit| byte * base + digit) as u8;
    let first = (!first.is_empty()).then(|| byte(first));
    Ok(first.into_iter().chain(rest.chunks(of_byte).map(byte)).collect::<Vec<_>>().into())
}

/// All but letters, digits and `-._~` as `%` and the digits of its bytes (RFC 3986).
fn url_encode(of: &[Given<'_>]) -> Result<Made> {
    let mut out = String::new();
    for byte in of[0].bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(*byte as char),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    Ok(out.into())
}

fn url_decode(of: &[Given<'_>]) -> Result<Made> {
    let bytes = of[0].bytes();
    let digit = |at: usize| bytes.get(at).and_then(|byte| (*byte as char).to_digit(16));
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        match (bytes[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                at += 3;
            }
            (byte, ..) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    match String::from_utf8(out) {
        Ok(text) => Ok(text.into()),
        Err(_) => exec_err!("url_decode: '{}' is not of UTF-8", of[0].text()),
    }
}
