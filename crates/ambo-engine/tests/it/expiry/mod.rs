//! Rows that expire: every door beside a model with the condition written out, whatever the storage, and however time goes on.

mod doors;
mod key_value;
mod simple;
mod threads;
mod world;

use crate::support::Random;

/// Keeps away: a row that has expired and is shown by some door, one that has not and is missing there, and what a snapshot sees that
/// changes, through writes, settling, merges, loads, crashes and a clock that goes on, or back.
#[test]
fn every_door_shows_what_has_not_expired() {
    let mut seen = doors::Seen::default();
    let seeds = std::env::var("EXPIRY_SEEDS").map_or(0..60, |seeds| {
        let (first, last) = seeds.split_once("..").expect("a range");
        first.parse().unwrap()..last.parse().unwrap()
    });
    for seed in seeds {
        let mut world = world::World::new(seed);
        let mut random = Random::new(seed ^ 0x77);
        for _ in 0..40 {
            world.step(&mut random);
            if random.one_in(3) {
                world.compare(&mut random, &mut seen);
            }
        }
        world.compare(&mut random, &mut seen);
        world.end();
    }
    seen.assert_all();
}
