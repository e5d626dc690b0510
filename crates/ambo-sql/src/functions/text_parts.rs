//! Texts taken apart, and quoted.

use datafusion::common::{Result, exec_err};

use super::plain::{
    Form, Given,
    Kind::{Bool, Double, Text, Texts, Whole},
    Made, Named, plain,
};

pub(super) static ALL: [Named; 11] = [
    plain!(["strftime_format"], [Text] => Text, |of| Ok(chrono_format(of[0].text()).into())),
    plain!(["prefix"], [Text, Text] => Bool, |of| Ok(of[0].text().starts_with(of[1].text()).into())),
    plain!(["suffix"], [Text, Text] => Bool, |of| Ok(of[0].text().ends_with(of[1].text()).into())),
    plain!(["string_split", "str_split", "split"], [Text, Text] => Texts, split),
    plain!(["quote_literal"], [Text] => Text, |of| Ok(literal(of[0].text()).into())),
    plain!(["quote_ident"], [Text] => Text, |of| Ok(name(of[0].text()).into())),
    plain!(["quote"], [Text] => Text, |of| Ok(format!("'{}'", of[0].text().replace('\'', "''")).into())),
    plain!(["soundex"], [Text] => Text, |of| Ok(soundex(of[0].text()).into())),
    plain!(["ord"], [Text] => Whole, |of| Ok(of[0].text().chars().next().map_or(0, |c| i64::from(u32::from(c))).into())),
    plain!(["strlen"], [Text] => Whole, |of| Ok((of[0].text().len() as i64).into())),
    Named {
        names: &["bar"],
        is_volatile: false,
        forms: &[
            Form { takes: &[Double, Double, Double], gives: Text, make: bar },
            Form { takes: &[Double, Double, Double, Double], gives: Text, make: bar },
        ],
    },
];

/// Between separators; without one, character by character.
fn split(of: &[Given<'_>]) -> Result<Made> {
    let (text, separator) = (of[0].text(), of[1].text());
    Ok(Made::Texts(match separator.is_empty() {
        true => text.chars().map(|c| Some(c.to_string())).collect(),
        false => text.split(separator).map(|part| Some(part.to_owned())).collect(),
    }))
}

/// PostgreSQL's: with an E before it if there is a backslash.
pub(super) fn literal(text: &str) -> String {
    let quoted = text.replace('\'', "''");
    match quoted.contains('\\') {
        true => format!("E'{}'", quoted.replace('\\', "\\\\")),
        false => format!("'{quoted}'"),
    }
}

/// A name with quotes, if it needs them.
pub(super) fn name(text: &str) -> String {
    let is_plain = text.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '$');
    match is_plain && !is_keyword(text) {
        true => text.to_owned(),
        false => format!("\"{}\"", text.replace('"', "\"\"")),
    }
}

fn is_keyword(text: &str) -> bool {
    let upper = text.to_uppercase();
    datafusion::sql::sqlparser::keywords::ALL_KEYWORDS.binary_search(&upper.as_str()).is_ok()
}

/// The first letter, and three digits for what follows.
fn soundex(text: &str) -> String {
    let code = |c: char| match c {
        'B' | 'F' | 'P' | 'V' => '1',
        'C' | 'G' | 'J' | 'K' | 'Q' | 'S' | 'X' | 'Z' => '2',
        'D' | 'T' => '3',
        'L' => '4',
        'M' | 'N' => '5',
        'R' => '6',
        'H' | 'W' => '-',
        _ => '0',
    };
    let mut letters = text.chars().filter(char::is_ascii_alphabetic).map(|c| c.to_ascii_uppercase());
    let Some(first) = letters.next() else { return String::new() };
    let (mut out, mut last) = (String::from(first), code(first));
    for digit in letters.map(code) {
        // Letters of one sound beside each other count once, also with an H or W between them.
        if digit != '0' && digit != '-' && digit != last {
            out.push(digit);
        }
        if digit != '-' {
            last = digit;
        }
    }
    format!("{out:0<4}").chars().take(4).collect()
}

/// A bar as long as the number between the least and the greatest one, in eighths of a character.
fn bar(of: &[Given<'_>]) -> Result<Made> {
    let [number, least, greatest] = [0, 1, 2].map(|at| of[at].double());
    let width = of.get(3).map_or(80.0, Given::double);
    if !(1.0..=1000.0).contains(&width) {
        return exec_err!("bar: the width {width} is not between 1 and 1000");
    }
    if !(number.is_finite() && least.is_finite() && greatest.is_finite()) || least >= greatest {
        return exec_err!("bar: {least} and {greatest} are not the ends of a range that {number} can be in");
    }
    let share = ((number - least) / (greatest - least)).clamp(0.0, 1.0);
    let eighths = (share * width.floor() * 8.0) as usize;
    let mut out = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        out.push(['▏', '▎', '▍', '▌', '▋', '▊', '▉'][eighths % 8 - 1]);
    }
    let missing = (width.floor() as usize).saturating_sub(out.chars().count());
    out.push_str(&" ".repeat(missing));
    Ok(out.into())
}

/// The format of `to_char` that says what one of DuckDB's says: `%f`, `%g` and `%n` are the micro-, milli- and nanoseconds of a second.
pub(crate) fn chrono_format(format: &str) -> String {
    let mut meant = String::with_capacity(format.len());
    let mut letters = format.chars();
    while let Some(letter) = letters.next() {
        meant.push(letter);
        if letter != '%' {
            continue;
        }
        match letters.next() {
            Some('f') => meant.push_str("6f"),
            Some('g') => meant.push_str("3f"),
            Some('n') => meant.push_str("9f"),
            Some(other) => meant.push(other),
            None => {}
        }
    }
    meant
}
