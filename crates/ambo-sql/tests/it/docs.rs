//! The SQL examples of the book, as they stand there.

use crate::common::{refused, rows, sound};

#[test]
fn the_examples_do_what_they_say() {
    let done = try_out(include_str!("../../../../docs/book/src/sql/writing.md"));
    assert!(done > 30, "{done}");
}

#[test]
fn the_examples_of_queries_do_what_they_say() {
    let done = try_out(include_str!("../../../../docs/book/src/sql/reading.md"));
    assert!(done > 15, "{done}");
}

#[test]
fn the_examples_of_the_guide_do_what_they_say() {
    let pages = [
        ("storage", include_str!("../../../../docs/book/src/storage.md"), 15),
        ("transactions", include_str!("../../../../docs/book/src/transactions.md"), 10),
        ("loading", include_str!("../../../../docs/book/src/loading.md"), 7),
        ("sql", include_str!("../../../../docs/book/src/sql.md"), 10),
        ("functions", include_str!("../../../../docs/book/src/sql/functions.md"), 2),
    ];
    for (page, text, statements) in pages {
        assert_eq!(try_out(text), statements, "{page}");
    }
}

/// How many statements a text has, whose results are those that it says.
fn try_out(text: &str) -> usize {
    let dir = tempfile::tempdir().unwrap();
    let files = format!("'{}/towns.", dir.path().display());
    let db = ambo_sql::Database::open(dir.path().join("db")).unwrap();
    let mut c = db.connect();
    let mut done = 0;
    for block in text.split("```sql\n").skip(1).map(|rest| rest.split("```").next().unwrap()) {
        let mut lines = block.lines().peekable();
        while lines.peek().is_some() {
            let mut statement = String::new();
            for line in lines.by_ref() {
                statement.push_str(line);
                statement.push('\n');
                if line.ends_with(';') {
                    break;
                }
            }
            let statement = statement.replace("'towns.", &files);
            let mut expected = Vec::new();
            while let Some(line) = lines.next_if(|line| line.starts_with("-- ")) {
                expected.push(&line[3..]);
            }
            match expected.first().and_then(|line| line.strip_prefix("error: ")) {
                Some(message) => {
                    let error = refused(&mut c, &statement).to_string();
                    assert!(error.contains(message), "{statement}{error}");
                }
                None => {
                    let mut found = rows(&mut c, &statement);
                    let mut expected = expected.join("\n");
                    if statement.contains("RETURNING") {
                        for text in [&mut found, &mut expected] {
                            let mut lines: Vec<_> = text.lines().collect();
                            lines.sort_unstable();
                            *text = lines.join("\n");
                        }
                    }
                    assert_eq!(found, expected, "{statement}");
                }
            }
            done += 1;
        }
    }
    sound(&db);
    done
}
