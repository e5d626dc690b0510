//! Texts by what people take for one character, which may be several code points (Unicode's grapheme clusters), and texts without accents.

use datafusion::common::Result;
use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};
use unicode_segmentation::UnicodeSegmentation;

use super::plain::{
    Form, Given,
    Kind::{Text, Whole},
    Made, Named, plain,
};

pub(super) static ALL: [Named; 6] = [
    plain!(["length_grapheme"], [Text] => Whole, |of| Ok((graphemes(of).len() as i64).into())),
    plain!(["left_grapheme"], [Text, Whole] => Text, left),
    plain!(["right_grapheme"], [Text, Whole] => Text, right),
    Named {
        names: &["substring_grapheme"],
        is_volatile: false,
        forms: &[
            Form { takes: &[Text, Whole], gives: Text, make: part },
            Form { takes: &[Text, Whole, Whole], gives: Text, make: part },
        ],
    },
    plain!(["nfc_normalize"], [Text] => Text, |of| {
        Ok(ComposingNormalizerBorrowed::new_nfc().normalize(of[0].text()).into_owned().into())
    }),
    plain!(["strip_accents", "unaccent"], [Text] => Text, |of| Ok(without_accents(of[0].text()).into())),
];

fn graphemes<'a>(of: &[Given<'a>]) -> Vec<&'a str> {
    of[0].text().graphemes(true).collect()
}

/// How many of so many are meant: all but that many, if the number is negative.
fn count(wanted: i64, all: usize) -> usize {
    let all = all as i64;
    (if wanted < 0 { all.saturating_add(wanted) } else { wanted }).clamp(0, all) as usize
}

fn left(of: &[Given<'_>]) -> Result<Made> {
    let all = graphemes(of);
    Ok(all[..count(of[1].whole(), all.len())].concat().into())
}

fn right(of: &[Given<'_>]) -> Result<Made> {
    let all = graphemes(of);
    Ok(all[all.len() - count(of[1].whole(), all.len())..].concat().into())
}

/// From a place on, counted from 1, or from the end if it is negative; a negative length is of what stands before.
fn part(of: &[Given<'_>]) -> Result<Made> {
    let all = graphemes(of);
    let count = all.len() as i64;
    let begin = match of[1].whole() {
        place if place < 0 => count.saturating_add(place),
        place => place.saturating_sub(1),
    };
    let end = of.get(2).map_or(count, |length| begin.saturating_add(length.whole()));
    let (begin, end) = (begin.min(end).clamp(0, count), begin.max(end).clamp(0, count));
    Ok(all[begin as usize..end as usize].concat().into())
}

fn without_accents(text: &str) -> String {
    let is_accent = |c: &char| matches!(u32::from(*c), 0x300..=0x36F | 0x1AB0..=0x1AFF | 0x1DC0..=0x1DFF | 0x20D0..=0x20FF | 0xFE20..=0xFE2F);
    let apart = DecomposingNormalizerBorrowed::new_nfd().normalize(text);
    let bare: String = apart.chars().filter(|c| !is_accent(c)).collect();
    ComposingNormalizerBorrowed::new_nfc().normalize(&bare).into_owned()
}
