//! The header is made of the Rust sources, and committed. `AMBO_WRITE_HEADER=1` writes it.

use std::{env, fmt::Write, fs, path::Path};

/// The parts of the header in their order, which are modules of the library, and whether they are of SQL.
const PARTS: [(&str, bool); 21] = [
    ("version", false),
    ("status", false),
    ("error", false),
    ("c", false),
    ("owned", false),
    ("options", false),
    ("database", false),
    ("backup", false),
    ("definition", false),
    ("table", false),
    ("transaction", false),
    ("key_value", false),
    ("datum", false),
    ("rows", false),
    ("cursor", false),
    ("load", false),
    ("feed", false),
    ("operations", false),
    ("changes", false),
    ("uqi", false),
    ("connection", true),
];
const OF_SQL: [&str; 2] = ["statement", "result"];

/// What stands behind the kinds of values.
const DATUMS: &str = r#"
/* Values of each kind, such as ambo_int(7) or ambo_text("seven", AMBO_ZERO_ENDED). What they point to stays the caller's. */
static inline ambo_datum ambo_of_kind(int32_t kind, int64_t integer, double real, const void *data, size_t size) {
    ambo_datum datum = {0, 0, 0, 0, 0.0, NULL, 0};
    datum.kind = kind;
    datum.integer = integer;
    datum.real = real;
    datum.data = data;
    datum.size = size;
    return datum;
}
static inline ambo_datum ambo_null(void) { return ambo_of_kind(AMBO_NULL, 0, 0.0, NULL, 0); }
static inline ambo_datum ambo_bool(bool truth) { return ambo_of_kind(AMBO_BOOL, truth, 0.0, NULL, 0); }
static inline ambo_datum ambo_int(int64_t integer) { return ambo_of_kind(AMBO_INT, integer, 0.0, NULL, 0); }
static inline ambo_datum ambo_uint(uint64_t integer) { return ambo_of_kind(AMBO_UINT, (int64_t)integer, 0.0, NULL, 0); }
static inline ambo_datum ambo_real(double real) { return ambo_of_kind(AMBO_REAL, 0, real, NULL, 0); }
static inline ambo_datum ambo_text(const char *text, size_t size) { return ambo_of_kind(AMBO_TEXT, 0, 0.0, text, size); }
static inline ambo_datum ambo_blob(const void *data, size_t size) { return ambo_of_kind(AMBO_BLOB, 0, 0.0, data, size); }
"#;

/// The structures of Arrow's C interfaces, as its documentation asks for them to be repeated.
const ARROW: &str = r#"
/* Arrow's C data and C stream interfaces: https://arrow.apache.org/docs/format/CDataInterface.html */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4
struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};
struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
#endif
"#;

/// What a source says for the header.
#[derive(Default)]
struct Part {
    title: String,
    /// Handles, with what they are.
    handles: String,
    rest: String,
}

/// A name of Rust's as C has it.
fn c_name(name: &str) -> String {
    match name {
        "c_void" => "void".into(),
        "c_char" => "char".into(),
        "i32" | "i64" | "u32" | "u64" => {
            format!("{}int{}_t", if name.starts_with('u') { "u" } else { "" }, &name[1..])
        }
        "usize" => "size_t".into(),
        "f64" => "double".into(),
        "bool" => "bool".into(),
        "FFI_ArrowSchema" => "struct ArrowSchema".into(),
        "FFI_ArrowArrayStream" => "struct ArrowArrayStream".into(),
        "QueryResult" => "ambo_result".into(),
        name => {
            let mut text = "ambo".to_owned();
            for letter in name.chars() {
                if letter.is_uppercase() {
                    text.push('_');
                }
                text.extend(letter.to_lowercase());
            }
            text
        }
    }
}

/// Something of a type, as C declares it.
fn declared(ty: &str, name: &str) -> String {
    let ty = ty.trim();
    if let Some(of) = ty.strip_prefix("*mut ") {
        return declared(of, &format!("*{name}"));
    }
    if let Some(of) = ty.strip_prefix("*const ") {
        return format!("const {}", declared(of, &format!("*{name}")));
    }
    let space = if name.is_empty() { "" } else { " " };
    format!("{}{space}{name}", c_name(ty))
}

/// `name: type, name: type`, as C declares it.
fn parameters(text: &str) -> Vec<String> {
    let parameters = text.split(',').map(str::trim).filter(|parameter| !parameter.is_empty());
    parameters
        .map(|parameter| {
            let (name, ty) = parameter.split_once(':').unwrap();
            declared(ty, name.trim())
        })
        .collect()
}

/// Lines of documentation as a comment.
fn comment(lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let text: Vec<_> = lines.iter().map(|line| line.replace('`', "")).collect();
    format!("/* {} */\n", text.join("\n * ").replace(" * \n", " *\n"))
}

/// A declaration, broken where it is long.
fn function(result: &str, name: &str, parameters: &[String]) -> String {
    const WIDTH: usize = 120;
    let head =
        format!("{}{name}(", if result.ends_with('*') { result.to_owned() } else { format!("{result} ") });
    let all = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
    if head.len() + all.len() + 2 <= WIDTH {
        return format!("AMBO_API {head}{all});\n");
    }
    let mut text = format!("AMBO_API {head}\n    ");
    let mut length = 4;
    for (place, parameter) in parameters.iter().enumerate() {
        let end = if place + 1 == parameters.len() { "" } else { ", " };
        if length + parameter.len() + end.len() > WIDTH {
            text.truncate(text.trim_end().len());
            text.push_str("\n    ");
            length = 4;
        }
        text.push_str(parameter);
        text.push_str(end);
        length += parameter.len() + end.len();
    }
    text.push_str(");\n");
    text
}

/// What a source says.
fn part(source: &str) -> Part {
    let mut part = Part::default();
    let mut docs: Vec<String> = Vec::new();
    let mut lines = source.lines().peekable();
    while let Some(line) = lines.next() {
        let code = line.trim();
        if let Some(text) = line.strip_prefix("//!") {
            part.title.push_str(text.trim_start_matches(" #").trim());
            part.title.push('\n');
        } else if let Some(text) = code.strip_prefix("///") {
            docs.push(text.trim().to_owned());
        } else if code.starts_with("#[") {
            // An attribute stands between the two.
        } else if let Some((name, ty)) =
            line.strip_prefix("pub type ").and_then(|rest| rest.split_once(" = "))
        {
            let docs = comment(&docs.split_off(0));
            if ty.starts_with("Handle<") {
                let name = c_name(name);
                writeln!(part.handles, "{docs}typedef struct {name} {name};").unwrap();
            } else if let Some(of) = ty.strip_prefix("Option<unsafe extern \"C\" fn(") {
                let (of, result) = of.split_once(") -> ").unwrap();
                let result = declared(result.trim_end_matches(">;"), "");
                let name = format!("(*{})", c_name(name));
                writeln!(part.rest, "{docs}typedef {result} {name}({});", parameters(of).join(", ")).unwrap();
            }
        } else if let Some((name, value)) = constant(line) {
            writeln!(part.rest, "{}#define {name} {value}", comment(&docs.split_off(0))).unwrap();
        } else if let Some(name) = line.strip_prefix("pub struct ").and_then(|rest| rest.strip_suffix(" {"))
            && !name.ends_with("Body")
            && source.contains(&format!("#[repr(C)]\n#[derive(Clone, Copy)]\npub struct {name} {{"))
                | source.contains(&format!("#[repr(C)]\npub struct {name} {{"))
            && name.chars().all(char::is_alphabetic)
        {
            let name = c_name(name);
            writeln!(part.rest, "{}typedef struct {name} {{", comment(&docs.split_off(0))).unwrap();
            for field in lines.by_ref().take_while(|line| *line != "}") {
                let field = field.trim();
                if let Some(text) = field.strip_prefix("///") {
                    writeln!(part.rest, "    /* {} */", text.trim().replace('`', "")).unwrap();
                } else if let Some(field) = field.strip_prefix("pub ") {
                    writeln!(part.rest, "    {};", parameters(field)[0]).unwrap();
                }
            }
            writeln!(part.rest, "}} {name};").unwrap();
        } else if let Some(start) = code.split_once("extern \"C\" fn ").filter(|_| line.starts_with("pub ")) {
            let mut text = start.1.to_owned();
            while !text.contains('{') {
                text.push_str(lines.next().unwrap().trim());
            }
            let (name, rest) = text.split_once('(').unwrap();
            let (inner, rest) = rest.split_once(')').unwrap();
            let result = rest.trim().trim_end_matches('{').trim().strip_prefix("-> ").unwrap_or("");
            let result = if result.is_empty() { "void".to_owned() } else { declared(result.trim(), "") };
            let text = function(&result, name, &parameters(inner));
            write!(part.rest, "{}{text}", comment(&docs.split_off(0))).unwrap();
        } else {
            docs.clear();
        }
    }
    part
}

/// A constant of C's: its name and its value.
fn constant(line: &str) -> Option<(&str, &str)> {
    if let Some(rest) = line.strip_prefix("pub const AMBO_") {
        let (_, value) = rest.split_once(" = ")?;
        let name = &line["pub const ".len()..line.find(':')?];
        let value = value.trim_end_matches(';');
        return Some((name, if value == "usize::MAX" { "SIZE_MAX" } else { value }));
    }
    let rest =
        line.strip_prefix("    ").filter(|rest| rest.starts_with("AMBO_") && rest.contains(", c\""))?;
    let (name, rest) = rest.split_once(" = ")?;
    Some((name, rest.split_once(',')?.0))
}

/// The whole header.
fn header(sources: &Path) -> String {
    let read = |name: &str| fs::read_to_string(sources.join(format!("{name}.rs"))).unwrap();
    let about = read("lib");
    let about: Vec<_> = about
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .map(|line| line.strip_prefix(' ').unwrap_or(line).to_owned())
        .collect();
    let [major, minor, patch] = ["MAJOR", "MINOR", "PATCH"].map(|part| {
        let value = match part {
            "MAJOR" => env!("CARGO_PKG_VERSION_MAJOR"),
            "MINOR" => env!("CARGO_PKG_VERSION_MINOR"),
            _ => env!("CARGO_PKG_VERSION_PATCH"),
        };
        format!("#define AMBO_VERSION_{part} {value}\n")
    });
    let version = env!("CARGO_PKG_VERSION");
    let mut text = format!(
        "{}\n/* Made of the sources in Rust: make header. */\n\n#ifndef AMBO_H\n#define AMBO_H\n\n#include <stdbool.h>\n#include <stddef.h>\n\
         #include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n#ifndef AMBO_API\n#define AMBO_API extern\n#endif\n\n\
         {major}{minor}{patch}#define AMBO_VERSION \"{version}\"\n\
         /* Whether the header is of this version or a later one. */\n#define AMBO_VERSION_AT_LEAST(major, minor) \\\n    \
         (AMBO_VERSION_MAJOR > (major) || (AMBO_VERSION_MAJOR == (major) && AMBO_VERSION_MINOR >= (minor)))\n\n\
         /* What a function answers: AMBO_OK and so on. */\ntypedef int32_t ambo_status;\n\n\
         /* Whether a status is an error. */\n#define AMBO_IS_ERROR(status) ((status) >= AMBO_MISUSE)\n",
        comment(&about)
    );
    let parts: Vec<_> = PARTS.iter().map(|(name, is_sql)| (*name, *is_sql)).collect();
    let parts = parts.into_iter().chain(OF_SQL.map(|name| (name, true)));
    let parts: Vec<_> = parts.map(|(name, is_sql)| (name, is_sql, part(&read(name)))).collect();
    text.push_str("\n/* ==== Handles ==== */\n\n");
    parts.iter().for_each(|(.., part)| text.push_str(&part.handles));
    let mut in_sql = false;
    for (name, is_sql, part) in &parts {
        if *is_sql && !in_sql {
            text.push_str("\n#ifndef AMBO_NO_SQL\n");
            text.push_str(ARROW);
            in_sql = true;
        }
        if *name != "c" {
            let mut title = part.title.trim().lines();
            write!(text, "\n/* ==== {} ====", title.next().unwrap()).unwrap();
            title.filter(|line| !line.is_empty()).for_each(|line| write!(text, "\n * {line}").unwrap());
            text.push_str(" */\n\n");
        }
        text.push_str(&part.rest);
        if *name == "datum" {
            text.push_str(DATUMS);
        }
    }
    text.push_str("\n#endif /* AMBO_NO_SQL */\n\n#ifdef __cplusplus\n}\n#endif\n\n#endif /* AMBO_H */\n");
    text
}

#[test]
fn the_header_is_what_the_sources_say() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let made = header(&package.join("src"));
    let place = package.join("include/ambo.h");
    if env::var_os("AMBO_WRITE_HEADER").is_some() {
        fs::write(&place, &made).unwrap();
    }
    let there = fs::read_to_string(&place).unwrap_or_default();
    assert!(made == there, "{} is not what the sources say: run make header", place.display());
}
