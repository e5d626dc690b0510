//! That each point of the fault model can happen, and what it excludes cannot.

use std::{collections::BTreeSet, io::ErrorKind, time::Duration};

use super::*;

fn create(disk: &SimDisk, name: &str) -> Arc<dyn File> {
    disk.open(name, OpenMode::Create).unwrap()
}

/// What a file has after a crash, for many seeds; `None` where it is not there.
fn after_crash(run: impl Fn(&SimDisk)) -> BTreeSet<Option<Vec<u8>>> {
    let outcome = |seed| {
        let disk = SimDisk::new(seed);
        run(&disk);
        disk.crash().contents("f").ok()
    };
    (0..200).map(outcome).collect()
}

#[test]
fn synced_bytes_and_names_survive() {
    // Keeps away a simulated disk that loses what was synced: every crash test would fail for nothing.
    let outcomes = after_crash(|disk| {
        let file = create(disk, "f");
        file.write_at(&[1; 2_000], 0).unwrap();
        file.sync().unwrap();
        disk.sync_directory().unwrap();
    });
    assert_eq!(outcomes, BTreeSet::from([Some(vec![1; 2_000])]));
}

#[test]
fn an_unsynced_name_may_be_lost_but_not_its_bytes_torn() {
    // Keeps away an engine that trusts `File::sync` to make a creation durable.
    let outcomes = after_crash(|disk| {
        let file = create(disk, "f");
        file.write_at(&[1; 2_000], 0).unwrap();
        file.sync().unwrap();
    });
    assert_eq!(outcomes, BTreeSet::from([None, Some(vec![1; 2_000])]));
}

#[test]
fn each_sector_keeps_any_of_its_contents() {
    // Keeps away tests that never see a torn write, an old sector among new ones, or one between.
    let outcomes = after_crash(|disk| {
        let file = create(disk, "f");
        file.write_at(&[1; 1_024], 0).unwrap();
        file.sync().unwrap();
        disk.sync_directory().unwrap();
        file.write_at(&[2; 1_024], 0).unwrap();
        file.write_at(&[3; 1_024], 0).unwrap();
    });
    let sectors: BTreeSet<(u8, u8)> = outcomes
        .into_iter()
        .map(|bytes| {
            let bytes = bytes.unwrap();
            assert!(
                bytes[..512].iter().all(|b| *b == bytes[0]) && bytes[512..].iter().all(|b| *b == bytes[512])
            );
            (bytes[0], bytes[512])
        })
        .collect();
    assert_eq!(sectors.len(), 9, "{sectors:?}");
}

#[test]
fn an_unsynced_length_may_be_anything_between() {
    // Keeps away a log that takes the file's length for the end of what was written.
    let outcomes = after_crash(|disk| {
        let file = create(disk, "f");
        file.write_at(&[1; 512], 0).unwrap();
        file.sync().unwrap();
        disk.sync_directory().unwrap();
        file.write_at(&[1; 512], 512).unwrap();
        file.set_len(100).unwrap();
    });
    let lengths: BTreeSet<usize> = outcomes.iter().map(|b| b.as_ref().unwrap().len()).collect();
    assert!(lengths.contains(&100) && lengths.len() > 20, "{lengths:?}");
    assert!(lengths.iter().all(|len| (100..=1_024).contains(len)));
}

#[test]
fn a_rename_is_whole_and_never_loses_its_target() {
    // Keeps away a publication by rename that can end with neither file.
    let outcomes = after_crash(|disk| {
        create(disk, "f").write_at(&[1], 0).unwrap();
        let next = create(disk, "next");
        next.write_at(&[2], 0).unwrap();
        next.sync().unwrap();
        disk.open("f", OpenMode::ReadWrite).unwrap().sync().unwrap();
        disk.sync_directory().unwrap();
        disk.rename("next", "f").unwrap();
    });
    assert_eq!(outcomes, BTreeSet::from([Some(vec![1]), Some(vec![2])]));
}

#[test]
fn a_removal_may_be_undone_until_the_directory_is_synced() {
    // Keeps away a cut of the log that lets an old segment come back behind a new one.
    let outcomes = after_crash(|disk| {
        let file = create(disk, "f");
        file.write_at(&[1], 0).unwrap();
        file.sync().unwrap();
        disk.sync_directory().unwrap();
        disk.remove("f").unwrap();
    });
    assert_eq!(outcomes, BTreeSet::from([None, Some(vec![1])]));
}

#[test]
fn a_failed_sync_loses_sectors_for_good() {
    // Keeps away an engine that repeats a failed sync and believes the second answer.
    const SECTORS: usize = 200;
    let run = |write_again: bool| {
        let disk = SimDisk::new(5);
        let file = create(&disk, "f");
        disk.sync_directory().unwrap();
        file.write_at(&[1; 512 * SECTORS], 0).unwrap();
        file.sync().unwrap();
        file.write_at(&[2; 512 * SECTORS], 0).unwrap();
        let fault =
            Fault { op: Op::Sync, file_prefix: Some("f".into()), after: 0, kind: FaultKind::Io, once: true };
        disk.inject(fault);
        assert!(file.sync().is_err());
        assert!(disk.contents("f").unwrap().iter().all(|byte| *byte == 2));
        if write_again {
            file.write_at(&[2; 512 * SECTORS], 0).unwrap();
        }
        file.sync().unwrap();
        disk.crash().contents("f").unwrap().chunks(512).filter(|sector| sector[0] == 1).count()
    };
    assert!((SECTORS * 2 / 5..SECTORS * 3 / 5).contains(&run(false)), "{}", run(false));
    assert_eq!(run(true), 0);
}

#[test]
fn faults_hit_the_nth_matching_call() {
    // Keeps away fault tests that fail another call than they say.
    let disk = SimDisk::new(0);
    let (f, g) = (create(&disk, "f"), create(&disk, "g"));
    let fault = |after, once| Fault {
        op: Op::Write,
        file_prefix: Some("f".into()),
        after,
        kind: FaultKind::NoSpace,
        once,
    };
    disk.inject(fault(1, true));
    g.write_at(&[1], 0).unwrap();
    f.write_at(&[1], 0).unwrap();
    assert_eq!(f.write_at(&[1], 0).unwrap_err().kind(), ErrorKind::StorageFull);
    f.write_at(&[1], 0).unwrap();
    disk.inject(fault(0, false));
    assert!(f.write_at(&[1], 0).is_err() && f.write_at(&[1], 0).is_err());
    disk.clear_faults();
    f.write_at(&[1], 0).unwrap();
    assert_eq!(disk.counters().calls(Op::Write), 7);
}

#[test]
fn a_full_disk_refuses_only_what_needs_space() {
    // Keeps away a full disk that can never be used again, and one that fails writes into reserved space.
    let disk = SimDisk::new(0);
    disk.set_capacity(Some(16 * 4096));
    let file = create(&disk, "f");
    file.allocate(0, 8 * 4096).unwrap();
    assert_eq!(file.allocate(0, 17 * 4096).unwrap_err().kind(), ErrorKind::StorageFull);
    let other = create(&disk, "g");
    assert_eq!(other.write_at(&[1; 9 * 4096], 0).unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(other.len().unwrap(), 8 * 4096);
    assert_eq!(disk.used(), 16 * 4096);
    file.write_at(&[1; 8 * 4096], 0).unwrap();
    file.punch_hole(4096, 4096).unwrap();
    other.write_at(&[1; 4096], 8 * 4096).unwrap();
    disk.remove("f").unwrap();
    assert_eq!(disk.used(), 16 * 4096, "still open");
    drop(file);
    assert_eq!(disk.used(), 9 * 4096);
}

#[test]
fn after_a_crash_old_handles_are_dead() {
    // Keeps away threads of before the crash writing into what is checked after it.
    let disk = SimDisk::new(0);
    let file = create(&disk, "f");
    let lock = disk.lock("lock", true).unwrap().unwrap();
    disk.sync_directory().unwrap();
    disk.clock().advance(Duration::from_secs(1));
    let survivor = disk.crash();
    assert!(file.write_at(&[1], 0).is_err() && file.read_at(&mut [], 0).is_err() && file.sync().is_err());
    assert!(disk.open("f", OpenMode::Read).is_err() && disk.list().is_err() && disk.lock("x", true).is_err());
    assert!(survivor.lock("lock", true).unwrap().is_some());
    drop((file, lock));
    assert_eq!(survivor.contents("f").unwrap(), []);
    assert_eq!(survivor.env().clock.now(), Duration::from_secs(1));
}

#[test]
fn one_seed_is_one_fate() {
    // Keeps away failures that cannot be reproduced.
    let run = |seed| {
        let disk = SimDisk::new(seed);
        for i in 0..20u8 {
            create(&disk, &format!("f{i}")).write_at(&[i + 1; 5_000], u64::from(i)).unwrap();
        }
        let survivor = disk.crash();
        let names = survivor.list().unwrap();
        let contents: Vec<_> = names.iter().map(|n| survivor.contents(n).unwrap()).collect();
        (names, contents, survivor.env().chance.next_u64())
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}

#[test]
fn damage_is_what_was_asked_for() {
    // Keeps away damage tests that damage nothing.
    let disk = SimDisk::new(0);
    let file = create(&disk, "f");
    file.write_at(&[0; 10], 0).unwrap();
    disk.sync_directory().unwrap();
    disk.corrupt("f", 8, &[1, 2, 3]).unwrap();
    assert_eq!(disk.crash().contents("f").unwrap(), [0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3]);
}
