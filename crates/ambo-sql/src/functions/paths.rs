//! Parts of names of files: `parse_path`, `parse_filename`, `parse_dirname`, `parse_dirpath`; and `path_join`. The parts stand between
//! slashes; a last argument says what else they may stand between: `'both_slash'`, `'forward_slash'`, `'backslash'` or `'system'`.

use datafusion::common::{Result, exec_err};

use super::plain::{
    Form, Given,
    Kind::{Bool, Text, Texts},
    Made, Named,
};

pub(super) static ALL: [Named; 5] = [
    Named {
        names: &["parse_path"],
        is_volatile: false,
        forms: &[
            Form { takes: &[Text], gives: Texts, make: parts },
            Form { takes: &[Text, Text], gives: Texts, make: parts },
        ],
    },
    Named {
        names: &["parse_filename"],
        is_volatile: false,
        forms: &[
            Form { takes: &[Text], gives: Text, make: |of| file(of, false, None) },
            Form { takes: &[Text, Bool], gives: Text, make: |of| file(of, of[1].is_true(), None) },
            Form { takes: &[Text, Text], gives: Text, make: |of| file(of, false, Some(of[1].text())) },
            Form {
                takes: &[Text, Bool, Text],
                gives: Text,
                make: |of| file(of, of[1].is_true(), Some(of[2].text())),
            },
        ],
    },
    Named {
        names: &["parse_dirname"],
        is_volatile: false,
        forms: &[
            Form { takes: &[Text], gives: Text, make: first_folder },
            Form { takes: &[Text, Text], gives: Text, make: first_folder },
        ],
    },
    Named {
        names: &["path_join"],
        is_volatile: false,
        forms: &[
            Form { takes: &[Text], gives: Text, make: joined },
            Form { takes: &[Text, Text], gives: Text, make: joined },
            Form { takes: &[Text, Text, Text], gives: Text, make: joined },
            Form { takes: &[Text, Text, Text, Text], gives: Text, make: joined },
        ],
    },
    Named {
        names: &["parse_dirpath"],
        is_volatile: false,
        forms: &[
            Form { takes: &[Text], gives: Text, make: folders },
            Form { takes: &[Text, Text], gives: Text, make: folders },
        ],
    },
];

/// Puts parts together, without `.`, and without what `..` takes back. A path may begin at the root, or at that of a server, `s3://name`.
fn joined(of: &[Given<'_>]) -> Result<Made> {
    let (mut root, mut parts): (String, Vec<&str>) = (String::new(), Vec::new());
    for (nth, path) in of.iter().map(Given::text).enumerate() {
        let (own_root, rest) = root_of(path);
        match nth {
            0 => root = own_root,
            _ if own_root.is_empty() => {}
            _ => {
                return exec_err!(
                    "path_join: '{path}' begins at the root, and is to stand below another path"
                );
            }
        }
        for part in rest.split('/') {
            match part {
                "" | "." => {}
                ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
                // Above the root is the root.
                ".." if !root.is_empty() => {}
                part => parts.push(part),
            }
        }
    }
    Ok(match root + &parts.join("/") {
        path if path.is_empty() => ".".into(),
        path => path.into(),
    })
}

fn root_of(path: &str) -> (String, &str) {
    match path.split_once("://") {
        Some((scheme, rest)) => {
            let (server, rest) = rest.split_once('/').unwrap_or((rest, ""));
            (format!("{scheme}://{server}/"), rest)
        }
        None => match path.strip_prefix('/') {
            Some(rest) => ("/".to_owned(), rest),
            None => (String::new(), path),
        },
    }
}

/// What parts stand between.
fn separators(name: Option<&str>) -> Result<&'static [char]> {
    Ok(match name.unwrap_or("both_slash") {
        "both_slash" | "default" => &['/', '\\'],
        "forward_slash" => &['/'],
        "backslash" => &['\\'],
        "system" => &[std::path::MAIN_SEPARATOR],
        other => {
            return exec_err!(
                "'{other}' does not say what parts of a path stand between; there are both_slash, forward_slash, backslash, system"
            );
        }
    })
}

fn given<'a>(of: &'a [Given<'_>]) -> Result<(&'a str, &'static [char])> {
    Ok((of[0].text(), separators(of.get(1).map(Given::text))?))
}

fn parts(of: &[Given<'_>]) -> Result<Made> {
    let (path, separators) = given(of)?;
    let mut parts: Vec<_> =
        path.split(separators).filter(|part| !part.is_empty()).map(|part| Some(part.to_owned())).collect();
    // That it begins at the root is a part, too.
    if let Some(root) = path.chars().next().filter(|first| separators.contains(first)) {
        parts.insert(0, Some(root.to_string()));
    }
    Ok(Made::Texts(parts))
}

fn file(of: &[Given<'_>], without_ending: bool, separated: Option<&str>) -> Result<Made> {
    let path = of[0].text();
    let name = path.rsplit(separators(separated)?).next().unwrap_or(path);
    let name = match name.rfind('.') {
        Some(dot) if without_ending && dot > 0 => &name[..dot],
        _ => name,
    };
    Ok(name.into())
}

fn first_folder(of: &[Given<'_>]) -> Result<Made> {
    let (path, separators) = given(of)?;
    Ok(path.split_once(separators).map_or("", |(first, _)| first).into())
}

fn folders(of: &[Given<'_>]) -> Result<Made> {
    let (path, separators) = given(of)?;
    Ok(path.rfind(separators).map_or("", |end| &path[..end]).into())
}
