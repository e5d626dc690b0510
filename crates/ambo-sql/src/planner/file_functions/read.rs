//! What the functions of files read.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::UNIX_EPOCH,
};

use ambo_files::{Form, Format, Reading, RowsOf, byte, paths};
use arrow::{
    array::{
        Array, ArrayRef, BinaryArray, Int64Array, RecordBatch, RecordBatchOptions, StringArray,
        TimestampMicrosecondArray, cast::AsArray,
    },
    compute::cast,
    datatypes::{DataType, Schema},
};
use datafusion::{
    catalog::MemTable,
    common::{DFSchema, TableReference},
    datasource::{ViewTable, provider_as_source},
    functions::core::expr_fn::nullif,
    logical_expr::{Cast, Expr, LogicalPlanBuilder, TableSource, col, ident, lit},
};

use super::{BETWEEN, WRITTEN};
use crate::{
    Error, Result,
    files::{self, refused},
    functions::json_field,
    planner::Planner,
    value,
};

/// What a function reads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Csv,
    Json,
    /// Each object, or other value, as JSON.
    JsonObjects,
    Parquet,
    Text,
    Blob,
    /// The names alone.
    Glob,
}

const FUNCTIONS: [(&str, What); 14] = [
    ("read_csv", What::Csv),
    ("read_csv_auto", What::Csv),
    ("read_json", What::Json),
    ("read_json_auto", What::Json),
    ("read_ndjson", What::Json),
    ("read_ndjson_auto", What::Json),
    ("read_json_objects", What::JsonObjects),
    ("read_json_objects_auto", What::JsonObjects),
    ("read_ndjson_objects", What::JsonObjects),
    ("read_parquet", What::Parquet),
    ("parquet_scan", What::Parquet),
    ("read_text", What::Text),
    ("read_blob", What::Blob),
    ("glob", What::Glob),
];

/// More files are not read one by one, each with columns of its own.
const FILES_MAX: usize = 500;

fn named(name: &str) -> Option<What> {
    FUNCTIONS.iter().find(|(known, _)| *known == name).map(|(_, what)| *what)
}

/// Whether a function of this name reads files.
pub(crate) fn is_file_function(name: &str) -> bool {
    named(name).is_some()
}

/// The names of the functions.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|(name, _)| *name)
}

/// What is asked of a function.
struct Asked {
    function: String,
    what: What,
    patterns: Vec<String>,
    options: Vec<(String, String)>,
}

impl Planner<'_> {
    /// The rows of a function of files; `None` for another function.
    ///
    /// # Errors
    /// A path that is none, an option that there is not, a file that cannot be read.
    pub(in crate::planner) fn file_function(
        &self,
        name: &str,
        args: &[Expr],
    ) -> Result<Option<Arc<dyn TableSource>>> {
        let function = name.to_lowercase();
        let Some(what) = named(&function) else { return Ok(None) };
        let mut texts = Vec::new();
        for arg in args {
            texts.push(self.constant_text(&function, arg)?);
        }
        let texts = match texts.first() {
            Some(first) if first == WRITTEN => &texts[1..],
            _ => &texts[..],
        };
        let [path, options @ ..] = texts else {
            return Err(Error::invalid(format!("{function}() takes a path, or a list of paths")));
        };
        let options = options.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
        let patterns: Vec<_> = path.split(BETWEEN).map(str::to_owned).collect();
        patterns.iter().try_for_each(|pattern| self.require_path(pattern))?;
        let asked = Asked { function, what, patterns, options };
        let _threads = self.engine.runtime()?.enter();
        self.read_files(&asked).map(Some)
    }

    /// The text that a constant is, or its elements with what stands between them.
    fn constant_text(&self, function: &str, expr: &Expr) -> Result<String> {
        let refused = || Error::invalid(format!("{function}() takes constants, not {expr}"));
        if !expr.column_refs().is_empty() || expr.contains_outer() {
            return Err(refused());
        }
        let nothing = DFSchema::empty();
        let made = self.state.create_physical_expr(expr.clone(), &nothing)?;
        let options = RecordBatchOptions::new().with_row_count(Some(1));
        let row = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options);
        let value = made.evaluate(&row.map_err(value::wrong)?)?.to_array(1)?;
        let elements = match value.data_type() {
            DataType::List(_) if value.is_valid(0) => value.as_list::<i32>().value(0),
            _ => value,
        };
        let texts = cast(&elements, &DataType::Utf8).map_err(value::wrong)?;
        if texts.null_count() > 0 || texts.is_empty() {
            return Err(Error::invalid(format!("{function}() takes no NULL, and no list without paths")));
        }
        let texts: Vec<_> = texts.as_string::<i32>().iter().flatten().collect();
        Ok(texts.join(&BETWEEN.to_string()))
    }

    fn read_files(&self, asked: &Asked) -> Result<Arc<dyn TableSource>> {
        if asked.what == What::Glob {
            asked.only(&[])?;
            return names_of_files(asked);
        }
        let mut found: Vec<PathBuf> = Vec::new();
        for pattern in &asked.patterns {
            found.extend(paths(pattern).map_err(refused)?);
        }
        match asked.what {
            What::Text | What::Blob => {
                asked.only(&[])?;
                contents(&found, asked.what == What::Text)
            }
            What::Parquet => self.parquet(asked, &found),
            What::JsonObjects => {
                asked.only(&JSON_OPTIONS)?;
                objects(&found)
            }
            What::Csv | What::Json | What::Glob => {
                let (format, reading) = asked.reading()?;
                let table = files::text(&self.state, self.interrupter, &found, &format, &reading)?;
                let source = provider_as_source(table);
                let folders = Folders::of(&reading, &found, asked)?;
                match folders.0.is_empty() {
                    true => Ok(source),
                    false => {
                        folders.typed(LogicalPlanBuilder::scan(TableReference::bare("files"), source, None)?)
                    }
                }
            }
        }
    }

    fn parquet(&self, asked: &Asked, found: &[PathBuf]) -> Result<Arc<dyn TableSource>> {
        asked.only(&[
            "filename",
            "hive_partitioning",
            "union_by_name",
            "binary_as_string",
            "hive_types_autocast",
        ])?;
        let reading = Reading {
            filename: asked.filename()?,
            hive: asked.is("hive_partitioning")?.unwrap_or(false),
            ..Reading::default()
        };
        if reading.filename.is_none() && !reading.hive {
            let table = files::parquet(&self.state, self.interrupter, &asked.patterns)?;
            return Ok(provider_as_source(table));
        }
        if found.len() > FILES_MAX {
            return Err(Error::invalid(format!("{} files are more than {FILES_MAX}", found.len()))
                .with_hint("without filename and hive_partitioning there may be any number"));
        }
        let mut all: Option<LogicalPlanBuilder> = None;
        for path in found {
            let table = files::parquet(&self.state, self.interrupter, &[path.display().to_string()])?;
            let source = provider_as_source(table);
            let own: Vec<_> = source.schema().fields().iter().map(|field| ident(field.name())).collect();
            let of_file = reading.of_file(path).into_iter().map(|(name, value)| lit(value).alias(name));
            let rows = LogicalPlanBuilder::scan(TableReference::bare("file"), source, None)?
                .project(own.into_iter().chain(of_file))?;
            all = Some(match all {
                None => rows,
                Some(all) => all.union_by_name(rows.build()?)?,
            });
        }
        let all = all.ok_or_else(|| Error::invalid("there is no file"))?;
        Folders::of(&reading, found, asked)?.typed(all)
    }
}

/// The columns that folders are, with their types.
struct Folders(Vec<(String, DataType)>);

/// What the folder of NULL is called.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

impl Folders {
    /// A column is of whole numbers or of days if all folders say such, unless they are to be texts.
    fn of(reading: &Reading, found: &[PathBuf], asked: &Asked) -> Result<Self> {
        let reading = Reading { filename: None, ..reading.clone() };
        let is_typed = asked.is("hive_types_autocast")?.unwrap_or(true);
        let mut columns: Vec<(String, Vec<String>)> = Vec::new();
        for (name, value) in found.iter().flat_map(|path| reading.of_file(path)) {
            match columns.iter_mut().find(|(known, _)| *known == name) {
                Some((_, values)) => values.push(value),
                None => columns.push((name, vec![value])),
            }
        }
        let typed = |(name, values): (String, Vec<String>)| {
            let mut values = values.iter().filter(|value| *value != NULL).peekable();
            let ty = match is_typed && values.peek().is_some() {
                true if values.clone().all(|value| value.parse::<i64>().is_ok()) => DataType::Int64,
                true if values.all(|value| ambo::calendar::parse_date(value).is_some()) => DataType::Date32,
                _ => DataType::Utf8,
            };
            (name, ty)
        };
        Ok(Self(columns.into_iter().map(typed).collect()))
    }

    /// Rows with these columns in their types. The columns are those of no table.
    fn typed(&self, rows: LogicalPlanBuilder) -> Result<Arc<dyn TableSource>> {
        let schema = rows.schema().clone();
        let columns = schema.columns().into_iter().map(|column| {
            let name = column.name.clone();
            let value = col(column);
            let value = match self.0.iter().find(|(known, _)| *known == name) {
                Some((_, ty)) => {
                    let text = nullif(value, lit(NULL));
                    if *ty == DataType::Utf8 {
                        text
                    } else {
                        Expr::Cast(Cast::new(Box::new(text), ty.clone()))
                    }
                }
                None => value,
            };
            value.alias(name)
        });
        let plan = rows.project(columns.collect::<Vec<_>>())?.build()?;
        Ok(provider_as_source(Arc::new(ViewTable::new(plan, None))))
    }
}

/// Options of functions whose rows are values of JSON.
const JSON_OPTIONS: [&str; 8] = [
    "format",
    "records",
    "auto_detect",
    "maximum_object_size",
    "sample_size",
    "maximum_sample_files",
    "compression",
    "union_by_name",
];

/// Options that change nothing here: all of a file is looked at, and what it is compressed by is seen from it.
const WITHOUT_EFFECT: [&str; 14] = [
    "map_inference_threshold",
    "field_appearance_threshold",
    "auto_detect",
    "sample_size",
    "maximum_sample_files",
    "maximum_object_size",
    "max_line_size",
    "maximum_line_size",
    "buffer_size",
    "parallel",
    "compression",
    "union_by_name",
    "encoding",
    "new_line",
];

impl Asked {
    fn get(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// # Errors
    /// An option that is not among these.
    fn only(&self, known: &[&str]) -> Result<()> {
        match self.options.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            Some((name, _)) => Err(self.unknown(name, known)),
            None => Ok(()),
        }
    }

    fn unknown(&self, name: &str, known: &[&str]) -> Error {
        let error = Error::not_found("option", name, known.iter().copied());
        Error::invalid(format!("{}(): {error}", self.function))
    }

    fn is(&self, name: &str) -> Result<Option<bool>> {
        self.get(name).map(|value| self.truth(name, value)).transpose()
    }

    fn truth(&self, name: &str, value: &str) -> Result<bool> {
        match value.to_lowercase().as_str() {
            "true" | "1" | "on" | "yes" => Ok(true),
            "false" | "0" | "off" | "no" => Ok(false),
            _ => Err(Error::invalid(format!("{}(): {name} is true or false, not '{value}'", self.function))),
        }
    }

    /// What the column with the names of files is called, if there is one.
    fn filename(&self) -> Result<Option<String>> {
        Ok(match self.get("filename") {
            None => None,
            Some(name) => match self.truth("filename", name) {
                Ok(is_there) => is_there.then(|| "filename".to_owned()),
                Err(_) => Some(name.to_owned()),
            },
        })
    }

    /// How text files are read.
    fn reading(&self) -> Result<(Format, Reading)> {
        let form = if self.what == What::Csv { Form::Csv } else { Form::Json };
        let first = self.patterns.first().and_then(|path| Format::of(path));
        let mut format = match first {
            Some(of_name) if of_name.form == form => of_name,
            _ => Format::new(form),
        };
        if format.rows == RowsOf::Objects {
            format.rows = RowsOf::Either;
        }
        let mut reading = Reading { filename: self.filename()?, ..Reading::default() };
        let one = |name: &str, value: &str| {
            let value = if value == "\\t" { "\t" } else { value };
            let mut chars = value.chars();
            match (chars.next(), chars.next()) {
                (Some(only), None) => Ok(byte(name, only)?),
                _ => Err(Error::invalid(format!("{name} is one character, not '{value}'"))),
            }
        };
        let list = |value: &str| value.split(BETWEEN).map(str::to_owned).collect::<Vec<_>>();
        let is_csv = form == Form::Csv;
        for (name, value) in &self.options {
            match name.as_str() {
                "filename" => {}
                "hive_partitioning" => reading.hive = self.truth(name, value)?,
                // Looked at where the types of folders are.
                "hive_types_autocast" => drop(self.truth(name, value)?),
                "ignore_errors" => format.skips_bad = self.truth(name, value)?,
                "columns" => {
                    (reading.names, reading.all_text) = (list(value), true);
                }
                "types" | "dtypes" | "column_types" => reading.texts.extend(list(value)),
                "all_varchar" if is_csv => reading.all_text = self.truth(name, value)?,
                "header" if is_csv => format.header = self.truth(name, value)?,
                "delim" | "sep" | "delimiter" if is_csv => format.delimiter = one("the delimiter", value)?,
                "quote" if is_csv => format.quote = one("the quote", value)?,
                "escape" if is_csv => {
                    format.escape = Some(one("the escape", value)?).filter(|of| *of != format.quote);
                }
                "nullstr" | "null" if is_csv => format.nulls = list(value),
                "names" | "column_names" if is_csv => reading.names = list(value),
                "format" if !is_csv => match value.as_str() {
                    "auto" | "newline_delimited" | "nd" | "array" | "unstructured" => {}
                    other => {
                        let known = ["auto", "newline_delimited", "array", "unstructured"];
                        return Err(Error::not_found("format", other, known.into_iter()));
                    }
                },
                "records" if !is_csv => {
                    format.rows = match value.to_lowercase().as_str() {
                        "true" => RowsOf::Objects,
                        "auto" => RowsOf::Either,
                        "false" => RowsOf::Values(String::new()),
                        _ => {
                            let what = format!("{}(): records is true, false or auto", self.function);
                            return Err(Error::invalid(what));
                        }
                    };
                }
                "geojson" if !is_csv && value == "auto" => {}
                "geojson" if !is_csv => match self.truth(name, value)? {
                    true => format.rows = RowsOf::Features,
                    false if format.rows == RowsOf::Features => format.rows = RowsOf::Either,
                    false => {}
                },
                name if WITHOUT_EFFECT.contains(&name) => {}
                other => return Err(self.unknown(other, if is_csv { &CSV[..] } else { &JSON[..] })),
            }
        }
        if is_csv {
            format.check()?;
        }
        if format.rows == RowsOf::Values(String::new()) {
            let named = reading.names.first().map_or("json", String::as_str);
            format.rows = RowsOf::Values(named.to_owned());
        }
        Ok((format, reading))
    }
}

/// What is proposed for an option that there is not.
const CSV: [&str; 14] = [
    "header",
    "delim",
    "sep",
    "quote",
    "escape",
    "nullstr",
    "names",
    "columns",
    "types",
    "all_varchar",
    "ignore_errors",
    "filename",
    "hive_partitioning",
    "union_by_name",
];
const JSON: [&str; 9] = [
    "columns",
    "types",
    "format",
    "records",
    "geojson",
    "ignore_errors",
    "filename",
    "hive_partitioning",
    "union_by_name",
];

/// Rows that were read already.
fn rows(columns: Vec<(&str, ArrayRef)>) -> Result<Arc<dyn TableSource>> {
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, of)| (name, of, true)));
    let batch = batch.map_err(value::wrong)?;
    Ok(provider_as_source(Arc::new(MemTable::try_new(batch.schema(), vec![vec![batch]])?)))
}

fn shown(paths: &[PathBuf]) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(paths.iter().map(|path| path.display().to_string())))
}

/// `glob('*.csv')`: no file is no error.
fn names_of_files(asked: &Asked) -> Result<Arc<dyn TableSource>> {
    let mut found = Vec::new();
    for pattern in &asked.patterns {
        match paths(pattern) {
            Ok(paths) => found.extend(paths),
            Err(error) if error.kind() == ambo_files::Kind::NotFound => {}
            Err(error) => return Err(refused(error)),
        }
    }
    rows(vec![("file", shown(&found))])
}

/// Files as values, each a row.
fn contents(paths: &[PathBuf], are_texts: bool) -> Result<Arc<dyn TableSource>> {
    let fail = |path: &Path, error: std::io::Error| refused(ambo_files::Error::io(path, &error));
    let (mut all, mut sizes, mut times) = (Vec::new(), Vec::new(), Vec::new());
    for path in paths {
        all.push(std::fs::read(path).map_err(|error| fail(path, error))?);
        let metadata = std::fs::metadata(path).map_err(|error| fail(path, error))?;
        sizes.push(metadata.len() as i64);
        let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        times.push(modified.and_then(|time| i64::try_from(time.as_micros()).ok()));
    }
    let content: ArrayRef = match are_texts {
        false => Arc::new(BinaryArray::from_iter_values(&all)),
        true => {
            let mut texts = Vec::new();
            for (path, bytes) in paths.iter().zip(all) {
                texts.push(String::from_utf8(bytes).map_err(|_| {
                    Error::invalid(format!("{}: the text is not UTF-8", path.display()))
                        .with_hint("read_blob() reads bytes")
                })?);
            }
            Arc::new(StringArray::from_iter_values(texts))
        }
    };
    rows(vec![
        ("filename", shown(paths)),
        ("content", content),
        ("size", Arc::new(Int64Array::from(sizes))),
        ("last_modified", Arc::new(TimestampMicrosecondArray::from(times))),
    ])
}

/// The values of files of JSON, each a row.
fn objects(paths: &[PathBuf]) -> Result<Arc<dyn TableSource>> {
    let mut values = Vec::new();
    for path in paths {
        let read = ambo_files::json_values(path, |line, value| {
            let checked = ambo::Logical::Json.check(ambo::DatumRef::Utf8(value));
            checked.map_err(|what| format!("line {line}: {what}"))?;
            values.push(value.to_owned());
            Ok(())
        });
        read.map_err(refused)?;
    }
    let schema = Arc::new(Schema::new(vec![json_field("json", DataType::Utf8)]));
    let values: ArrayRef = Arc::new(StringArray::from(values));
    let batch = RecordBatch::try_new(schema.clone(), vec![values]).map_err(value::wrong)?;
    Ok(provider_as_source(Arc::new(MemTable::try_new(schema, vec![vec![batch]])?)))
}
