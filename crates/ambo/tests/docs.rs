//! What is written about Ambo: files and links that are named are there, and lines are no longer than they may be.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The longest line of documentation, in characters. Tables have no other way than long lines.
const DOCS_LINE_MAX: usize = 160;
/// The longest line of a comment.
const COMMENT_LINE_MAX: usize = 140;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// All files with this ending below a folder.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            let name = path.file_name().expect("a name");
            if name != "target" && name != "data" {
                found.extend(files(&path, ending));
            }
        } else if path.extension().is_some_and(|extension| extension == ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Documents with their texts, without the blocks of code in them.
fn documents() -> Vec<(PathBuf, String)> {
    let root = root();
    let mut paths = files(&root.join("docs"), "md");
    paths.extend(files(&root.join("bench"), "md"));
    paths.extend(files(&root.join("crates"), "md"));
    paths.extend(
        ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "demo/README.md"].map(|name| root.join(name)),
    );
    paths.into_iter().map(|path| (path.clone(), prose(&fs::read_to_string(path).expect("a text")))).collect()
}

fn prose(text: &str) -> String {
    let mut in_code = false;
    let is_prose = |line: &&str| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !is_fence && !in_code
    };
    text.lines().filter(is_prose).collect::<Vec<_>>().join("\n")
}

/// What stands between two marks, on one line.
fn between<'t>(text: &'t str, open: &str, close: &'t str) -> impl Iterator<Item = &'t str> {
    let parts: Vec<_> = text.split(open).skip(1).collect();
    parts.into_iter().filter_map(move |rest| rest.lines().next()?.split_once(close).map(|(inner, _)| inner))
}

// Keeps away: a walk through files that were renamed.
#[test]
fn files_that_are_named_are_there() {
    let root = root();
    let mut named = 0;
    for (page, text) in documents() {
        let is_guide = page.starts_with(root.join("docs/book")) || page.parent() == Some(&root);
        if !is_guide || page.ends_with("CHANGELOG.md") {
            continue;
        }
        for path in between(&text, "`crates/", "`").filter(|path| !path.contains(['*', ' ', 'N'])) {
            assert!(root.join("crates").join(path).exists(), "{}: crates/{path}", page.display());
            named += 1;
        }
    }
    assert!(named > 50, "{named}");
}

// Keeps away: links to pages that were moved.
#[test]
fn links_lead_to_files() {
    for (page, text) in documents() {
        let folder = page.parent().expect("a folder");
        for link in between(&text, "](", ")") {
            let file = link.split('#').next().expect("a part");
            let is_outside = link.contains("://") || file.is_empty();
            assert!(is_outside || folder.join(file).exists(), "{}: {link}", page.display());
        }
    }
}

// Keeps away: a page that no reader of the book finds.
#[test]
fn all_pages_are_in_the_summary() {
    let pages = root().join("docs/book/src");
    let summary = fs::read_to_string(pages.join("SUMMARY.md")).expect("the summary");
    for page in files(&pages, "md") {
        let name = page.strip_prefix(&pages).expect("a page").display().to_string();
        assert!(name == "SUMMARY.md" || summary.contains(&format!("({name})")), "{name}");
    }
}

// Keeps away: paragraphs that are read only by scrolling.
#[test]
fn lines_fit_on_a_page() {
    let root = root();
    let readme = fs::read_to_string(root.join("README.md")).expect("README.md");
    assert!(readme.lines().count() <= 90, "README.md has more than 90 lines");

    let is_long = |line: &&str| line.chars().count() > DOCS_LINE_MAX && !line.starts_with('|');
    let mut long = Vec::new();
    for (page, text) in documents() {
        long.extend(text.lines().filter(is_long).map(|line| format!("{}: {line}", page.display())));
    }
    assert!(long.is_empty(), "lines of more than {DOCS_LINE_MAX} characters: {long:#?}");

    let is_long = |line: &&str| {
        let text = line.trim_start();
        let is_table = text.trim_start_matches(['/', '!']).starts_with(" |");
        text.starts_with("//") && !is_table && line.chars().count() > COMMENT_LINE_MAX
    };
    let mut long = Vec::new();
    for path in ["bench", "crates", "python"].iter().flat_map(|folder| files(&root.join(folder), "rs")) {
        let text = fs::read_to_string(&path).expect("code");
        long.extend(text.lines().filter(is_long).map(|line| format!("{}: {line}", path.display())));
    }
    assert!(long.is_empty(), "comments of more than {COMMENT_LINE_MAX} characters: {long:#?}");
}
