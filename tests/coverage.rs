//! The pages that say which test shows what name tests that exist, and leave no invariant out.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The faults that every part is held to.
const FAULTS: &str = "P1 P2 P3 P4 D1 D2 D3 D4 D5 C1 N1 N2 N3 N4 N5 N6 R1 R2 R3 K1 K2 K3 K4 V1 V2 V3 V4 V5 V6 V7 V8 \
                      W1 W2 W3 W4 W5 H1 G1";

/// The failures of others that none of our parts may have, by their numbers.
const FAILURES: &str = "1 2 3 4 5 6 7 9 10 11 13 16 18 19 22 23 25 26 27 28 31 32 33 34 35 37 39 40 41 42 44 45 46 49 \
                        50 51 53 55 57 58 59 61 63 64 65 67 68 69 71 72 73 74 76 79 80 81 82 83 85 87 88 89 94 \
                        96 97 98 100";

/// The first two cells of every row, without the heads of the tables.
fn rows() -> Vec<(String, String)> {
    let page = fs::read_to_string(root().join("docs/COVERAGE.md")).expect("the page is there");
    let mut rows = Vec::new();
    for line in page.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        assert_eq!(cells.len(), 3, "three cells: {line}");
        assert!(!cells[2].is_empty(), "what does it show? {line}");
        if cells[1] != "test" {
            rows.push((cells[0].to_owned(), cells[1].to_owned()));
        }
    }
    rows
}

/// The names of all functions with a test attribute right above them.
fn tests_below(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path: PathBuf = entry.expect("the entry can be read").path();
        if path.is_dir() {
            tests_below(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).expect("the file is text");
            let mut is_test = false;
            // Tests that a macro makes from a list of names: `name: what,`.
            let mut is_list = false;
            for line in text.lines().map(str::trim) {
                is_list = line == "targets! {" || (is_list && line != "}");
                if let Some((name, _)) = line.split_once(": ").filter(|_| is_list) {
                    found.insert(name.to_owned());
                }
                if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
                    is_test = true;
                } else if let Some((_, rest)) = line.split_once("fn ").filter(|_| is_test) {
                    let name = rest.split('(').next().unwrap_or_default();
                    found.insert(name.to_owned());
                    is_test = false;
                }
            }
        }
    }
}

/// The names of all tests.
fn tests() -> BTreeSet<String> {
    let mut tests = BTreeSet::new();
    for folder in ["storage", "engine", "web", "cli", "lib", "tests"] {
        tests_below(&root().join(folder), &mut tests);
    }
    tests
}

#[test]
fn every_test_that_the_coverage_page_names_is_there() {
    let tests = tests();
    let rows = rows();
    assert!(rows.len() > 100, "{} rows", rows.len());
    for (what, test) in rows {
        if test == "—" {
            continue;
        }
        let name = test.trim_matches('`');
        assert!(
            tests.contains(name),
            "{what}: there is no test {name}; name the one that shows it now"
        );
    }
}

#[test]
fn every_promise_names_tests_that_are_there_or_says_that_it_has_none() {
    let tests = tests();
    for page in ["docs/GUARANTEES.md", "docs/RELIABILITY.md"] {
        let text = fs::read_to_string(root().join(page)).expect("the page is there");
        let mut named = 0;
        let mut shown = false;
        for line in text.lines() {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            let last = cells.last().copied().unwrap_or_default();
            shown = line.starts_with('|') && (shown || last == "shown by");
            if !shown || last == "shown by" || last.starts_with("---") || last.ends_with("---") {
                continue;
            }
            assert!(
                last == "—" || last.starts_with('`'),
                "{page}: which test? {line}"
            );
            for name in last
                .split('`')
                .map(str::trim)
                .filter(|name| !name.is_empty() && *name != "—")
            {
                assert!(tests.contains(name), "{page}: there is no test {name}");
                named += 1;
            }
        }
        assert!(10 < named, "{page} names {named} tests");
    }
}

/// Whether a word between backticks can only be the name of a test: no word of the wire and no mistake
/// that can be switched on is so long or begins like this.
fn is_name_of_test(word: &str) -> bool {
    let is_word = word
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    let numbered = word.starts_with('i') && word.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
    is_word && (numbered || word.starts_with("incident") || 5 <= word.matches('_').count())
}

#[test]
fn every_test_that_a_page_names_in_passing_is_there() {
    let tests = tests();
    for page in fs::read_dir(root().join("docs")).expect("the folder can be read") {
        let path = page.expect("the entry can be read").path();
        if path.extension().is_none_or(|ending| ending != "md") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("the page is text");
        for word in text.split('`').filter(|word| is_name_of_test(word)) {
            assert!(
                tests.contains(word),
                "{}: there is no test {word}",
                path.display()
            );
        }
    }
}

#[test]
fn every_invariant_fault_and_known_failure_has_a_row() {
    let named: BTreeSet<String> = rows()
        .into_iter()
        .filter_map(|(what, _)| what.split([' ', ':']).next().map(str::to_owned))
        .collect();
    let invariants = (1..=30).map(|number| format!("I{number}"));
    let others = [FAULTS, FAILURES].map(|list| list.split(' ').map(str::to_owned));
    for wanted in invariants.chain(others.into_iter().flatten()) {
        assert!(named.contains(&wanted), "{wanted} is missing");
    }
}
