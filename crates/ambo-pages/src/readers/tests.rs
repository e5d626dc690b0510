use super::*;
use crate::io::{OpenMode, sim::SimDisk};

fn world() -> (SimDisk, Watch) {
    let disk = SimDisk::new(3);
    let watch = Watch::new(Arc::new(disk.clone()));
    (disk, watch)
}

// Keeps away: a hold that the writer does not see, or sees for ever.
#[test]
fn the_oldest_hold_counts_while_its_reader_lives() {
    let (disk, watch) = world();
    assert_eq!(watch.held(), Held::default());
    assert!(!watch.is_used());
    let readers: Vec<_> = (0..5).map(|_| Reader::join(&disk, 1022).unwrap()).collect();
    assert_eq!(readers.iter().map(|reader| reader.slot).collect::<Vec<_>>(), [1022, 1023, 0, 1, 2]);
    assert_eq!(watch.held(), Held { readers: 5, oldest: None });
    for (reader, sequence) in readers.iter().zip(7..) {
        reader.hold(sequence).unwrap();
    }
    assert_eq!(watch.held(), Held { readers: 5, oldest: Some(7) });
    readers[0].hold(9).unwrap();
    assert_eq!(watch.held().oldest, Some(8));
    drop(readers);
    assert_eq!(watch.held(), Held::default());
    // A new reader has not said yet what it holds: what its place says of another counts at most.
    let again = Reader::join(&disk, 0).unwrap();
    assert_eq!(watch.held(), Held { readers: 1, oldest: None });
    drop(again);
}

// Keeps away: a page that is reused since what its reader had said was torn.
#[test]
fn what_cannot_be_read_holds_everything() {
    let (disk, watch) = world();
    let reader = Reader::join(&disk, 0).unwrap();
    reader.hold(1 << 40).unwrap();
    for at in TABLE_AT..TABLE_AT + ENTRY_BYTES {
        let byte = disk.contents(NAME).unwrap()[at];
        disk.corrupt(NAME, at as u64, &[byte ^ 1]).unwrap();
        assert_eq!(watch.held().oldest, Some(0), "{at}");
        disk.corrupt(NAME, at as u64, &[byte]).unwrap();
        assert_eq!(watch.held().oldest, Some(1 << 40));
    }
}

// Keeps away: requests that are lost, answered too early, or for ever open.
#[test]
fn requests_are_answered_in_turn() {
    let (disk, watch) = world();
    let [one, other] = [0, 0].map(|near| Reader::join(&disk, near).unwrap());
    assert!(!one.has_writer().unwrap());
    assert_eq!(watch.asked().unwrap(), None);
    assert!(one.has_writer().unwrap());
    let first = one.ask().unwrap();
    let second = other.ask().unwrap();
    assert_eq!((first, second), (1, 2));
    assert_eq!(watch.asked().unwrap(), Some(2));
    assert!(!one.is_answered(first).unwrap());
    watch.answer(1).unwrap();
    assert!(one.is_answered(first).unwrap() && !other.is_answered(second).unwrap());
    assert_eq!(watch.asked().unwrap(), Some(2));
    watch.answer(2).unwrap();
    assert_eq!(watch.asked().unwrap(), None);
    drop(watch);
    assert!(!one.has_writer().unwrap());
}

// Keeps away: one reader too many that shares the place of another.
#[test]
fn there_are_so_many_places() {
    let (disk, watch) = world();
    let mut readers: Vec<_> = (0..SLOTS).map(|near| Reader::join(&disk, near * 31).unwrap()).collect();
    let refused = Reader::join(&disk, 5).unwrap_err();
    assert!(matches!(&refused, Error::InUse(what) if what.contains("1024 readers")), "{refused}");
    assert_eq!(watch.held().readers, 1024);
    readers.pop();
    readers.push(Reader::join(&disk, 5).unwrap());
}

// Keeps away: another file that is written over, and a panic on its bytes.
#[test]
fn another_file_is_refused() {
    for (bytes, expected) in [
        (&b"AMBOREAD\x02\0\0\0\0\x04\0\0"[..], "written by a newer program"),
        (b"something else of some length", "not a table of readers"),
    ] {
        let (disk, watch) = world();
        let file = disk.open(NAME, OpenMode::Create).unwrap();
        file.write_at(bytes, 0).unwrap();
        let refused = Reader::join(&disk, 0).unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
        assert_eq!(disk.contents(NAME).unwrap(), bytes);
        assert_eq!(watch.asked().unwrap(), None);
    }
}

// Keeps away: a format that is not what its page says.
#[test]
fn the_worked_example_holds() {
    let (disk, _watch) = world();
    let reader = Reader::join(&disk, 0).unwrap();
    reader.hold(7).unwrap();
    let bytes = disk.contents(NAME).unwrap();
    assert_eq!(bytes.len(), 16_448);
    assert_eq!(bytes[..16], *b"AMBOREAD\x01\0\0\0\0\x04\0\0");
    let pages = [include_str!("../readers.rs"), include_str!("../../../../docs/formats/readers.md")];
    let shown: Vec<String> = bytes[64..80].iter().map(|byte| format!("{byte:02x}")).collect();
    let shown = format!("{}  {}  {}", shown[..8].join(" "), shown[8..12].join(" "), shown[12..].join(" "));
    assert!(pages.iter().all(|page| page.contains(&shown)), "{shown}");
}
