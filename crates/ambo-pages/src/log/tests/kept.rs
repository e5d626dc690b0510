//! Segments that are kept, and the changes that are read from them.

use super::*;

/// The files of kept segments.
fn kept_files(disk: &SimDisk) -> Vec<String> {
    disk.list().unwrap().into_iter().filter(|name| name.starts_with("kept-")).collect()
}

fn changes(log: &LogWriter, after: u64) -> Result<Vec<Transaction>> {
    let mut transactions = Vec::new();
    let mut changes = log.changes_after(Timestamp(after))?;
    while changes.read_group(&mut |ts, operations: Operations<'_>| {
        let owned = operations
            .map(|op| op.map(|op| (op.table.0, op.key.to_vec(), op.record.kind, op.record.bytes.to_vec())));
        transactions.push((ts.0, owned.collect::<Result<_>>()?));
        Ok(())
    })? {}
    Ok(transactions)
}

/// Keeps away: changes that are lost or come twice between kept segments and those of the log, and after a new start.
#[test]
fn changes_go_on_through_kept_segments() {
    let (disk, mut log, mut transactions) = written(1, 40, 600);
    log.keep(1 << 20).unwrap();
    log.remove_before(log.position_after(Timestamp(25))).unwrap();
    assert!(!kept_files(&disk).is_empty() && !files(&disk).is_empty());
    for after in 0..=40 {
        assert_eq!(changes(&log, after).unwrap(), transactions[after as usize..], "after {after}");
    }
    let from = log.position_after(Timestamp(30));
    let disk = disk.crash();
    let start = Start { from, after: Timestamp(30) };
    let (_, recovery) = read(&disk, start, Access::WriteAndKeep).unwrap();
    let mut log = writer(&disk, 4096, recovery.position);
    log.keep(1 << 20).unwrap();
    let more: Vec<_> = (41..=50).map(|ts| put(ts, 600)).collect();
    log.write_group(&mut group(&more)).unwrap();
    assert_eq!(changes(&log, 20).unwrap(), transactions[20..], "what is not durable is not told");
    log.sync().unwrap();
    transactions.extend(more);
    for after in 0..=50 {
        assert_eq!(changes(&log, after).unwrap(), transactions[after as usize..], "after {after}");
    }
}

/// Keeps away: changes that are left out in silence, as what had them is gone or was changed.
#[test]
fn what_is_missing_is_told() {
    let (disk, mut log, transactions) = written(2, 40, 600);
    log.keep(12 << 10).unwrap();
    log.remove_before(log.position_after(Timestamp(40))).unwrap();
    let bytes: usize = kept_files(&disk).iter().map(|name| disk.contents(name).unwrap().len()).sum();
    assert!(bytes <= 12 << 10 && log.kept_bytes() == bytes as u64, "{bytes} bytes are kept");
    let reached = (0..40).find(|after| changes(&log, *after).is_ok()).unwrap();
    assert!(reached > 5, "all is there");
    assert_eq!(changes(&log, reached).unwrap(), transactions[reached as usize..]);
    match changes(&log, reached - 1) {
        Err(Error::NotFound(why)) => assert!(why.contains("reaches back to"), "{why}"),
        other => panic!("{other:?}"),
    }
    let names = kept_files(&disk);
    disk.corrupt(&names[0], 200, b"?").unwrap();
    assert!(matches!(changes(&log, reached), Err(Error::Damaged { .. })));
    log.keep(0).unwrap();
    assert!(kept_files(&disk).is_empty());
    assert!(matches!(changes(&log, 39), Err(Error::NotFound(_))));
    assert!(changes(&log, 40).unwrap().is_empty());
}
