//! Collects the figures of a case in which all that is compared runs in one process.

use std::path::PathBuf;

use super::Case;
use crate::engine::Result;
use crate::options::Options;
use crate::results::{Figure, Machine};

/// The place where one case is measured.
#[derive(Debug)]
pub struct Sheet {
    /// What is measured.
    pub case: Case,
    /// Records in the data set.
    pub records: u64,
    /// As the user asked.
    pub options: Options,
    /// A directory that is gone after the run.
    pub dir: PathBuf,
    /// A directory whose files are kept from run to run.
    pub inputs: PathBuf,
    machine: Machine,
    figures: Vec<Figure>,
}

impl Sheet {
    /// An empty sheet.
    pub fn new(case: Case, options: &Options) -> Result<Sheet> {
        std::fs::create_dir_all(&options.dir)?;
        std::fs::create_dir_all(&options.child.inputs)?;
        Ok(Sheet {
            case,
            records: options.records_of(case),
            dir: options.dir.clone(),
            inputs: options.child.inputs.clone(),
            machine: Machine::here(&options.dir),
            options: options.clone(),
            figures: Vec::new(),
        })
    }

    /// Adds a figure: of some data, whose it is, what was measured, in which unit.
    ///
    /// # Panics
    /// If `value` is no number: something took no time, or there was nothing to measure.
    pub fn figure(&mut self, data: &str, whose: &str, metric: &str, unit: &str, value: f64) {
        assert!(value.is_finite(), "{data}: {metric} of {whose} is {value}");
        self.figures.push(Figure {
            workload: format!("{}/{data}", self.case.suite.name()),
            engine: whose.into(),
            threads: self.case.threads,
            metric: metric.into(),
            unit: unit.into(),
            value,
            run: self.options.child.run,
            records: self.records,
            machine: self.machine.clone(),
            failure: None,
        });
    }

    /// Says what is being done; figures alone would leave a person waiting in the dark.
    pub fn note(&self, text: &str) {
        eprintln!("  {} {}: {text}", self.case.suite.name(), self.case.name);
    }

    /// Hands out the figures.
    pub fn finish(self) -> Vec<Figure> {
        self.figures
    }
}
