//! Odd bytes into everything that reads bytes from outside: the corpus, and what can be made of it.
//!
//! `FUZZ_SECONDS=600` looks longer at each target, `FUZZ_SEED=7` makes other inputs. What fails is kept
//! below `target/fuzz`; it belongs into `tests/fuzz/corpus`, beside a test of its own.

mod inputs;
mod readers;

use std::fs;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use inputs::Inputs;
use readers::{
    address, answer, api, cursor, export_file, headers, hidden, json, page, record, recording,
    rule, schema, skill_file, stored, template, timetable, tools_file, webhook,
};

/// How long each target is looked at, in seconds, unless the variable says otherwise.
const SECONDS: u64 = 5;

fn number(variable: &str, otherwise: u64) -> u64 {
    let text = std::env::var(variable).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// The inputs that are kept for a target, in the order of their names.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fuzz/corpus")
        .join(name);
    let entries = fs::read_dir(&folder).expect("a corpus");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "{} is empty", folder.display());
    paths
        .iter()
        .map(|path| fs::read(path).expect("an input"))
        .collect()
}

/// Runs one input; keeps it where it fails.
fn attempt(name: &str, target: fn(&[u8]), input: &[u8]) {
    if catch_unwind(AssertUnwindSafe(|| target(input))).is_err() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/fuzz");
        let path = folder.join(format!(
            "{name}-{}",
            holdpoint_engine::canon::Digest::of(input)
        ));
        let path = PathBuf::from(path.to_string_lossy().replace(':', "-"));
        let kept = fs::create_dir_all(&folder).and_then(|()| fs::write(&path, input));
        panic!(
            "{name} fails on {} ({kept:?}): {}",
            path.display(),
            input.escape_ascii()
        );
    }
}

fn explore(name: &str, target: fn(&[u8])) {
    let seeds = corpus(name);
    for seed in &seeds {
        attempt(name, target, seed);
    }
    let count = seeds.len();
    let time = Duration::from_secs(number("FUZZ_SECONDS", SECONDS));
    let mut inputs = Inputs::new(number("FUZZ_SEED", 1), seeds);
    let begun = Instant::now();
    let mut made: u64 = 0;
    while begun.elapsed() < time {
        attempt(name, target, &inputs.next());
        made += 1;
    }
    writeln!(
        std::io::stderr(),
        "fuzz {name}: {count} kept inputs, {made} made"
    )
    .expect("a line");
}

macro_rules! targets {
    ($($test:ident: $target:ident,)*) => {
        /// The names of all.
        const NAMES: &[&str] = &[$(stringify!($target)),*];
        $(
        #[test]
        fn $test() {
            explore(stringify!($target), $target);
        }
        )*
    };
}

targets! {
    i13_json_is_read_strictly_and_has_one_form: json,
    i21_answers_of_targets_are_read_or_not: answer,
    i07_a_record_is_what_was_written_or_an_error: record,
    i07_a_record_with_an_odd_body_is_understood_or_stops_the_start: stored,
    i07_an_exported_file_is_whole_or_refused: export_file,
    i21_a_tools_file_is_read_or_its_mistakes_are_told: tools_file,
    i16_a_recording_becomes_a_skill_without_its_secrets_or_is_refused: recording,
    i15_a_template_keeps_to_its_place: template,
    i21_a_rule_says_yes_or_no_or_fails: rule,
    i21_a_schema_fits_or_does_not: schema,
    i21_a_skill_file_is_read_or_its_mistakes_are_told: skill_file,
    i21_a_cursor_is_ours_or_refused: cursor,
    i21_headers_are_understood_or_refused: headers,
    i21_a_body_a_form_or_a_query_is_taken_or_its_mistakes_are_told: api,
    i21_a_pattern_is_due_after_now_and_was_due_last_then: timetable,
    i16_a_secret_that_comes_back_is_not_kept_in_any_form: hidden,
    webhooks_go_where_nobody_reads_them_and_are_known_to_who_receives_them: webhook,
    i17_no_spelling_of_an_inner_address_is_a_public_one: address,
    i14_a_page_shows_everything_and_lets_nothing_out: page,
}

#[test]
fn each_reader_is_looked_at_for_long_too() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
    for name in NAMES {
        let target = format!("targets/{name}.rs");
        assert!(manifest.contains(&target), "fuzz has no target {name}");
        let text = fs::read_to_string(folder.join(target)).expect("the target");
        assert!(text.contains(&format!("holdpoint_fuzz::{name}(data)")));
    }
    assert_eq!(manifest.matches("[[bin]]").count(), NAMES.len());
}
