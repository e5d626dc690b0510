//! What the options of COPY say of a file or a stream.

use ambo_files::{CopyText, Form, Format, byte};
use datafusion::sql::sqlparser::ast::{CopyLegacyCsvOption, CopyLegacyOption, CopyOption};

use crate::{Error, Result, names::ident};

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
        CopyOption::Format(name) => Some(ident(name)),
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
                "json" | "jsonl" => Form::Json,
                "parquet" => Form::Parquet,
                other => {
                    return Err(Error::not_found(
                        "format",
                        other,
                        ["csv", "json", "parquet", "text"].into_iter(),
                    ));
                }
            };
            match guessed {
                Some(guessed) => Format { form, ..guessed },
                None => Format { header: path.is_some(), ..Format::new(form) },
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
                format.escape = Some(byte("the escape", *of)?).filter(|of| *of != format.quote)
            }
            CopyOption::Null(null) if is_csv => format.nulls = vec![null.clone()],
            CopyOption::Header(header) if is_csv => format.header = *header,
            CopyOption::Encoding(name) if is_utf8(name) => {}
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
