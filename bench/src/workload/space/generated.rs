//! Data without a source of their own: doubles, and words and addresses.

use std::path::Path;

use super::column::{Column, Table, Texts, Values};
use crate::engine::Result;
use crate::random::{Random, Zipfian};

/// Doubles of several kinds: bits that nothing compresses, measurements of two decimals, and a random walk.
pub fn doubles(rows: u64) -> Table {
    let mut random = Random::new(0xd0b1e5);
    let full: Vec<f64> = (0..rows).map(|_| random.unit()).collect();
    let prices: Vec<f64> = (0..rows).map(|_| random.below(1_000_000) as f64 / 100.0).collect();
    let mut level = 20.0_f64;
    let walk = (0..rows)
        .map(|_| {
            level += (random.unit() - 0.5) / 4.0;
            (level * 1000.0).round() / 1000.0
        })
        .collect();
    let columns = vec![
        Column::new("random in [0, 1)", Values::F64(full)),
        Column::new("random, two decimals", Values::F64(prices)),
        Column::new("random walk, three decimals", Values::F64(walk)),
    ];
    Table { name: "doubles".into(), source: "generated".into(), columns }
}

/// English words, and addresses made of them. Without the list of words, words are made of syllables.
pub fn words(list: &Path, rows: u64) -> Result<Table> {
    let (words, source) = match std::fs::read_to_string(list) {
        Ok(text) => {
            let words: Vec<String> = text.lines().map(str::to_owned).collect();
            let source = format!("{} English words, word-list 4.1.0 from npm, MIT", words.len());
            (words, source)
        }
        Err(_) => (syllables(100_000), "words made of syllables".into()),
    };
    if words.len() < 1000 {
        return Err(format!("{}: fewer than 1,000 words", list.display()).into());
    }
    let mut sorted = Texts::default();
    words.iter().cycle().take(rows as usize).for_each(|word| sorted.push(word));
    let zipfian = Zipfian::new(words.len() as u64, Zipfian::THETA);
    let mut random = Random::new(0x0077_01d5);
    let mut word = || words[zipfian.scrambled(&mut random) as usize].as_str();
    let mut frequent = Texts::default();
    let mut addresses = Texts::default();
    for _ in 0..rows {
        frequent.push(word());
        let (host, section, page) = (word(), word(), word());
        addresses.push(&format!("https://www.{host}.example/{section}/{page}.html"));
    }
    let columns = vec![
        Column::new("words in order", Values::Text(sorted)),
        Column::new("words by frequency (zipfian)", Values::Text(frequent)),
        Column::new("addresses of such words", Values::Text(addresses)),
    ];
    Ok(Table { name: "words".into(), source, columns })
}

fn syllables(count: usize) -> Vec<String> {
    const SYLLABLES: [&str; 24] = [
        "an", "ber", "cor", "del", "en", "for", "gra", "hel", "in", "jo", "ka", "lo", "man", "ner", "or",
        "per", "que", "ra", "ster", "ti", "un", "ver", "wal", "zo",
    ];
    let mut random = Random::new(0x5711);
    let mut words: Vec<String> = (0..count)
        .map(|_| {
            let parts = 2 + random.below(4);
            (0..parts).map(|_| SYLLABLES[random.below(SYLLABLES.len() as u64) as usize]).collect()
        })
        .collect();
    words.sort();
    words.dedup();
    words
}
