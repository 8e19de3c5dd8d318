//! A damaged snapshot of the store under the real program: it is named, and whoever follows what `verify`
//! says loses nothing.

use std::fs;
use std::path::{Path, PathBuf};

use crate::desk::{Desk, copy};
use crate::{content_of, says};

/// What is done to a snapshot, and with what the folder is harmed besides.
type Harm = fn(&Path);

fn snapshot(folder: &Path) -> PathBuf {
    let found = fs::read_dir(folder.join("store")).expect("lists");
    let mut paths = found.map(|entry| entry.expect("lists").path());
    let is_one = |path: &PathBuf| path.display().to_string().contains("/snap.");
    paths.find(is_one).expect("there is one")
}

fn rewrite(folder: &Path, change: fn(&mut Vec<u8>)) {
    let file = snapshot(folder);
    let mut bytes = fs::read(&file).expect("reads");
    change(&mut bytes);
    fs::write(file, bytes).expect("writes");
}

#[test]
fn i23_a_wrong_snapshot_is_named_and_what_verify_says_loses_nothing() {
    let desk = Desk::open();
    for _ in 0..2 {
        desk.place.create_key(crate::desk::OWNER);
    }
    let data = desk.place.path("data");
    let proof = desk.place.run(&["verify"]).ok();
    let end = proof
        .trim()
        .rsplit_once(": ")
        .expect("the end")
        .1
        .to_owned();
    let whole = "all is whole, up to the last record that was acknowledged";
    let harms: [(&str, Harm, &str); 6] = [
        (
            "flipped",
            |folder| rewrite(folder, |bytes| bytes[20] ^= 1),
            whole,
        ),
        ("emptied", |folder| rewrite(folder, Vec::clear), whole),
        (
            "cut",
            |folder| rewrite(folder, |bytes| bytes.truncate(bytes.len() / 2)),
            whole,
        ),
        (
            "zeroed",
            |folder| rewrite(folder, |bytes| bytes.fill(0)),
            whole,
        ),
        (
            "without a mark",
            |folder| {
                rewrite(folder, |bytes| bytes[20] ^= 1);
                fs::remove_file(folder.join("mark")).expect("removes");
            },
            "records after that one may be missing",
        ),
        (
            "without the end of the log",
            |folder| {
                rewrite(folder, |bytes| bytes[20] ^= 1);
                let (bytes, end) = content_of(&folder.join("store/db"));
                fs::write(folder.join("store/db"), &bytes[..end / 2]).expect("writes");
            },
            "not whole either",
        ),
    ];
    for (name, harm, found) in harms {
        let folder = desk.place.path("harmed");
        copy(&data, &folder);
        harm(&folder);
        let file = snapshot(&folder);
        let file = format!("store/{}", file.file_name().expect("a name").display());
        let run = desk.try_serve_copy("harmed").err().expect(name);
        says(
            &run,
            &[
                &file,
                "nothing was changed",
                "holdpoint verify --data harmed",
            ],
        );
        let temporary = desk.place.path("tmp");
        fs::create_dir_all(&temporary).expect("creates");
        let place = temporary.display().to_string();
        let tried = ["verify", "--data", "harmed"];
        let run = desk.place.run_with(&tried, &[("TMPDIR", &place)]);
        says(&run, &[&file, found]);
        assert_eq!(fs::read_dir(&temporary).expect("lists").count(), 0);
        if found == whole {
            let removal = format!("`rm harmed/{file}`");
            for words in ["no backup is needed", "cp -a harmed harmed.kept", &removal] {
                assert!(run.err.contains(words), "{words:?} in {}", run.err);
            }
            fs::remove_file(folder.join(&file)).expect("removes");
            let run = desk.place.run(&tried).ok();
            assert!(run.contains(&end), "{run} ends where it ended: {end}");
        } else {
            assert!(run.err.contains("restore the last backup"), "{}", run.err);
        }
        fs::remove_dir_all(folder).expect("removes");
    }

    // In the folder itself, which is no copy after that.
    rewrite(&data, Vec::clear);
    let run = desk.try_serve("data").err().expect("refused");
    says(&run, &["is damaged"]);
    fs::remove_file(snapshot(&data)).expect("removes");
    desk.serve("data").stop();
}
