//! EXPLAIN with options in parentheses, and as JSON: one value, a list of plans as PostgreSQL has it, whose nodes are those of the plan
//! that is run.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use datafusion::sql::sqlparser::ast::{Expr, Statement, UtilityOption, Value};
use serde_json::{Map, Value as Json, json};

use crate::{
    Error, Result, Rows,
    names::{about, ident},
    rows::Source,
};

/// Takes what the options say into the statement. Returns whether the plan is to be JSON.
///
/// # Errors
/// An option that there is not.
pub(super) fn take_options(explain: &mut Statement) -> Result<bool> {
    let Statement::Explain { analyze, verbose, format, options, .. } = explain else { return Ok(false) };
    let mut is_json = false;
    if format.as_ref().is_some_and(|format| format.to_string().to_uppercase().ends_with("JSON")) {
        (is_json, *format) = (true, None);
    }
    for UtilityOption { name, arg } in options.take().into_iter().flatten() {
        match ident(&name).to_lowercase().as_str() {
            "analyze" => *analyze = truth(&name, arg.as_ref())?,
            "verbose" => *verbose = truth(&name, arg.as_ref())?,
            "format" => match arg.as_ref().map(word).as_deref() {
                Some("json") => is_json = true,
                Some("text") => {}
                other => {
                    let other = other.unwrap_or_default();
                    return Err(about(
                        Error::not_found("format", other, ["json", "text"].into_iter()),
                        &name,
                    ));
                }
            },
            other => {
                let known = ["analyze", "verbose", "format"];
                return Err(about(Error::not_found("option of EXPLAIN", other, known.into_iter()), &name));
            }
        }
    }
    Ok(is_json)
}

fn word(expr: &Expr) -> String {
    match expr {
        Expr::Identifier(name) => ident(name).to_lowercase(),
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => text.to_lowercase(),
            other => other.to_string().to_lowercase(),
        },
        other => other.to_string().to_lowercase(),
    }
}

fn truth(name: &datafusion::sql::sqlparser::ast::Ident, arg: Option<&Expr>) -> Result<bool> {
    match arg.map(word).as_deref() {
        None | Some("true" | "on" | "1") => Ok(true),
        Some("false" | "off" | "0") => Ok(false),
        Some(other) => Err(about(Error::invalid(format!("{name} is true or false, not {other}")), name)),
    }
}

/// The rows of an EXPLAIN as one value.
///
/// # Errors
/// Those of the rows: EXPLAIN ANALYZE runs a query.
pub(super) fn as_json(rows: Rows<'static>) -> Result<Rows<'static>> {
    let mut parts = Vec::new();
    for row in rows {
        let part: (String, String) = row?.into_values()?;
        parts.push(part);
    }
    let of = |wanted: &[&str]| {
        parts.iter().find(|(kind, _)| wanted.contains(&kind.as_str())).map(|(_, plan)| plan)
    };
    let plan = of(&["physical_plan", "Plan with Metrics"]).map(|plan| tree(plan));
    let plan = match (of(&["write"]), of(&["short cut"])) {
        (Some(write), _) => node("Write", Some(write), plan.into_iter().collect()),
        (None, Some(short)) => node("Short Cut", Some(short), Vec::new()),
        (None, None) => plan.unwrap_or_else(|| {
            let all: Vec<_> =
                parts.iter().map(|(kind, plan)| json!({ "Node Type": kind, "Details": plan })).collect();
            Json::Array(all)
        }),
    };
    let text = json!([{ "Plan": plan }]).to_string();
    let schema = Arc::new(Schema::new(vec![Field::new("QUERY PLAN", DataType::Utf8, false)]));
    Ok(Rows::new(schema, Source::Values([vec![text.as_str().into()]].into())).with_tag("EXPLAIN", None))
}

fn node(kind: &str, details: Option<&str>, plans: Vec<Json>) -> Json {
    let mut of = Map::new();
    of.insert("Node Type".into(), kind.into());
    if let Some(details) = details.map(str::trim).filter(|details| !details.is_empty()) {
        of.insert("Details".into(), details.into());
    }
    if !plans.is_empty() {
        of.insert("Plans".into(), plans.into());
    }
    Json::Object(of)
}

/// A plan that is written with a line a node, two blanks deeper than what it is for.
fn tree(plan: &str) -> Json {
    let depth = |line: &str| (line.len() - line.trim_start().len()) / 2;
    let lines: Vec<(usize, &str)> =
        plan.lines().filter(|line| !line.trim().is_empty()).map(|line| (depth(line), line.trim())).collect();
    let mut at = 0;
    let mut plans = Vec::new();
    while at < lines.len() {
        plans.push(subtree(&lines, &mut at));
    }
    match plans.len() {
        1 => plans.remove(0),
        _ => Json::Array(plans),
    }
}

fn subtree(lines: &[(usize, &str)], at: &mut usize) -> Json {
    let (depth, line) = lines[*at];
    let (kind, details) = line.split_once(':').unwrap_or((line, ""));
    *at += 1;
    let mut plans = Vec::new();
    while *at < lines.len() && lines[*at].0 > depth {
        plans.push(subtree(lines, at));
    }
    node(kind, Some(details), plans)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps away: nodes that hang below what they are not for.
    #[test]
    fn nodes_are_where_they_stand() {
        let plan = "A: x=[1:2]\n  B\n    C: c\n  D\n";
        let wanted = json!({ "Node Type": "A", "Details": "x=[1:2]", "Plans": [
            { "Node Type": "B", "Plans": [{ "Node Type": "C", "Details": "c" }] },
            { "Node Type": "D" },
        ] });
        assert_eq!(tree(plan), wanted);
    }
}
