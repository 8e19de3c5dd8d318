//! Telling a folder from its copies (invariant I29).

use std::fs;
use std::path::Path;

use holdpoint_storage::{EventLog, Origin, SledLog, SledOptions};

fn open(path: &Path) -> SledLog {
    let options = SledOptions {
        reserve_bytes: 0,
        ..SledOptions::default()
    };
    SledLog::open(path, &options).expect("opens")
}

fn origin(path: &Path) -> Origin {
    open(path).origin()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("creates");
    for entry in fs::read_dir(from).expect("lists") {
        let entry = entry.expect("lists");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("copies");
        }
    }
}

#[test]
fn i29_a_copied_folder_is_told_from_the_one_that_was_used() {
    let root = tempfile::tempdir().expect("a folder");
    let [used, copied] = ["used", "copied"].map(|name| root.path().join(name));
    assert_eq!(origin(&used), Origin::Own, "a new one");
    assert_eq!(origin(&used), Origin::Own, "opened again");
    copy(&used, &copied);
    assert_eq!(origin(&copied), Origin::Copied);
    assert_eq!(origin(&copied), Origin::Copied, "looking confirms nothing");
    assert_eq!(origin(&used), Origin::Own, "the first one is as it was");

    let log = open(&copied);
    log.confirm_origin().expect("is noted");
    assert_eq!(log.origin(), Origin::Own);
    drop(log);
    assert_eq!(origin(&copied), Origin::Own);
}

#[test]
fn i29_a_backup_that_is_put_back_in_place_of_the_folder_is_told() {
    let root = tempfile::tempdir().expect("a folder");
    let [used, backup] = ["used", "backup"].map(|name| root.path().join(name));
    assert_eq!(origin(&used), Origin::Own);
    copy(&used, &backup);
    fs::remove_dir_all(&used).expect("is lost");
    copy(&backup, &used);
    assert_eq!(origin(&used), Origin::Copied);
}

#[test]
fn a_folder_that_is_moved_on_its_disk_is_the_same_folder() {
    let root = tempfile::tempdir().expect("a folder");
    let [before, after] = ["before", "after"].map(|name| root.path().join(name));
    assert_eq!(origin(&before), Origin::Own);
    fs::rename(&before, &after).expect("moves");
    assert_eq!(origin(&after), Origin::Own);
}

#[test]
fn a_folder_of_before_its_origin_was_noted_is_taken_for_what_it_is() {
    let root = tempfile::tempdir().expect("a folder");
    let [used, copied] = ["used", "copied"].map(|name| root.path().join(name));
    assert_eq!(origin(&used), Origin::Own);
    let marker = used.join("log-format");
    let old = "holdpoint log\nformat 1\nready\n";
    fs::write(&marker, old).expect("writes");
    assert_eq!(origin(&used), Origin::Own);
    assert_ne!(
        fs::read_to_string(&marker).expect("reads"),
        old,
        "noted now"
    );
    copy(&used, &copied);
    assert_eq!(origin(&copied), Origin::Copied);
}
