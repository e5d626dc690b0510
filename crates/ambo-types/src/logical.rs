//! What the values of a column mean, where that is more than the type that they are stored in says.
//!
//! Codecs, storages and indexes know a column's [`Type`] alone. A *logical type* says what its values are and which of them may be there:
//! every way in holds rows to it ([`Logical::check`]), and whoever shows values reads them so.
//!
//! | logical type | stored in | a value |
//! |---|---|---|
//! | `uuid` | binary | its 16 bytes |
//! | `interval` | binary | 20 bytes ([`Interval`]) |
//! | `json` | text | as it is written (RFC 8259) |
//! | collated text | text | any text; the collation says how statements compare it |
//! | enums | u16 | the place of its label |
//! | `bit` | binary | bits in their order ([`Bits`]) |
//! | `geometry` | binary | points and what they bound ([`Geometry`]) |
//! | lists, arrays of one length, structs, maps | binary | [`nested`] |
//!
//! In a definition it is (`definition/format.rs`):
//!
//! | first byte | logical type | what follows |
//! |---|---|---|
//! | 1, 2, 3 | `uuid`, `interval`, `json` | nothing |
//! | 4 | list | the type of its items |
//! | 5 | array | varint length, the type of its items |
//! | 6 | struct | varint count, at least 1; each: varint length and UTF-8 name, its type |
//! | 7 | map | the type of its keys, that of its values |
//! | 8 | enum | varint length plus 1 and UTF-8 name, 0 for none; varint count, at least 1; each: varint length and UTF-8 label |
//! | 9 | collated text | varint length and UTF-8 name of the collation |
//! | 10, 11 | `bit`, `geometry` | nothing |
//!
//! Within, 0 and a type (`ambo_codec::Type`) is one that has no logical type. `struct(a bigint, b uuid[])` is `06 02 01 "a" 00 05 01 "b" 04
//! 01`, `enum('a', 'b')` is `08 00 02 01 "a" 01 "b"`.

mod bits;
mod enums;
mod geometry;
mod interval;
mod json;
pub mod nested;

use std::{
    fmt::{self, Write},
    sync::Arc,
};

use ambo_codec::{Type, ValueRef, varint};

pub use bits::Bits;
pub use enums::Enum;
pub use geometry::{Geometry, Point, Shape};
pub use interval::Interval;

use crate::{
    COLUMNS_MAX,
    encoding::{Input, put_text},
};

/// What is nested deeper is refused: whoever walks through it takes a part of the stack for each level.
const DEPTH_MAX: usize = 32;
/// The longest array of one length.
const ARRAY_MAX: usize = 100_000;
/// Bytes of a UUID.
const UUID_LEN: usize = 16;

/// The text of a UUID, as RFC 9562 has it.
pub fn uuid_text(uuid: &[u8]) -> String {
    let mut text = String::with_capacity(36);
    for (nth, byte) in uuid.iter().enumerate() {
        let hyphen = if matches!(nth, 4 | 6 | 8 | 10) { "-" } else { "" };
        // Memory takes any text.
        let _ = write!(text, "{hyphen}{byte:02x}");
    }
    text
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Logical {
    /// Sixteen bytes, in their order.
    Uuid,
    /// Months, days and nanoseconds.
    Interval,
    /// A text that is JSON.
    Json,
    /// A text that is compared by the collation of this name. What is stored is the text; the name means something to SQL alone.
    Collated(String),
    /// Any number of items of a type, each of which may be NULL.
    List(Box<Part>),
    /// So many items of a type, each of which may be NULL.
    Array(Box<Part>, u32),
    /// Named fields, each of which may be NULL.
    Struct(Vec<(String, Part)>),
    /// Keys, none of which is NULL, each with a value that may be.
    Map(Box<Part>, Box<Part>),
    /// One of some labels, in their order.
    Enum(Arc<Enum>),
    /// Any number of bits.
    Bit,
    /// Points, lines, polygons and collections of them.
    Geometry,
}

/// The type of what is within a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// One that has no logical type.
    Plain(Type),
    /// One that has.
    Logical(Logical),
}

impl From<Type> for Part {
    fn from(ty: Type) -> Self {
        Self::Plain(ty)
    }
}

impl From<Logical> for Part {
    fn from(logical: Logical) -> Self {
        Self::Logical(logical)
    }
}

impl Logical {
    /// A list of items of a type.
    pub fn list(item: impl Into<Part>) -> Self {
        Self::List(Box::new(item.into()))
    }

    /// An enum of these labels, without a name.
    pub fn enumeration(labels: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::Enum(Arc::new(Enum::of(labels)))
    }

    /// The enums in it, itself among them.
    pub fn enums(&self) -> Vec<&Arc<Enum>> {
        match self {
            Self::Uuid | Self::Interval | Self::Json | Self::Collated(_) | Self::Bit | Self::Geometry => {
                Vec::new()
            }
            Self::List(item) | Self::Array(item, _) => item.enums(),
            Self::Struct(fields) => fields.iter().flat_map(|(_, part)| part.enums()).collect(),
            Self::Map(key, value) => [key.enums(), value.enums()].concat(),
            Self::Enum(of) => vec![of],
        }
    }

    /// The same with another enum in the place of those of its name.
    #[must_use]
    pub fn with_enum(&self, of: &Arc<Enum>) -> Self {
        let part = |part: &Part| Box::new(part.with_enum(of));
        match self {
            Self::Uuid | Self::Interval | Self::Json | Self::Collated(_) | Self::Bit | Self::Geometry => {
                self.clone()
            }
            Self::List(item) => Self::List(part(item)),
            Self::Array(item, length) => Self::Array(part(item), *length),
            Self::Struct(fields) => {
                Self::Struct(fields.iter().map(|(name, of)| (name.clone(), *part(of))).collect())
            }
            Self::Map(key, value) => Self::Map(part(key), part(value)),
            Self::Enum(known) if known.name.is_some() && known.name == of.name => Self::Enum(of.clone()),
            Self::Enum(_) => self.clone(),
        }
    }

    /// A map from keys to values.
    pub fn map(key: impl Into<Part>, value: impl Into<Part>) -> Self {
        Self::Map(Box::new(key.into()), Box::new(value.into()))
    }

    /// The type that values are stored in.
    pub fn kind(&self) -> Type {
        match self {
            Self::Json | Self::Collated(_) => Type::Utf8,
            Self::Enum(_) => Type::U16,
            _ => Type::Binary,
        }
    }

    /// Whether stored values are equal where the values are, and in their order: columns of keys and indexes have to be.
    pub fn is_ordered(&self) -> bool {
        matches!(
            self,
            Self::Uuid | Self::Json | Self::Collated(_) | Self::Enum(_) | Self::Bit | Self::Geometry
        )
    }

    /// Whether a stored value is one of this type. NULL is left to others.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self, value: ValueRef<'_>) -> Result<(), String> {
        match (self, value) {
            (_, ValueRef::Null) => Ok(()),
            (Self::Json, ValueRef::Utf8(text)) => json::check(text),
            (Self::Collated(_), ValueRef::Utf8(_)) => Ok(()),
            (Self::Json | Self::Collated(_), other) => Err(format!("{other} is not text")),
            (Self::Enum(of), ValueRef::U16(code)) => of.label(code).map(drop),
            (Self::Enum(_), other) => Err(format!("{other} is not the place of a label")),
            (Self::Bit, ValueRef::Binary(bytes)) => Bits::decode(bytes).map(drop),
            (Self::Geometry, ValueRef::Binary(bytes)) => Geometry::decode(bytes).map(drop),
            (_, ValueRef::Binary(bytes)) => {
                let mut reader = nested::Reader::new(bytes);
                let checked = self.check_in(&mut reader).and_then(|()| reader.finish());
                checked.map_err(|what| format!("not of type {self}: {what}"))
            }
            (_, other) => Err(format!("{other} is not binary")),
        }
    }

    /// Reads over a value as it stands within others.
    fn check_in(&self, reader: &mut nested::Reader<'_>) -> Result<(), String> {
        match self {
            Self::Uuid => reader.take(UUID_LEN).map(drop),
            Self::Interval => reader.interval().map(drop),
            Self::Json => json::check(reader.text()?),
            Self::Collated(_) => reader.text().map(drop),
            Self::List(item) => {
                let count = reader.count()?;
                item.check_all(count, reader)
            }
            Self::Array(item, length) => item.check_all(*length as usize, reader),
            Self::Struct(fields) => {
                let there = reader.there(fields.len())?;
                let fields = fields.iter().enumerate().filter(|(nth, _)| there.has(*nth));
                fields.into_iter().try_for_each(|(_, (_, part))| part.check_in(reader))
            }
            Self::Map(key, value) => {
                let count = reader.count()?;
                (0..count).try_for_each(|_| key.check_in(reader))?;
                value.check_all(count, reader)
            }
            Self::Enum(of) => {
                let [low, high] = reader.take(2)?.try_into().expect("as many as were taken");
                of.label(u16::from_le_bytes([low, high])).map(drop)
            }
            Self::Bit | Self::Geometry => self.check(reader.plain(Type::Binary)?),
        }
    }

    /// That it can be the type of a column.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn validate(&self) -> Result<(), String> {
        self.validate_at(0)
    }

    fn validate_at(&self, depth: usize) -> Result<(), String> {
        if depth > DEPTH_MAX {
            return Err(format!("its type is nested deeper than {DEPTH_MAX} levels"));
        }
        let below = |part: &Part| match part {
            Part::Plain(_) => Ok(()),
            Part::Logical(logical) => logical.validate_at(depth + 1),
        };
        match self {
            Self::Uuid | Self::Interval | Self::Json | Self::Bit | Self::Geometry => Ok(()),
            Self::Collated(name) if name.is_empty() => Err("a collation without a name".into()),
            Self::Collated(_) => Ok(()),
            Self::List(item) => below(item),
            Self::Array(item, length) if (1..=ARRAY_MAX).contains(&(*length as usize)) => below(item),
            Self::Array(..) => Err(format!("arrays have 1 to {ARRAY_MAX} items")),
            Self::Struct(fields) => {
                if fields.is_empty() || fields.len() > COLUMNS_MAX {
                    return Err(format!("structs have 1 to {COLUMNS_MAX} fields"));
                }
                if let Some(nth) = (1..fields.len()).find(|nth| has_name(&fields[..*nth], &fields[*nth].0)) {
                    return Err(format!("two fields of a struct are named \"{}\"", fields[nth].0));
                }
                fields.iter().try_for_each(|(_, part)| below(part))
            }
            Self::Map(key, value) => below(key).and_then(|()| below(value)),
            Self::Enum(of) => of.validate(),
        }
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Uuid => out.push(1),
            Self::Interval => out.push(2),
            Self::Json => out.push(3),
            Self::List(item) => {
                out.push(4);
                item.encode(out);
            }
            Self::Array(item, length) => {
                out.push(5);
                varint::encode(u64::from(*length), out);
                item.encode(out);
            }
            Self::Struct(fields) => {
                out.push(6);
                varint::encode(fields.len() as u64, out);
                for (name, part) in fields {
                    put_text(out, name);
                    part.encode(out);
                }
            }
            Self::Map(key, value) => {
                out.push(7);
                key.encode(out);
                value.encode(out);
            }
            Self::Enum(of) => {
                out.push(8);
                of.encode(out);
            }
            Self::Collated(name) => {
                out.push(9);
                put_text(out, name);
            }
            Self::Bit => out.push(10),
            Self::Geometry => out.push(11),
        }
    }

    pub(crate) fn decode(input: &mut Input<'_>) -> Result<Self, String> {
        match Part::decode(input, 0)? {
            Part::Logical(logical) => Ok(logical),
            Part::Plain(_) => Err("a logical type that is none".into()),
        }
    }
}

fn has_name(fields: &[(String, Part)], name: &str) -> bool {
    fields.iter().any(|(other, _)| other == name)
}

impl Part {
    /// The type that values of their own would be stored in.
    pub fn kind(&self) -> Type {
        match self {
            Self::Plain(ty) => *ty,
            Self::Logical(logical) => logical.kind(),
        }
    }

    /// As [`Logical::enums`].
    pub fn enums(&self) -> Vec<&Arc<Enum>> {
        match self {
            Self::Plain(_) => Vec::new(),
            Self::Logical(logical) => logical.enums(),
        }
    }

    /// As [`Logical::with_enum`].
    #[must_use]
    pub fn with_enum(&self, of: &Arc<Enum>) -> Self {
        match self {
            Self::Plain(ty) => Self::Plain(*ty),
            Self::Logical(logical) => Self::Logical(logical.with_enum(of)),
        }
    }

    fn check_in(&self, reader: &mut nested::Reader<'_>) -> Result<(), String> {
        match self {
            Self::Plain(ty) => reader.plain(*ty).map(drop),
            Self::Logical(logical) => logical.check_in(reader),
        }
    }

    /// Reads over so many values, each of which may be NULL.
    fn check_all(&self, count: usize, reader: &mut nested::Reader<'_>) -> Result<(), String> {
        let there = reader.there(count)?;
        (0..count).filter(|nth| there.has(*nth)).try_for_each(|_| self.check_in(reader))
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Plain(ty) => {
                out.push(0);
                ty.encode(out);
            }
            Self::Logical(logical) => logical.encode(out),
        }
    }

    fn decode(input: &mut Input<'_>, depth: usize) -> Result<Self, String> {
        if depth > DEPTH_MAX {
            return Err("a logical type that is nested too deep".into());
        }
        let part = |input: &mut Input<'_>| Self::decode(input, depth + 1);
        Ok(Self::Logical(match input.byte()? {
            0 => {
                let (ty, len) = Type::decode(input.0).map_err(|error| error.to_string())?;
                input.take(len)?;
                return Ok(Self::Plain(ty));
            }
            1 => Logical::Uuid,
            2 => Logical::Interval,
            3 => Logical::Json,
            4 => Logical::List(Box::new(part(input)?)),
            5 => {
                let length = input.count(ARRAY_MAX)?;
                Logical::Array(Box::new(part(input)?), length as u32)
            }
            6 => {
                let fields = (0..input.count(COLUMNS_MAX)?).map(|_| Ok((input.text()?, part(input)?)));
                Logical::Struct(fields.collect::<Result<_, String>>()?)
            }
            7 => Logical::Map(Box::new(part(input)?), Box::new(part(input)?)),
            8 => Logical::Enum(Arc::new(Enum::decode(input)?)),
            9 => Logical::Collated(input.text()?),
            10 => Logical::Bit,
            11 => Logical::Geometry,
            other => return Err(format!("unknown logical type {other}")),
        }))
    }
}

impl fmt::Display for Logical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uuid => f.write_str("uuid"),
            Self::Interval => f.write_str("interval"),
            Self::Json => f.write_str("json"),
            Self::Collated(name) => write!(f, "text collate \"{}\"", name.replace('"', "\"\"")),
            Self::List(item) => write!(f, "{item}[]"),
            Self::Array(item, length) => write!(f, "{item}[{length}]"),
            Self::Struct(fields) => {
                f.write_str("struct(")?;
                for (nth, (name, part)) in fields.iter().enumerate() {
                    let comma = if nth > 0 { ", " } else { "" };
                    write!(f, "{comma}\"{}\" {part}", name.replace('"', "\"\""))?;
                }
                f.write_str(")")
            }
            Self::Map(key, value) => write!(f, "map({key}, {value})"),
            Self::Enum(of) => of.fmt(f),
            Self::Bit => f.write_str("bit"),
            Self::Geometry => f.write_str("geometry"),
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(ty) => ty.fmt(f),
            Self::Logical(logical) => logical.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests;
