//! Files of rows, read and written by COPY, or read where they are by queries. What is in them is the matter of [`ambo_files`].

mod guard;
mod parquet;
mod read;
mod text;
mod texts;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use ambo_files::{Form, Format, ParquetFile, Reading, RowsOf, Source, paths};
use arrow::datatypes::FieldRef;
use datafusion::{
    datasource::{TableProvider, ViewTable, provider_as_source, source_as_provider},
    execution::SessionState,
    logical_expr::{Expr, LogicalPlanBuilder, TableSource},
};

use crate::{Error, ErrorKind, Result, logical::GEOMETRY, wait::Interrupter};

pub(crate) use read::{Batches, LINE, Wanted, open, read, refused};
pub use texts::{value_texts, with_texts};

/// What files are called in the plans of their own.
const UNNAMED: &str = "files";

/// The files of a path, or of a pattern such as `sales/*.csv`, as a table.
pub(crate) fn table(
    state: &SessionState,
    interrupter: &Interrupter,
    path: &str,
    format: &Format,
) -> Result<Arc<dyn TableProvider>> {
    match format.form {
        Form::Parquet => parquet(state, interrupter, &[path.to_owned()]),
        _ => {
            let rows = match format.rows {
                RowsOf::Objects => RowsOf::Either,
                ref other => other.clone(),
            };
            let format = Format { rows, ..format.clone() };
            text(state, interrupter, &paths(path)?, &format, &Reading::default())
        }
    }
}

/// Text files as a table.
pub(crate) fn text(
    state: &SessionState,
    interrupter: &Interrupter,
    paths: &[PathBuf],
    format: &Format,
    reading: &Reading,
) -> Result<Arc<dyn TableProvider>> {
    let files = text::TextFiles::open(paths, format, reading, state, interrupter)?;
    let geometries: Vec<String> = files.geometries();
    match geometries.is_empty() {
        true => Ok(Arc::new(files)),
        false => with_geometries(Arc::new(files), &geometries),
    }
}

/// The rows of a table with geometries for the texts of these columns.
fn with_geometries(files: Arc<dyn TableProvider>, names: &[String]) -> Result<Arc<dyn TableProvider>> {
    let schema = files.schema();
    let scan = LogicalPlanBuilder::scan(UNNAMED, provider_as_source(files), None)?;
    let column = |field: &FieldRef| {
        let of = Expr::Column(datafusion::common::Column::new(Some(UNNAMED), field.name()));
        match names.contains(field.name()) {
            true => datafusion::logical_expr::cast(of, GEOMETRY).alias(field.name()),
            false => of.alias(field.name()),
        }
    };
    let plan = scan.project(schema.fields().iter().map(column))?.build()?;
    Ok(Arc::new(ViewTable::new(plan, None)))
}

/// Parquet files of paths or patterns as a table.
pub(crate) fn parquet(
    state: &SessionState,
    interrupter: &Interrupter,
    patterns: &[String],
) -> Result<Arc<dyn TableProvider>> {
    let (mut uuids, mut files) = (Vec::new(), Vec::new());
    for pattern in patterns {
        let found = paths(pattern)?;
        for path in &found {
            // A folder of files is looked at by who lists it.
            if path.is_file() {
                uuids.extend(ParquetFile::open(&Source::open(path)?)?.uuids());
            }
        }
        // Who lists them knows patterns of names in one folder alone.
        let folder = Path::new(pattern).parent().and_then(Path::to_str).unwrap_or_default();
        match folder.contains(['*', '?', '[']) {
            true => files.extend(found.iter().map(|path| path.display().to_string())),
            false => files.push(pattern.clone()),
        }
    }
    interrupter.wait(parquet::table(state, &files, &uuids))?
}

/// Whether a scan is one of files whose columns have the types of who wrote them.
pub(crate) fn is_file(source: &Arc<dyn TableSource>) -> bool {
    source_as_provider(source)
        .is_ok_and(|provider| provider.downcast_ref::<parquet::ParquetFiles>().is_some())
}

impl From<ambo_files::Error> for Error {
    fn from(error: ambo_files::Error) -> Self {
        use ambo_files::Kind;
        let kind = match error.kind() {
            Kind::NotFound => ErrorKind::NotFound,
            Kind::Request | Kind::Empty => ErrorKind::Invalid,
            Kind::Content | Kind::System => ErrorKind::Execution,
            Kind::Interrupted => ErrorKind::Cancelled,
        };
        let own = Self::new(kind, error.message());
        match error.hint() {
            Some(hint) => own.with_hint(hint),
            None => own,
        }
    }
}
