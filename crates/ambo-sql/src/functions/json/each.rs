//! Rows of a value: `json_each(j [, path])`, a row for each element or name, `json_tree(j [, path])`, a row for each value on any level.
//!
//! The columns are SQLite's and DuckDB's: `key`, `value`, `type`, `atom`, `id`, `parent`, `fullkey`, `path`. They are a list of structs,
//! which FROM makes rows of.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, Int64Builder, ListArray, RecordBatch, StringBuilder, StructArray},
    buffer::OffsetBuffer,
    datatypes::{DataType, Field, FieldRef, Fields, Schema},
};
use datafusion::{
    catalog::{MemTable, TableFunctionArgs, TableFunctionImpl, TableProvider},
    common::{Result, ScalarValue, plan_err},
    logical_expr::{ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};

use super::{
    json_field,
    path::{Step, is_wild, one, path},
    value::{Json, given},
};
use crate::{times::is_text, value::returned};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Kind {
    name: &'static str,
    is_deep: bool,
}

const KINDS: [Kind; 2] =
    [Kind { name: "json_each", is_deep: false }, Kind { name: "json_tree", is_deep: true }];

/// `json_each(j)` where values are: a list of structs.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Rows {
    kind: Kind,
    signature: Signature,
}

impl Rows {
    pub(super) fn all() -> [Self; 2] {
        KINDS.map(|kind| Self { kind, signature: Signature::user_defined(Volatility::Immutable) })
    }
}

/// The columns; in lists, whose elements are plain, those of JSON are texts.
fn columns(are_plain: bool) -> Fields {
    let json = |name: &str| match are_plain {
        true => Arc::new(Field::new(name, DataType::Utf8, true)),
        false => Arc::new(json_field(name, DataType::Utf8)),
    };
    let text = |name: &str| Arc::new(Field::new(name, DataType::Utf8, true)) as FieldRef;
    let whole = |name: &str| Arc::new(Field::new(name, DataType::Int64, true)) as FieldRef;
    [
        text("key"),
        json("value"),
        text("type"),
        json("atom"),
        whole("id"),
        whole("parent"),
        text("fullkey"),
        text("path"),
    ]
    .into_iter()
    .collect()
}

impl ScalarUDFImpl for Rows {
    fn name(&self) -> &str {
        self.kind.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let is_text = |ty: &DataType| is_text(ty) || ty.is_null();
        match (1..=2).contains(&types.len()) && types.iter().all(is_text) {
            true => Ok(vec![DataType::Utf8; types.len()]),
            false => plan_err!("{} takes JSON and perhaps a path", self.name()),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::new_list(DataType::Struct(columns(true)), true))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_one = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_one { 1 } else { args.number_rows };
        let given = args.args.iter().map(|arg| arg.to_array(rows)).collect::<Result<Vec<_>>>()?;
        let (mut all, mut lengths, mut there) = (Builder::default(), Vec::new(), Vec::new());
        for row in 0..rows {
            let is_there = given.iter().all(|column| column.is_valid(row));
            let text = |nth: usize| given.get(nth).map(|column| column.as_string::<i32>().value(row));
            let before = all.rows;
            if is_there {
                all.add(self.kind, text(0).unwrap_or_default(), text(1))?;
            }
            lengths.push(all.rows - before);
            there.push(is_there);
        }
        let structs = StructArray::try_new(columns(true), all.finish(), None)?;
        let field = Arc::new(Field::new_list_field(structs.data_type().clone(), true));
        let offsets = OffsetBuffer::from_lengths(lengths);
        let lists = ListArray::try_new(field, offsets, Arc::new(structs), Some(there.into()))?;
        returned(Arc::new(lists) as ArrayRef, is_one)
    }
}

pub(super) fn table_functions() -> Vec<(&'static str, Arc<dyn TableFunctionImpl>)> {
    KINDS.iter().map(|kind| (kind.name, Arc::new(*kind) as Arc<dyn TableFunctionImpl>)).collect()
}

impl TableFunctionImpl for Kind {
    fn call_with_args(&self, args: TableFunctionArgs<'_, '_>) -> Result<Arc<dyn TableProvider>> {
        let text = |expr: &Expr| match expr {
            Expr::Literal(ScalarValue::Utf8(text), _) => Ok(text.clone()),
            Expr::Literal(ScalarValue::Null, _) => Ok(None),
            _ => plan_err!("{} in FROM takes a text that is JSON, and perhaps a path", self.name),
        };
        let texts = args.exprs().iter().map(text).collect::<Result<Vec<_>>>()?;
        let mut rows = Builder::default();
        match &texts[..] {
            [Some(json)] => rows.add(*self, json, None)?,
            [Some(json), Some(path)] => rows.add(*self, json, Some(path))?,
            [_] | [_, _] => {}
            _ => return plan_err!("{} in FROM takes a text that is JSON, and perhaps a path", self.name),
        }
        let schema = Arc::new(Schema::new(columns(false)));
        let batch = RecordBatch::try_new(schema.clone(), rows.finish())?;
        Ok(Arc::new(MemTable::try_new(schema, vec![vec![batch]])?))
    }
}

/// The columns of rows that are being made.
#[derive(Default)]
struct Builder {
    rows: usize,
    texts: [StringBuilder; 6],
    numbers: [Int64Builder; 2],
}

/// Where a value stands.
struct Place<'p> {
    key: Option<&'p str>,
    parent: Option<i64>,
    full: &'p str,
    path: &'p str,
}

impl Builder {
    fn add(&mut self, kind: Kind, text: &str, at: Option<&str>) -> Result<()> {
        let value = given(kind.name, text)?;
        let steps = path(at.unwrap_or("$"))?;
        if is_wild(&steps) {
            return plan_err!("{}: a path leads to one place", kind.name);
        }
        let Some(found) = one(&value, &steps) else { return Ok(()) };
        let mut full = "$".to_owned();
        steps.iter().for_each(|step| full.push_str(&written(step)));
        let mut id = 0;
        match (kind.is_deep, found) {
            (false, Json::Array(_) | Json::Object(_)) => {
                // Numbers count all values, also those that are further down.
                id = 1;
                for (key, value) in children(found) {
                    let own = full.clone() + &written(&key);
                    let key = name(&key);
                    self.row(value, id, &Place { key: Some(&key), parent: None, full: &own, path: &full });
                    id += 1 + below(value);
                }
            }
            _ => self.tree(
                found,
                kind.is_deep,
                &mut id,
                &Place { key: None, parent: None, full: &full, path: &full },
            ),
        }
        Ok(())
    }

    fn tree(&mut self, value: &Json<'_>, is_deep: bool, id: &mut i64, place: &Place<'_>) {
        let own = *id;
        self.row(value, own, place);
        *id += 1;
        if !is_deep {
            return;
        }
        for (key, child) in children(value) {
            let full = place.full.to_owned() + &written(&key);
            let key = name(&key);
            let place = Place { key: Some(&key), parent: Some(own), full: &full, path: place.full };
            self.tree(child, is_deep, id, &place);
        }
    }

    fn row(&mut self, value: &Json<'_>, id: i64, place: &Place<'_>) {
        self.rows += 1;
        let [key, json, kind, atom, full, path] = &mut self.texts;
        key.append_option(place.key);
        json.append_value(value.text());
        kind.append_value(value.kind());
        let is_atom = !matches!(value, Json::Array(_) | Json::Object(_));
        atom.append_option(is_atom.then(|| value.text()));
        full.append_value(place.full);
        path.append_value(place.path);
        self.numbers[0].append_value(id);
        self.numbers[1].append_option(place.parent);
    }

    fn finish(&mut self) -> Vec<ArrayRef> {
        let [key, json, kind, atom, full, path] =
            self.texts.each_mut().map(|of| Arc::new(of.finish()) as ArrayRef);
        let [id, parent] = self.numbers.each_mut().map(|of| Arc::new(of.finish()) as ArrayRef);
        vec![key, json, kind, atom, id, parent, full, path]
    }
}

/// What stands in a value, with the steps to it.
fn children<'j, 'a>(value: &'j Json<'a>) -> Vec<(Step, &'j Json<'a>)> {
    match value {
        Json::Array(elements) => {
            elements.iter().enumerate().map(|(place, value)| (Step::Place(place as i64), value)).collect()
        }
        Json::Object(fields) => {
            fields.iter().map(|(name, value)| (Step::Name(name.to_string()), value)).collect()
        }
        _ => Vec::new(),
    }
}

/// How many values stand in a value on all levels.
fn below(value: &Json<'_>) -> i64 {
    children(value).into_iter().map(|(_, child)| 1 + below(child)).sum()
}

fn name(step: &Step) -> String {
    match step {
        Step::Place(place) => place.to_string(),
        Step::Name(name) | Step::Either(name) => name.clone(),
        _ => String::new(),
    }
}

/// A step as it stands in a path.
fn written(step: &Step) -> String {
    match step {
        Step::Place(place) => format!("[{place}]"),
        Step::Name(name) | Step::Either(name) => {
            let is_plain = name.starts_with(|c: char| c.is_ascii_alphabetic())
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            match is_plain {
                true => format!(".{name}"),
                false => format!(".\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\"")),
            }
        }
        _ => String::new(),
    }
}
