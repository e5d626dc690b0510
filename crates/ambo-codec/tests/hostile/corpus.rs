use std::{collections::BTreeSet, fs, path::Path};

use crate::targets::TARGETS;

// Keeps away what was found once, and what fuzzing found that leads to rare code.
#[test]
fn corpus() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    for (name, target) in TARGETS {
        for entry in fs::read_dir(root.join(name)).into_iter().flatten() {
            target(&fs::read(entry.expect("an entry").path()).expect("a file"));
        }
    }
}

// Keeps away a target that the tests, or the fuzzer, do not know.
#[test]
fn all_targets_are_known() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/fuzz_targets");
    let stems = fs::read_dir(folder).expect("the folder of targets").map(|entry| {
        let path = entry.expect("an entry").path();
        path.file_stem().expect("a name").to_string_lossy().into_owned()
    });
    let known: BTreeSet<String> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(stems.collect::<BTreeSet<_>>(), known);
}
