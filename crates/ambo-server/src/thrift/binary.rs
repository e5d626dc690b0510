//! Thrift's binary protocol: values whose types are said where they stand, so that they are read without knowing what they mean.
//!
//! What a client sends is held to limits before memory is taken for it: a text has at most [`Limits::bytes`], a container no more
//! elements than bytes could hold, and values stand in one another at most [`DEPTH_MAX`] deep.

use std::io::{self, Read, Write};

/// How deep values stand in one another.
const DEPTH_MAX: u32 = 32;
/// Elements of a container for which memory is taken at once.
const AHEAD: usize = 1024;
/// What a strict message begins with.
const VERSION: u32 = 0x8001_0000;

/// A value.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Value {
    Bool(bool),
    I8(i8),
    I16(i16),
    I32(i32),
    I64(i64),
    Double(f64),
    /// A text, or bytes: they look the same.
    Bytes(Vec<u8>),
    Struct(Vec<(i16, Value)>),
    /// A list or a set, with the type of its elements.
    List(u8, Vec<Value>),
    Map(u8, u8, Vec<(Value, Value)>),
}

/// Numbers of types.
pub(crate) mod ty {
    pub const STOP: u8 = 0;
    pub const BOOL: u8 = 2;
    pub const I8: u8 = 3;
    pub const DOUBLE: u8 = 4;
    pub const I16: u8 = 6;
    pub const I32: u8 = 8;
    pub const I64: u8 = 10;
    pub const BYTES: u8 = 11;
    pub const STRUCT: u8 = 12;
    pub const MAP: u8 = 13;
    pub const SET: u8 = 14;
    pub const LIST: u8 = 15;
}

impl Value {
    fn ty(&self) -> u8 {
        match self {
            Self::Bool(_) => ty::BOOL,
            Self::I8(_) => ty::I8,
            Self::I16(_) => ty::I16,
            Self::I32(_) => ty::I32,
            Self::I64(_) => ty::I64,
            Self::Double(_) => ty::DOUBLE,
            Self::Bytes(_) => ty::BYTES,
            Self::Struct(_) => ty::STRUCT,
            Self::List(..) => ty::LIST,
            Self::Map(..) => ty::MAP,
        }
    }

    /// A text as a value.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Bytes(text.into().into_bytes())
    }

    /// A field of a struct.
    pub(crate) fn field(&self, id: i16) -> Option<&Self> {
        match self {
            Self::Struct(fields) => fields.iter().find(|(known, _)| *known == id).map(|(_, value)| value),
            _ => None,
        }
    }
}

/// What a client may send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Bytes of one message.
    pub bytes: usize,
}

fn wrong(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

/// Reads values of a message.
pub(crate) struct Reader<R> {
    from: R,
    left: usize,
}

impl<R: Read> Reader<R> {
    pub(crate) fn new(from: R, limits: Limits) -> Self {
        Self { from, left: limits.bytes }
    }

    fn take<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        self.left = self.left.checked_sub(N).ok_or_else(|| wrong("the message is too long"))?;
        let mut bytes = [0; N];
        self.from.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    pub(crate) fn u8(&mut self) -> io::Result<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    pub(crate) fn i16(&mut self) -> io::Result<i16> {
        self.take().map(i16::from_be_bytes)
    }

    pub(crate) fn i32(&mut self) -> io::Result<i32> {
        self.take().map(i32::from_be_bytes)
    }

    pub(crate) fn bytes(&mut self) -> io::Result<Vec<u8>> {
        let length = self.length()?;
        self.left = self.left.checked_sub(length).ok_or_else(|| wrong("the message is too long"))?;
        let mut bytes = Vec::new();
        // A client that says a lot and sends little costs little.
        let read = self.from.by_ref().take(length as u64).read_to_end(&mut bytes)?;
        match read == length {
            true => Ok(bytes),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    pub(crate) fn text(&mut self) -> io::Result<String> {
        String::from_utf8(self.bytes()?).map_err(|_| wrong("a text is no UTF-8"))
    }

    fn length(&mut self) -> io::Result<usize> {
        let length = self.i32()?;
        usize::try_from(length).map_err(|_| wrong(format!("a length of {length}")))
    }

    /// How many elements follow, each of which takes at least a byte.
    pub(crate) fn count(&mut self) -> io::Result<usize> {
        let count = self.length()?;
        match count <= self.left {
            true => Ok(count),
            false => Err(wrong(format!("a container of {count} elements is longer than its message"))),
        }
    }

    /// A value of a type.
    pub(crate) fn value(&mut self, of: u8) -> io::Result<Value> {
        self.nested(of, DEPTH_MAX)
    }

    fn nested(&mut self, of: u8, depth: u32) -> io::Result<Value> {
        let depth = depth.checked_sub(1).ok_or_else(|| wrong("values stand too deep in one another"))?;
        Ok(match of {
            ty::BOOL => Value::Bool(self.u8()? != 0),
            ty::I8 => Value::I8(self.take().map(i8::from_be_bytes)?),
            ty::I16 => Value::I16(self.i16()?),
            ty::I32 => Value::I32(self.i32()?),
            ty::I64 => Value::I64(self.take().map(i64::from_be_bytes)?),
            ty::DOUBLE => Value::Double(self.take().map(f64::from_be_bytes)?),
            ty::BYTES => Value::Bytes(self.bytes()?),
            ty::STRUCT => {
                let mut fields = Vec::new();
                loop {
                    match self.u8()? {
                        ty::STOP => break Value::Struct(fields),
                        of => {
                            let id = self.i16()?;
                            fields.push((id, self.nested(of, depth)?));
                        }
                    }
                }
            }
            ty::LIST | ty::SET => {
                let (of, count) = (self.u8()?, self.count()?);
                let mut values = Vec::with_capacity(count.min(AHEAD));
                for _ in 0..count {
                    values.push(self.nested(of, depth)?);
                }
                Value::List(of, values)
            }
            ty::MAP => {
                let (key, value, count) = (self.u8()?, self.u8()?, self.count()?);
                let mut pairs = Vec::with_capacity(count.min(AHEAD));
                for _ in 0..count {
                    pairs.push((self.nested(key, depth)?, self.nested(value, depth)?));
                }
                Value::Map(key, value, pairs)
            }
            other => return Err(wrong(format!("there is no type {other}"))),
        })
    }

    /// The head of a strict message: its name, its kind, its number.
    pub(crate) fn head(&mut self) -> io::Result<(String, u8, i32)> {
        let version = self.i32()? as u32;
        if version & 0xffff_0000 != VERSION {
            return Err(wrong("a message that is not strict"));
        }
        Ok((self.text()?, (version & 0xff) as u8, self.i32()?))
    }
}

/// Appends a value without its type.
pub(crate) fn write(value: &Value, out: &mut Vec<u8>) -> io::Result<()> {
    let count = |length: usize| i32::try_from(length).map_err(|_| wrong("an answer has more than 2 GiB"));
    match value {
        Value::Bool(value) => out.push(u8::from(*value)),
        Value::I8(value) => out.extend_from_slice(&value.to_be_bytes()),
        Value::I16(value) => out.extend_from_slice(&value.to_be_bytes()),
        Value::I32(value) => out.extend_from_slice(&value.to_be_bytes()),
        Value::I64(value) => out.extend_from_slice(&value.to_be_bytes()),
        Value::Double(value) => out.extend_from_slice(&value.to_be_bytes()),
        Value::Bytes(bytes) => {
            out.extend_from_slice(&count(bytes.len())?.to_be_bytes());
            out.write_all(bytes)?;
        }
        Value::Struct(fields) => {
            for (id, value) in fields {
                out.push(value.ty());
                out.extend_from_slice(&id.to_be_bytes());
                write(value, out)?;
            }
            out.push(ty::STOP);
        }
        Value::List(of, values) => {
            out.push(*of);
            out.extend_from_slice(&count(values.len())?.to_be_bytes());
            values.iter().try_for_each(|value| write(value, out))?;
        }
        Value::Map(key, value, pairs) => {
            out.extend_from_slice(&[*key, *value]);
            out.extend_from_slice(&count(pairs.len())?.to_be_bytes());
            for (key, value) in pairs {
                write(key, out)?;
                write(value, out)?;
            }
        }
    }
    Ok(())
}

/// Appends the head of a strict message.
pub(crate) fn write_head(name: &str, kind: u8, number: i32, out: &mut Vec<u8>) -> io::Result<()> {
    out.extend_from_slice(&(VERSION | u32::from(kind)).to_be_bytes());
    write(&Value::text(name), out)?;
    out.extend_from_slice(&number.to_be_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMITS: Limits = Limits { bytes: 1 << 16 };

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::Bool),
            any::<i8>().prop_map(Value::I8),
            any::<i16>().prop_map(Value::I16),
            any::<i32>().prop_map(Value::I32),
            any::<i64>().prop_map(Value::I64),
            any::<i32>().prop_map(|number| Value::Double(number.into())),
            any::<Vec<u8>>().prop_map(Value::Bytes),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            let pair = (any::<i16>(), inner.clone());
            prop_oneof![
                prop::collection::vec(pair, 0..4).prop_map(Value::Struct),
                prop::collection::vec(any::<i64>().prop_map(Value::I64), 0..6)
                    .prop_map(|values| Value::List(ty::I64, values)),
                prop::collection::vec(
                    (any::<i8>().prop_map(Value::I8), any::<bool>().prop_map(Value::Bool)),
                    0..4
                )
                .prop_map(|pairs| Value::Map(ty::I8, ty::BOOL, pairs)),
            ]
        })
    }

    proptest! {
        #[test]
        fn values_come_back(value in values()) {
            let mut out = Vec::new();
            write(&value, &mut out).unwrap();
            prop_assert_eq!(Reader::new(&out[..], LIMITS).value(value.ty()).unwrap(), value);
        }

        // Keeps away: a panic, or memory for what was only said.
        #[test]
        fn foreign_bytes_are_refused_or_read(bytes: Vec<u8>, of in 0u8..17) {
            let _either = Reader::new(&bytes[..], LIMITS).value(of);
            let _or = Reader::new(&bytes[..], LIMITS).head();
        }
    }

    #[test]
    fn what_is_too_deep_or_too_long_is_refused() {
        let deep: Vec<u8> = [12, 0, 1].repeat(100);
        assert!(Reader::new(&deep[..], LIMITS).value(ty::STRUCT).unwrap_err().to_string().contains("deep"));
        let long = [0x7f, 0xff, 0xff, 0xff];
        assert!(Reader::new(&long[..], LIMITS).bytes().unwrap_err().to_string().contains("too long"));
        let many = [ty::BOOL, 0x7f, 0xff, 0xff, 0xff];
        assert!(Reader::new(&many[..], LIMITS).value(ty::LIST).unwrap_err().to_string().contains("elements"));
        let negative = [0xff; 4];
        assert!(Reader::new(&negative[..], LIMITS).bytes().is_err());
    }
}
