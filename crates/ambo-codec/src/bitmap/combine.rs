//! Set operations on two containers, without unpacking lists where a list is enough.
//!
//! An array and an inverted array are the same list with another sign, and every operation but xor is an and of operands
//! that may be complemented: `x | y` is `!(!x & !y)`, `x \ y` is `x & !y`. So there is one case for each pair of list, words and runs.

use super::{
    container::{Container, Kind, LIST_MAX, Low, Run, SPAN, WORDS, Words, bit, clear, flip, run_bounds, set},
    kernel::{self, And},
    store::{Sink, run},
};

/// A set operation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Op {
    And,
    Or,
    AndNot,
    Xor,
}

impl Op {
    /// Whether containers that only the left side has go to the result, and those that only the right side has.
    pub(super) fn keeps(self) -> (bool, bool) {
        match self {
            Self::And => (false, false),
            Self::AndNot => (true, false),
            Self::Or | Self::Xor => (true, true),
        }
    }
}

#[derive(Clone, Copy)]
enum Core<'a> {
    List(&'a [Low]),
    Words(&'a Words),
    Runs(&'a [Run]),
}

/// A container as an operand: what is listed, complemented if `flip`.
#[derive(Clone, Copy)]
struct Operand<'a> {
    core: Core<'a>,
    flip: bool,
}

impl<'a> Operand<'a> {
    fn new(container: Container<'a>, flip: bool) -> Self {
        match container {
            Container::Array(list) => Self { core: Core::List(list), flip },
            Container::Inverted(list) => Self { core: Core::List(list), flip: !flip },
            Container::Full => Self { core: Core::List(&[]), flip: !flip },
            Container::Bits(words) => Self { core: Core::Words(words), flip },
            Container::Runs(runs) => Self { core: Core::Runs(runs), flip },
        }
    }
}

/// Writes `x op y` to `sink`.
pub(super) fn combine(sink: &mut Sink, key: u64, op: Op, x: Container<'_>, y: Container<'_>) {
    match op {
        Op::And => and(sink, key, Operand::new(x, false), Operand::new(y, false), false),
        Op::AndNot => and(sink, key, Operand::new(x, false), Operand::new(y, true), false),
        Op::Or => and(sink, key, Operand::new(x, true), Operand::new(y, true), true),
        Op::Xor => xor(sink, key, Operand::new(x, false), Operand::new(y, false)),
    }
}

/// Writes `x & y`, complemented if `flipped`.
fn and(sink: &mut Sink, key: u64, x: Operand<'_>, y: Operand<'_>, flipped: bool) {
    match (x.core, y.core) {
        (Core::List(a), Core::List(b)) => {
            let len = match (x.flip, y.flip) {
                (false, false) => {
                    let (a, b) = if a.len() <= b.len() { (a, b) } else { (b, a) };
                    kernel::keep(a, b, true, sink.room(a.len()))
                }
                (false, true) => kernel::keep(a, b, false, sink.room(a.len())),
                (true, false) => kernel::keep(b, a, false, sink.room(b.len())),
                (true, true) => return merge(sink, key, a, b, !flipped, true),
            };
            sink.keep_list(key, flipped, len);
        }
        (Core::List([]), _) => one(sink, key, x.flip, y, flipped),
        (_, Core::List([])) => one(sink, key, y.flip, x, flipped),
        (Core::List(list), _) => list_and(sink, key, list, x.flip, y, flipped),
        (_, Core::List(list)) => list_and(sink, key, list, y.flip, x, flipped),
        (Core::Words(a), Core::Words(b)) => {
            let how = And { flip_x: x.flip, flip_y: y.flip, flip: flipped };
            let count = kernel::and(a, b, how, sink.words_room());
            sink.keep_words(key, count);
        }
        (Core::Runs(a), Core::Runs(b)) => {
            let both = move |in_x: bool, in_y: bool| ((in_x != x.flip) && (in_y != y.flip)) != flipped;
            sweep(sink, key, a, b, both);
        }
        (Core::Runs(runs), Core::Words(_)) => {
            and(sink, key, Operand { core: Core::Words(&expand(runs)), flip: x.flip }, y, flipped);
        }
        (Core::Words(_), Core::Runs(runs)) => {
            and(sink, key, x, Operand { core: Core::Words(&expand(runs)), flip: y.flip }, flipped);
        }
    }
}

/// Writes everything (if `all`) or nothing, and-ed with `other`.
fn one(sink: &mut Sink, key: u64, all: bool, other: Operand<'_>, flipped: bool) {
    if all {
        copy(sink, key, Operand { flip: other.flip != flipped, ..other });
    } else if flipped {
        sink.keep(key, Kind::Full, SPAN, 0);
    } else {
        sink.keep(key, Kind::Array, 0, 0);
    }
}

/// Writes `x` itself. Lists do not come here.
fn copy(sink: &mut Sink, key: u64, x: Operand<'_>) {
    match x.core {
        Core::Words(words) => {
            let how = And { flip_x: x.flip, flip_y: x.flip, flip: false };
            let count = kernel::and(words, words, how, sink.words_room());
            sink.keep_words(key, count);
        }
        Core::Runs(runs) => sweep(sink, key, runs, &[], move |in_x, _| in_x != x.flip),
        Core::List(list) => {
            sink.room(list.len())[..list.len()].copy_from_slice(list);
            sink.keep_list(key, x.flip, list.len());
        }
    }
}

/// Writes a list (complemented if `list_flip`) and-ed with words or runs.
fn list_and(sink: &mut Sink, key: u64, list: &[Low], list_flip: bool, other: Operand<'_>, flipped: bool) {
    if !list_flip {
        let out = sink.room(list.len());
        let len = match other.core {
            Core::Words(words) => filter(list, out, |low| bit(words, low) != other.flip),
            Core::Runs(runs) => {
                let mut at = 0;
                filter(list, out, |low| {
                    while at < runs.len() && run_bounds(runs[at]).1 < low {
                        at += 1;
                    }
                    let inside = at < runs.len() && run_bounds(runs[at]).0 <= low;
                    inside != other.flip
                })
            }
            Core::List(_) => unreachable!("two lists have a case of their own"),
        };
        return sink.keep_list(key, flipped, len);
    }
    let room = sink.words_room();
    match other.core {
        Core::Words(words) => *room = *words,
        Core::Runs(runs) => *room = expand(runs),
        Core::List(_) => unreachable!("two lists have a case of their own"),
    }
    if other.flip != flipped {
        room.iter_mut().for_each(|word| *word = (!u64::from_le_bytes(*word)).to_le_bytes());
    }
    let change = if flipped { set } else { clear };
    list.iter().for_each(|&low| change(room, u16::from_le_bytes(low)));
    let count = kernel::count(room);
    sink.keep_words(key, count);
}

fn filter(list: &[Low], out: &mut [Low], mut wanted: impl FnMut(u16) -> bool) -> usize {
    let mut len = 0;
    for &low in list {
        out[len] = low;
        len += usize::from(wanted(u16::from_le_bytes(low)));
    }
    len
}

/// Writes the elements of either list, or, unless `with_both`, of exactly one; if `inverted`, all positions but them.
fn merge(sink: &mut Sink, key: u64, a: &[Low], b: &[Low], inverted: bool, with_both: bool) {
    let total = a.len() + b.len();
    if total <= LIST_MAX as usize {
        let out = sink.room(total);
        let len = if with_both { kernel::union(a, b, out) } else { kernel::difference(a, b, out) };
        return sink.keep_list(key, inverted, len);
    }
    let mut words = [[0; 8]; WORDS];
    a.iter().for_each(|&low| set(&mut words, u16::from_le_bytes(low)));
    let change = if with_both { set } else { flip };
    b.iter().for_each(|&low| change(&mut words, u16::from_le_bytes(low)));
    let listed = kernel::count(&words);
    if listed <= LIST_MAX {
        let len = kernel::decode(&words, 0, false, sink.room(listed as usize + 64));
        return sink.keep_list(key, inverted, len);
    }
    if inverted {
        words.iter_mut().for_each(|word| *word = (!u64::from_le_bytes(*word)).to_le_bytes());
    }
    let count = if inverted { SPAN - listed } else { listed };
    sink.push_words(key, &words, count);
}

/// Writes what `op` says of two lists of runs, as runs where they are smaller than words or a list.
fn sweep(sink: &mut Sink, key: u64, a: &[Run], b: &[Run], op: impl Fn(bool, bool) -> bool) {
    let out = sink.room::<4>(a.len() + b.len() + 1);
    let bounds = |runs: &[Run], at: usize| match runs.get(at / 2) {
        None => SPAN,
        Some(&run) if at % 2 == 0 => u32::from(run_bounds(run).0),
        Some(&run) => u32::from(run_bounds(run).1) + 1,
    };
    let (mut at_a, mut at_b) = (0, 0);
    let (mut next_a, mut next_b) = (bounds(a, 0), bounds(b, 0));
    let (mut len, mut count) = (0, 0);
    let mut from = None;
    let mut position: u32 = 0;
    loop {
        while at_a < 2 * a.len() && next_a <= position {
            at_a += 1;
            next_a = bounds(a, at_a);
        }
        while at_b < 2 * b.len() && next_b <= position {
            at_b += 1;
            next_b = bounds(b, at_b);
        }
        let inside = position < SPAN && op(at_a % 2 == 1, at_b % 2 == 1);
        match from {
            None if inside => from = Some(position),
            Some(first) if !inside => {
                out[len] = run(first as u16, (position - 1) as u16);
                len += 1;
                count += position - first;
                from = None;
            }
            _ => {}
        }
        if position == SPAN {
            break;
        }
        position = next_a.min(next_b);
    }
    sink.keep_runs(key, len, count);
}

fn expand(runs: &[Run]) -> Words {
    let mut words = [[0; 8]; WORDS];
    Container::Runs(runs).expand(&mut words);
    words
}

/// Writes what is in exactly one of `x` and `y`.
fn xor(sink: &mut Sink, key: u64, x: Operand<'_>, y: Operand<'_>) {
    let flipped = x.flip != y.flip;
    match (x.core, y.core) {
        (Core::List([]), core) | (core, Core::List([])) => copy(sink, key, Operand { core, flip: flipped }),
        (Core::List(a), Core::List(b)) => merge(sink, key, a, b, flipped, false),
        (Core::Runs(a), Core::Runs(b)) => sweep(sink, key, a, b, move |x, y| (x != y) != flipped),
        (Core::Words(a), Core::Words(b)) => {
            let count = kernel::xor(a, b, flipped, sink.words_room());
            sink.keep_words(key, count);
        }
        (Core::Runs(runs), core) | (core, Core::Runs(runs)) => {
            let x = Operand { core: Core::Words(&expand(runs)), flip: flipped };
            xor(sink, key, x, Operand { core, flip: false });
        }
        (Core::List(list), Core::Words(words)) | (Core::Words(words), Core::List(list)) => {
            let room = sink.words_room();
            *room = *words;
            if flipped {
                room.iter_mut().for_each(|word| *word = (!u64::from_le_bytes(*word)).to_le_bytes());
            }
            list.iter().for_each(|&low| flip(room, u16::from_le_bytes(low)));
            let count = kernel::count(room);
            sink.keep_words(key, count);
        }
    }
}
