//! Records of text: Elekt's table with one VARCHAR(8000) in UTF-8, in the record buffer of Firebird; small documents.

use crate::random::Random;

/// Characters of the column.
const CHARACTERS: usize = 8000;
/// Characters of a short text, at most.
const SHORT: u64 = 60;
/// Bytes of a document, on average.
const DOCUMENT_BYTES: u64 = 400;

const WORDS: [&str; 24] = [
    "faktura",
    "zákazník",
    "zboží",
    "sklad",
    "objednávka",
    "dodávka",
    "Praha",
    "Brno",
    "kus",
    "cena",
    "Kč",
    "bez",
    "DPH",
    "na",
    "od",
    "do",
    "splatnost",
    "číslo",
    "řada",
    "účet",
    "platba",
    "převodem",
    "hotově",
    "poznámka",
];

/// What the rows hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Texts {
    /// NULL in every row.
    Null,
    /// Up to 60 characters.
    Short,
    /// All 8,000 characters.
    Full,
}

impl Texts {
    /// All of them.
    pub const ALL: [Texts; 3] = [Texts::Null, Texts::Short, Texts::Full];

    /// The name in the figures.
    pub fn name(self) -> &'static str {
        match self {
            Texts::Null => "all NULL",
            Texts::Short => "short texts",
            Texts::Full => "full texts",
        }
    }

    /// A row as Firebird hands it to its record compression: four bytes of NULL flags, two of length, then four bytes
    /// for each character that the column may have, of which those behind the text are zero.
    pub fn record(self, random: &mut Random) -> Vec<u8> {
        let mut record = vec![0; 4 + 2 + 4 * CHARACTERS];
        let text = match self {
            Texts::Null => {
                record[0] = 1;
                return record;
            }
            Texts::Short => words(1 + random.below(SHORT) as usize, random),
            Texts::Full => words(CHARACTERS, random),
        };
        record[4..6].copy_from_slice(&(text.len() as u16).to_le_bytes());
        record[6..6 + text.len()].copy_from_slice(text.as_bytes());
        record
    }
}

/// An order as JSON.
pub fn document(random: &mut Random) -> Vec<u8> {
    let mut text = format!("{{\"id\":{},\"items\":[", random.below(1 << 30));
    let len = DOCUMENT_BYTES / 2 + random.below(DOCUMENT_BYTES);
    while (text.len() as u64) < len {
        let (article, price) = (random.below(5000), random.below(90_000));
        text.push_str(&format!("{{\"article\":\"A-{article}\",\"price\":{price},\"currency\":\"EUR\"}},"));
    }
    text.push_str("]}");
    text.into_bytes()
}

/// Words and numbers of so many characters.
fn words(characters: usize, random: &mut Random) -> String {
    let mut text = String::new();
    let mut count = 0;
    while count < characters {
        let word = match random.below(8) {
            0 => random.below(100_000).to_string(),
            _ => WORDS[random.below(WORDS.len() as u64) as usize].to_owned(),
        };
        for character in word.chars().chain(std::iter::once(' ')).take(characters - count) {
            text.push(character);
            count += 1;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_have_firebirds_size_whatever_is_in_them() {
        // Keeps away: records that are small before a codec has seen them.
        let mut random = Random::new(1);
        for texts in Texts::ALL {
            assert_eq!(texts.record(&mut random).len(), 32_006, "{texts:?}");
        }
        let full = Texts::Full.record(&mut random);
        let len = usize::from(u16::from_le_bytes([full[4], full[5]]));
        let text = std::str::from_utf8(&full[6..6 + len]).expect("UTF-8");
        assert_eq!(text.chars().count(), CHARACTERS);
    }
}
