//! What stands at a place: `json_extract(j, path)`, which is `j -> path`, as JSON; `json_extract_string(j, path)`, which is `j ->> path`,
//! as text: of a text what it says, of null nothing. A path with `*` or `..` gives a list, and so does a list of paths;
//! the elements of lists are texts.
//!
//! `j #> '{a, b}'`, `j #>> '{a, b}'`, `json_extract_path(j, 'a', 'b')` and `json_extract_path_text(j, 'a', 'b')` are PostgreSQL's.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, ListBuilder, StringBuilder},
    datatypes::{DataType, Field, FieldRef, Int64Type},
};
use datafusion::{
    common::{Result, ScalarValue, exec_err, plan_err},
    logical_expr::{
        ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
    },
};

use super::{
    path::{Step, all, is_wild, of_names, one, path},
    text_or_json,
    value::{Json, given},
};
use crate::{times::is_text, value::returned};

/// How places are said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum By {
    Path,
    /// Names between braces, or in a list.
    Names,
    /// Names as arguments.
    Arguments,
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Extract {
    name: &'static str,
    aliases: Vec<String>,
    by: By,
    is_text: bool,
    /// Whether it is of a path to several places.
    is_wild: bool,
    signature: Signature,
}

impl Extract {
    /// What stands at one place, as JSON.
    pub(crate) fn plain() -> Self {
        let [plain, ..] = Self::all();
        plain
    }

    /// The same as a text.
    pub(crate) fn text() -> Self {
        let [_, text, ..] = Self::all();
        text
    }

    pub(super) fn all() -> [Self; 8] {
        let of = |name, aliases: &[&str], by, is_text| Self {
            name,
            aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
            by,
            is_text,
            is_wild: name.ends_with("_list"),
            signature: Signature::user_defined(Volatility::Immutable),
        };
        [
            of("json_extract", &["json_query"], By::Path, false),
            of("json_extract_string", &[], By::Path, true),
            of("json_extract_list", &[], By::Path, false),
            of("json_extract_string_list", &[], By::Path, true),
            of("#>", &[], By::Names, false),
            of("#>>", &[], By::Names, true),
            of("json_extract_path", &["jsonb_extract_path"], By::Arguments, false),
            of("json_extract_path_text", &["jsonb_extract_path_text"], By::Arguments, true),
        ]
    }

    fn found(&self, value: Option<&Json<'_>>) -> Option<String> {
        match self.is_text {
            true => value?.bare(),
            false => Some(value?.text()),
        }
    }
}

impl ScalarUDFImpl for Extract {
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
        let is_text = |ty: &DataType| is_text(ty) || ty.is_null();
        if !types.first().is_some_and(is_text) {
            return plan_err!("{} takes JSON first; to_json(x) makes it of a value", self.name);
        }
        let texts = || DataType::new_list(DataType::Utf8, true);
        match (self.by, &types[1..]) {
            (By::Arguments, names) if names.iter().all(|ty| is_text(ty) || ty.is_integer()) => {
                Ok(vec![DataType::Utf8; types.len()])
            }
            (By::Path, [place]) if place.is_integer() => Ok(vec![DataType::Utf8, DataType::Int64]),
            (By::Path | By::Names, [place]) if place.is_list() => Ok(vec![DataType::Utf8, texts()]),
            (By::Path | By::Names, [place]) if is_text(place) => Ok(vec![DataType::Utf8; 2]),
            _ => plan_err!("{} takes JSON and a place in it: '$.name[0]', a name or a number", self.name),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let of_list = args.arg_fields.get(1).is_some_and(|field| field.data_type().is_list());
        if !self.is_wild && (self.by != By::Path || !of_list) {
            return Ok(text_or_json(self.name, !self.is_text));
        }
        Ok(Arc::new(Field::new(self.name, DataType::new_list(DataType::Utf8, true), true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_one = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_one { 1 } else { args.number_rows };
        // What is the same in all rows is read once.
        let constant = match (self.by, args.args.get(1)) {
            (By::Path, Some(ColumnarValue::Scalar(ScalarValue::Utf8(Some(text))))) => Some(path(text)?),
            (By::Names, Some(ColumnarValue::Scalar(ScalarValue::Utf8(Some(text))))) => Some(in_braces(text)),
            _ => None,
        };
        let columns = args.args.iter().map(|arg| arg.to_array(rows)).collect::<Result<Vec<_>>>()?;
        let values = match args.return_type() {
            DataType::List(_) => self.lists(&columns, constant.as_deref())?,
            _ => self.values(&columns, constant.as_deref())?,
        };
        returned(values, is_one)
    }
}

impl Extract {
    fn values(&self, columns: &[ArrayRef], constant: Option<&[Step]>) -> Result<ArrayRef> {
        let (texts, mut out) = (columns[0].as_string::<i32>(), StringBuilder::new());
        for row in 0..texts.len() {
            if columns.iter().any(|column| column.is_null(row)) {
                out.append_null();
                continue;
            }
            let value = given(self.name, texts.value(row))?;
            let own = match constant {
                Some(_) => None,
                None => Some(self.steps(columns, row)?),
            };
            let steps = self.to_one(constant.or(own.as_deref()).unwrap_or_default())?;
            let found = self.found(one(&value, steps));
            out.append_option(found);
        }
        Ok(Arc::new(out.finish()))
    }

    /// Refuses a path to several places, where one is to be.
    fn to_one<'s>(&self, steps: &'s [Step]) -> Result<&'s [Step]> {
        match is_wild(steps) {
            true => exec_err!(
                "{}: a path with * or .. leads to several places; it stands as a constant behind the JSON, not in a column or a list",
                self.name
            ),
            false => Ok(steps),
        }
    }

    fn steps(&self, columns: &[ArrayRef], row: usize) -> Result<Vec<Step>> {
        let text = |column: &ArrayRef| column.as_string::<i32>().value(row).to_owned();
        Ok(match (self.by, columns[1].data_type()) {
            (By::Arguments, _) => {
                of_names(columns[1..].iter().map(text).collect::<Vec<_>>().iter().map(String::as_str))
            }
            (_, DataType::Int64) => vec![Step::Place(columns[1].as_primitive::<Int64Type>().value(row))],
            (By::Names, DataType::List(_)) => {
                of_names(columns[1].as_list::<i32>().value(row).as_string::<i32>().iter().flatten())
            }
            (By::Names, _) => in_braces(&text(&columns[1])),
            (By::Path, _) => path(&text(&columns[1]))?,
        })
    }

    /// What stands at the places of a path, or of a list of paths.
    fn lists(&self, columns: &[ArrayRef], constant: Option<&[Step]>) -> Result<ArrayRef> {
        let texts = columns[0].as_string::<i32>();
        let mut out = ListBuilder::new(StringBuilder::new());
        for row in 0..texts.len() {
            if columns.iter().any(|column| column.is_null(row)) {
                out.append_null();
                continue;
            }
            let value = given(self.name, texts.value(row))?;
            if let Some(paths) = columns[1].as_list_opt::<i32>() {
                for text in paths.value(row).as_string::<i32>() {
                    let steps = text.map(path).transpose()?;
                    let steps = steps.as_deref().map(|steps| self.to_one(steps)).transpose()?;
                    let found = steps.and_then(|steps| self.found(one(&value, steps)));
                    out.values().append_option(found);
                }
            } else {
                let own = match constant {
                    Some(_) => None,
                    None => Some(self.steps(columns, row)?),
                };
                let mut found = Vec::new();
                all(&value, constant.or(own.as_deref()).unwrap_or_default(), &mut found);
                found.into_iter().for_each(|found| out.values().append_option(self.found(Some(found))));
            }
            out.append(true);
        }
        Ok(Arc::new(out.finish()))
    }
}

/// Whether a text is a path that may lead to several places.
pub(crate) fn is_wild_path(text: &str) -> bool {
    text.starts_with('$') && path(text).is_ok_and(|steps| is_wild(&steps))
}

/// `{a, "b c", 0}`.
pub(super) fn in_braces(text: &str) -> Vec<Step> {
    let inner = text.trim().strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(text);
    let names = inner.split(',').map(|name| name.trim().trim_matches('"')).filter(|name| !name.is_empty());
    of_names(names)
}
