//! Tables, targets and plots from the results files.

mod plot;
mod quoted;
mod table;
mod target;

use std::fs;

pub use table::{LIMITED, grouped};

use plot::Plot;

use crate::contender::Contender;
use crate::engine::Result;
use crate::options::Options;
use crate::results::{self, Figure};
use crate::statistics::summarise;
use crate::workload::Suite;

/// The first line of what is written here.
const GENERATED: &str = "<!-- Written by `ambo-bench report`: change it there. -->";

/// Prints the tables of the suites, and writes them beside their results, a page for each suite, with plots, and one for the targets.
pub fn write(options: &Options) -> Result<()> {
    let mut all = Vec::new();
    for &suite in &Suite::ALL {
        let path = options.results.join(format!("{}.json", suite.name()));
        if !path.exists() {
            continue;
        }
        let figures = results::read(&path)?;
        let (section, plots) = section(suite, &figures);
        if options.suites.contains(&suite) {
            println!("{section}");
        }
        fs::write(path.with_extension("md"), page(&section))?;
        let folder = options.results.join("plots");
        fs::create_dir_all(&folder)?;
        plots.iter().try_for_each(|plot| fs::write(folder.join(&plot.file), &plot.svg))?;
        all.extend(figures);
    }
    if all.is_empty() {
        return Err(format!("no results in {}", options.results.display()).into());
    }
    let targets = target::table(&summarise(&all));
    println!("{targets}");
    Ok(fs::write(options.results.join("targets.md"), page(&targets))?)
}

/// A section as a page, whose title is its heading.
fn page(section: &str) -> String {
    format!("{GENERATED}\n\n#{}\n", section.trim().trim_start_matches('#'))
}

/// The tables of a suite, and the plots that stand before them.
fn section(suite: Suite, figures: &[Figure]) -> (String, Vec<Plot>) {
    let rows = summarise(figures);
    let mut text = format!("### `{}`: {}\n\n", suite.name(), suite.title());
    if let Some(figure) = figures.last() {
        let machine = &figure.machine;
        let runs = figures.iter().map(|figure| figure.run).max().unwrap_or(1);
        // Cases of suites without engines have data of their own.
        let records =
            suite.has_engines().then(|| format!("{} records, median", table::grouped(figure.records as f64)));
        text.push_str(&format!(
            "{} of {runs}; {}, {} cores, {} GiB, Linux {}, {}, {}.\n\n",
            records.unwrap_or("Median".into()),
            machine.cpu,
            machine.cores,
            machine.memory_gib,
            machine.kernel,
            machine.disk,
            machine.date
        ));
    }
    for figure in figures.iter().filter(|figure| figure.failure.is_some()) {
        let reason = figure.failure.as_deref().unwrap_or_default();
        let (workload, threads) = (&figure.workload, figure.threads);
        text.push_str(&format!(
            "**Failed:** {workload} on {}, {threads} threads, run {}: {reason}.\n\n",
            figure.engine.name(),
            figure.run
        ));
    }
    let plots = plot::draw(suite, &rows);
    for plot in &plots {
        text.push_str(&format!("![{}](plots/{})\n\n", plot.title, plot.file));
    }
    if !suite.has_engines() {
        text.push_str(&quoted::table(&rows));
        text.push_str(&table::metrics(&rows));
        return (text, plots);
    }
    text.push_str(&table::throughput(&rows));
    text.push_str(&table::limited(&rows));
    text.push_str(&table::latencies(&rows));
    text.push_str(&table::costs(&rows));
    (text, plots)
}

/// The engines that occur, in the order of the tables.
fn engines<'a>(medians: impl Iterator<Item = &'a Contender>) -> Vec<Contender> {
    let mut kinds: Vec<Contender> = medians.cloned().collect();
    kinds.sort();
    kinds.dedup();
    kinds
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_pages_have_the_figures_of_the_results() {
        // Keeps away: tables that somebody changed by hand, or forgot to renew.
        let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("results");
        let stored = |name: &str| fs::read_to_string(results.join(name)).expect("a file beside the results");
        let mut all = Vec::new();
        for suite in Suite::ALL {
            let Ok(figures) = results::read(&results.join(format!("{}.json", suite.name()))) else {
                continue;
            };
            let (section, plots) = section(suite, &figures);
            assert!(stored(&format!("{}.md", suite.name())) == page(&section), "{}", suite.name());
            for plot in plots {
                assert!(stored(&format!("plots/{}", plot.file)) == plot.svg, "{}", plot.file);
            }
            all.extend(figures);
        }
        assert!(!all.is_empty());
        assert!(stored("targets.md") == page(&target::table(&summarise(&all))), "targets");
    }
}
