//! Newtypes for every id and position, so that one cannot stand for another.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        #[repr(transparent)]
        pub struct $name(pub $inner);
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// The number of a page in the `pages` file: its offset divided by the page size.
    PageNo(u64)
);
id!(
    /// The identity of a table's stored contents. A table that is truncated or rewritten gets a new one; it is never
    /// reused. Zero is the catalog.
    TableId(u32)
);
id!(
    /// The moment of a commit: 1, 2, 3 … in the order of the log. A snapshot at `t` sees every commit at
    /// or before `t`. Zero is before the first commit.
    Timestamp(u64)
);
id!(
    /// A position in the log as a whole: the bytes of all groups before it. It grows for ever, across
    /// segment files.
    Lsn(u64)
);

/// Where a page is and how long it is: the page number in the low 48 bits and the number of consecutive
/// page-sized units in the high 16 (1 for all but pages that hold a key too long for one unit).
/// Zero is "no page".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct PagePtr(pub u64);

impl PagePtr {
    /// No page.
    pub const NULL: Self = Self(0);
    const NUMBER_BITS: u32 = 48;

    /// A page of `units` units at `number`.
    ///
    /// # Panics
    /// If `units` is zero or the number does not fit 48 bits: both are ours to hold.
    pub fn new(number: PageNo, units: u16) -> Self {
        assert!(units > 0 && number.0 < 1 << Self::NUMBER_BITS);
        Self(u64::from(units) << Self::NUMBER_BITS | number.0)
    }
    /// The number of the first unit.
    pub fn number(self) -> PageNo {
        PageNo(self.0 & ((1 << Self::NUMBER_BITS) - 1))
    }
    /// How many units the page spans; zero for [`PagePtr::NULL`].
    pub fn units(self) -> u16 {
        (self.0 >> Self::NUMBER_BITS) as u16
    }
    /// Whether this is [`PagePtr::NULL`].
    pub fn is_null(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Debug for PagePtr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PagePtr({}+{})", self.number(), self.units())
    }
}
