//! Parameters and flags, as what Ambo does with them.

use std::ffi::{CStr, c_char};

use ambo::{IntegerCodec, Options, RecordCodec, Sync, TableDefinition, TableOptions, Type};

use crate::{
    status::{INV_KEY_SIZE, INV_PAGE_SIZE, INV_PARAMETER, NOT_IMPLEMENTED, Result, fail},
    structs::ups_parameter_t,
};

pub(crate) const READ_ONLY: u32 = 0x4;
pub(crate) const IN_MEMORY: u32 = 0x80;
pub(crate) const RECORD_NUMBER32: u32 = 0x1000;
pub(crate) const RECORD_NUMBER64: u32 = 0x2000;
pub(crate) const DUPLICATE_KEYS: u32 = 0x4000;
pub(crate) const TRANSACTIONS: u32 = 0x2_0000;
const FSYNC: u32 = 0x1;
const DISABLE_MMAP: u32 = 0x200;
const AUTO_RECOVERY: u32 = 0x1_0000;
const CACHE_UNLIMITED: u32 = 0x4_0000;
const DISABLE_RECOVERY: u32 = 0x8_0000;
const RECORDS_INLINE: u32 = 0x80_0000;
const CRC32: u32 = 0x200_0000;
const FLUSH_IMMEDIATELY: u32 = 0x800_0000;

pub(crate) const PARAM_CACHE_SIZE: u32 = 0x100;
pub(crate) const PARAM_PAGE_SIZE: u32 = 0x101;
pub(crate) const PARAM_KEY_SIZE: u32 = 0x102;
pub(crate) const PARAM_MAX_DATABASES: u32 = 0x103;
pub(crate) const PARAM_KEY_TYPE: u32 = 0x104;
const PARAM_LOG_DIRECTORY: u32 = 0x105;
const PARAM_ENCRYPTION_KEY: u32 = 0x106;
const PARAM_NETWORK_TIMEOUT: u32 = 0x107;
pub(crate) const PARAM_RECORD_SIZE: u32 = 0x108;
const PARAM_FILE_SIZE_LIMIT: u32 = 0x109;
const PARAM_FADVISE: u32 = 0x110;
const PARAM_COMPARE_NAME: u32 = 0x111;
pub(crate) const PARAM_RECORD_TYPE: u32 = 0x112;
pub(crate) const PARAM_FLAGS: u32 = 0x200;
pub(crate) const PARAM_FILEMODE: u32 = 0x201;
pub(crate) const PARAM_FILENAME: u32 = 0x202;
pub(crate) const PARAM_DATABASE_NAME: u32 = 0x203;
pub(crate) const PARAM_MAX_KEYS: u32 = 0x204;
const PARAM_SWITCH_THRESHOLD: u32 = 1;
pub(crate) const PARAM_JOURNAL_COMPRESSION: u32 = 0x1000;
pub(crate) const PARAM_RECORD_COMPRESSION: u32 = 0x1001;
pub(crate) const PARAM_KEY_COMPRESSION: u32 = 0x1002;

/// A text that ends in a zero byte; `None` of NULL.
pub(crate) fn text<'a>(text: *const c_char) -> Result<Option<&'a str>> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: it is not NULL, and a text by upscaledb's rules.
    match unsafe { CStr::from_ptr(text) }.to_str() {
        Ok(text) => Ok(Some(text)),
        Err(_) => fail(INV_PARAMETER, "a text is not UTF-8"),
    }
}

/// The parameters of a list, which ends with one of name 0, and where each value is.
pub(crate) fn each(
    list: *mut ups_parameter_t,
    mut act: impl FnMut(u32, &mut u64) -> Result<()>,
) -> Result<()> {
    let mut place = list;
    // SAFETY: the list is one that ends with name 0; all before that are there.
    while !place.is_null() && unsafe { (*place).name } != 0 {
        // SAFETY: as above; nobody else uses it meanwhile.
        let parameter = unsafe { &mut *place };
        act(parameter.name, &mut parameter.value)?;
        // SAFETY: one more is there, for this was not the last.
        place = unsafe { place.add(1) };
    }
    Ok(())
}

/// How an environment is opened.
pub(crate) struct Opening {
    pub(crate) options: Options,
    pub(crate) cache_bytes: u64,
    pub(crate) page_size: u64,
    pub(crate) journal_compression: u64,
}

impl Opening {
    /// What flags and parameters ask for.
    pub(crate) fn of(flags: u32, parameters: *const ups_parameter_t) -> Result<Self> {
        let known = FSYNC
            | READ_ONLY
            | IN_MEMORY
            | DISABLE_MMAP
            | AUTO_RECOVERY
            | TRANSACTIONS
            | CACHE_UNLIMITED
            | DISABLE_RECOVERY
            | CRC32
            | FLUSH_IMMEDIATELY;
        if flags & !known != 0 {
            return fail(INV_PARAMETER, &format!("{:#x} are no flags of an environment", flags & !known));
        }
        let sync = match flags & FSYNC != 0 {
            true => Sync::Commit,
            false => Sync::Interval(std::time::Duration::from_millis(100)),
        };
        let mut opening = Self {
            // Whoever finds a key locked does not wait: upscaledb says at once that there is a conflict.
            options: Options::new().sync(sync).lock_timeout(std::time::Duration::from_millis(1)),
            cache_bytes: 256 << 20,
            page_size: 16 << 10,
            journal_compression: 0,
        };
        each(parameters.cast_mut(), |name, value| opening.set(name, *value))?;
        let page_size = opening.page_size as usize;
        opening.options = opening
            .options
            .read_only(flags & READ_ONLY != 0)
            .cache_bytes(opening.cache_bytes as usize)
            .page_size(page_size)
            .log_compression(opening.journal_compression != 0);
        Ok(opening)
    }

    fn set(&mut self, name: u32, value: u64) -> Result<()> {
        match name {
            // 0 is the default, and less than a quarter of a mebibyte is too little for anything.
            PARAM_CACHE_SIZE if value > 0 => self.cache_bytes = value.max(256 << 10),
            PARAM_PAGE_SIZE if value == 0 => {}
            PARAM_PAGE_SIZE if value != 1024 && !value.is_multiple_of(2048) => {
                return fail(INV_PAGE_SIZE, "a page has 1024 bytes, or a multiple of 2048");
            }
            PARAM_PAGE_SIZE => self.page_size = value.next_power_of_two().clamp(4 << 10, 64 << 10),
            PARAM_JOURNAL_COMPRESSION => self.journal_compression = value,
            PARAM_CACHE_SIZE | PARAM_NETWORK_TIMEOUT | PARAM_FADVISE | PARAM_SWITCH_THRESHOLD => {}
            PARAM_ENCRYPTION_KEY => return fail(NOT_IMPLEMENTED, "Ambo does not encrypt its files"),
            PARAM_LOG_DIRECTORY => {
                return fail(NOT_IMPLEMENTED, "the log is in the directory of the database");
            }
            PARAM_FILE_SIZE_LIMIT => {
                return fail(NOT_IMPLEMENTED, "the size of a database cannot be limited");
            }
            _ => return fail(INV_PARAMETER, &format!("{name:#x} is no parameter of an environment")),
        }
        Ok(())
    }
}

/// A type of keys or records.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Binary,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
}

impl Kind {
    pub(crate) fn of(number: u64) -> Result<Self> {
        Ok(match number {
            0 => Self::Binary,
            1 => {
                let message = "keys in an order of the program's own are not supported: give keys whose bytes have that order";
                return fail(NOT_IMPLEMENTED, message);
            }
            3 => Self::U8,
            5 => Self::U16,
            7 => Self::U32,
            9 => Self::U64,
            11 => Self::F32,
            12 => Self::F64,
            _ => return fail(INV_PARAMETER, &format!("{number} is no type")),
        })
    }

    pub(crate) fn number(self) -> u64 {
        match self {
            Self::Binary => 0,
            Self::U8 => 3,
            Self::U16 => 5,
            Self::U32 => 7,
            Self::U64 => 9,
            Self::F32 => 11,
            Self::F64 => 12,
        }
    }

    /// The bytes of a value, if all have as many.
    pub(crate) fn size(self) -> Option<u32> {
        Some(match self {
            Self::Binary => return None,
            Self::U8 => 1,
            Self::U16 => 2,
            Self::U32 | Self::F32 => 4,
            Self::U64 | Self::F64 => 8,
        })
    }

    pub(crate) fn column(self) -> Type {
        match self {
            Self::Binary => Type::Binary,
            Self::U8 => Type::U8,
            Self::U16 => Type::U16,
            Self::U32 => Type::U32,
            Self::U64 => Type::U64,
            Self::F32 => Type::F32,
            Self::F64 => Type::F64,
        }
    }
}

/// What a database is.
#[derive(Clone)]
pub(crate) struct Shape {
    pub(crate) flags: u32,
    pub(crate) key: Kind,
    pub(crate) key_size: Option<u32>,
    pub(crate) record: Kind,
    pub(crate) record_size: Option<u32>,
    pub(crate) key_compression: u64,
    pub(crate) record_compression: u64,
}

/// What says that a size is not fixed.
const ANY_KEY: u64 = u16::MAX as u64;
const ANY_RECORD: u64 = u32::MAX as u64;

impl Shape {
    /// What flags and parameters ask for.
    pub(crate) fn of(flags: u32, parameters: *const ups_parameter_t) -> Result<Self> {
        let known = DUPLICATE_KEYS | RECORD_NUMBER32 | RECORD_NUMBER64 | RECORDS_INLINE;
        let numbers = flags & (RECORD_NUMBER32 | RECORD_NUMBER64);
        if flags & !known != 0 || numbers.count_ones() > 1 || numbers != 0 && flags & DUPLICATE_KEYS != 0 {
            return fail(
                INV_PARAMETER,
                &format!("{flags:#x} are no flags of a database, or exclude one another"),
            );
        }
        let key = match numbers {
            RECORD_NUMBER32 => Kind::U32,
            RECORD_NUMBER64 => Kind::U64,
            _ => Kind::Binary,
        };
        let mut shape = Self {
            flags,
            key,
            key_size: None,
            record: Kind::Binary,
            record_size: None,
            key_compression: 0,
            record_compression: 0,
        };
        each(parameters.cast_mut(), |name, value| shape.set(name, *value))?;
        if numbers != 0 && shape.key != key {
            return fail(INV_PARAMETER, "keys that are record numbers have no other type");
        }
        shape.fix_sizes()?;
        Ok(shape)
    }

    fn set(&mut self, name: u32, value: u64) -> Result<()> {
        match name {
            PARAM_KEY_TYPE => self.key = Kind::of(value)?,
            PARAM_RECORD_TYPE => self.record = Kind::of(value)?,
            PARAM_KEY_SIZE if value > ANY_KEY => return fail(INV_KEY_SIZE, "a key has at most 65534 bytes"),
            PARAM_KEY_SIZE => self.key_size = (value != ANY_KEY && value != 0).then_some(value as u32),
            PARAM_RECORD_SIZE => self.record_size = (value < ANY_RECORD).then_some(value as u32),
            PARAM_KEY_COMPRESSION => self.key_compression = value,
            PARAM_RECORD_COMPRESSION => self.record_compression = value,
            PARAM_COMPARE_NAME => {
                return fail(NOT_IMPLEMENTED, "keys in an order of the program's own are not supported");
            }
            _ => return fail(INV_PARAMETER, &format!("{name:#x} is no parameter of a database")),
        }
        Ok(())
    }

    /// Numbers have the size that they have.
    fn fix_sizes(&mut self) -> Result<()> {
        if let Some(size) = self.key.size()
            && self.key_size.replace(size).is_some_and(|given| given != size)
        {
            return fail(INV_KEY_SIZE, "the size of the key is not that of its type");
        }
        if let Some(size) = self.record.size()
            && self.record_size.replace(size).is_some_and(|given| given != size)
        {
            return fail(INV_PARAMETER, "the size of the record is not that of its type");
        }
        Ok(())
    }

    pub(crate) fn has_duplicates(&self) -> bool {
        self.flags & DUPLICATE_KEYS != 0
    }

    pub(crate) fn is_numbered(&self) -> bool {
        self.flags & (RECORD_NUMBER32 | RECORD_NUMBER64) != 0
    }

    /// The table of such a database.
    pub(crate) fn table(&self, name: &str) -> Result<TableDefinition> {
        let mut table = TableDefinition::new(name)
            .column("key", self.key.column())
            .column("value", self.record.column())
            .primary_key(&["key"])
            .comment(self.comment());
        if self.has_duplicates() {
            table = table.duplicates();
        }
        if self.is_numbered() {
            table = table.auto_increment();
        }
        Ok(TableOptions::new()
            .key_compression(self.integer_codec()?)
            .record_compression(self.record_codec()?)
            .apply(table))
    }

    fn integer_codec(&self) -> Result<Option<IntegerCodec>> {
        let name = match self.key_compression {
            0 => return Ok(None),
            _ if self.key != Kind::U32 => {
                return fail(INV_PARAMETER, "only keys of type UPS_TYPE_UINT32 are compressed");
            }
            5 => "masked-vbyte",
            6 => "bp128",
            7 => "group-varint",
            8 => "stream-vbyte",
            10 => "for",
            11 => "simd-for",
            other => return fail(INV_PARAMETER, &format!("{other} is no compression of keys")),
        };
        name.parse()
            .map(Some)
            .or_else(|_| fail(NOT_IMPLEMENTED, &format!("keys cannot be compressed by {name}")))
    }

    fn record_codec(&self) -> Result<Option<RecordCodec>> {
        let name = match self.record_compression {
            0 => return Ok(None),
            1 => "zlib",
            2 => "snappy",
            3 => "lzf",
            other => return fail(INV_PARAMETER, &format!("{other} is no compression of records")),
        };
        let codec = name.parse().map(Some);
        codec.or_else(|_| fail(NOT_IMPLEMENTED, &format!("records cannot be compressed by {name}")))
    }

    /// What a table does not know of itself, as its comment.
    fn comment(&self) -> String {
        format!(
            "upscaledb {} {} {} {} {} {} {}",
            self.flags,
            self.key.number(),
            self.key_size.map_or(ANY_KEY, u64::from),
            self.record.number(),
            self.record_size.map_or(ANY_RECORD, u64::from),
            self.key_compression,
            self.record_compression
        )
    }

    /// What a table is that was made so.
    pub(crate) fn of_table(table: &TableDefinition) -> Result<Self> {
        let known = |comment: &str| {
            let numbers = comment.strip_prefix("upscaledb ")?.split(' ');
            let numbers: Vec<u64> = numbers.map(str::parse).collect::<Result<_, _>>().ok()?;
            <[u64; 7]>::try_from(numbers).ok()
        };
        let Some([flags, key, key_size, record, record_size, key_compression, record_compression]) =
            table.comment.as_deref().and_then(known)
        else {
            return fail(INV_PARAMETER, &format!("table \"{}\" is none of upscaledb's", table.name));
        };
        Ok(Self {
            flags: flags as u32,
            key: Kind::of(key)?,
            key_size: (key_size != ANY_KEY).then_some(key_size as u32),
            record: Kind::of(record)?,
            record_size: (record_size != ANY_RECORD).then_some(record_size as u32),
            key_compression,
            record_compression,
        })
    }
}
