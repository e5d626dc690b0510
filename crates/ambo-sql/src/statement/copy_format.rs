//! What the options of COPY say of a file or a stream.

use ambo_files::{Compression, CopyText, Form, Format, RowsOf, byte};
use datafusion::sql::sqlparser::ast::{CopyLegacyCsvOption, CopyLegacyOption, CopyOption};

use crate::{Error, Result, names::ident, parse::copy_option};

/// How rows are read or written.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    File(Format),
    /// PostgreSQL's text.
    Text(CopyText),
}

impl Shape {
    /// What the end of the name says, and what the options say. A stream has no name: it is text, and its CSV is without a line of names,
    /// if nothing else is said.
    pub(super) fn of(
        path: Option<&str>,
        options: &[CopyOption],
        legacy: &[CopyLegacyOption],
    ) -> Result<Self> {
        let form = form(options, legacy);
        match (form.as_deref(), path) {
            (Some("text"), _) | (None, None) => text(options, legacy).map(Self::Text),
            (form, path) => format(path, form, options, legacy).map(Self::File),
        }
    }
}

/// The form that is named.
fn form(options: &[CopyOption], legacy: &[CopyLegacyOption]) -> Option<String> {
    let named = options.iter().find_map(|option| match option {
        CopyOption::Format(name) => Some(ident(name).to_lowercase()),
        _ => None,
    });
    named.or_else(|| {
        legacy.iter().find_map(|option| match option {
            CopyLegacyOption::Csv(_) => Some("csv".to_owned()),
            CopyLegacyOption::Json(None) => Some("json".to_owned()),
            CopyLegacyOption::Parquet => Some("parquet".to_owned()),
            _ => None,
        })
    })
}

fn unknown(option: &dyn std::fmt::Display) -> Error {
    Error::invalid(format!("COPY has no option {option}"))
}

/// The same of one that is said as an encoding.
fn unknown_encoding(text: &str) -> Error {
    match copy_option(text) {
        Some((name, _)) => unknown(&name.to_uppercase()),
        None => unknown(&format_args!("ENCODING '{text}'")),
    }
}

/// Options of DuckDB's that say how a file is written or read, and not what.
const HINTS: [&str; 14] = [
    "geoparquet_version",
    "auto_detect",
    "buffer_size",
    "max_line_size",
    "maximum_object_size",
    "overwrite",
    "overwrite_or_ignore",
    "parallel",
    "parquet_version",
    "row_group_size",
    "row_group_size_bytes",
    "row_groups_per_file",
    "sample_size",
    "use_tmp_file",
];

/// An option that the parser does not know.
fn set_extra(format: &mut Format, name: &str, value: &str) -> Result<()> {
    let lower = value.to_lowercase();
    let is_parquet = format.form == Form::Parquet;
    match (name, lower.as_str()) {
        // It is compressed within, by zstd.
        ("compression", "zstd" | "auto" | "auto_detect") if is_parquet => {}
        ("compression", _) if is_parquet => {
            return Err(Error::invalid("Parquet is compressed by zstd here"));
        }
        ("compression", "auto" | "auto_detect") => {}
        ("compression", "gzip") => format.compression = Compression::Gzip,
        ("compression", "zstd") => format.compression = Compression::Zstd,
        ("compression", "none" | "uncompressed") => format.compression = Compression::None,
        ("compression", _) => {
            return Err(Error::not_found("compression", value, ["gzip", "none", "zstd"].into_iter()));
        }
        ("array", "true" | "1") if format.form == Form::Json => format.is_list = true,
        ("array", "false" | "0" | "auto") if format.form == Form::Json => format.is_list = false,
        ("ignore_errors", "true" | "1") if !is_parquet => format.skips_bad = true,
        ("ignore_errors", "false" | "0") => format.skips_bad = false,
        (name, _) if HINTS.contains(&name) => {}
        (name, _) => return Err(unknown(&name.to_uppercase())),
    }
    Ok(())
}

fn is_utf8(name: &str) -> bool {
    name.to_lowercase().replace('-', "") == "utf8"
}

fn text(options: &[CopyOption], legacy: &[CopyLegacyOption]) -> Result<CopyText> {
    let mut form = CopyText::default();
    for option in options {
        match option {
            CopyOption::Format(_) => {}
            CopyOption::Delimiter(of) => form.delimiter = byte("the delimiter", *of)?,
            CopyOption::Null(null) => form.null.clone_from(null),
            CopyOption::Header(header) => form.header = *header,
            CopyOption::Encoding(name) if is_utf8(name) => {}
            CopyOption::Encoding(name) => return Err(unknown_encoding(name)),
            other => return Err(unknown(other)),
        }
    }
    for option in legacy {
        match option {
            CopyLegacyOption::Delimiter(of) => form.delimiter = byte("the delimiter", *of)?,
            CopyLegacyOption::Null(null) => form.null.clone_from(null),
            CopyLegacyOption::Header => form.header = true,
            other => return Err(unknown(other)),
        }
    }
    form.check()?;
    Ok(form)
}

/// CSV, JSON or Parquet.
fn format(
    path: Option<&str>,
    form: Option<&str>,
    options: &[CopyOption],
    legacy: &[CopyLegacyOption],
) -> Result<Format> {
    let guessed = path.and_then(Format::of);
    let mut format = match (form, guessed) {
        (None, Some(guessed)) => guessed,
        (None, None) => {
            let path = path.unwrap_or_default();
            return Err(Error::invalid(format!("the name \"{path}\" does not say what the file is"))
                .with_hint("say it: WITH (FORMAT csv), json, parquet or text"));
        }
        (Some(name), guessed) => {
            let form = match name {
                "csv" => Form::Csv,
                "json" | "jsonl" | "ndjson" | "geojson" | "geojsonl" => Form::Json,
                "parquet" => Form::Parquet,
                other => {
                    return Err(Error::not_found(
                        "format",
                        other,
                        ["csv", "json", "geojson", "parquet", "text"].into_iter(),
                    ));
                }
            };
            let format = match guessed {
                Some(guessed) => Format { form, ..guessed },
                None => Format { header: path.is_some(), ..Format::new(form) },
            };
            match name {
                "geojson" => Format { rows: RowsOf::Features, is_list: true, ..format },
                "geojsonl" => Format { rows: RowsOf::Features, is_list: false, ..format },
                _ if format.rows == RowsOf::Features => {
                    Format { rows: RowsOf::Objects, is_list: false, ..format }
                }
                _ => format,
            }
        }
    };
    let is_csv = format.form == Form::Csv;
    for option in options {
        match option {
            CopyOption::Format(_) => {}
            CopyOption::Delimiter(of) if is_csv => format.delimiter = byte("the delimiter", *of)?,
            CopyOption::Quote(of) if is_csv => format.quote = byte("the quote", *of)?,
            CopyOption::Escape(of) if is_csv => {
                format.escape = Some(byte("the escape", *of)?).filter(|of| *of != 0 && *of != format.quote)
            }
            CopyOption::Null(null) if is_csv => format.nulls = vec![null.clone()],
            CopyOption::Header(header) if is_csv => format.header = *header,
            CopyOption::Encoding(name) if is_utf8(name) => {}
            CopyOption::Encoding(text) => match copy_option(text) {
                Some((name, value)) => set_extra(&mut format, name, value)?,
                None => return Err(unknown_encoding(text)),
            },
            other => return Err(unknown(other)),
        }
    }
    for option in legacy {
        match option {
            CopyLegacyOption::Json(None) | CopyLegacyOption::Parquet => {}
            CopyLegacyOption::Header if is_csv => format.header = true,
            CopyLegacyOption::Delimiter(of) if is_csv => format.delimiter = byte("the delimiter", *of)?,
            CopyLegacyOption::Null(null) if is_csv => format.nulls = vec![null.clone()],
            CopyLegacyOption::Csv(options) if is_csv => {
                for option in options {
                    match option {
                        CopyLegacyCsvOption::Header => format.header = true,
                        CopyLegacyCsvOption::Quote(of) => format.quote = byte("the quote", *of)?,
                        CopyLegacyCsvOption::Escape(of) => {
                            format.escape = Some(byte("the escape", *of)?).filter(|of| *of != format.quote);
                        }
                        other => return Err(unknown(other)),
                    }
                }
            }
            other => return Err(unknown(other)),
        }
    }
    if is_csv {
        format.check()?;
    }
    Ok(format)
}
