//! The data folder under the real program: two processes, damage, versions, a full disk.
//!
//! What was acknowledged is there after the next start, or the start is refused in words that say
//! what was found and what to do.

#[expect(dead_code, reason = "the example uses more of it")]
#[path = "../examples/refunds/client.rs"]
mod client;
#[path = "data_folder/desk.rs"]
mod desk;
#[path = "../storage/tests/full_disk/small.rs"]
mod small;
#[path = "data_folder/snapshot.rs"]
mod snapshot;
#[expect(dead_code, reason = "the tests of the commands use more of it")]
#[path = "cli/support.rs"]
mod support;

use std::fs;
use std::path::Path;

use desk::{Desk, copy};
use small::{MIB, Small};
use support::{Run, Server};

type Outcome = Result<(), client::Failure>;

/// What is done to a folder.
type Harm = Box<dyn Fn(&Path)>;

/// Where the file has content: the rest of it is room that was set aside.
fn content_of(file: &Path) -> (Vec<u8>, usize) {
    let bytes = fs::read(file).expect("reads");
    let end = bytes.iter().rposition(|byte| *byte != 0).expect("content");
    (bytes, end)
}

/// Checks that it ended with an error that says all of this.
fn says(run: &Run, words: &[&str]) {
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.err.contains("error: the data folder cannot be opened"));
    for word in words {
        assert!(run.err.contains(word), "{word:?} in {}", run.err);
    }
    assert!(!run.err.contains("panicked"), "{}", run.err);
}

#[cfg(unix)]
#[test]
fn a_folder_that_the_program_makes_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let desk = Desk::open();
    let made = fs::metadata(desk.place.path("data")).expect("a folder");
    assert_eq!(made.permissions().mode() & 0o777, 0o700);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_process_is_told_who_holds_the_folder_and_the_first_goes_on() -> Outcome {
    let desk = Desk::open();
    let server = desk.serve("data");
    let before = desk.submit(&server, "before").await?;
    let holder = format!("in use by process {}", server.child.id());
    for args in [
        &["serve", "--listen", "127.0.0.1:0", "--data", "data"][..],
        &[
            "key",
            "create",
            "--name",
            "x",
            "--kind",
            "agent",
            "--owner",
            desk::OWNER,
            "--data",
            "data",
        ],
    ] {
        let run = desk.place.run(args).code(6);
        assert!(run.err.contains(&holder), "{}", run.err);
        assert!(run.err.contains("help: "), "{}", run.err);
        assert!(run.out.is_empty(), "{}", run.out);
    }
    let after = desk.submit(&server, "after").await?;
    for id in [before, after] {
        assert_eq!(desk.read(&server, &id).await?.status, 200);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i23_damage_loses_nothing_without_a_word() -> Outcome {
    let desk = Desk::open();
    let server = desk.serve("data");
    let mut acknowledged = Vec::new();
    for number in 0..12 {
        let id = desk.submit(&server, &number.to_string()).await?;
        acknowledged.push(id);
    }
    server.stop();

    let flip = |eighths: usize| {
        move |folder: &Path| {
            let file = folder.join("store/db");
            let (mut bytes, end) = content_of(&file);
            bytes[end * eighths / 8] ^= 0x10;
            fs::write(file, bytes).expect("writes");
        }
    };
    let cut = |eighths: usize| {
        move |folder: &Path| {
            let file = folder.join("store/db");
            let (bytes, end) = content_of(&file);
            fs::write(file, &bytes[..end * eighths / 8]).expect("writes");
        }
    };
    let remove = |name: &'static str| {
        move |folder: &Path| fs::remove_file(folder.join(name)).expect("removes")
    };
    let harms: [(&str, Harm); 10] = [
        ("a byte flipped near the start", Box::new(flip(1))),
        ("a byte flipped in the middle", Box::new(flip(4))),
        ("a byte flipped further on", Box::new(flip(6))),
        ("a byte flipped at the end", Box::new(flip(8))),
        ("a file cut in the middle", Box::new(cut(4))),
        ("a file cut near its end", Box::new(cut(7))),
        ("no database", Box::new(remove("store/db"))),
        (
            "no configuration of the store",
            Box::new(remove("store/conf")),
        ),
        ("no marker", Box::new(remove("log-format"))),
        ("no mark", Box::new(remove("mark"))),
    ];
    let mut refused = 0;
    for (name, harm) in harms {
        let folder = desk.place.path("harmed");
        copy(&desk.place.path("data"), &folder);
        harm(&folder);
        match desk.try_serve_copy("harmed") {
            Err(run) => {
                says(&run, &["harmed cannot be opened: ", "backup"]);
                assert!(!run.err.contains("backtrace"), "{}", run.err);
                refused += 1;
            }
            Ok(server) => {
                desk.none_gone(&server, &acknowledged).await?;
                let (_, log) = server.stop();
                let warned = log.contains("no valid high-water mark");
                assert_eq!(warned, name == "no mark", "{name}: {log}");
            }
        }
        fs::remove_dir_all(folder)?;
    }
    assert!(refused >= 5, "{refused} of the harms were noticed");
    Ok(())
}

#[test]
fn i26_a_folder_of_a_newer_version_is_refused_and_left_as_it_was() {
    let desk = Desk::open();
    let marker = desk.place.path("data/log-format");
    let newer = "holdpoint log\nformat 2\nwhatever comes\n";
    fs::write(&marker, newer).expect("writes");
    let run = desk.try_serve("data").err().expect("refused");
    says(
        &run,
        &[
            "has format 2",
            "reads up to 1",
            "nothing was changed",
            "newer version",
        ],
    );
    assert_eq!(fs::read_to_string(marker).expect("reads"), newer);
}

#[test]
fn a_folder_of_something_else_is_refused_and_left_as_it_was() {
    let desk = Desk::open();
    fs::create_dir(desk.place.path("letters")).expect("creates");
    for name in ["letters/lock", "letters/dear.txt"] {
        desk.place.write(name, "not ours");
    }
    let run = desk.try_serve("letters").err().expect("refused");
    says(&run, &["letters cannot be opened", "nothing was changed"]);
    let left = support::files_below(&desk.place.path("letters"));
    assert_eq!(left.len(), 2, "{left:?}");
    for file in left {
        assert_eq!(fs::read_to_string(file).expect("reads"), "not ours");
    }
    let run = desk.try_serve("letters/dear.txt").err().expect("refused");
    says(&run, &["it is not a folder", "name the folder of a log"]);
}

/// D3 and P1: full under load, killed, started on the full disk, given room, started again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "mounts a file system; scripts/test runs it where that may be done"]
async fn i22_i23_a_full_disk_refuses_in_words_and_loses_nothing() -> Outcome {
    let desk = Desk::open();
    let disk = desk.place.path("disk");
    fs::create_dir(&disk)?;
    let small = Small::mount(&disk, 160);
    copy(&desk.place.path("data"), &disk.join("data"));
    // Some MiB above what the log keeps free.
    let first = disk.join("first");
    fs::write(&first, vec![1; usize::try_from(50 * MIB)?])?;

    let server = desk.try_serve_copy("disk/data").expect("it starts");
    let (clerks, patience) = (3, 400);
    let mut acknowledged = Vec::new();
    for load in
        futures_util::future::join_all((0..clerks).map(|clerk| desk.load(&server, clerk, patience)))
            .await
    {
        let (accepted, refusal) = load?;
        assert_eq!(refusal.status, 503, "{refusal:?}");
        assert_eq!(refusal.text("/code"), "storage_unavailable");
        for words in ["the disk of the server is full", "nothing was acknowledged"] {
            assert!(refusal.text("/detail").contains(words), "{refusal:?}");
        }
        acknowledged.extend(accepted);
    }
    assert!(!acknowledged.is_empty());
    let filler = small.fill();
    // A store that just met the end of the disk reads only what it has in memory.
    desk.none_gone(&server, &acknowledged).await?;
    drop(server);

    // It was killed; the disk has no room at all.
    let server = desk.serve("disk/data");
    desk.all_there(&server, &acknowledged).await?;
    let refusal = desk.propose(&server, "on a full disk").await?;
    assert_eq!(refusal.status, 503, "{refusal:?}");
    let log = server.logged();
    for words in ["the disk is full", "nothing new is taken", "make room"] {
        assert!(log.contains(words), "{words:?} in {log}");
    }

    // Room, without a start.
    fs::remove_file(filler)?;
    fs::remove_file(first)?;
    acknowledged.push(desk.submit(&server, "there is room").await?);
    server.stop();
    let server = desk.serve("disk/data");
    desk.all_there(&server, &acknowledged).await
}

#[test]
#[ignore = "mounts a file system; scripts/test runs it where that may be done"]
fn a_first_start_on_a_full_disk_says_that_it_is_full() -> Outcome {
    let desk = Desk::open();
    let disk = desk.place.path("disk");
    fs::create_dir(&disk)?;
    let small = Small::mount(&disk, 8);
    let filler = small.fill();
    let run = desk.try_serve("disk/new").err().expect("refused");
    says(
        &run,
        &[
            "disk/new cannot be opened: the disk is full",
            "free some space",
        ],
    );
    // With a little room it is begun and goes no further.
    fs::write(&filler, vec![1; usize::try_from(7 * MIB)?])?;
    let run = desk.try_serve("disk/new").err().expect("refused");
    assert_eq!(run.code, 1, "{run:?}");
    for words in ["the store is full", "make room and try again"] {
        assert!(run.err.contains(words), "{words:?} in {}", run.err);
    }
    small.grow(200);
    fs::remove_file(filler)?;
    let server: Server = desk.serve("disk/new");
    server.stop();
    Ok(())
}
