//! Advice that is true.

use std::sync::Arc;

use ambo_codec::Type;
use ambo_pages::io::{sim::SimDisk, sim::split_mix};

use super::*;
use crate::database::{Options, options::Sync};

fn engine() -> Arc<Engine> {
    let options = Options { background_threads: false, sync: Sync::Off, ..Options::default() };
    Arc::new(Engine::open(SimDisk::new(0).env(), options).unwrap().0)
}

fn numbers(engine: &Engine) -> TableId {
    let table =
        TableDefinition::new("n").column("k", Type::U32).column("v", Type::Binary).primary_key(&["k"]);
    engine.create_table(table).unwrap()
}

fn row(number: u32) -> ([u8; 4], Vec<u8>) {
    let mut seed = u64::from(number);
    let random = split_mix(&mut seed);
    let text = format!(
        "{{\"customer\":{},\"state\":\"delivered\",\"clerk\":\"Clerk#{:09}\"}}",
        random % 1000,
        random % 97
    );
    ((number + number / 100 * 1000).to_be_bytes(), text.into_bytes())
}

/// Keeps away: estimates that have nothing to do with what a table then takes, a sample that differs from time to time, and
/// recommendations that change nothing.
#[test]
fn advice_comes_true() {
    let engine = engine();
    let table = numbers(&engine);
    for number in 0..60_000 {
        let (key, value) = row(number);
        engine.put(table, &key, &value).unwrap();
    }
    let fresh = engine.advise(table, 4000).unwrap();
    engine.compact().unwrap();
    let advice = engine.advise(table, 4000).unwrap();
    assert_eq!((advice.rows, advice.sampled), (60_000, 4000));
    assert_eq!((fresh.sampled, fresh.key_bytes), (4000, 16_000));
    assert_eq!(advice.keys.len(), 1 + IntegerCodec::ALL.len());
    assert!(advice.records.last().unwrap().codec.dictionary);
    assert!(advice.recommended.parts().0.flatten().is_some());
    let sizes = |advice: &Advice| -> Vec<u64> {
        let keys = advice.keys.iter().map(|estimate| estimate.bytes);
        keys.chain(advice.records.iter().map(|estimate| estimate.bytes)).collect()
    };
    assert_eq!(sizes(&advice), sizes(&engine.advise(table, 4000).unwrap()));
    assert!(advice.keys[1..].iter().all(|estimate| estimate.encode_ns > 0.0 && estimate.decode_ns > 0.0));

    for (codec, estimate) in [IntegerCodec::VByte, IntegerCodec::Bp128].into_iter().zip([1, 7]) {
        let keys = advice.keys[estimate];
        assert_eq!(keys.codec, Some(codec));
        let zstd = advice.records.iter().find(|e| e.codec.codec == Some(RecordCodec::Lz4)).unwrap();
        let options = TableOptions::new().key_compression(codec).record_compression(RecordCodec::Lz4);
        engine.alter_table("n", &options).unwrap();
        assert!(engine.info().unwrap().tables[0].outdated);
        engine.vacuum().unwrap();
        let info = &engine.info().unwrap().tables[0];
        assert!(!info.outdated);
        for (estimated, found) in [(keys.bytes, info.space.keys), (zstd.bytes, info.space.records)] {
            let estimated = estimated * 60_000 / 4000;
            assert!(estimated.abs_diff(found) * 5 < found, "{codec}: {estimated} estimated, {found} found");
        }
    }

    assert!(!advice.recommended.is_empty());
    engine.alter_table("n", &advice.recommended).unwrap();
    engine.vacuum().unwrap();
    assert!(engine.info().unwrap().tables[0].stored_bytes(16 << 10) * 2 < advice.rows * 70);
}

/// Keeps away: advice to give up compression, to change it for next to nothing, or to have it for nothing.
#[test]
fn little_gains_are_left_alone() {
    let estimate = |codec, bytes, decode_ns| Estimate { codec, bytes, encode_ns: 1.0, decode_ns };
    let estimates =
        [estimate(0, 1000, 0.0), estimate(1, 500, 9.0), estimate(2, 560, 4.0), estimate(3, 900, 1.0)];
    assert_eq!(choose(&estimates, 0, 1000), 2);
    assert_eq!(choose(&estimates, 1, 1000), 1);
    assert_eq!(choose(&estimates, 3, 1000), 2);
    assert_eq!(choose(&estimates, 3, 100_000), 0);
    assert_eq!(choose(&estimates[..1], 0, 1000), 0);
    assert_eq!(choose(&[estimates[0], estimate(1, 950, 1.0)], 0, 1000), 0);
    assert_eq!(choose(&[estimates[0], estimate(1, 1200, 1.0)], 1, 1000), 0);
}

/// Keeps away: a panic or advice about nothing, keys that cannot be compressed, values of any length in memory.
#[test]
fn little_to_go_by() {
    let engine = engine();
    let table = numbers(&engine);
    let advice = engine.advise(table, 1000).unwrap();
    assert_eq!((advice.rows, advice.sampled, advice.keys.len()), (0, 0, 0));
    assert!(advice.recommended.is_empty());

    let texts = engine.create_table(TableDefinition::key_value("t")).unwrap();
    for number in 0..40u64 {
        let mut seed = number;
        let noise: Vec<u8> = (0..100).map(|_| split_mix(&mut seed) as u8).collect();
        engine
            .put(texts, &[&number.to_be_bytes()[..], &noise[..number as usize % 3]].concat(), &noise)
            .unwrap();
    }
    engine.put(texts, b"long", &vec![0; 2 << 20]).unwrap();
    let advice = engine.advise(texts, 1000).unwrap();
    assert_eq!((advice.rows, advice.sampled, advice.left_out, advice.keys.len()), (41, 40, 1, 1));
    assert!(advice.recommended.is_empty(), "{:?}", advice.recommended);
}
