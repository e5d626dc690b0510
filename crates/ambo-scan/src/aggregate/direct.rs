//! Rows of many groups: each is numbered in the table itself, and its values are added there.
//!
//! Where a slice has not many rows to a group, to number its groups first and to add to those is work for nothing.

use ambo_types::Result;

use crate::morsel::Morsel;

use super::{
    evaluate::Blocks,
    plan::{Accumulator, Input},
    program::Lane,
    rows::{CHUNK, Rows, Texts, bit},
    worker::{Needs, Worker},
};

impl Worker<'_> {
    /// Adds the rows of a slice.
    // Put into its caller it makes the loops of `add_slice`, which is there already, slower.
    #[inline(never)]
    pub(super) fn add_directly(
        &mut self,
        morsel: &Morsel<'_>,
        needs: &Needs,
        blocks: &Blocks<'_>,
        rows: &Rows<'_>,
    ) -> Result<()> {
        let compiled = self.compiled;
        let wrong = |place: usize, error: ambo_codec::Error| morsel.wrong_at(place, error);
        let (mut places, mut texts) = (Vec::new(), vec![Texts::default(); compiled.columns.len()]);
        for start in (0..rows.len()).step_by(CHUNK) {
            let part = rows.part(start..rows.len().min(start + CHUNK));
            let chunk = part.counting(&mut places);
            self.number(morsel, blocks, &chunk)?;
            debug_assert_eq!(self.numbers.len(), chunk.len(), "each row that counts has a group");
            self.vectors.compute(&compiled.program, &self.lanes, &needs.steps, blocks, &chunk, &wrong)?;
            self.table.add_rows(self.numbers.iter().map(|number| (*number, 1)));
            texts.iter_mut().for_each(Texts::clear);
            for index in (0..compiled.accumulators.len()).filter(|index| needs.accumulators[*index]) {
                match compiled.accumulators[index].input() {
                    Input::Step(step) => self.add_numbers(index, step)?,
                    Input::Text(place) => {
                        let added = self.add_texts(index, place, blocks, &chunk, &mut texts[place]);
                        added.map_err(|error| wrong(place, error))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds the numbers of a step.
    fn add_numbers(&mut self, index: usize, step: usize) -> Result<()> {
        let accumulator = self.compiled.accumulators[index];
        let vector = &self.vectors.0[step];
        debug_assert_eq!(
            vector.len(self.lanes[step]),
            self.numbers.len(),
            "each row has a number and a group"
        );
        let is_there = |row: &usize| vector.valid.is_none_or(|valid| bit(&valid, *row));
        let rows = (0..self.numbers.len()).filter(is_there);
        let number = |row: usize| self.numbers[row];
        match (accumulator, self.lanes[step]) {
            (Accumulator::Count(_), _) => self.table.add_counts(index, rows.map(|row| (number(row), 1))),
            (_, Lane::Narrow(..)) => {
                let values = rows.map(|row| (number(row), vector.narrow[row].into()));
                self.table.add_exact(index, accumulator, values)?;
            }
            (_, Lane::Wide) => {
                let values = rows.map(|row| (number(row), vector.wide[row]));
                self.table.add_exact(index, accumulator, values)?;
            }
            (_, Lane::Float) => {
                let values = rows.map(|row| (number(row), vector.float[row]));
                self.table.add_floats(index, accumulator, values);
            }
        }
        Ok(())
    }

    /// Adds the text of a column, which another accumulator may have decoded.
    fn add_texts(
        &mut self,
        index: usize,
        place: usize,
        blocks: &Blocks<'_>,
        chunk: &Rows<'_>,
        texts: &mut Texts,
    ) -> ambo_codec::Result<()> {
        let accumulator = self.compiled.accumulators[index];
        debug_assert_eq!(self.numbers.len(), chunk.len(), "each row has a group");
        let is_there =
            |row: &usize| blocks.valid(place).is_none_or(|valid| valid.get(chunk.place(*row) as usize));
        let rows = (0..chunk.len()).filter(is_there);
        if let Accumulator::Count(_) = accumulator {
            self.table.add_counts(index, rows.map(|row| (self.numbers[row], 1)));
            return Ok(());
        }
        texts.need(chunk, blocks.column(place))?;
        self.table.add_texts(index, accumulator, rows.map(|row| (self.numbers[row], Some(texts.get(row)))));
        Ok(())
    }
}
