//! Messages of clients as they are read from bytes, and the frame of those to clients.
//!
//! Nothing is allocated by a count that the client gives before there are the bytes for it, and no bytes are beyond what a message can be
//! read of: what does not fit is [`Malformed`].

use std::str;

/// A message of a client.
#[derive(Debug, PartialEq)]
pub(super) enum Message<'a> {
    Query(&'a str),
    Parse {
        name: &'a str,
        text: &'a str,
        types: Vec<u32>,
    },
    Bind(Bind<'a>),
    Describe {
        portal: bool,
        name: &'a str,
    },
    Execute {
        portal: &'a str,
        rows_max: u32,
    },
    Close {
        portal: bool,
        name: &'a str,
    },
    Sync,
    Flush,
    CopyData(&'a [u8]),
    CopyDone,
    CopyFail(&'a str),
    /// A password, or a step of SASL: what it is depends on what was asked.
    Password(&'a [u8]),
    FunctionCall,
    Terminate,
}

/// Values for the parameters of a statement, and the forms in which they and the rows are written.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Bind<'a> {
    pub portal: &'a str,
    pub statement: &'a str,
    pub formats: Vec<Format>,
    pub values: Vec<Option<&'a [u8]>>,
    pub results: Vec<Format>,
}

/// How a value is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Format {
    #[default]
    Text,
    Binary,
}

/// Bytes that are no message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Malformed(pub &'static str);

type Result<T> = std::result::Result<T, Malformed>;

/// Bytes that are read from front to back.
pub(super) struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    pub fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Malformed("it ends too early"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.take(N)?.try_into().map_err(|_| Malformed("it ends too early"))
    }

    pub fn byte(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub fn i16(&mut self) -> Result<i16> {
        self.array().map(i16::from_be_bytes)
    }

    pub fn i32(&mut self) -> Result<i32> {
        self.array().map(i32::from_be_bytes)
    }

    pub fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_be_bytes)
    }

    /// A text up to its zero.
    pub fn text(&mut self) -> Result<&'a str> {
        let end = self.0.iter().position(|byte| *byte == 0).ok_or(Malformed("a text has no end"))?;
        let text = self.take(end)?;
        self.0 = &self.0[1..];
        str::from_utf8(text).map_err(|_| Malformed("a text is no UTF-8"))
    }

    /// Bytes behind their length; `None` for a length of -1.
    fn value(&mut self) -> Result<Option<&'a [u8]>> {
        match self.i32()? {
            -1 => Ok(None),
            length => {
                self.take(usize::try_from(length).map_err(|_| Malformed("a length is below zero"))?).map(Some)
            }
        }
    }

    /// What a count of 16 bits says there is of something.
    fn several<T>(&mut self, mut read: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let count = u16::from_be_bytes(self.array()?);
        // Each takes two bytes or more.
        let mut all = Vec::with_capacity(usize::from(count).min(self.0.len() / 2));
        for _ in 0..count {
            all.push(read(self)?);
        }
        Ok(all)
    }

    fn format(&mut self) -> Result<Format> {
        match self.i16()? {
            0 => Ok(Format::Text),
            1 => Ok(Format::Binary),
            _ => Err(Malformed("a format is neither 0 nor 1")),
        }
    }

    fn is_portal(&mut self) -> Result<bool> {
        match self.byte()? {
            b'P' => Ok(true),
            b'S' => Ok(false),
            _ => Err(Malformed("it is about neither a statement nor a portal")),
        }
    }

    fn end(self) -> Result<()> {
        match self.0.is_empty() {
            true => Ok(()),
            false => Err(Malformed("it has bytes behind its end")),
        }
    }
}

impl<'a> Message<'a> {
    /// The message of a letter and what is behind its length.
    pub fn read(tag: u8, body: &'a [u8]) -> Result<Self> {
        let mut from = Reader(body);
        let message = match tag {
            b'Q' => Self::Query(from.text()?),
            b'P' => Self::Parse { name: from.text()?, text: from.text()?, types: from.several(Reader::u32)? },
            b'B' => Self::Bind(Bind {
                portal: from.text()?,
                statement: from.text()?,
                formats: from.several(Reader::format)?,
                values: from.several(Reader::value)?,
                results: from.several(Reader::format)?,
            }),
            b'D' => Self::Describe { portal: from.is_portal()?, name: from.text()? },
            b'E' => Self::Execute { portal: from.text()?, rows_max: from.i32()?.max(0) as u32 },
            b'C' => Self::Close { portal: from.is_portal()?, name: from.text()? },
            b'S' => Self::Sync,
            b'H' => Self::Flush,
            b'd' => return Ok(Self::CopyData(body)),
            b'c' => Self::CopyDone,
            b'f' => Self::CopyFail(from.text()?),
            b'p' => return Ok(Self::Password(body)),
            b'F' => return Ok(Self::FunctionCall),
            b'X' => Self::Terminate,
            _ => return Err(Malformed("no message has its letter")),
        };
        from.end()?;
        Ok(message)
    }
}

/// Whether a client sends messages of this letter.
pub(super) fn is_known(tag: u8) -> bool {
    b"QPBDECSHdcfpFX".contains(&tag)
}

impl Bind<'_> {
    /// The form of the nth of `count` values: one format is for all, none is text.
    pub fn format(&self, nth: usize) -> Format {
        nth_format(&self.formats, nth)
    }
}

/// See [`Bind::format`].
pub(super) fn nth_format(formats: &[Format], nth: usize) -> Format {
    match formats {
        [] => Format::Text,
        [all] => *all,
        each => each.get(nth).copied().unwrap_or_default(),
    }
}

/// Writes a message: its letter, its length, and what `fill` writes.
pub(super) fn write(out: &mut Vec<u8>, tag: u8, fill: impl FnOnce(&mut Vec<u8>)) {
    out.push(tag);
    sized(out, true, fill);
}

/// Writes bytes behind their length, which counts itself where that is said.
pub(super) fn sized(out: &mut Vec<u8>, with_length: bool, fill: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend([0; 4]);
    fill(out);
    let length = out.len() - start - if with_length { 0 } else { 4 };
    // What is longer is refused where rows are made.
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// Writes a text and its zero. A zero within would end it: what is behind is not told.
pub(super) fn write_text(out: &mut Vec<u8>, text: &str) {
    let text = text.split('\0').next().unwrap_or_default();
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_bind_is_read() {
        let body = b"p\0s\0\0\x01\0\x01\0\x02\xff\xff\xff\xff\0\0\0\x02ab\0\0";
        let bind = Bind {
            portal: "p",
            statement: "s",
            formats: vec![Format::Binary],
            values: vec![None, Some(b"ab")],
            results: vec![],
        };
        assert_eq!(Message::read(b'B', body), Ok(Message::Bind(bind)));
        for end in 0..body.len() {
            assert!(Message::read(b'B', &body[..end]).is_err(), "{end}");
        }
        assert_eq!(Message::read(b'S', b"x"), Err(Malformed("it has bytes behind its end")));
        assert_eq!(Message::read(b'Q', b"\xff\0"), Err(Malformed("a text is no UTF-8")));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_message_or_malformed(tag in any::<u8>(), body in prop::collection::vec(any::<u8>(), 0..200)) {
            let _message_or_not = Message::read(tag, &body);
        }

        #[test]
        fn any_end_of_a_bind_is_a_message_or_malformed(body in prop::collection::vec(0u8..4, 0..60)) {
            let body = [b"\0\0", &body[..]].concat();
            let _message_or_not = Message::read(b'B', &body);
        }
    }
}
