//! Other values of a value: `json_set`, `json_insert`, `json_replace` (also called `jsonb_set` …), `json_remove`, `json_merge_patch` (RFC
//! 7396), `json_merge_patch_diff`, `json_deep_merge`.
//!
//! What is set is JSON, as in DuckDB and PostgreSQL: a text is read; other values are made JSON.

use std::{borrow::Cow, sync::Arc};

use arrow::{
    array::{Array, ArrayRef, AsArray, StringBuilder},
    datatypes::{DataType, FieldRef},
};
use datafusion::{
    common::{Result, exec_err, plan_err},
    logical_expr::{
        ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
    },
};

use super::{
    extract::in_braces,
    make::json_texts,
    path::{Step, is_wild, path},
    text_or_json,
    value::{Json, given},
};
use crate::{times::is_text, value::returned};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum How {
    /// Makes what is not there, and puts in the place of what is.
    Set,
    Insert,
    Replace,
    Remove,
    Patch,
    Difference,
    Merge,
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Change {
    name: &'static str,
    aliases: Vec<String>,
    how: How,
    signature: Signature,
}

impl Change {
    pub(super) fn all() -> [Self; 7] {
        let of = |name, aliases: &[&str], how| Self {
            name,
            aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
            how,
            signature: Signature::user_defined(Volatility::Immutable),
        };
        [
            of("json_set", &["jsonb_set"], How::Set),
            of("json_insert", &["jsonb_insert"], How::Insert),
            of("json_replace", &[], How::Replace),
            of("json_remove", &[], How::Remove),
            of("json_merge_patch", &["json_patch"], How::Patch),
            of("json_merge_patch_diff", &[], How::Difference),
            of("json_deep_merge", &[], How::Merge),
        ]
    }

    /// Whether an argument is a path.
    fn is_path(&self, nth: usize) -> bool {
        match self.how {
            How::Set | How::Insert | How::Replace => nth % 2 == 1,
            How::Remove => nth > 0,
            _ => false,
        }
    }
}

impl ScalarUDFImpl for Change {
    fn name(&self) -> &str {
        self.name
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let fits = match self.how {
            How::Set | How::Insert | How::Replace => types.len() > 2 && types.len() % 2 == 1,
            How::Remove => types.len() > 1,
            How::Difference => types.len() == 2,
            _ => types.len() >= 2,
        };
        if !fits {
            return match self.how {
                How::Set | How::Insert | How::Replace => {
                    plan_err!("{} takes JSON, and a path and a value, or several of both", self.name)
                }
                How::Remove => plan_err!("{} takes JSON and paths", self.name),
                _ => plan_err!("{} takes JSON twice", self.name),
            };
        }
        let coerced = |(nth, ty): (usize, &DataType)| {
            let is_text = is_text(ty) || ty.is_null();
            match is_text || (nth > 0 && !self.is_path(nth)) {
                true if is_text => Ok(DataType::Utf8),
                true => Ok(ty.clone()),
                false if self.is_path(nth) => plan_err!("{}: a path is a text, '$.name[0]'", self.name),
                false => plan_err!("{} takes JSON first; to_json(x) makes it of a value", self.name),
            }
        };
        types.iter().enumerate().map(coerced).collect()
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        Ok(text_or_json(self.name, true))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_one = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_one { 1 } else { args.number_rows };
        // Texts are paths or JSON; other values become JSON.
        let text = |(arg, field): (&ColumnarValue, &FieldRef)| -> Result<ArrayRef> {
            let array = arg.to_array(rows)?;
            Ok(match array.data_type() {
                DataType::Utf8 => array,
                _ => Arc::new(
                    json_texts(&array, field)?.into_iter().map(Some).collect::<arrow::array::StringArray>(),
                ),
            })
        };
        let columns = args.args.iter().zip(&args.arg_fields).map(text).collect::<Result<Vec<_>>>()?;
        let columns: Vec<_> = columns.iter().map(|column| column.as_string::<i32>()).collect();
        let mut out = StringBuilder::new();
        for row in 0..rows {
            match columns.iter().any(|column| column.is_null(row)) {
                true => out.append_null(),
                false => {
                    let texts: Vec<_> = columns.iter().map(|column| column.value(row)).collect();
                    out.append_value(self.changed(&texts)?.text());
                }
            }
        }
        returned(Arc::new(out.finish()), is_one)
    }
}

impl Change {
    fn changed<'a>(&self, texts: &[&'a str]) -> Result<Json<'a>> {
        let mut value = given(self.name, texts[0])?;
        match self.how {
            How::Set | How::Insert | How::Replace => {
                for pair in texts[1..].chunks(2) {
                    self.set(&mut value, &self.steps(pair[0])?, given(self.name, pair[1])?)?;
                }
            }
            How::Remove => {
                for text in &texts[1..] {
                    remove(&mut value, &self.steps(text)?);
                }
            }
            How::Patch => {
                for text in &texts[1..] {
                    value = patched(value, given(self.name, text)?);
                }
            }
            How::Merge => {
                for text in &texts[1..] {
                    value = merged(value, given(self.name, text)?);
                }
            }
            How::Difference => value = difference(&value, given(self.name, texts[1])?),
        }
        Ok(value)
    }

    fn steps(&self, text: &str) -> Result<Vec<Step>> {
        if text.starts_with('{') {
            return Ok(in_braces(text));
        }
        let steps = path(text)?;
        match is_wild(&steps) {
            true => exec_err!("{}: '{text}' leads to several places", self.name),
            false => Ok(steps),
        }
    }

    /// Puts a value where steps lead. What is missing on the way is made an object, if values may be made.
    fn set<'a>(&self, value: &mut Json<'a>, steps: &[Step], new: Json<'a>) -> Result<()> {
        let Some((step, rest)) = steps.split_first() else {
            if self.how != How::Insert {
                *value = new;
            }
            return Ok(());
        };
        let makes = self.how != How::Replace;
        match value {
            Json::Object(fields) => {
                let Some(name) = name_of(step) else { return Ok(()) };
                match fields.iter_mut().find(|(of, _)| of == name) {
                    Some((_, value)) => self.set(value, rest, new),
                    None => {
                        let made = if makes { made(rest, new) } else { None };
                        fields.extend(made.map(|made| (Cow::Owned(name.to_owned()), made)));
                        Ok(())
                    }
                }
            }
            Json::Array(elements) => {
                match place_of(step, elements.len()) {
                    Some(place) if place < elements.len() => {
                        return self.set(&mut elements[place], rest, new);
                    }
                    Some(place) if place == elements.len() && makes => elements.extend(made(rest, new)),
                    _ => {}
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// What a step means in an object.
fn name_of(step: &Step) -> Option<&str> {
    match step {
        Step::Name(name) | Step::Either(name) => Some(name),
        _ => None,
    }
}

/// What a step means in an array of so many elements; behind the last one a new one can be.
fn place_of(step: &Step, elements: usize) -> Option<usize> {
    match step {
        Step::Either(name) if name == "-" => Some(elements),
        Step::Either(name) => name.parse().ok(),
        Step::Place(place) if *place < 0 => usize::try_from(place.checked_add(elements as i64)?).ok(),
        Step::Place(place) => usize::try_from(*place).ok(),
        _ => None,
    }
}

/// A value with objects and arrays of one element around; `None` if an array would have to have more.
fn made<'a>(steps: &[Step], value: Json<'a>) -> Option<Json<'a>> {
    steps.iter().rev().try_fold(value, |value, step| match (step, name_of(step), place_of(step, 0)) {
        (Step::Place(_) | Step::Either(_), _, Some(0)) => Some(Json::Array(vec![value])),
        (_, Some(name), _) => Some(Json::Object(vec![(Cow::Owned(name.to_owned()), value)])),
        _ => None,
    })
}

fn remove(value: &mut Json<'_>, steps: &[Step]) {
    let Some((step, rest)) = steps.split_first() else { return };
    match value {
        Json::Object(fields) => {
            let Some(at) = name_of(step).and_then(|name| fields.iter().position(|(of, _)| of == name)) else {
                return;
            };
            match rest.is_empty() {
                true => drop(fields.remove(at)),
                false => remove(&mut fields[at].1, rest),
            }
        }
        Json::Array(elements) => {
            let Some(at) = place_of(step, elements.len()).filter(|at| *at < elements.len()) else { return };
            match rest.is_empty() {
                true => drop(elements.remove(at)),
                false => remove(&mut elements[at], rest),
            }
        }
        _ => {}
    }
}

/// RFC 7396: what the patch has goes into the value, null takes out.
fn patched<'a>(value: Json<'a>, patch: Json<'a>) -> Json<'a> {
    let Json::Object(changes) = patch else { return patch };
    let mut fields = match value {
        Json::Object(fields) => fields,
        _ => Vec::new(),
    };
    for (name, change) in changes {
        let at = fields.iter().position(|(of, _)| *of == name);
        match (change, at) {
            (Json::Null, Some(at)) => drop(fields.remove(at)),
            (Json::Null, None) => {}
            (change, Some(at)) => {
                let before = std::mem::replace(&mut fields[at].1, Json::Null);
                fields[at].1 = patched(before, change);
            }
            (change, None) => fields.push((name, patched(Json::Null, change))),
        }
    }
    Json::Object(fields)
}

/// The patch that makes the second of the first.
fn difference<'a>(from: &Json<'a>, to: Json<'a>) -> Json<'a> {
    let Json::Object(before) = from else { return to };
    let Json::Object(after) = to else { return to };
    let mut changes: Vec<(Cow<'a, str>, Json<'a>)> = Vec::new();
    for (name, _) in before {
        if !after.iter().any(|(of, _)| of == name) {
            changes.push((name.clone(), Json::Null));
        }
    }
    for (name, value) in after {
        match from.field(&name) {
            Some(same) if *same == value => {}
            Some(same @ Json::Object(_)) if matches!(value, Json::Object(_)) => {
                changes.push((name, difference(same, value)));
            }
            _ => changes.push((name, value)),
        }
    }
    Json::Object(changes)
}

/// Objects with the names of both, those of the second where both have one.
fn merged<'a>(one: Json<'a>, other: Json<'a>) -> Json<'a> {
    match (one, other) {
        (Json::Object(mut fields), Json::Object(others)) => {
            for (name, value) in others {
                match fields.iter().position(|(of, _)| *of == name) {
                    Some(at) => {
                        let before = std::mem::replace(&mut fields[at].1, Json::Null);
                        fields[at].1 = merged(before, value);
                    }
                    None => fields.push((name, value)),
                }
            }
            Json::Object(fields)
        }
        (_, other) => other,
    }
}
