//! Parquet in FROM: the planner's own scan of it, which reads only what a query needs, made safe against damaged files.

use std::{path::Path, sync::Arc};

use ambo::arrow::short_bytes;
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::{
    catalog::Session,
    common::Result as PlanResult,
    datasource::{
        TableProvider, TableType,
        file_format::parquet::ParquetFormat,
        listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl},
        physical_plan::{FileScanConfig, FileScanConfigBuilder},
        source::DataSourceExec,
    },
    execution::SessionState,
    logical_expr::{Expr, TableProviderFilterPushDown},
    physical_plan::ExecutionPlan,
};

use super::guard::{Guarded, guarded_future};
use crate::{Error, Result};

/// The files of paths or patterns. Columns of these names, and no others, are UUIDs.
pub(super) async fn table(
    state: &SessionState,
    paths: &[String],
    uuids: &[String],
) -> Result<Arc<dyn TableProvider>> {
    let path = paths.first().map_or("", String::as_str);
    // Times of 96 bits hold years that nanoseconds of 64 bits do not.
    let format = ParquetFormat::default().with_coerce_int96(Some("us".to_owned()));
    let urls = paths.iter().map(ListingTableUrl::parse).collect::<Result<Vec<_>, _>>()?;
    let options = ListingOptions::new(Arc::new(format)).with_file_extension("");
    let damaged = |what: &str| Error::from(ambo_files::damaged(Path::new(path), what));
    let mut schemas = Vec::new();
    for url in &urls {
        let schema = guarded_future(options.infer_schema(state, url)).await;
        let schema = schema.ok_or_else(|| damaged("the reader gave up"))??;
        schemas.push(Schema::clone(&schema));
    }
    let schema = Arc::new(Schema::try_merge(schemas).map_err(|error| damaged(&error.to_string()))?);
    if schema.fields().is_empty() {
        return Err(Error::invalid(format!("there are no columns in \"{path}\"")));
    }
    let schema = with_bytes(&schema, uuids);
    let config =
        ListingTableConfig::new_with_multi_paths(urls).with_listing_options(options).with_schema(schema);
    Ok(Arc::new(ParquetFiles { path: path.to_owned(), files: ListingTable::try_new(config)? }))
}

/// The schema with bytes of any length for those of one length that are no UUIDs.
fn with_bytes(schema: &SchemaRef, uuids: &[String]) -> SchemaRef {
    let of = |field: &FieldRef| match field.data_type() {
        DataType::FixedSizeBinary(_) if !uuids.contains(field.name()) => {
            Arc::new(Field::clone(field).with_data_type(DataType::Binary))
        }
        ty => Arc::new(Field::clone(field).with_data_type(short_bytes(ty))),
    };
    let fields: Vec<_> = schema.fields().iter().map(of).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// Parquet files as a table.
#[derive(Debug)]
pub(super) struct ParquetFiles {
    path: String,
    files: ListingTable,
}

#[async_trait]
impl TableProvider for ParquetFiles {
    fn schema(&self) -> SchemaRef {
        self.files.schema()
    }

    fn table_type(&self) -> TableType {
        self.files.table_type()
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> PlanResult<Vec<TableProviderFilterPushDown>> {
        self.files.supports_filters_pushdown(filters)
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        let damaged = || {
            let error = ambo_files::damaged(Path::new(&self.path), "the reader gave up");
            crate::error::outer(Error::from(error))
        };
        let scan = guarded_future(self.files.scan(state, projection, filters, limit));
        let plan = scan.await.ok_or_else(damaged)??;
        let Some(exec) = plan.downcast_ref::<DataSourceExec>() else { return Ok(plan) };
        let Some(config) = exec.data_source().downcast_ref::<FileScanConfig>() else { return Ok(plan) };
        let source = Arc::new(Guarded::new(config.file_source().clone()));
        let config = FileScanConfigBuilder::from(config.clone()).with_source(source).build();
        Ok(DataSourceExec::from_data_source(config))
    }
}
