//! What options of COPY say of the rows that are written: `DATEFORMAT` and `TIMESTAMPFORMAT` of days and moments, and which columns of
//! GeoJSON's features are their geometry and their `id`.

use std::sync::Arc;

use ambo_files::{box_of_geometry, json_of_geometry};
use arrow::{
    array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, StringArray},
    datatypes::{DataType, Field, Schema, SchemaRef},
};
use datafusion::{
    common::DFSchema,
    sql::sqlparser::ast::{self, CopyOption},
};

use crate::{
    Error, Result,
    functions::json_values,
    logical::{GEOMETRY, geometry_of},
    names::quoted,
    parse::{copy_option, parse_query},
    value::wrong,
};

/// A column that an option names, or none by NULL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Named {
    #[default]
    Unsaid,
    None,
    Column(String),
}

impl Named {
    fn of(value: &str) -> Self {
        match value.eq_ignore_ascii_case("null") {
            true => Self::None,
            false => Self::Column(value.to_owned()),
        }
    }
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Forms {
    days: Option<String>,
    moments: Option<String>,
    geometry: Named,
    id: Named,
    has_box: bool,
    /// The name of an option that only features have.
    of_features: Option<String>,
}

impl Forms {
    /// What options say of it, and the others.
    ///
    /// # Errors
    /// A value that an option does not have.
    pub(super) fn of(options: Vec<CopyOption>) -> Result<(Self, Vec<CopyOption>)> {
        let (mut forms, mut rest) = (Self::default(), Vec::new());
        for option in options {
            let said = match &option {
                CopyOption::Encoding(text) => copy_option(text),
                _ => None,
            };
            let Some((name, value)) = said else {
                rest.push(option);
                continue;
            };
            match name {
                "dateformat" | "date_format" => forms.days = Some(value.to_owned()),
                "timestampformat" | "timestamp_format" => forms.moments = Some(value.to_owned()),
                "geometry_column" => forms.geometry = Named::of(value),
                "id_column" => forms.id = Named::of(value),
                "bbox" => {
                    forms.has_box = match value.to_lowercase().as_str() {
                        "true" | "1" => true,
                        "false" | "0" => false,
                        other => {
                            return Err(Error::invalid(format!("BBOX is true or false, and not {other}")));
                        }
                    }
                }
                _ => {
                    rest.push(option);
                    continue;
                }
            }
            if matches!(name, "geometry_column" | "id_column" | "bbox") {
                forms.of_features = Some(name.to_uppercase());
            }
        }
        Ok((forms, rest))
    }

    /// # Errors
    /// An option of features where none are written.
    pub(super) fn require(&self, are_features: bool) -> Result<()> {
        match &self.of_features {
            Some(name) if !are_features => {
                Err(Error::invalid(format!("COPY has no option {name}"))
                    .with_hint("it is for FORMAT geojson"))
            }
            _ => Ok(()),
        }
    }

    /// The query with days and moments in their forms; `None` if nothing is said of those that it has.
    ///
    /// # Errors
    /// None that callers can cause.
    pub(super) fn query(&self, query: &ast::Query, schema: &DFSchema) -> Result<Option<ast::Query>> {
        let mut is_changed = false;
        let mut item = |field: &Field| {
            let name = quoted(field.name());
            let form = match field.data_type() {
                DataType::Date32 => self.days.as_ref(),
                DataType::Timestamp(..) => self.moments.as_ref(),
                _ => None,
            };
            is_changed |= form.is_some();
            match form {
                Some(form) => format!("strftime({name}, '{}') AS {name}", form.replace('\'', "''")),
                None => name,
            }
        };
        let items: Vec<_> = schema.fields().iter().map(|field| item(field)).collect();
        if !is_changed {
            return Ok(None);
        }
        Ok(Some(parse_query(&format!("SELECT {} FROM ({query}) AS rows", items.join(", ")))?))
    }

    /// What makes features of rows. Columns by which rows go to folders stay beside them.
    ///
    /// # Errors
    /// Columns that are named and not there, or of other types.
    pub(super) fn features(&self, schema: &SchemaRef, kept: Vec<usize>) -> Result<Features> {
        let find = |option: &str, name: &str| {
            schema.fields().iter().position(|field| field.name().eq_ignore_ascii_case(name)).ok_or_else(
                || {
                    let names = schema.fields().iter().map(|field| field.name().as_str());
                    let error = Error::not_found("column", name, names);
                    Error::invalid(format!("{option}: {error}"))
                },
            )
        };
        let is_geometry = |place: &usize| *schema.field(*place).data_type() == GEOMETRY;
        let free = || (0..schema.fields().len()).filter(|place| !kept.contains(place));
        let geometry = match &self.geometry {
            Named::None => None,
            Named::Column(name) => {
                let place = find("GEOMETRY_COLUMN", name)?;
                if !is_geometry(&place) {
                    return Err(Error::invalid(format!("GEOMETRY_COLUMN: column \"{name}\" is no geometry")));
                }
                Some(place)
            }
            Named::Unsaid => Some(free().find(is_geometry).ok_or_else(|| {
                Error::invalid("GeoJSON has a geometry, and no column is one")
                    .with_hint("GEOMETRY_COLUMN NULL writes features without a place")
            })?),
        };
        let id = match &self.id {
            Named::None => None,
            Named::Column(name) => Some(find("ID_COLUMN", name)?),
            Named::Unsaid => free().find(|place| schema.field(*place).name().eq_ignore_ascii_case("id")),
        };
        if id.is_some() && id == geometry {
            return Err(Error::invalid("a feature's id and its geometry are two columns"));
        }
        let is_property = |place: &usize| Some(*place) != geometry && Some(*place) != id;
        let properties = free().filter(is_property).collect();
        let feature = Field::new("feature", DataType::Utf8, false);
        let fields = kept.iter().map(|place| schema.field(*place).clone()).chain([feature]);
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Ok(Features { geometry, id, properties, kept, has_box: self.has_box, schema })
    }
}

/// What makes features of rows.
pub(super) struct Features {
    geometry: Option<usize>,
    id: Option<usize>,
    properties: Vec<usize>,
    kept: Vec<usize>,
    has_box: bool,
    /// What they have as columns.
    pub schema: SchemaRef,
}

impl Features {
    /// The features of rows.
    ///
    /// # Errors
    /// A value that has no JSON.
    pub(super) fn of(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let texts = |place: &usize| values(batch.column(*place));
        let name = |place: &usize| serde_json::Value::from(batch.schema_ref().field(*place).name().as_str());
        let ids = self.id.as_ref().map(texts).transpose()?;
        let properties = self.properties.iter().map(|place| Ok((name(place), texts(place)?)));
        let properties = properties.collect::<Result<Vec<_>>>()?;
        let geometries = self.geometry.map(|place| batch.column(place).clone());
        let feature = |row: usize| -> Result<String> {
            let geometry = match &geometries {
                Some(of) if of.is_valid(row) => Some(geometry_of(of.as_binary_view().value(row))?),
                _ => None,
            };
            let mut text = String::from("{\"type\":\"Feature\"");
            if let Some(ids) = ids.as_ref().filter(|ids| ids.is_valid(row)) {
                text += &format!(",\"id\":{}", ids.value(row));
            }
            let shown = geometry.as_ref().map_or("null".to_owned(), json_of_geometry);
            text += &format!(",\"geometry\":{shown}");
            if let Some(of) = geometry.as_ref().filter(|_| self.has_box).and_then(box_of_geometry) {
                text += &format!(",\"bbox\":{of}");
            }
            let property = |(name, values): &(serde_json::Value, StringArray)| match values.is_null(row) {
                true => format!("{name}:null"),
                false => format!("{name}:{}", values.value(row)),
            };
            let properties: Vec<_> = properties.iter().map(property).collect();
            Ok(text + &format!(",\"properties\":{{{}}}}}", properties.join(",")))
        };
        let features = (0..batch.num_rows()).map(feature).collect::<Result<Vec<_>>>()?;
        let kept = self.kept.iter().map(|place| batch.column(*place).clone());
        let columns = kept.chain([Arc::new(StringArray::from(features)) as ArrayRef]).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(self.schema.clone(), columns, &options).map_err(wrong)
    }
}

/// Values as JSON, geometries among them as GeoJSON; NULL of NULL.
fn values(column: &ArrayRef) -> Result<StringArray> {
    if *column.data_type() != GEOMETRY {
        return Ok(json_values(column)?.as_string::<i32>().clone());
    }
    let json = |bytes: &[u8]| geometry_of(bytes).map(|of| json_of_geometry(&of));
    let texts = column.as_binary_view().iter().map(|of| of.map(json).transpose());
    Ok(texts.collect::<datafusion::common::Result<StringArray>>()?)
}
