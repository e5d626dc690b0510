//! Words, names and signs of a text.

use super::Name;

/// Conditions and arithmetic are nested no deeper.
const DEPTH_MAX: usize = 100;

/// A text, and how far it was read.
pub(super) struct Scanner<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    pub(super) names: Vec<Name>,
}

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0, depth: 0, names: Vec::new() }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Goes back to where it was.
    pub(super) fn back_to(&mut self, at: usize) {
        self.at = at;
    }

    /// Reads what is nested one deeper.
    pub(super) fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, String>,
    ) -> Result<T, String> {
        if self.depth == DEPTH_MAX {
            return Err(format!("conditions are nested at most {DEPTH_MAX} deep"));
        }
        self.depth += 1;
        let done = read(self);
        self.depth -= 1;
        done
    }

    fn rest(&mut self) -> &'t str {
        let rest = &self.text[self.at..];
        let trimmed = rest.trim_start();
        self.at += rest.len() - trimmed.len();
        trimmed
    }

    pub(super) fn is_end(&mut self) -> bool {
        self.rest().is_empty()
    }

    /// Passes a sign if it stands here.
    pub(super) fn sign(&mut self, sign: &str) -> bool {
        let is = self.rest().starts_with(sign);
        self.at += if is { sign.len() } else { 0 };
        is
    }

    pub(super) fn expect(&mut self, sign: &str) -> Result<(), String> {
        if self.sign(sign) { Ok(()) } else { Err(format!("\"{sign}\" should stand here")) }
    }

    /// The bytes at the beginning of which `is` holds.
    fn while_is(&mut self, is: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|c| !is(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// Passes a key word if it stands here, in any case.
    pub(super) fn word(&mut self, word: &str) -> bool {
        let at = self.at;
        let found = self.while_is(|c| c.is_alphanumeric() || c == '_');
        let is = found.eq_ignore_ascii_case(word);
        if !is {
            self.at = at;
        }
        is
    }

    pub(super) fn expect_word(&mut self, word: &str) -> Result<(), String> {
        if self.word(word) { Ok(()) } else { Err(format!("{} should stand here", word.to_uppercase())) }
    }

    /// What stands between quotes, where two stand for one.
    fn quoted(&mut self, quote: char) -> Option<String> {
        let rest = self.rest().strip_prefix(quote)?;
        let mut text = String::new();
        let mut chars = rest.char_indices();
        while let Some((at, c)) = chars.next() {
            if c != quote {
                text.push(c);
            } else if rest[at + 1..].starts_with(quote) {
                text.push(c);
                chars.next();
            } else {
                self.at += quote.len_utf8() + at + 1;
                return Some(text);
            }
        }
        None
    }

    /// The name of a function in lower case, which may be one of a library.
    pub(super) fn function(&mut self) -> Option<String> {
        if let Some(name) = self.quoted('"') {
            return (!name.is_empty()).then(|| name.to_lowercase());
        }
        let name = self.while_is(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        // `a-(b)` is a difference.
        (!name.is_empty() && !name.ends_with('-')).then(|| name.to_lowercase())
    }

    /// The name of a table or a column.
    pub(super) fn name(&mut self) -> Option<String> {
        if let Some(name) = self.quoted('"') {
            return (!name.is_empty()).then_some(name);
        }
        if !self.rest().starts_with(|c: char| c.is_alphabetic() || c == '_') {
            return None;
        }
        Some(self.while_is(|c| c.is_alphanumeric() || c == '_').to_owned())
    }

    /// `$key`, `$record` or a column.
    pub(super) fn input(&mut self) -> Option<Name> {
        if self.sign("$") {
            return match () {
                () if self.word("key") => Some(Name::Key),
                () if self.word("record") => Some(Name::Record),
                () => None,
            };
        }
        self.name().map(Name::Column)
    }

    /// The place of a name among those of the text.
    pub(super) fn place(&mut self, name: Name) -> usize {
        self.names.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        })
    }

    /// A whole number.
    pub(super) fn whole(&mut self) -> Option<u64> {
        self.while_is(|c| c.is_ascii_digit()).parse().ok()
    }

    /// As C writes them: `0x10`, `010`, `8`.
    pub(super) fn number_of_database(&mut self) -> Option<u64> {
        let digits = self.while_is(|c| c.is_ascii_alphanumeric());
        let lower = digits.to_ascii_lowercase();
        match lower.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None if lower.len() > 1 && lower.starts_with('0') => u64::from_str_radix(&lower, 8).ok(),
            None => lower.parse().ok(),
        }
    }

    /// The text of a number without its sign.
    pub(super) fn unsigned(&mut self) -> Option<&'t str> {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let mut end = digits(0);
        if end == 0 {
            return None;
        }
        if bytes.get(end) == Some(&b'.') {
            end += 1 + digits(end + 1);
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            let of_power = digits((end + 1 + sign).min(bytes.len()));
            end += if of_power > 0 { 1 + sign + of_power } else { 0 };
        }
        self.at += end;
        Some(&rest[..end])
    }

    /// A text in single quotes.
    pub(super) fn text(&mut self) -> Option<String> {
        self.quoted('\'')
    }
}
