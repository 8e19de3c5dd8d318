//! `user` and `key` on the data folder.

use std::fs;

use crate::support::{PASSWORD, Place, files_below};

const OWNER: &str = "ada@example.com";

#[test]
fn a_key_is_printed_alone_on_stdout_and_never_again() {
    let place = Place::new();
    place.add_person(OWNER, "admin");
    let key = place.run(&[
        "key", "create", "--name", "svc", "--kind", "service", "--owner", OWNER,
    ]);
    let key = key.ok();
    assert!(key.starts_with("hp_") && key.lines().count() == 1, "{key}");
    let secret = key.trim();
    let list = place.run(&["key", "list", "--json"]).ok();
    assert!(list.contains("\"svc\"") && !list.contains(secret), "{list}");
    for file in files_below(&place.path("holdpoint-data")) {
        let bytes = fs::read(&file).expect("readable");
        for canary in [secret, PASSWORD] {
            let found = bytes
                .windows(canary.len())
                .any(|window| window == canary.as_bytes());
            assert!(!found, "{} holds a secret", file.display());
        }
    }
}

#[test]
fn a_key_needs_an_owner_who_is_there() {
    let place = Place::new();
    let args = [
        "key",
        "create",
        "--name",
        "a",
        "--kind",
        "agent",
        "--owner",
        "no@example.com",
    ];
    let run = place.run(&args).code(1);
    assert!(
        run.err.contains("user list") && run.out.is_empty(),
        "{run:?}"
    );
}

#[test]
fn a_revoked_key_is_listed_as_such() {
    let place = Place::new();
    place.add_person(OWNER, "admin");
    place.create_key(OWNER);
    let list = place.run(&["key", "list", "--json"]).json();
    let id = list["data"][0]["id"].as_str().expect("an id").to_owned();
    place.run(&["key", "revoke", &id, "--reason", "left"]).ok();
    assert!(place.run(&["key", "list"]).ok().contains("revoked: left"));
    let run = place
        .run(&["key", "revoke", "svc", "--reason", "x"])
        .code(2);
    assert!(run.err.contains("key list"), "{}", run.err);
}

#[test]
fn people_are_added_listed_disabled_and_enabled() {
    let place = Place::new();
    place.add_person(OWNER, "admin");
    place.add_person("bob@example.com", "approver");
    let again = place.run(&[
        "user",
        "add",
        "BOB@example.com",
        "--name",
        "Bob",
        "--role",
        "approver",
        "--password-file",
        "pw",
    ]);
    assert!(again.code(6).err.contains("exists already"));
    place
        .run(&["user", "disable", "bob@example.com", "--reason", "on leave"])
        .ok();
    assert!(
        place
            .run(&["user", "list"])
            .ok()
            .contains("disabled: on leave")
    );
    place
        .run(&["user", "enable", "bob@example.com", "--reason", "back"])
        .ok();
    let people = place.run(&["user", "list", "--json"]).json();
    assert!(
        people["data"]
            .as_array()
            .expect("a list")
            .iter()
            .all(|p| p["disabled"].is_null())
    );
}

#[test]
fn the_last_administrator_is_not_locked_out() {
    let place = Place::new();
    place.add_person(OWNER, "admin");
    let run = place
        .run(&["user", "disable", OWNER, "--reason", "x"])
        .code(7);
    assert!(run.err.contains("last"), "{}", run.err);
}

#[test]
fn a_password_is_read_from_a_file_or_stdin_and_a_short_one_refused() {
    let place = Place::new();
    place.write("short", "12345");
    let run = place.run(&[
        "user",
        "add",
        OWNER,
        "--name",
        "A",
        "--role",
        "admin",
        "--password-file",
        "short",
    ]);
    let run = run.code(2);
    assert!(
        run.err.contains("password") && !run.err.contains("12345"),
        "{}",
        run.err
    );
    let run = place.run(&[
        "user",
        "add",
        OWNER,
        "--name",
        "A",
        "--role",
        "admin",
        "--password-file",
        "-",
    ]);
    assert!(run.code(1).err.contains("empty"));
}

#[test]
fn a_sign_in_link_is_printed_alone() {
    let place = Place::new();
    place.add_person(OWNER, "admin");
    let link = place.run(&["user", "link", OWNER]).ok();
    assert!(
        link.starts_with("http://127.0.0.1:7070/") && link.lines().count() == 1,
        "{link}"
    );
}

#[test]
fn text_that_cannot_be_seen_is_refused_where_people_write_it() {
    let place = Place::new();
    place.add_person(OWNER, "admin");
    let run = place.run(&[
        "key",
        "create",
        "--name",
        "svc",
        "--kind",
        "service",
        "--owner",
        OWNER,
        "--attribute",
        "note=a\u{1b}[2Jb\u{202e}c",
    ]);
    assert!(run.code(2).err.contains("invisible"));
}

#[test]
fn verify_reads_every_record_and_notices_another_history() {
    let place = Place::new();
    place.add_person(OWNER, "admin");
    let verified = place.run(&["verify", "--json"]).json();
    let (records, hash) = (
        &verified["records"],
        verified["last_hash"].as_str().expect("a hash"),
    );
    assert!(0 < records.as_u64().expect("a number"));
    place
        .run(&["verify", "--expect", &format!("{records}:{hash}")])
        .ok();
    let other = format!("{records}:{}", "0".repeat(64));
    assert!(
        place
            .run(&["verify", "--expect", &other])
            .code(1)
            .err
            .contains("changed")
    );
    let longer = format!("999:{hash}");
    assert!(
        place
            .run(&["verify", "--expect", &longer])
            .code(1)
            .err
            .contains("cut off")
    );
    assert!(
        place
            .run(&["verify", "--data", "nowhere"])
            .code(2)
            .err
            .contains("nowhere")
    );
}

#[test]
fn a_newer_or_foreign_folder_is_refused_in_words() {
    let place = Place::new();
    fs::create_dir(place.path("other")).expect("a folder");
    place.write("other/photo.jpg", "x");
    let run = place.run(&["user", "list", "--data", "other"]).code(1);
    assert!(run.err.contains("photo.jpg"), "{}", run.err);
    place.add_person(OWNER, "admin");
    place.write(
        "holdpoint-data/log-format",
        "holdpoint log\nformat 99\nready\n",
    );
    let run = place.run(&["user", "list"]).code(1);
    assert!(
        run.err.contains("newer version") && run.err.contains("99"),
        "{}",
        run.err
    );
}
