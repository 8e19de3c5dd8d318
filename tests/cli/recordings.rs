//! `compile`, and `import` of transcripts: the samples, what is refused, and where a skill is written.

use std::fs;
use std::path::Path;

use crate::support::Place;

const SAMPLES: [(&str, &str); 4] = [
    ("compile", "trace"),
    ("import", "claude-code"),
    ("import", "codex"),
    ("import", "openclaw"),
];

fn sample(name: &str, ending: &str) -> std::path::PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    folder.join(format!("{name}{ending}"))
}

/// A place with the four samples.
fn place() -> Place {
    let place = Place::new();
    for (_, name) in SAMPLES {
        fs::copy(sample(name, ".jsonl"), place.path(&format!("{name}.jsonl"))).expect("a sample");
    }
    place
}

fn names(place: &Place) -> Vec<String> {
    let entries = fs::read_dir(place.path("")).expect("a folder");
    let mut names: Vec<String> = entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .filter(|name| !name.to_ascii_lowercase().ends_with(".jsonl"))
        .collect();
    names.sort();
    names
}

/// The skill of each sample stands beside it. `HOLDPOINT_RENEW=1` writes them anew.
#[test]
fn each_sample_becomes_the_skill_that_stands_beside_it() {
    let place = place();
    for (command, name) in SAMPLES {
        let run = place
            .run(&[command, &format!("{name}.jsonl"), "-o", "-"])
            .code(0);
        let expected = sample(name, ".skill.md");
        if std::env::var_os("HOLDPOINT_RENEW").is_some() {
            fs::write(&expected, &run.out).expect("written");
        }
        let expected = fs::read_to_string(expected).expect("the skill of the sample");
        assert_eq!(
            run.out, expected,
            "run this test with HOLDPOINT_RENEW=1 to write it anew"
        );
        assert!(run.err.contains("effects: read="), "{}", run.err);
        for secret in ["hook-7f3a9c21e8", "k9f8e7d6c5b4a3", "xoxb-"] {
            assert!(!run.out.contains(secret) && !run.err.contains(secret));
        }
    }
    assert!(
        names(&place).is_empty(),
        "nothing else was written: {:?}",
        names(&place)
    );
}

#[test]
fn a_skill_is_named_after_its_recording_and_replaces_no_file_unasked() {
    let place = place();
    let run = place.run(&["compile", "trace.jsonl"]).code(0);
    assert_eq!(
        run.out,
        "effects: read=3 idempotent-write=1 destructive=1\n"
    );
    for words in [
        "wrote release-announcement.skill.md",
        "warning: steps 4",
        "open questions",
    ] {
        assert!(run.err.contains(words), "{words}: {}", run.err);
    }
    let written = fs::read_to_string(place.path("release-announcement.skill.md")).expect("a skill");
    let expected = fs::read_to_string(sample("trace", ".skill.md")).expect("a sample");
    assert_eq!(written, expected);

    place.write("release-announcement.skill.md", "mine");
    let run = place.run(&["compile", "trace.jsonl"]).code(2);
    assert!(
        run.err.contains("is there already") && run.err.contains("--force"),
        "{}",
        run.err
    );
    let kept = fs::read_to_string(place.path("release-announcement.skill.md")).expect("a file");
    assert_eq!(kept, "mine");
    place.run(&["compile", "trace.jsonl", "--force"]).ok();
    let written = fs::read_to_string(place.path("release-announcement.skill.md")).expect("a skill");
    assert_eq!(written, expected);

    let run = place.run(&["compile", "trace.jsonl", "-o", "."]).code(2);
    assert!(run.err.contains("is not a plain file"), "{}", run.err);
    let run = place
        .run(&["compile", "trace.jsonl", "-o", "no/such/folder.md"])
        .code(1);
    assert!(run.err.contains("cannot write"), "{}", run.err);
    assert_eq!(
        names(&place),
        ["release-announcement.skill.md"],
        "no part is left"
    );
}

#[test]
fn a_path_in_the_name_of_a_recording_leaves_no_folder() {
    let place = Place::new();
    fs::create_dir(place.path("inner")).expect("a folder");
    place.write(
        "inner/x.jsonl",
        "{\"t\":\"meta\",\"name\":\"../../evil\"}\n{\"t\":\"call\",\"i\":1,\"tool\":\"get_x\"}\n",
    );
    let mut command = place.command(&["compile", "x.jsonl"]);
    let run = command
        .current_dir(place.path("inner"))
        .output()
        .expect("a run");
    assert!(run.status.success());
    assert!(place.path("inner/evil.skill.md").exists());
    let told = String::from_utf8_lossy(&run.stderr);
    assert!(told.contains("looks like a path"), "{told}");
    assert_eq!(names(&place), ["inner"]);
}

#[test]
fn what_was_made_is_told_as_json_too() {
    let place = place();
    let told = place.run(&["import", "codex.jsonl", "--json"]).json();
    assert_eq!(told["file"], "codex.skill.md");
    assert_eq!(told["effects"]["idempotent-write"], 1);
    assert!(
        told["questions"]
            .as_array()
            .is_some_and(|list| !list.is_empty())
    );
    let told = place
        .run(&["import", "openclaw.jsonl", "--json", "-o", "-"])
        .json();
    assert!(
        told["text"]
            .as_str()
            .is_some_and(|text| text.starts_with("---\n"))
    );
    assert_eq!(told["secrets"], serde_json::json!(["token"]));
}

#[test]
fn options_of_the_other_kind_are_refused() {
    let place = place();
    place.write("log.jsonl", "{\"holdpoint_log\":1,\"from\":1,\"to\":0}\n");
    for (args, words) in [
        (
            &["import", "codex.jsonl", "--data", "d"][..],
            "--data belongs to an exported log",
        ),
        (
            &["import", "codex.jsonl", "--config", "c"],
            "--config belongs to an exported log",
        ),
        (
            &["import", "log.jsonl", "-o", "x.md"],
            "--output belongs to a transcript",
        ),
        (
            &["import", "log.jsonl", "--force"],
            "--force belongs to a transcript",
        ),
        (
            &["import", "log.jsonl", "--format", "codex"],
            "--format belongs to a transcript",
        ),
        (
            &["import", "log.jsonl", "--data", "d", "--force"],
            "a file is one of both",
        ),
        (
            &["import", "codex.jsonl", "--format", "openclaw"],
            "--format says openclaw",
        ),
        (&["import", "trace.jsonl"], "holdpoint compile trace.jsonl"),
        (&["compile", "codex.jsonl"], "holdpoint import codex.jsonl"),
        (&["compile", "log.jsonl"], "is an exported log"),
    ] {
        let run = place.run(args).code(2);
        assert!(run.err.contains(words), "{words}: {}", run.err);
        assert!(run.out.is_empty(), "{}", run.out);
    }
    assert!(names(&place).is_empty(), "{:?}", names(&place));
}

#[test]
fn a_transcript_touches_no_data_folder_that_the_environment_names() {
    let place = place();
    let mut command = place.command(&["import", "codex.jsonl"]);
    let run = command
        .env("HOLDPOINT_DATA", place.path("data"))
        .output()
        .expect("a run");
    assert!(run.status.success());
    assert_eq!(names(&place), ["codex.skill.md"]);
}

#[test]
fn a_file_that_is_neither_is_told_what_was_seen_and_what_is_valid() {
    let place = Place::new();
    for (text, words) in [
        ("", "the file is empty"),
        ("PK\u{3}\u{4}", "line 1 is not JSON"),
        ("[1]\n", "line 1 is not a JSON object"),
        ("{\"tools\":{}}\n", "line 1 is an object without"),
        (
            "{\"type\":\"x\"}\n",
            "line 1 has a \"type\" that tells nothing",
        ),
    ] {
        place.write("x.jsonl", text);
        let run = place.run(&["import", "x.jsonl", "--data", "d"]).code(1);
        for words in [
            words,
            "line 1 is not the first line of an exported log",
            "Claude Code, Codex or OpenClaw",
        ] {
            assert!(run.err.contains(words), "{words}: {}", run.err);
        }
        let run = place.run(&["compile", "x.jsonl"]).code(2);
        assert!(
            run.err.contains(words) && run.err.contains("is no trace"),
            "{}",
            run.err
        );
    }
    assert!(names(&place).is_empty(), "{:?}", names(&place));
}

#[test]
fn a_trace_that_cannot_be_read_is_told_with_its_line() {
    let place = Place::new();
    place.write(
        "x.jsonl",
        "{\"t\":\"meta\"}\n{\"t\":\"result\",\"i\":1,\"ok\":true}\n",
    );
    let run = place.run(&["compile", "x.jsonl"]).code(2);
    assert!(
        run.err.contains("line 2: a result without its call"),
        "{}",
        run.err
    );
    assert!(run.err.contains("nothing was written"), "{}", run.err);
}
