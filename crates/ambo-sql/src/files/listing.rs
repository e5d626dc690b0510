//! Files in FROM, by their paths: `SELECT * FROM 'sales.parquet'`. The columns and their types are those of the file, or guessed from it.

use std::sync::Arc;

use datafusion::{
    datasource::{
        TableProvider,
        file_format::{FileFormat, csv::CsvFormat, json::JsonFormat, parquet::ParquetFormat},
        listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl},
    },
    execution::SessionState,
};

use super::{Compression, Form, Format};
use crate::{Error, ErrorKind, Result};

/// The files of a path, or of a pattern such as `sales/*.csv`, as a table.
pub(crate) async fn listing(
    state: &SessionState,
    path: &str,
    format: &Format,
) -> Result<Arc<dyn TableProvider>> {
    if format.compression != Compression::None {
        return Err(Error::invalid(format!("\"{path}\" is compressed; such a file is not read in place"))
            .with_hint("COPY it into a table"));
    }
    let is_pattern = path.contains(['*', '?', '[']);
    if !is_pattern && !path.contains("://") && !std::path::Path::new(path).exists() {
        return Err(Error::new(ErrorKind::NotFound, format!("there is no table and no file \"{path}\"")));
    }
    let reader: Arc<dyn FileFormat> = match format.form {
        Form::Csv => Arc::new(CsvFormat::default().with_has_header(true).with_delimiter(format.delimiter)),
        Form::Json => Arc::new(JsonFormat::default()),
        Form::Parquet => Arc::new(ParquetFormat::default()),
    };
    let url = ListingTableUrl::parse(path)?;
    let options = ListingOptions::new(reader).with_file_extension("");
    let schema = options.infer_schema(state, &url).await?;
    if schema.fields().is_empty() {
        return Err(Error::invalid(format!("there are no columns in \"{path}\"")));
    }
    let config = ListingTableConfig::new(url).with_listing_options(options).with_schema(schema);
    Ok(Arc::new(ListingTable::try_new(config)?))
}
