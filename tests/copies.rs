//! The log as a file and as a copied folder, with the real program (invariants I7, I23, I29; fault K4).

#[expect(dead_code, reason = "the example uses more of it")]
#[path = "../examples/refunds/client.rs"]
mod client;
#[expect(dead_code, reason = "other tests use more of it")]
#[path = "data_folder/desk.rs"]
mod desk;
#[expect(dead_code, reason = "the tests of the commands use more of it")]
#[path = "cli/support.rs"]
mod support;

use std::fs;

use desk::{Desk, OWNER, copy};
use holdpoint_engine::canon::Digest;
use holdpoint_storage::Hash;
use serde_json::{Value, json};
use support::Run;

type Outcome = Result<(), client::Failure>;

/// Checks that it was refused as a copy, in words that say what to do.
fn refused_as(run: &Run, found: &str) {
    assert_eq!(run.code, 6, "{run:?}");
    for words in [
        "the engine cannot start",
        "sends nothing before that was confirmed",
        found,
        "help: make sure that no other copy of it runs",
        "--confirm-restore",
    ] {
        assert!(run.err.contains(words), "{words:?} in {}", run.err);
    }
    assert!(run.out.is_empty(), "{}", run.out);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i29_a_copied_folder_is_served_only_once_that_was_confirmed() -> Outcome {
    let desk = Desk::open();
    let server = desk.serve("data");
    let id = desk.submit(&server, "before the backup").await?;
    server.stop();
    copy(&desk.place.path("data"), &desk.place.path("copied"));

    for _ in 0..2 {
        let run = desk.try_serve("copied").err().expect("refused");
        refused_as(&run, "its files are copies");
        assert!(run.err.contains("0 actions wait to be sent"), "{}", run.err);
    }
    // Looking is allowed, and confirms nothing.
    for args in [&["verify"][..], &["export", "out.jsonl"]] {
        desk.place.run(&[args, &["--data", "copied"]].concat()).ok();
    }
    let found = desk.place.run(&["doctor", "--data", "copied"]).out;
    assert!(found.contains("is a copy"), "{found}");
    refused_as(&desk.try_serve("copied").err().expect("refused"), "copies");

    let server = desk.try_serve_copy("copied").expect("it starts");
    desk.all_there(&server, std::slice::from_ref(&id)).await?;
    server.stop();
    let server = desk.serve("copied");
    desk.all_there(&server, std::slice::from_ref(&id)).await?;
    server.stop();
    let found = desk.place.run(&["doctor", "--data", "copied"]).out;
    assert!(found.contains("incarnation 2"), "{found}");

    // The first one goes on, moved or not.
    fs::rename(desk.place.path("data"), desk.place.path("moved"))?;
    let server = desk.serve("moved");
    desk.all_there(&server, &[id]).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i07_i29_an_imported_log_has_everything_and_needs_to_be_confirmed() -> Outcome {
    let desk = Desk::open();
    let server = desk.serve("data");
    let mut ids = Vec::new();
    for note in ["one", "two", "three"] {
        ids.push(desk.submit(&server, note).await?);
    }
    server.stop();
    let place = &desk.place;
    let verified = place.run(&["verify", "--data", "data"]).ok();
    let told = place
        .run(&["export", "--data", "data", "log.jsonl"])
        .code(0);
    let last = verified.trim().rsplit(' ').next().expect("a hash");
    assert!(told.err.contains(last), "{} in {}", last, told.err);
    assert_eq!(
        place.run(&["export", "--data", "data"]).ok(),
        fs::read_to_string(place.path("log.jsonl"))?,
        "to stdout, the same"
    );
    let run = place
        .run(&["export", "--data", "data", "log.jsonl"])
        .code(2);
    assert!(run.err.contains("is there already"), "{}", run.err);

    // Away from the folder: the same records, the same end.
    let args = ["verify", "--file", "log.jsonl", "--expect", last];
    assert_eq!(place.run(&args).ok(), verified);

    let run = place
        .run(&["import", "log.jsonl", "--data", "data"])
        .code(2);
    assert!(run.err.contains("holds a log already"), "{}", run.err);
    let imported = place.run(&["import", "log.jsonl", "--data", "new"]).ok();
    assert!(imported.contains(last), "{imported}");
    assert_eq!(place.run(&["verify", "--data", "new"]).ok(), verified);
    let run = desk.try_serve("new").err().expect("refused");
    refused_as(&run, "it was imported");

    let server = desk.try_serve_copy("new").expect("it starts");
    desk.all_there(&server, &ids).await?;
    // The key that the caller has works, and so does the one of each request.
    let id = desk.submit(&server, "after").await?;
    desk.all_there(&server, &[id]).await?;
    server.stop();
    let people = place.run(&["user", "list", "--data", "new"]).ok();
    assert!(people.contains(OWNER), "{people}");
    let history = place
        .run(&["export", "--data", "new", "later.jsonl"])
        .code(0);
    let later = fs::read_to_string(place.path("later.jsonl"))?;
    assert!(later.contains("\"incarnation.confirmed\""), "{history:?}");
    Ok(())
}

/// The file without its claims, and with sums that fit it again.
fn without_claims(whole: &str) -> String {
    let lines: Vec<&str> = whole.lines().collect();
    let (last, lines) = lines.split_last().expect("lines");
    let kept = lines.iter().filter(|line| !line.starts_with("{\"claim\""));
    let text: String = kept.flat_map(|line| [*line, "\n"]).collect();
    let mut end: Value = serde_json::from_str(last).expect("JSON");
    end["claims"] = json!(0);
    end["sha256"] = json!(Hash(Digest::of(text.as_bytes()).0).to_string());
    let member = |name: &str| format!("\"{name}\":{}", end[name]);
    let members = ["end", "last_hash", "claims", "sha256"].map(member);
    format!("{text}{{{}}}\n", members.join(","))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i07_i15_claims_that_were_taken_out_of_an_export_are_noticed() -> Outcome {
    let desk = Desk::open();
    let server = desk.serve("data");
    desk.submit(&server, "one").await?;
    server.stop();
    let place = &desk.place;
    let proof = place.run(&["verify", "--data", "data"]).ok();
    let proof = proof.trim().rsplit(' ').next().expect("a proof");
    let told = place
        .run(&["export", "--json", "--data", "data", "good.jsonl"])
        .json();
    let claims = told["claims_hash"].as_str().expect("a digest");
    assert!(proof.ends_with(claims), "{proof}: {told}");
    let whole = fs::read_to_string(place.path("good.jsonl"))?;
    place.write("bad.jsonl", &without_claims(&whole));

    let check = |file: &str, proof: &str| {
        let run = place.run(&["verify", "--file", file, "--expect", proof]);
        (run.code, run.err)
    };
    assert_eq!(check("good.jsonl", proof), (0, String::new()));
    let (code, told) = check("bad.jsonl", proof);
    assert!(
        code == 1 && told.contains("0 claims have the digest"),
        "{told}"
    );

    // What cannot be compared is said.
    let (records, _) = proof.rsplit_once(':').expect("three parts");
    let (code, told) = check("bad.jsonl", records);
    assert!(code == 0 && told.contains("its third part"), "{told}");
    let part = ["export", "--data", "data", "--from", "2", "part.jsonl"];
    place.run(&part).ok();
    let (code, told) = check("part.jsonl", proof);
    assert!(code == 0 && told.contains("without them"), "{told}");
    let found = place
        .run(&["verify", "--json", "--file", "part.jsonl"])
        .json();
    let last = records.split_once(':').expect("a position").0;
    assert_eq!(found["last_position"].to_string(), last, "{found}");
    assert!(found["claims"].is_null(), "{found}");
    for odd in [format!("1:{}", "z".repeat(64)), format!("{proof}:1")] {
        let (code, told) = check("good.jsonl", &odd);
        assert!(code == 2 && told.contains("hexadecimal"), "{told}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i23_a_failed_import_leaves_nothing_that_looks_like_a_log() -> Outcome {
    let desk = Desk::open();
    let server = desk.serve("data");
    desk.submit(&server, "one").await?;
    server.stop();
    let place = &desk.place;
    place.run(&["export", "--data", "data", "log.jsonl"]).ok();
    let whole = fs::read_to_string(place.path("log.jsonl"))?;
    let lines: Vec<&str> = whole.lines().collect();

    place.write("cut.jsonl", &lines[..lines.len() - 1].join("\n"));
    place.write(
        "forged.jsonl",
        &whole.replacen("\"actor\":\"key_", "\"actor\":\"kez_", 1),
    );
    place.write("other.jsonl", "{\"tools\":{}}\n");
    fs::create_dir(place.path("empty"))?;
    for (file, words) in [
        ("cut.jsonl", &["cut off"][..]),
        ("forged.jsonl", &["line ", "does not match its content"]),
        (
            "other.jsonl",
            &["line 1", "not the first line of an exported log"],
        ),
    ] {
        for folder in ["new", "empty"] {
            let run = place.run(&["import", file, "--data", folder]).code(1);
            for words in words.iter().chain(&["error: ", "help: "]) {
                assert!(run.err.contains(words), "{words:?} in {}", run.err);
            }
        }
        let run = place.run(&["verify", "--file", file]).code(1);
        assert!(run.err.contains("is not a whole log"), "{}", run.err);
        assert!(!place.path("new").exists());
        assert_eq!(fs::read_dir(place.path("empty"))?.count(), 0);
    }
    place.run(&["import", "log.jsonl", "--data", "empty"]).ok();

    // A part can be checked, and is no log.
    place
        .run(&[
            "export",
            "--data",
            "data",
            "--from",
            "2",
            "--to",
            "3",
            "part.jsonl",
        ])
        .ok();
    let verified = place.run(&["verify", "--file", "part.jsonl"]).ok();
    assert!(verified.starts_with("2 records, all whole"), "{verified}");
    let run = place
        .run(&["import", "part.jsonl", "--data", "new"])
        .code(2);
    assert!(run.err.contains("a longer log"), "{}", run.err);
    assert!(!place.path("new").exists());
    Ok(())
}
