//! Ranges by cursors (U3), and what transactions see.

use ambo::{Database, Datum, Read, Seek, Storage, Type};

use crate::{create, single};

#[test]
fn begin_moves_to_what_follows() {
    for storage in [Storage::BTree, Storage::Column, Storage::Memory] {
        let dir = tempfile::tempdir().unwrap();
        let db = Database::open(dir.path()).unwrap();
        let t = create(&db, "t", Type::U32, Type::I64, storage);
        let other = create(&db, "other", Type::U32, Type::I64, storage);
        for key in 0..1000u32 {
            t.insert_row(&[key.into(), i64::from(key).into()]).unwrap();
            if key == 600 {
                db.compact().unwrap();
            }
        }
        let now = db.snapshot();
        let (mut begin, mut end) = (now.cursor(&t).unwrap(), now.cursor(&t).unwrap());
        assert!(begin.seek(Seek::First).unwrap());
        let key = |number: u32| t.stored_key_of(&[number.into()], 0).unwrap();
        assert!(end.seek(Seek::Ge(&key(400))).unwrap());
        let sum = |text: &str, from: u64, to: u64, begin: &mut ambo::Cursor, end: Option<&ambo::Cursor>| {
            let result = db.uqi_range(&now, text, begin, end).unwrap();
            let sum: u64 = (from..to).sum();
            let expected = if text.contains("$key") { Datum::U64(sum) } else { Datum::I64(sum as i64) };
            assert_eq!(result.single(), Some(expected), "{text} of {storage:?}");
        };
        sum("SUM($key) FROM t", 0, 400, &mut begin, Some(&end));
        assert_eq!(begin.key(), key(400));
        sum("SUM($record) FROM t", 400, 400, &mut begin, Some(&end));
        assert!(end.seek(Seek::Ge(&key(900))).unwrap());
        sum("SUM($record) FROM t WHERE $record >= 500", 500, 900, &mut begin, Some(&end));
        sum("SUM($record) FROM t", 900, 1000, &mut begin, None);
        assert!(!begin.is_valid(), "behind the last");

        let wrong = |begin: &mut ambo::Cursor, end: Option<&ambo::Cursor>, what: &str| {
            let error = db.uqi_range(&now, "COUNT($key) FROM t", begin, end).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        };
        wrong(&mut begin, None, "`begin` stands on no row");
        begin.seek(Seek::Last).unwrap();
        wrong(&mut begin, Some(&end), "`end` stands before `begin`");
        other.insert_row(&[1u32.into(), 1i64.into()]).unwrap();
        let mut elsewhere = db.snapshot().cursor(&other).unwrap();
        elsewhere.seek(Seek::First).unwrap();
        wrong(&mut elsewhere, None, "another table");
        let mut later = db.snapshot().cursor(&t).unwrap();
        later.seek(Seek::First).unwrap();
        wrong(&mut later, None, "another moment");
        drop((begin, end, elsewhere, later, now));
        assert!(db.check().unwrap().problems.is_empty());
    }
}

/// Fault of upscaledb's: rows of others that are not committed were counted.
#[test]
fn queries_are_of_one_moment() {
    let db = Database::in_memory().unwrap();
    let t = create(&db, "t", Type::U32, Type::I64, Storage::BTree);
    t.insert_row(&[1u32.into(), 10i64.into()]).unwrap();
    let before = db.snapshot();
    let mut tx = db.begin().unwrap();
    tx.insert_row(&t, &[2u32.into(), 20i64.into()]).unwrap();
    for text in ["COUNT($key)", "COUNT($key) FROM t WHERE $record > 0"] {
        let text = if text.contains("FROM") { text.to_owned() } else { format!("{text} FROM t") };
        assert_eq!(db.uqi(&tx, &text).unwrap().single(), Some(Datum::U64(2)));
        assert_eq!(single(&db, &text), Datum::U64(1));
    }
    assert_eq!(db.uqi(&tx, "MAX($key) FROM t").unwrap().keys.value(0).to_value(), Datum::U32(2));
    tx.commit().unwrap();
    assert_eq!(single(&db, "SUM($record) FROM t"), Datum::I64(30));
    assert_eq!(db.uqi(&before, "SUM($record) FROM t").unwrap().single(), Some(Datum::I64(10)));

    // What a serializable transaction computes counts as read.
    let mut reader = db.begin_serializable().unwrap();
    db.uqi(&reader, "SUM($record) FROM t").unwrap();
    t.insert_row(&[3u32.into(), 30i64.into()]).unwrap();
    reader.insert_row(&t, &[4u32.into(), 60i64.into()]).unwrap();
    assert!(reader.commit().unwrap_err().is_retryable());
}
