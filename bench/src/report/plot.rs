//! Plots: grouped horizontal bars, written as SVG by hand so that no font or library is needed.

use std::fmt::Write as _;

use super::engines;
use super::table::{grouped, short};
use crate::contender::Contender;
use crate::statistics::Summary;
use crate::workload::Suite;

/// A drawn plot.
pub struct Plot {
    /// Its file below plots/.
    pub file: String,
    /// What it shows.
    pub title: String,
    /// The picture.
    pub svg: String,
}

/// Measures of the picture, in pixels.
const WIDTH: f64 = 860.0;
const LABEL_WIDTH: f64 = 210.0;
const VALUE_WIDTH: f64 = 110.0;
const BAR: f64 = 13.0;
const BAR_GAP: f64 = 2.0;
const GROUP_GAP: f64 = 14.0;
const TOP: f64 = 66.0;
/// Groups in one picture: more would not fit a screen.
const GROUPS_MAX: usize = 12;

/// The plots of a suite, at most a dozen groups in each: throughput; of suites without engines, each metric.
pub fn draw(suite: Suite, rows: &[Summary]) -> Vec<Plot> {
    if suite.has_engines() {
        let title = format!("{}: thousand records a second", suite.title());
        return draw_metric(suite.name(), &title, "throughput", rows);
    }
    let mut metrics: Vec<(&str, &str)> = Vec::new();
    for row in rows.iter().filter(|row| suite.plots(row)) {
        let metric = (row.key.metric.as_str(), row.unit.as_str());
        if !metrics.contains(&metric) {
            metrics.push(metric);
        }
    }
    let rows: Vec<Summary> = rows.iter().filter(|row| suite.plots(row)).cloned().collect();
    metrics
        .into_iter()
        .flat_map(|(metric, unit)| {
            let file =
                format!("{}-{}", suite.name(), metric.replace(|c: char| !c.is_ascii_alphanumeric(), "-"));
            draw_metric(&file, &format!("{}: {metric}, {unit}", suite.title()), metric, &rows)
        })
        .collect()
}

fn draw_metric(file: &str, title: &str, metric: &str, rows: &[Summary]) -> Vec<Plot> {
    let rows: Vec<&Summary> = rows.iter().filter(|row| row.key.metric == metric).collect();
    let sheets = rows.chunks(GROUPS_MAX);
    let many = sheets.len() > 1;
    sheets
        .enumerate()
        .map(|(i, sheet)| {
            let kinds = engines(sheet.iter().flat_map(|row| row.medians.keys()));
            let number = if many { format!("-{}", i + 1) } else { String::new() };
            Plot {
                file: format!("{file}{number}.svg"),
                svg: picture(title, &kinds, sheet),
                title: title.into(),
            }
        })
        .collect()
}

fn picture(title: &str, kinds: &[Contender], rows: &[&Summary]) -> String {
    let group_height = kinds.len() as f64 * (BAR + BAR_GAP) + GROUP_GAP;
    let height = TOP + rows.len() as f64 * group_height + 8.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\" role=\"img\">\n\
         <title>{title}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        title = escaped(title)
    );
    text(&mut svg, 12.0, 24.0, "start", "font-size=\"15\" font-weight=\"bold\"", title);
    let mut x = 12.0;
    for kind in kinds {
        let _ =
            writeln!(svg, "<rect x=\"{x}\" y=\"38\" width=\"12\" height=\"12\" fill=\"{}\"/>", kind.colour());
        text(&mut svg, x + 17.0, 48.5, "start", "", kind.name());
        x += 34.0 + 6.5 * kind.name().len() as f64;
    }
    for (i, row) in rows.iter().enumerate() {
        group(&mut svg, kinds, row, TOP + i as f64 * group_height);
    }
    svg.push_str("</svg>\n");
    svg
}

/// One workload: a label and a bar for each engine. Every group has its own scale, which ends at its best
/// engine: workloads differ by orders of magnitude, and what is compared is engines.
fn group(svg: &mut String, kinds: &[Contender], row: &Summary, y: f64) {
    let phase = row.key.workload.split_once('/').map_or(row.key.workload.as_str(), |(_, phase)| phase);
    let middle = y + kinds.len() as f64 * (BAR + BAR_GAP) / 2.0;
    let second_line = match row.key.threads {
        // `data: part` on two lines, in suites without engines.
        _ if row.key.metric != "throughput" => {
            phase.split_once(": ").map_or(String::new(), |(_, part)| part.into())
        }
        1 => "1 thread".into(),
        threads => format!("{threads} threads"),
    };
    let first_line = phase.strip_suffix(&format!(": {second_line}")).unwrap_or(phase);
    text(svg, LABEL_WIDTH - 12.0, middle - 2.0, "end", "", first_line);
    text(svg, LABEL_WIDTH - 12.0, middle + 13.0, "end", "fill=\"#666666\" font-size=\"11\"", &second_line);
    let largest = row.medians.values().copied().fold(f64::MIN_POSITIVE, f64::max);
    let room = WIDTH - LABEL_WIDTH - VALUE_WIDTH;
    for (i, kind) in kinds.iter().enumerate() {
        let top = y + i as f64 * (BAR + BAR_GAP);
        let Some(&value) = row.medians.get(kind) else {
            text(
                svg,
                LABEL_WIDTH + 4.0,
                top + 10.5,
                "start",
                "fill=\"#999999\" font-size=\"11\"",
                "not measured",
            );
            continue;
        };
        let width = (value / largest * room).max(1.0);
        let _ = writeln!(
            svg,
            "<rect x=\"{LABEL_WIDTH}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{BAR}\" fill=\"{}\"/>",
            kind.colour()
        );
        let label = if row.key.metric == "throughput" { thousands(value) } else { short(value) };
        text(svg, LABEL_WIDTH + width + 5.0, top + 10.5, "start", "font-size=\"11\"", &label);
    }
    let bottom = y + kinds.len() as f64 * (BAR + BAR_GAP) - BAR_GAP;
    let _ = writeln!(
        svg,
        "<line x1=\"{LABEL_WIDTH}\" y1=\"{y}\" x2=\"{LABEL_WIDTH}\" y2=\"{bottom}\" stroke=\"#333333\"/>"
    );
}

/// A figure in thousands.
fn thousands(value: f64) -> String {
    match value / 1000.0 {
        v if v >= 100.0 => grouped(v),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, attributes: &str, text: &str) {
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" {attributes}>{}</text>",
        escaped(text)
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::example;
    use crate::statistics::summarise;

    #[test]
    fn the_best_bar_fills_the_width_and_others_are_in_proportion() {
        // Keeps away: bars that do not show the ratios of the figures.
        let figures = [
            example("durable/a<b", "ambo", "throughput", 4000.0, 1),
            example("durable/a<b", "lmdb", "throughput", 1000.0, 1),
        ];
        let plots = draw(Suite::Durable, &summarise(&figures));
        assert_eq!(plots.len(), 1);
        let svg = &plots[0].svg;
        let room = WIDTH - LABEL_WIDTH - VALUE_WIDTH;
        assert!(svg.contains(&format!("width=\"{room:.1}\"")), "{svg}");
        assert!(svg.contains(&format!("width=\"{:.1}\"", room / 4.0)), "{svg}");
        assert!(svg.contains("a&lt;b") && !svg.contains("a<b"));
    }
}
