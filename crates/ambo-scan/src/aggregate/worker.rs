//! One thread's part of an aggregation: morsels go in, groups come out.

use std::{cmp::Ordering, iter::once};

use ambo_codec::column::{Block, Mask, Sum, arithmetic::count_by_group};
use ambo_types::Result;

use crate::{buffer::ColumnBuffer, morsel::Morsel};

use super::{
    evaluate::{Blocks, Vectors},
    groups::{GroupColumn, LocalGroups},
    key_form::KeyForm,
    key_list::KeyList,
    local::{Local, accumulate, masked},
    plan::{Accumulator, Compiled, Input},
    program::{Lane, Question, Step, exact, range_of_type},
    rows::{CHUNK, Rows, Texts},
    table::{Table, order_of},
};

/// Rows whose groups are numbered together.
const SLICE: usize = 8 * CHUNK;

/// With fewer rows to a group of a slice, rows are added one by one ([`super::direct`]).
const ROWS_OF_A_GROUP: usize = 3;
/// So many times as many rows are, until a slice tells again how many groups there are.
const DIRECT_ROWS: usize = 31;

/// See the module.
pub(super) struct Worker<'p> {
    pub compiled: &'p Compiled,
    pub table: Table,
    pub lanes: Vec<Lane>,
    pub vectors: Vectors,
    groups: LocalGroups,
    masked: Vec<u16>,
    found: Vec<FoundGroup>,
    /// Columns that are grouped by, the keys that they make, and the numbers of these in the table.
    key_columns: Vec<ColumnBuffer>,
    pub keys: KeyList,
    pub numbers: Vec<u32>,
    /// So many rows more are added one by one.
    direct: usize,
    /// Whether what rows were before must not matter to how rows are added: doubles of a slice are added up before those of several are.
    forgets: bool,
}

/// A group of a slice.
struct FoundGroup {
    /// Its number there.
    local: u32,
    /// Its number in the table.
    number: u32,
    rows: u32,
}

/// What the steps and accumulators of one morsel need.
pub(super) struct Needs {
    /// Steps that are computed.
    pub steps: Vec<bool>,
    /// Accumulators that are not known yet.
    pub accumulators: Vec<bool>,
    /// Whether the numbers of a step may be NULL.
    nullable: Vec<bool>,
}

impl<'p> Worker<'p> {
    pub(super) fn new(compiled: &'p Compiled) -> Self {
        let mut table = Table::new(compiled);
        if compiled.key.is_none() {
            // One group, with rows or without.
            table.push_only(&compiled.accumulators);
        }
        Self {
            compiled,
            table,
            lanes: Vec::new(),
            vectors: Vectors::default(),
            groups: LocalGroups::default(),
            masked: Vec::new(),
            found: Vec::new(),
            key_columns: compiled.key.as_ref().map(KeyForm::buffers).unwrap_or_default(),
            keys: compiled.key.as_ref().map(KeyForm::list).unwrap_or_default(),
            numbers: Vec::new(),
            direct: 0,
            forgets: compiled.sums_floats(),
        }
    }

    /// Adds the selected rows of a morsel.
    pub(super) fn add(&mut self, morsel: &Morsel<'_>) -> Result<()> {
        let compiled = self.compiled;
        if self.forgets {
            self.direct = 0;
        }
        let known = match compiled.key {
            None => self.add_encoded(morsel)?,
            Some(_) => vec![false; compiled.accumulators.len()],
        };
        if compiled.key.is_none() && known.iter().all(|known| *known) {
            return Ok(());
        }
        self.table.next_blocks();
        let accumulators: Vec<bool> = known.iter().map(|known| !known).collect();
        let steps = self.needed_steps(&accumulators);
        let mut blocks = Blocks::new(self.blocks(morsel, &steps, &accumulators)?);
        blocks.answers = self.answers(morsel, &steps, &blocks)?;
        let has_nulls = |step: usize, place: usize| steps[step] && blocks.valid(place).is_some();
        let nullable = compiled.program.nullable(has_nulls);
        let needs = Needs { steps, accumulators, nullable };
        let range =
            |place: usize| morsel.range(place).unwrap_or_else(|| range_of_type(compiled.columns[place]));
        compiled.program.lanes(range, &mut self.lanes);

        let places: Vec<u32>;
        let rows = match morsel.is_dense() {
            true => Rows::Range(0..morsel.rows(), morsel.mask().words()),
            false => {
                places = morsel.mask().iter().map(|row| row as u32).collect();
                Rows::Places(&places)
            }
        };
        for start in (0..rows.len()).step_by(SLICE) {
            let slice = rows.part(start..rows.len().min(start + SLICE));
            match self.direct.checked_sub(slice.len()) {
                Some(left) => {
                    self.direct = left;
                    self.add_directly(morsel, &needs, &blocks, &slice)?;
                }
                None => self.add_slice(morsel, &needs, &blocks, &slice)?,
            }
        }
        Ok(())
    }

    /// Adds what blocks tell of all rows of a morsel without being decoded, where there are no groups. Returns which accumulators
    /// have that.
    fn add_encoded(&mut self, morsel: &Morsel<'_>) -> Result<Vec<bool>> {
        let compiled = self.compiled;
        self.table.add_rows(once((0, morsel.selected() as u64)));
        let mut known = vec![true; compiled.accumulators.len()];
        for (index, &accumulator) in compiled.accumulators.iter().enumerate() {
            let place = match accumulator.input() {
                Input::Text(place) => place,
                Input::Step(step) => match compiled.program.steps[step] {
                    Step::Column(place) => place,
                    _ => {
                        known[index] = false;
                        continue;
                    }
                },
            };
            if let Accumulator::Count(_) = accumulator {
                self.table.add_counts(index, once((0, morsel.count(place)? as u64)));
                continue;
            }
            if let Accumulator::Sum(_) = accumulator {
                match morsel.sum(place)? {
                    Sum::Integer(sum) => self.table.add_exact(index, accumulator, once((0, sum)))?,
                    Sum::Float(sum) => self.table.add_floats(index, accumulator, once((0, sum))),
                }
                continue;
            }
            let Some((low, high)) = morsel.min_max(place)? else { continue };
            let value = if order_of(accumulator) == Ordering::Less { low } else { high };
            match (exact(&value), value.as_ref().as_bytes(), value.as_ref().as_f64()) {
                (Some(value), ..) => self.table.add_exact(index, accumulator, once((0, value)))?,
                (_, text @ Some(_), _) => self.table.add_texts(index, accumulator, once((0, text))),
                (.., float) => {
                    let float = float.expect("what is no integer and no text is a float");
                    self.table.add_floats(index, accumulator, once((0, float)));
                }
            }
        }
        Ok(known)
    }

    fn needed_steps(&self, accumulators: &[bool]) -> Vec<bool> {
        let steps = &self.compiled.program.steps;
        let mut needed = vec![false; steps.len()];
        for (accumulator, _) in
            self.compiled.accumulators.iter().zip(accumulators).filter(|(_, needed)| **needed)
        {
            if let Input::Step(step) = accumulator.input() {
                needed[step] = true;
            }
        }
        for index in (0..steps.len()).rev().filter(|index| needed[*index]).collect::<Vec<_>>() {
            mark(steps, index, &mut needed);
        }
        needed
    }

    /// The blocks of columns that are grouped by or computed with.
    fn blocks<'m>(
        &self,
        morsel: &'m Morsel<'_>,
        steps: &[bool],
        accumulators: &[bool],
    ) -> Result<Vec<Option<Block<'m>>>> {
        let compiled = self.compiled;
        let mut needed = vec![false; compiled.columns.len()];
        compiled.group_by.iter().for_each(|place| needed[*place] = true);
        for (step, _) in compiled.program.steps.iter().zip(steps).filter(|(_, needed)| **needed) {
            match *step {
                Step::Column(place) => needed[place] = true,
                Step::Holds(question) => needed[compiled.program.questions[question].place] = true,
                _ => {}
            }
        }
        for (accumulator, _) in compiled.accumulators.iter().zip(accumulators).filter(|(_, needed)| **needed)
        {
            if let Input::Text(place) = accumulator.input() {
                needed[place] = true;
            }
        }
        let block = |(place, needed): (usize, &bool)| needed.then(|| morsel.block(place)).transpose();
        needed.iter().enumerate().map(block).collect()
    }

    /// Which of the selected rows answer the questions of needed steps with yes.
    fn answers(&self, morsel: &Morsel<'_>, steps: &[bool], blocks: &Blocks<'_>) -> Result<Vec<Option<Mask>>> {
        let program = &self.compiled.program;
        let mut answers = vec![None; program.questions.len()];
        for (step, _) in program.steps.iter().zip(steps).filter(|(_, needed)| **needed) {
            let Step::Holds(number) = *step else { continue };
            let Question { place, test } = &program.questions[number];
            let mut yes = morsel.mask().clone();
            test.with(|predicate| blocks.column(*place).filter(*predicate, &mut yes))
                .map_err(|error| morsel.wrong_at(*place, error))?;
            answers[number] = Some(yes);
        }
        Ok(answers)
    }

    fn add_slice(
        &mut self,
        morsel: &Morsel<'_>,
        needs: &Needs,
        blocks: &Blocks<'_>,
        rows: &Rows<'_>,
    ) -> Result<()> {
        let compiled = self.compiled;
        let wrong = |place: usize, error: ambo_codec::Error| morsel.wrong_at(place, error);
        let block = |place: usize| blocks.column(place);
        let is_grouped = compiled.key.is_some();
        if is_grouped {
            let columns: Vec<_> = compiled
                .group_by
                .iter()
                .map(|&place| GroupColumn {
                    block: block(place),
                    valid: blocks.valid(place),
                    range: morsel.range(place).unwrap_or_else(|| range_of_type(compiled.columns[place])),
                    place,
                })
                .collect();
            self.groups.number(&columns, rows).map_err(|(place, error)| wrong(place, error))?;
        } else {
            self.groups.count = 1;
        }
        let count = self.groups.count;
        let mut locals: Vec<Local> = (0..compiled.accumulators.len())
            .map(|index| {
                let is_nullable = |step: usize| needs.nullable[step];
                Local::new(compiled.accumulators[index], &self.lanes, is_nullable, count, rows.len())
            })
            .collect();
        for start in (0..rows.len()).step_by(CHUNK) {
            let range = start..rows.len().min(start + CHUNK);
            let chunk = rows.part(range.clone());
            self.vectors.compute(&compiled.program, &self.lanes, &needs.steps, blocks, &chunk, &wrong)?;
            for (index, local) in
                locals.iter_mut().enumerate().filter(|(index, _)| needs.accumulators[*index])
            {
                let Input::Step(step) = compiled.accumulators[index].input() else { continue };
                let valid = self.vectors.0[step].valid;
                let ids = is_grouped.then(|| {
                    masked(&self.groups.ids[range.clone()], valid.as_ref(), count as u16, &mut self.masked)
                });
                accumulate(
                    compiled.accumulators[index],
                    &self.vectors.0[step],
                    self.lanes[step],
                    ids,
                    &chunk,
                    local,
                )?;
            }
        }
        // Text is compared by slices: it is not decoded for anything else.
        let mut texts = vec![Texts::default(); compiled.columns.len()];
        for (index, local) in locals.iter_mut().enumerate().filter(|(index, _)| needs.accumulators[*index]) {
            let Input::Text(place) = compiled.accumulators[index].input() else { continue };
            let valid =
                |row: usize| blocks.valid(place).is_none_or(|valid| valid.get(rows.place(row) as usize));
            let group = |row: usize| if is_grouped { self.groups.ids[row].into() } else { 0 };
            match local {
                Local::Counts(counts) => {
                    (0..rows.len()).filter(|row| valid(*row)).for_each(|row| counts[group(row)] += 1);
                }
                Local::Rows(best) => {
                    texts[place].need(rows, block(place)).map_err(|error| wrong(place, error))?;
                    let wanted = order_of(compiled.accumulators[index]);
                    let text = |row: usize| texts[place].get(row);
                    for row in (0..rows.len()).filter(|row| valid(*row)) {
                        let best = &mut best[group(row)];
                        if best.is_none_or(|best| text(row).cmp(text(best as usize)) == wanted) {
                            *best = Some(row as u32);
                        }
                    }
                }
                _ => {}
            }
        }
        self.merge_slice(morsel, blocks, rows, needs, &locals, &texts)
    }

    /// Adds what was found of a slice's groups to the table.
    // Put into `add_slice` it makes the loops there slower, where rows are left out.
    #[inline(never)]
    fn merge_slice(
        &mut self,
        morsel: &Morsel<'_>,
        blocks: &Blocks<'_>,
        rows: &Rows<'_>,
        needs: &Needs,
        locals: &[Local],
        texts: &[Texts],
    ) -> Result<()> {
        let compiled = self.compiled;
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        if compiled.key.is_some() {
            self.find_groups(morsel, blocks, rows, &mut found)?;
        } else {
            let count = (0..rows.len().div_ceil(64)).map(|index| rows.word(index).count_ones()).sum();
            found.push(FoundGroup { local: 0, number: 0, rows: count });
        }
        let table = &mut self.table;
        for (index, local) in locals.iter().enumerate().filter(|(index, _)| needs.accumulators[*index]) {
            let accumulator = compiled.accumulators[index];
            let numbers = found.iter().map(|group| (group.number, group.local as usize));
            match local {
                Local::AllRows => {
                    table.add_counts(index, found.iter().map(|group| (group.number, group.rows.into())));
                }
                Local::Counts(counts) => {
                    table.add_counts(index, numbers.map(|(number, local)| (number, counts[local].into())));
                }
                Local::Narrow(values) => {
                    let values = numbers.map(|(number, local)| (number, values[local].into()));
                    table.add_exact(index, accumulator, values)?;
                }
                Local::Wide(values) => {
                    table.add_exact(
                        index,
                        accumulator,
                        numbers.map(|(number, local)| (number, values[local])),
                    )?;
                }
                Local::Floats(values) => {
                    table.add_floats(
                        index,
                        accumulator,
                        numbers.map(|(number, local)| (number, values[local])),
                    );
                }
                Local::Rows(best) => {
                    let Input::Text(place) = accumulator.input() else { unreachable!("rows are of text") };
                    let text = |row: u32| texts[place].get(row as usize);
                    let texts = numbers.map(|(number, local)| (number, best[local].map(text)));
                    table.add_texts(index, accumulator, texts);
                }
            }
        }
        self.found = found;
        Ok(())
    }

    /// The groups of a slice that have rows, which are added to the table.
    // Not put into its caller for the same reason as that.
    #[inline(never)]
    fn find_groups(
        &mut self,
        morsel: &Morsel<'_>,
        blocks: &Blocks<'_>,
        rows: &Rows<'_>,
        found: &mut Vec<FoundGroup>,
    ) -> Result<()> {
        let count = self.groups.count;
        let mut counts = vec![0u32; count + 1];
        count_by_group(&self.groups.ids, &mut counts);
        // The first row of each group stands for it.
        let mut left = counts[..count].iter().filter(|count| **count > 0).count();
        let mut seen = vec![false; count + 1];
        seen[count] = true;
        let mut places = Vec::with_capacity(left);
        for (row, &id) in self.groups.ids.iter().enumerate() {
            if left == 0 {
                break;
            }
            if !std::mem::replace(&mut seen[usize::from(id)], true) {
                places.push(rows.place(row));
                found.push(FoundGroup { local: id.into(), number: 0, rows: counts[usize::from(id)] });
                left -= 1;
            }
        }
        debug_assert_eq!(left, 0, "each group was found");
        let counting: u32 = (0..rows.len().div_ceil(64)).map(|index| rows.word(index).count_ones()).sum();
        assert_eq!(
            found.iter().map(|group| group.rows).sum::<u32>(),
            counting,
            "each row that counts is of a group"
        );
        self.number(morsel, blocks, &Rows::Places(&places))?;
        found.iter_mut().zip(&self.numbers).for_each(|(group, number)| group.number = *number);
        self.table.add_rows(found.iter().map(|group| (group.number, group.rows.into())));
        if found.len() * ROWS_OF_A_GROUP > rows.len() {
            self.direct = DIRECT_ROWS * rows.len();
        }
        Ok(())
    }

    /// Numbers the groups of rows in the table, whether they count or not.
    pub(super) fn number(&mut self, morsel: &Morsel<'_>, blocks: &Blocks<'_>, rows: &Rows<'_>) -> Result<()> {
        let compiled = self.compiled;
        let form = compiled.key.as_ref().expect("there are columns to group by");
        for (index, (column, &place)) in self.key_columns.iter_mut().zip(&compiled.group_by).enumerate() {
            column.clear();
            let block = blocks.column(place);
            match rows {
                _ if form.has_numbers(index) => {
                    let valid = blocks.valid(place);
                    let is_valid = |row| valid.is_none_or(|valid| valid.get(rows.place(row) as usize));
                    let numbers = column.numbers_mut();
                    let numbered = self.table.text_numbers(index).number(block, rows, numbers);
                    numbered.map(|()| column.append_validity(rows.len(), is_valid, valid.is_none()))
                }
                Rows::Range(range, _) => column.append_block(block, range.clone()),
                Rows::Places(places) => column.append_places(block, places),
            }
            .map_err(|error| morsel.wrong_at(place, error))?;
        }
        debug_assert!(
            self.key_columns.iter().all(|of| of.len() == rows.len()),
            "each row has a value to group by"
        );
        form.encode(&mut self.key_columns, &mut self.keys)
            .map_err(|error| morsel.wrong_at(compiled.group_by[0], error))?;
        self.table.number(&self.keys, &compiled.accumulators, &mut self.numbers);
        assert_eq!(self.numbers.len(), rows.len(), "each row has a group");
        Ok(())
    }
}

/// Marks a step, its operands, and theirs.
fn mark(steps: &[Step], index: usize, needed: &mut [bool]) {
    needed[index] = true;
    steps[index].operands().for_each(|operand| mark(steps, operand, needed));
}
