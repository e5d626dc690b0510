//! INSERT.

use datafusion::{common::ScalarValue, sql::sqlparser::ast};

use crate::{
    Connection, Error, Result, Rows,
    connection::Work,
    names::{ident, object},
    planner::number_parameters,
    value::{Values, sql_type},
};

pub(super) fn run(
    connection: &mut Connection,
    insert: ast::Insert,
    params: &[ScalarValue],
) -> Result<Rows<'static>> {
    let mut statement = ast::Statement::Insert(insert);
    number_parameters(&mut statement)?;
    let ast::Statement::Insert(insert) = statement else { unreachable!("just made") };
    let rows = connection.write(params, |work| apply(work, &insert))?;
    Ok(Rows::done("INSERT", Some(rows)))
}

fn apply(work: &mut Work<'_>, insert: &ast::Insert) -> Result<u64> {
    let ast::TableObject::TableName(name) = &insert.table else {
        return Err(Error::invalid(format!("not supported: INSERT INTO {}", insert.table)));
    };
    let table = work.engine.db.table(&object(name)?)?;
    let definition = table.definition();
    let columns: Vec<usize> = match insert.columns.is_empty() {
        true => (0..definition.columns.len()).collect(),
        false => {
            let place = |name: &ast::ObjectName| {
                let name = name.0.last().and_then(|part| part.as_ident()).map(ident).unwrap_or_default();
                let known = definition.columns.iter().map(|column| column.name.as_str());
                definition.column_index(&name).ok_or_else(|| Error::not_found("column", &name, known))
            };
            insert.columns.iter().map(place).collect::<Result<_>>()?
        }
    };
    let Some(source) = &insert.source else { return Err(Error::invalid("nothing to insert")) };
    let (batches, rules) = {
        let planner = work.planner()?;
        let plan = planner.plan_query(source, work.params)?;
        (planner.collect(&plan)?, super::rules::Rules::new(&planner, definition)?)
    };
    let mut inserted = 0;
    for batch in &batches {
        if batch.num_columns() != columns.len() {
            return Err(Error::invalid(format!(
                "{} columns are named, each row has {} values",
                columns.len(),
                batch.num_columns()
            )));
        }
        let cast =
            batch.columns().iter().zip(&columns).map(|(array, column)| {
                arrow::compute::cast(array, &sql_type(definition.columns[*column].kind))
            });
        let arrays = cast
            .collect::<std::result::Result<Vec<_>, _>>()
            .map_err(datafusion::error::DataFusionError::from)?;
        let fields: Vec<_> = arrays
            .iter()
            .map(|array| arrow::datatypes::Field::new("", array.data_type().clone(), true))
            .collect();
        let schema = std::sync::Arc::new(arrow::datatypes::Schema::new(fields));
        let batch = arrow::array::RecordBatch::try_new(schema, arrays)
            .map_err(datafusion::error::DataFusionError::from)?;
        let whole = (0..definition.columns.len()).map(|column| {
            match columns.iter().position(|named| *named == column) {
                Some(place) => Ok(batch.column(place).clone()),
                None => rules.default(column, batch.num_rows()),
            }
        });
        let whole = arrow::array::RecordBatch::try_new(rules.schema().clone(), whole.collect::<Result<_>>()?)
            .map_err(datafusion::error::DataFusionError::from)?;
        rules.check(&whole)?;
        let values = Values::new(&whole);
        for row in 0..whole.num_rows() {
            work.transaction.insert_row(&table, &values.row(row)?)?;
            inserted += 1;
        }
    }
    Ok(inserted)
}
