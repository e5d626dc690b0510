//! Functions of JSON, which is text that follows RFC 8259, with names of DuckDB, SQLite and PostgreSQL.
//!
//! What is JSON is said by Arrow's extension type `arrow.json` beside the type text: by that `json_array(json_object('a', 1))` is an array
//! of objects, not of texts. It goes along with columns of queries; whatever computes another text of it makes a text.
//!
//! | file | what |
//! |---|---|
//! | `value`, `path` | values and places in them |
//! | `read` | what is asked of a value |
//! | `compare` | `@>` and `-` |
//! | `extract` | what stands at a place |
//! | `change` | other values of it |
//! | `parts` | JSON within values of other types |
//! | `make` | JSON of values of SQL, and arrays and objects of many rows |
//! | `each` | rows of a value |
//! | `shape` | types that a structure says |

mod change;
mod compare;
mod each;
mod extract;
mod make;
mod parts;
mod path;
mod read;
mod shape;
mod value;

pub(crate) use compare::JsonOperators;
pub(crate) use extract::{Extract, is_wild_path};
pub(crate) use make::json_values;
pub(crate) use shape::of_structure;

use std::{collections::HashMap, sync::Arc};

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::{catalog::TableFunctionImpl, logical_expr::ScalarUDF};

use super::plain::{self, Named};

/// Functions of one form.
pub(super) static ALL: [&[Named]; 2] = [&read::ALL, &compare::ALL];

/// The others.
pub(super) fn functions() -> Vec<ScalarUDF> {
    let mut all: Vec<_> = ALL.into_iter().flat_map(plain::functions).collect();
    all.extend(extract::Extract::all().map(ScalarUDF::new_from_impl));
    all.extend(change::Change::all().map(ScalarUDF::new_from_impl));
    all.extend(parts::JsonParts::all().map(ScalarUDF::new_from_impl));
    all.extend(make::Make::all().map(ScalarUDF::new_from_impl));
    all.extend(each::Rows::all().map(ScalarUDF::new_from_impl));
    all
}

/// Functions in FROM.
pub(super) fn table_functions() -> Vec<(&'static str, Arc<dyn TableFunctionImpl>)> {
    each::table_functions()
}

const EXTENSION: &str = "ARROW:extension:name";
const JSON: &str = "arrow.json";

/// Whether a field is of JSON.
pub(crate) fn is_json(field: &Field) -> bool {
    field.metadata().get(EXTENSION).is_some_and(|name| name == JSON)
}

/// A field of this name and type that is JSON.
pub(crate) fn json_field(name: &str, ty: DataType) -> Field {
    let of_json = HashMap::from([
        (EXTENSION.to_owned(), JSON.to_owned()),
        ("ARROW:extension:metadata".to_owned(), String::new()),
    ]);
    Field::new(name, ty, true).with_metadata(of_json)
}

/// What a function returns: a text, or JSON.
pub(super) fn text_or_json(name: &str, of_json: bool) -> FieldRef {
    match of_json {
        true => Arc::new(json_field(name, DataType::Utf8)),
        false => Arc::new(Field::new(name, DataType::Utf8, true)),
    }
}
