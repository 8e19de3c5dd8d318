//! The tools file: what loads, and how each mistake is told.

use std::path::Path;

use holdpoint_engine::action::SafetyClass;
use holdpoint_engine::tool::{Format, ToolsFile};

fn fixture(name: &str) -> ToolsFile {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/tools")
        .join(name);
    ToolsFile::load(&path).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_seed_example_loads_and_is_executed_by_workers() {
    let file = fixture("seed.json");
    let census = file.registry.census();
    assert_eq!(census.map(|(_, count)| count), [0, 1, 1, 1]);
    assert_eq!(census[3].0, SafetyClass::ApprovalBound);
}

#[test]
fn the_full_example_loads_from_both_formats_with_one_digest() {
    let (json, toml) = (fixture("full.json"), fixture("full.toml"));
    let digest = |file: &ToolsFile| file.registry.get("issue_refund").expect("the tool").digest;
    assert_eq!(digest(&json), digest(&toml));
    let seed = fixture("seed.json");
    assert_ne!(digest(&json), digest(&seed));
    let _ = Format::Json;
}
