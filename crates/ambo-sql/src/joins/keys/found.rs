//! The keys that one side of a hash join found, for the scans of its other side.

use std::sync::{
    Arc, Mutex, OnceLock, PoisonError,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use ambo::{Datum, KeySet, KeySetBuilder, Test};
use arrow::{
    array::{Array, ArrayRef, AsArray, PrimitiveArray},
    datatypes::{
        ArrowPrimitiveType, DataType, Date32Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
        UInt16Type, UInt32Type, UInt64Type,
    },
};
use datafusion::{
    common::{Result, internal_err},
    execution::memory_pool::MemoryReservation,
};

/// A list of so many keys is quicker to compare with than a set of bits.
const LISTED_MAX: u64 = 8;

/// What the scans ask of the columns of a join's keys; see the module.
#[derive(Debug)]
pub(crate) struct FoundKeys {
    types: Vec<DataType>,
    /// A set for each key of the join; none for keys of other types than [`is_taken`].
    growing: Vec<Option<Mutex<KeySetBuilder>>>,
    /// Partitions of the side that have not ended.
    left: AtomicUsize,
    begun: Vec<AtomicBool>,
    /// Whether the side is read another time: what it found then is not what it finds now.
    is_void: AtomicBool,
    found: OnceLock<Vec<Option<Test>>>,
    /// What the sets take.
    memory: Mutex<Vec<MemoryReservation>>,
}

/// Whether keys of a type are taken: those whose values are the integers that storages keep.
pub(super) fn is_taken(ty: &DataType) -> bool {
    ty.is_integer() || *ty == DataType::Date32
}

impl FoundKeys {
    /// For keys of these types, of a side with so many partitions.
    pub(crate) fn new(types: &[DataType], partitions: usize) -> Self {
        let growing = types.iter().map(|ty| is_taken(ty).then(Mutex::default)).collect();
        let begun = (0..partitions).map(|_| AtomicBool::new(false)).collect();
        Self {
            types: types.to_vec(),
            growing,
            left: AtomicUsize::new(partitions),
            begun,
            is_void: AtomicBool::new(false),
            found: OnceLock::new(),
            memory: Mutex::default(),
        }
    }

    /// Which keys of the join are taken.
    pub(crate) fn taken(&self) -> impl Iterator<Item = usize> + '_ {
        self.growing.iter().enumerate().filter_map(|(place, one)| one.as_ref().map(|_| place))
    }

    /// A partition of the side begins.
    pub(crate) fn begin(&self, partition: usize) {
        if self.begun[partition].swap(true, Ordering::AcqRel) {
            self.is_void.store(true, Ordering::Release);
        }
    }

    /// Takes the keys of a batch. Returns how many more bytes the set takes.
    pub(crate) fn add(&self, place: usize, keys: &ArrayRef) -> Result<usize> {
        let Some(growing) = &self.growing[place] else { return internal_err!("a key that is not taken") };
        let mut growing = growing.lock().unwrap_or_else(PoisonError::into_inner);
        let before = growing.bytes();
        add_all(&mut growing, keys)?;
        Ok(growing.bytes().saturating_sub(before))
    }

    /// The keys are not to be asked for: their memory is wanted for others.
    pub(crate) fn give_up(&self) {
        self.is_void.store(true, Ordering::Release);
        for growing in self.growing.iter().flatten() {
            *growing.lock().unwrap_or_else(PoisonError::into_inner) = KeySetBuilder::default();
        }
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// A partition of the side, which took this memory, has ended. Behind the last one the sets are made.
    pub(crate) fn end(&self, memory: MemoryReservation) {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).push(memory);
        if self.left.fetch_sub(1, Ordering::AcqRel) != 1 || self.is_void.load(Ordering::Acquire) {
            return;
        }
        let set = |(growing, ty): (&Option<Mutex<KeySetBuilder>>, &DataType)| {
            let growing = growing.as_ref()?;
            let growing = std::mem::take(&mut *growing.lock().unwrap_or_else(PoisonError::into_inner));
            growing.finish().map(|set| question(set, ty))
        };
        let _ = self.found.set(self.growing.iter().zip(&self.types).map(set).collect());
    }

    /// What to ask of each key's column, if the whole side was read, once.
    pub(crate) fn questions(&self) -> Option<&[Option<Test>]> {
        match self.is_void.load(Ordering::Acquire) {
            true => None,
            false => self.found.get().map(Vec::as_slice),
        }
    }
}

fn question(set: KeySet, ty: &DataType) -> Test {
    let value = |key: i64| match ty {
        DataType::UInt64 => Datum::U64(key as u64),
        _ => Datum::I64(key),
    };
    match set.len() <= LISTED_MAX {
        true => Test::In(set.iter().map(value).collect()),
        false => Test::Among(Arc::new(set)),
    }
}

fn add_all(set: &mut KeySetBuilder, keys: &ArrayRef) -> Result<()> {
    match keys.data_type() {
        DataType::Int8 => add::<Int8Type>(set, keys),
        DataType::Int16 => add::<Int16Type>(set, keys),
        DataType::Int32 => add::<Int32Type>(set, keys),
        DataType::Int64 => add::<Int64Type>(set, keys),
        DataType::UInt8 => add::<UInt8Type>(set, keys),
        DataType::UInt16 => add::<UInt16Type>(set, keys),
        DataType::UInt32 => add::<UInt32Type>(set, keys),
        DataType::UInt64 => add::<UInt64Type>(set, keys),
        DataType::Date32 => add::<Date32Type>(set, keys),
        other => return internal_err!("keys of type {other}"),
    }
    Ok(())
}

/// Adds values that are not NULL. Those of 64 bits without a sign are in the set, and in blocks, as the integers of the same bits.
fn add<T: ArrowPrimitiveType<Native: Whole>>(set: &mut KeySetBuilder, keys: &ArrayRef) {
    let keys: &PrimitiveArray<T> = keys.as_primitive();
    let mut whole = [0; 1024];
    for start in (0..keys.len()).step_by(whole.len()) {
        let keys = keys.slice(start, whole.len().min(keys.len() - start));
        let mut count = 0;
        for key in keys.iter().flatten() {
            whole[count] = key.whole();
            count += 1;
        }
        set.add_all(&whole[..count]);
    }
}

/// An integer as one of 64 bits.
trait Whole: Copy {
    fn whole(self) -> i64;
}

macro_rules! whole {
    ($($int:ty),*) => {$(
        impl Whole for $int {
            #[inline]
            fn whole(self) -> i64 {
                self as i64
            }
        }
    )*};
}

whole!(i8, i16, i32, i64, u8, u16, u32, u64);
