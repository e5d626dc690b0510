//! Publications: what readers see of a database that is written elsewhere, file by file.

use std::{sync::Arc, time::Duration};

use ambo_codec::Type;
use ambo_engine::{
    Error,
    catalog::{Storage, TableDefinition},
    database::{Engine, Options, PublishOptions, RestoredKey, publications},
    id::TableId,
    io::{
        Disk, OpenMode,
        sim::{Fault, FaultKind, Op, SimDisk},
    },
    seal::{Key, KeySource},
};

use crate::{
    backup::{beside_writers, verify_moment},
    loads::load_numbers,
    support::{assert_sound, bytes, open, rows, small_options},
};

/// The smallest files, and nothing that is kept longer than it must be.
const ONE: PublishOptions = PublishOptions { keep: 1, grace: Duration::ZERO, bundle_bytes: 64 << 10 };

fn as_disk(disk: &SimDisk) -> Arc<dyn Disk> {
    Arc::new(disk.clone())
}

fn read_only() -> Options {
    Options { read_only: true, ..small_options() }
}

/// A database with rows in trees, long values and segments.
fn start(seed: u64) -> (Arc<Engine>, TableId, TableId) {
    start_with(seed, &small_options())
}

fn start_with(seed: u64, options: &Options) -> (Arc<Engine>, TableId, TableId) {
    let (engine, _) = open(&SimDisk::new(seed).env(), options).unwrap();
    let definition = TableDefinition::new("c").column("id", Type::I64).column("n", Type::I64);
    let column = engine.create_table(definition.primary_key(&["id"]).storage(Storage::Column)).unwrap();
    let pairs = engine.create_table(TableDefinition::key_value("kv")).unwrap();
    load_numbers(&engine, column, 0..100);
    for n in 0..200u64 {
        engine.put(pairs, &n.to_be_bytes(), &bytes(n, 1000)).unwrap();
    }
    engine.put(pairs, b"long", &bytes(1, 30_000)).unwrap();
    (engine, column, pairs)
}

fn newest(target: &SimDisk) -> Arc<Engine> {
    open(&target.env(), &read_only()).unwrap().0
}

fn count(engine: &Arc<Engine>, table: TableId) -> usize {
    rows(&engine.snapshot(), table).unwrap().len()
}

/// Keeps away: a publication with half a transaction, or of more than one moment.
#[test]
fn a_publication_is_one_moment() {
    beside_writers(|engine| {
        let mut target = SimDisk::new(2);
        for round in 0..12 {
            engine.publish_to(&as_disk(&target), &ONE).unwrap_or_else(|error| panic!("{round}: {error}"));
            target = target.crash();
            verify_moment(&target);
        }
    });
}

/// Keeps away: files that are written once more, a publication where nothing has changed, an old reader that sees what is new, old files
/// that stay for ever.
#[test]
fn what_is_there_is_not_written_again() {
    let (engine, column, pairs) = start(1);
    let target = SimDisk::new(2);
    let two = PublishOptions { keep: 2, ..ONE };
    let publish = || engine.publish_to(&as_disk(&target), &two).unwrap();
    let first = publish();
    assert!(first.is_new && first.written > 2 && first.kept == 0, "{first:?}");
    let reader = newest(&target);
    let again = publish();
    assert_eq!((again.number, again.is_new, again.written), (first.number, false, 0));

    engine.put(pairs, b"new", b"1").unwrap();
    let second = publish();
    assert!(second.kept > 0 && second.written < first.written, "{second:?}");
    assert_eq!((second.number, second.publications, second.publications_removed), (2, 2, 0));
    assert!(reader.snapshot().get(pairs, b"new").unwrap().is_none());
    assert_sound(&reader);
    assert_eq!(newest(&target).snapshot().get(pairs, b"new").unwrap().unwrap().to_vec(), b"1");
    let of = |number| open(&target.env(), &Options { publication: Some(number), ..read_only() });
    assert!(of(1).unwrap().0.snapshot().get(pairs, b"new").unwrap().is_none());

    engine.truncate_table("c").unwrap();
    engine.vacuum().unwrap();
    let third = publish();
    assert_eq!((third.publications, third.publications_removed), (2, 1));
    match of(1) {
        Err(Error::NotFound(what)) => assert!(what.contains("publication 1; there are: 2, 3"), "{what}"),
        other => panic!("{:?}", other.map(|(_, report)| report)),
    }
    // It has its files open, as many as it has read of.
    assert_eq!(count(&reader, column), 100);
    load_numbers(&engine, engine.current().catalog.find("c").unwrap().0, 0..10);
    let fourth = publish();
    assert!(fourth.removed > 0, "{fourth:?}");
    let there = publications(target.env(), &read_only()).unwrap();
    assert_eq!(there.iter().map(|one| one.number).collect::<Vec<_>>(), [3, 4]);
    for publication in there {
        assert_sound(&of(publication.number).unwrap().0);
    }
    assert_sound(&engine);
}

/// Keeps away: files that are removed from under readers which have just begun.
#[test]
fn what_is_old_stays_for_a_time() {
    let (engine, _, pairs) = start(1);
    let target = SimDisk::new(2);
    let options = PublishOptions { grace: Duration::from_secs(3600), ..ONE };
    for n in 1..4u64 {
        engine.put(pairs, b"n", &n.to_be_bytes()).unwrap();
        let report = engine.publish_to(&as_disk(&target), &options).unwrap();
        assert_eq!((report.number, report.publications, report.removed), (n, n, 0));
    }
    let first = open(&target.env(), &Options { publication: Some(1), ..read_only() }).unwrap().0;
    assert_sound(&first);
    assert_eq!(first.snapshot().get(pairs, b"n").unwrap().unwrap().to_vec(), 1u64.to_be_bytes());
}

/// Keeps away: a publication that is not whole and is read, one before that is lost, and files that are left behind, whichever call fails,
/// and whether the power goes then or not.
#[test]
fn broken_off_at_every_call() {
    let ops =
        [Op::Write, Op::Sync, Op::Create, Op::Remove, Op::Rename, Op::SyncDirectory, Op::Open, Op::List];
    let mut broken = 0;
    for op in ops {
        for (after, with_earlier) in (0..60).flat_map(|after| [(after, false), (after, true)]) {
            let (engine, column, pairs) = start(after);
            let target = SimDisk::new(after);
            if with_earlier {
                engine.publish_to(&as_disk(&target), &ONE).unwrap();
            }
            load_numbers(&engine, column, 100..200);
            engine.delete(pairs, b"long").unwrap();
            target.inject(Fault { op, file_prefix: None, after, kind: FaultKind::Io, once: false });
            let made = engine.publish_to(&as_disk(&target), &ONE);
            target.clear_faults();
            let verify = |target: &SimDisk| {
                let found = open(&target.env(), &read_only()).map(|(engine, _)| {
                    assert_sound(&engine);
                    count(&engine, column)
                });
                match (&made, &found) {
                    (Ok(_), Ok(200)) => {}
                    (Err(Error::Io { .. }), Ok(rows)) if *rows == 200 || with_earlier && *rows == 100 => {}
                    (Err(Error::Io { .. }), Err(Error::NotFound(_))) if !with_earlier => {}
                    _ => panic!("{op:?} {after} {with_earlier}: {made:?}, {found:?}"),
                }
            };
            verify(&target);
            verify(&target.crash());
            broken += u64::from(made.is_err());
            assert_sound(&engine);
            if made.is_ok() && with_earlier {
                break;
            }
        }
    }
    assert!(broken > 30, "only {broken} publications were broken off");
}

/// Keeps away: what a publisher that died left behind for ever, or takes for whole.
#[test]
fn the_next_publisher_goes_on() {
    let mut broken = 0;
    for after in 0..30 {
        let (engine, column, _) = start(after);
        let target = SimDisk::new(after);
        let fault = Fault { op: Op::Write, file_prefix: None, after, kind: FaultKind::NoSpace, once: false };
        target.inject(fault);
        let made = engine.publish_to(&as_disk(&target), &ONE);
        target.clear_faults();
        broken += u64::from(made.is_err());
        assert!(matches!(made, Ok(_) | Err(Error::DiskFull(_))), "{made:?}");
        let target = target.crash();
        // What is left is no place for a database.
        if made.is_err() && target.list().unwrap().iter().any(|name| name.starts_with("bundle-")) {
            match open(&target.env(), &small_options()) {
                Err(Error::Invalid(what)) => assert!(what.contains("broken off"), "{what}"),
                other => panic!("{:?}", other.map(|(_, report)| report)),
            }
        }
        load_numbers(&engine, column, 100..200);
        engine.publish_to(&as_disk(&target), &ONE).unwrap();
        let read = newest(&target);
        assert_eq!(count(&read, column), 200);
        assert_sound(&read);
        let names = target.list().unwrap();
        assert!(!names.iter().any(|name| name.ends_with("new")), "{names:?}");
        let before = names.len();
        load_numbers(&engine, column, 200..210);
        engine.publish_to(&as_disk(&target), &ONE).unwrap();
        assert!(target.list().unwrap().len() <= before + 2, "{:?} after {names:?}", target.list());
    }
    assert!(broken > 2, "only {broken} publications were broken off");
}

/// Keeps away: a publication that is cut, or has another file than was published, and is read as if it were whole.
#[test]
fn what_was_changed_is_damaged() {
    let (engine, column, pairs) = start(1);
    let target = SimDisk::new(2);
    engine.publish_to(&as_disk(&target), &PublishOptions { keep: 2, ..ONE }).unwrap();
    engine.put(pairs, b"new", b"1").unwrap();
    engine.publish_to(&as_disk(&target), &PublishOptions { keep: 2, ..ONE }).unwrap();
    let damaged = |name: &str, change: &dyn Fn(&mut Vec<u8>)| {
        let copy = SimDisk::new(3);
        for file in target.list().unwrap() {
            let mut contents = target.contents(&file).unwrap();
            if file == name {
                change(&mut contents);
            }
            copy.open(&file, OpenMode::Create).unwrap();
            copy.corrupt(&file, 0, &contents).unwrap();
        }
        copy.sync_directory().unwrap();
        copy
    };
    let say =
        |disk: &SimDisk, number| match open(&disk.env(), &Options { publication: number, ..read_only() }) {
            Ok((engine, _)) => {
                let report = engine.check().unwrap();
                assert!(!report.is_sound(), "nobody saw it");
                report.problems.join("; ")
            }
            Err(error @ Error::Damaged { .. }) => error.to_string(),
            Err(error) => panic!("{error}"),
        };
    let cut = |bytes: &mut Vec<u8>| bytes.truncate(bytes.len() / 2);
    let flip = |bytes: &mut Vec<u8>| *bytes.last_mut().unwrap() ^= 1;
    let manifest = "manifest-0000000000000002";
    for change in [&cut as &dyn Fn(&mut Vec<u8>), &flip] {
        let said = say(&damaged(manifest, change), None);
        assert!(said.contains(manifest) && said.contains("the checksum is wrong"), "{said}");
        let other = damaged("publication", change);
        let said = say(&other, None);
        assert!(said.contains("publish again, or open a publication by its number"), "{said}");
        // The publications themselves are as they were, and the next one is the newest.
        let (whole, _) = open(&other.env(), &Options { publication: Some(2), ..read_only() }).unwrap();
        assert_sound(&whole);
        engine.publish_to(&as_disk(&other), &ONE).unwrap();
        assert_sound(&newest(&other));
    }
    for file in target.list().unwrap().iter().filter(|name| name.starts_with("bundle-")) {
        // Those of the first publication alone are not looked at.
        let disk = damaged(file, &flip);
        let first = open(&disk.env(), &Options { publication: Some(1), ..read_only() });
        let is_seen = |opened: Result<(Arc<Engine>, _), Error>| match opened {
            Ok((engine, _)) => engine.check().map(|report| !report.is_sound()).unwrap_or(true),
            Err(error) => matches!(error, Error::Damaged { .. }),
        };
        assert!(is_seen(first) || is_seen(open(&disk.env(), &read_only())), "{file} was changed");
    }
    let segment = target.list().unwrap().into_iter().find(|name| name.starts_with("segment-")).unwrap();
    let disk = damaged(&segment, &flip);
    let read = newest(&disk);
    match rows(&read.snapshot(), column) {
        Err(Error::Damaged { what, .. }) => assert!(what.contains("is not what was published"), "{what}"),
        other => panic!("{other:?}"),
    }
    // Other tables can be read.
    assert_eq!(count(&read, pairs), 202);
    let missing = damaged("no such file", &flip);
    missing.remove(&segment).unwrap();
    match rows(&newest(&missing).snapshot(), column) {
        Err(error) => assert!(error.to_string().contains("the file is missing"), "{error}"),
        Ok(_) => panic!("a segment that is not there was read"),
    }
}

/// Keeps away: a publication into a directory of something else, of another database, or over a later moment; and one that is written to.
#[test]
fn what_is_no_place_for_a_publication() {
    let refused = |engine: &Arc<Engine>, target: &SimDisk, what: &str| match engine
        .publish_to(&as_disk(target), &ONE)
    {
        Err(Error::Invalid(why) | Error::InUse(why)) => assert!(why.contains(what), "{why}"),
        other => panic!("{what}: {other:?}"),
    };
    let (engine, _, pairs) = start(1);
    let foreign = SimDisk::new(2);
    foreign.open("letters.txt", OpenMode::Create).unwrap();
    refused(&engine, &foreign, "a file \"letters.txt\", which is none of a publication");
    assert_eq!(foreign.list().unwrap(), ["letters.txt"], "it was touched");
    let backup = SimDisk::new(3);
    engine.backup_to(&as_disk(&backup)).unwrap();
    refused(&engine, &backup, "which is none of a publication");
    let target = SimDisk::new(4);
    engine.publish_to(&as_disk(&target), &ONE).unwrap();
    let (other, ..) = start(5);
    refused(&other, &target, "of another database");
    let lock = target.lock("lock", true).unwrap();
    refused(&engine, &target, "somebody else publishes");
    drop(lock);
    let earlier = SimDisk::new(6);
    engine.restore_to(&as_disk(&earlier)).unwrap();
    engine.put(pairs, b"k", b"v").unwrap();
    engine.flush().unwrap();
    engine.put(pairs, b"k", b"w").unwrap();
    engine.publish_to(&as_disk(&target), &ONE).unwrap();
    let (earlier, _) = open(&earlier.env(), &small_options()).unwrap();
    refused(&earlier, &target, "is of a later moment");
    for options in [small_options(), Options { beside: true, ..small_options() }] {
        match open(&target.env(), &options) {
            Err(Error::Invalid(why)) => assert!(why.contains("only read"), "{why}"),
            other => panic!("{:?}", other.map(|(_, report)| report)),
        }
    }
    let wrong = PublishOptions { bundle_bytes: 100, ..ONE };
    assert!(matches!(engine.publish_to(&as_disk(&target), &wrong), Err(Error::Invalid(_))));
    let reader = newest(&target);
    assert!(matches!(reader.put(pairs, b"k", b"x"), Err(Error::Invalid(_))));
    assert_sound(&reader);
    assert_sound(&engine);
}

/// Keeps away: a publication of an encrypted database that others can read, in its files or their names, or that its key does not open.
#[test]
fn what_is_encrypted_is_published_encrypted() {
    const MARKER: &[u8] = b"the-marker-that-nobody-may-read";
    let key = |byte: u8| KeySource::from(Key::new([byte; 32]));
    let with = |options: Options, byte| Options { key: Some(key(byte)), ..options };
    let (engine, column, pairs) = start_with(1, &with(small_options(), 1));
    let plain_names = {
        let target = SimDisk::new(9);
        let plain = SimDisk::new(8);
        engine.restore_with_key(&as_disk(&plain), &RestoredKey::Plain).unwrap();
        let (plain, _) = open(&plain.env(), &small_options()).unwrap();
        plain.publish_to(&as_disk(&target), &ONE).unwrap();
        target.list().unwrap()
    };
    for n in 0..100u64 {
        engine.put(pairs, &[MARKER, &n.to_be_bytes()].concat(), MARKER).unwrap();
    }
    let target = SimDisk::new(2);
    engine.publish_to(&as_disk(&target), &ONE).unwrap();
    engine.set_key(&key(2)).unwrap();
    engine.put(pairs, b"new", MARKER).unwrap();
    let second = engine.publish_to(&as_disk(&target), &ONE).unwrap();
    assert!(second.kept > 0, "{second:?}");
    for name in target.list().unwrap() {
        let contents = target.contents(&name).unwrap();
        assert!(!contents.windows(MARKER.len()).any(|part| part == MARKER), "{name} tells what is in it");
        let is_told = name.starts_with("bundle-") && plain_names.contains(&name);
        assert!(!is_told, "the name of {name} tells what is in it");
    }
    for (options, what) in [(read_only(), "is encrypted"), (with(read_only(), 1), "is not the one")] {
        match open(&target.env(), &options) {
            Err(Error::Invalid(why)) => assert!(why.contains(what), "{why}"),
            other => panic!("{:?}", other.map(|(_, report)| report)),
        }
    }
    let (read, _) = open(&target.env(), &with(read_only(), 2)).unwrap();
    assert_eq!(read.snapshot().get(pairs, b"new").unwrap().unwrap().to_vec(), MARKER);
    assert_eq!(count(&read, column), 100);
    assert_sound(&read);
    // A copy of it is encrypted, too.
    let copy = SimDisk::new(4);
    read.restore_to(&as_disk(&copy)).unwrap();
    match open(&copy.env(), &small_options()) {
        Err(Error::Invalid(why)) => assert!(why.contains("is encrypted"), "{why}"),
        other => panic!("{:?}", other.map(|(_, report)| report)),
    }
    let (copy, _) = open(&copy.env(), &with(small_options(), 2)).unwrap();
    assert_eq!(count(&copy, column), 100);
    assert_sound(&copy);
    let (plain, ..) = start(7);
    let unsealed = SimDisk::new(5);
    plain.publish_to(&as_disk(&unsealed), &ONE).unwrap();
    match open(&unsealed.env(), &with(read_only(), 1)) {
        Err(Error::Invalid(why)) => assert!(why.contains("is not encrypted"), "{why}"),
        other => panic!("{:?}", other.map(|(_, report)| report)),
    }
    assert_sound(&engine);
}
