//! House rules that no lint knows.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every file of these endings below a folder, with its text.
fn files(folder: &str, endings: &[&str]) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the folder can be read") {
            let path = entry.expect("the entry can be read").path();
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if path.is_dir() && !name.starts_with('.') {
                folders.push(path);
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                let text = fs::read_to_string(&path).expect("the file is text");
                found.push((path, text));
            }
        }
    }
    assert!(!found.is_empty(), "there are files below {folder}");
    found
}

/// The code of a file, without the lines that are only comment.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
        .map(|(index, line)| (index + 1, line))
}

fn forbid(folder: &str, words: &[&str], why: &str) {
    for (path, text) in files(folder, &[".rs"]) {
        for (number, line) in code(&text) {
            for word in words {
                assert!(
                    !line.contains(word),
                    "{}:{number} says {word}: {why}",
                    path.display()
                );
            }
        }
    }
}

#[test]
fn no_file_is_a_room_too_large_to_know() {
    for folder in [
        "storage/src",
        "engine/src",
        "web/src",
        "cli",
        "lib",
        "examples",
    ] {
        for (path, text) in files(folder, &[".rs"]) {
            let lines = text.lines().count();
            assert!(
                lines <= 400,
                "{} has {lines} lines; split it by concept",
                path.display()
            );
        }
    }
}

#[test]
fn nothing_is_left_for_later() {
    let words = [
        concat!("todo", "!("),
        concat!("unimplemented", "!("),
        concat!("dbg", "!("),
        concat!("#[", "ignore]"),
    ];
    for folder in [
        "storage", "engine", "web", "cli", "lib", "examples", "tests",
    ] {
        forbid(folder, &words, "finish it, or leave it out");
    }
}

#[test]
fn the_core_has_no_clock_no_input_and_no_output() {
    let mut words = [
        "tokio",
        "async ",
        "std::time",
        "std::fs",
        "std::io",
        "std::net",
        "Clock",
        "Entropy",
        "reqwest",
        "tracing",
        "metrics",
    ];
    for folder in [
        "engine/src/action",
        "engine/src/approval",
        "engine/src/recording",
    ] {
        forbid(folder, &words, "the core is pure");
    }
    for file in ["decide", "evolve", "event", "gate", "id", "state"] {
        let path = root().join(format!("engine/src/run/{file}.rs"));
        let text = fs::read_to_string(&path).expect("the file is text");
        for (number, line) in code(&text) {
            let mut words = words.iter().chain(&["_ =>"]);
            let word = words.find(|word| line.contains(**word));
            assert!(
                word.is_none(),
                "{}:{number}: the core is pure",
                path.display()
            );
        }
    }
    // It says how long a call may take, and measures no time.
    words[2] = "Instant";
    forbid("engine/src/skill", &words, "the text of a skill is pure");
}

#[test]
fn the_core_names_every_case() {
    for folder in [
        "engine/src/action",
        "engine/src/approval",
        "engine/src/skill",
        "engine/src/run/code",
    ] {
        forbid(
            folder,
            &["_ =>"],
            "a new state or event must make the compiler ask",
        );
    }
}

#[test]
fn arrows_point_down() {
    forbid(
        "storage/src",
        &["holdpoint_engine", "holdpoint_web"],
        "storage knows nothing above it",
    );
    forbid(
        "engine/src",
        &["holdpoint_web", "axum::", "clap::"],
        "the engine serves no HTTP",
    );
    forbid(
        "web/src",
        &["holdpoint_storage::SledLog", "clap::"],
        "web is given its engine",
    );
}

#[test]
fn only_one_module_reads_the_clock_and_the_random_source() {
    let words = [
        "SystemTime::now",
        "Utc::now",
        "getrandom::fill",
        "Uuid::now_v7",
        "Uuid::new_v4",
    ];
    for folder in ["storage/src", "engine/src", "web/src"] {
        for (path, text) in files(folder, &[".rs"]) {
            if path.ends_with("engine/src/time.rs") {
                continue;
            }
            for (number, line) in code(&text) {
                let found = words.iter().find(|word| line.contains(*word));
                assert_eq!(found, None, "{}:{number}: inject it", path.display());
            }
        }
    }
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut documents = files("docs", &[".md"]);
    for name in ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"] {
        let path = root().join(name);
        let text = fs::read_to_string(&path).expect("the document is there");
        documents.push((path, text));
    }
    for (path, text) in documents {
        for target in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            let file = target.split('#').next().unwrap_or_default();
            if file.is_empty() || target.contains("://") || target.starts_with('/') {
                continue;
            }
            let there = path
                .parent()
                .is_some_and(|folder| folder.join(file).exists());
            assert!(
                there,
                "{} links to {target}, which is not there",
                path.display()
            );
        }
    }
}

#[test]
fn the_two_commands_are_named_and_ci_runs_one_of_them() {
    let read = |name: &str| fs::read_to_string(root().join(name)).expect("the file is there");
    let readme = read("README.md");
    assert!(readme.contains("cargo run --release --example refunds"));
    assert!(readme.contains("scripts/test"));
    assert!(read(".ci/run").contains("scripts/test"));
}
