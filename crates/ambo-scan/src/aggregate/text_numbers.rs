//! Numbers for the text of a column that is grouped by. With them keys with text are numbers as others are.
//!
//! Each text has one number, given in the order in which they come. The text of an entry of a dictionary is looked for once in a block,
//! whatever the number of rows that have it.

use ambo_codec::{
    Error, Result,
    column::{Block, BytesView},
};

use super::{key_list::KeyList, keys::Keys, rows::Rows};

/// No number yet.
const NONE: u32 = u32::MAX;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct TextNumbers {
    texts: Keys,
    /// The numbers of the entries of the dictionary of the block at hand, as far as they are known.
    of_entries: Vec<u32>,
    /// Texts that are looked for, and what they are made of.
    sought: KeyList,
    offsets: Vec<u32>,
}

impl TextNumbers {
    /// Gives up memory that is of use to more text alone.
    pub(super) fn seal(&mut self) {
        self.texts.seal();
        (self.of_entries, self.offsets, self.sought) = (Vec::new(), Vec::new(), KeyList::default());
    }

    /// Bytes that they take.
    pub(super) fn bytes_taken(&self) -> usize {
        size_of::<Self>() + self.texts.bytes_taken()
    }

    /// Another block is at hand from now on.
    pub(super) fn next_block(&mut self) {
        self.of_entries.clear();
    }

    /// Puts the numbers of the texts of rows of the block at hand in the place of others; of NULL any number.
    ///
    /// # Errors
    /// A damaged block.
    pub(super) fn number(
        &mut self,
        block: &Block<'_>,
        rows: &Rows<'_>,
        numbers: &mut Vec<u32>,
    ) -> Result<()> {
        if let Some(codes) = block.text().and_then(|text| text.codes()) {
            match rows {
                Rows::Range(range, _) => codes.read(range.clone(), numbers)?,
                Rows::Places(places) => codes.gather(places, numbers)?,
            }
            self.number_entries(codes.entries()?, numbers);
            Ok(())
        } else if let Some(constant) = block.text().and_then(|text| text.constant()) {
            self.sought.clear();
            self.sought.push_bytes(constant);
            self.texts.number(&self.sought, numbers);
            numbers.resize(rows.len(), numbers[0]);
            Ok(())
        } else {
            let KeyList::Bytes { bytes, ends } = &mut self.sought else { unreachable!("texts are bytes") };
            rows.texts(block, &mut self.offsets, bytes)?;
            ends.clear();
            ends.extend(self.offsets[1..].iter().map(|end| *end as usize));
            debug_assert_eq!(ends.len(), rows.len(), "each row has a text");
            self.texts.number(&self.sought, numbers);
            Ok(())
        }
    }

    /// Puts numbers in the place of codes.
    fn number_entries(&mut self, entries: BytesView<'_>, numbers: &mut [u32]) {
        debug_assert!(
            self.of_entries.is_empty() || self.of_entries.len() == entries.len(),
            "numbers of entries are forgotten with their block"
        );
        self.of_entries.resize(entries.len(), NONE);
        self.sought.clear();
        let mut new = Vec::new();
        for code in &*numbers {
            let number = &mut self.of_entries[*code as usize];
            if *number == NONE {
                // Which one is told below; it is not new again.
                *number = 0;
                new.push(*code);
                self.sought.push_bytes(entries.get(*code as usize));
            }
        }
        if !new.is_empty() {
            let mut found = Vec::new();
            self.texts.number(&self.sought, &mut found);
            assert_eq!(found.len(), new.len(), "each new entry has a number");
            new.iter().zip(found).for_each(|(code, number)| self.of_entries[*code as usize] = number);
        }
        numbers.iter_mut().for_each(|number| *number = self.of_entries[*number as usize]);
        let texts = self.texts.len();
        debug_assert!(numbers.iter().all(|number| (*number as usize) < texts), "numbers are those of texts");
    }

    /// The numbers here of the texts of another one.
    pub(super) fn number_all(&mut self, other: &Self) -> Vec<u32> {
        self.texts.number_all(&other.texts)
    }

    /// The rank of each text by its number.
    pub(super) fn ranks(&self, threads: usize) -> Vec<u32> {
        let mut ranks = vec![0; self.texts.len()];
        self.texts
            .list()
            .order(threads)
            .into_iter()
            .zip(0..)
            .for_each(|(number, rank)| ranks[number as usize] = rank);
        ranks
    }

    /// The bytes with a number.
    pub(super) fn bytes(&self, number: u32) -> &[u8] {
        self.texts.list().bytes(number as usize)
    }

    /// The text with a number.
    ///
    /// # Errors
    /// It is not UTF-8, which only damaged blocks yield.
    pub(super) fn text(&self, number: u32) -> Result<&str> {
        std::str::from_utf8(self.bytes(number)).map_err(|_| Error::invalid("text that is not UTF-8"))
    }
}
