//! The snapshot of the store, damaged, cut, gone, an older one, or one of another folder.

use std::fs;
use std::path::{Path, PathBuf};

use holdpoint_storage::conformance::history::Draw;
use holdpoint_storage::{EventLog as _, OpenError, Record, SledLog, Trial};

use crate::{RECORDS, batch, copy, damage, filled, open, whole_or_told};

/// What is done to a folder.
type Harm<'a> = Box<dyn Fn(&Path) + 'a>;

/// The only snapshot of a folder.
fn snapshot(folder: &Path) -> PathBuf {
    let mut found = fs::read_dir(folder.join("store"))
        .expect("lists")
        .map(|entry| entry.expect("lists").path())
        .filter(|path| path.file_name().is_some_and(is_snapshot));
    let only = found.next().expect("there is a snapshot");
    assert_eq!(found.next(), None, "there is one");
    only
}

fn is_snapshot(name: &std::ffi::OsStr) -> bool {
    name.to_string_lossy().starts_with("snap.")
}

/// A closed log whose snapshot reaches its end; another was kept of an earlier start, as it was called.
fn settled(folder: &Path, older: &Path) -> Vec<Record> {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    filled(folder);
    fs::create_dir(older).expect("creates");
    for version in RECORDS..RECORDS + 2 {
        let log = open(folder).expect("opens");
        if version == RECORDS {
            let found = snapshot(folder);
            let name = found.file_name().expect("a name");
            fs::copy(&found, older.join(name)).expect("copies");
        }
        runtime
            .block_on(log.append(batch(version)))
            .expect("appends");
    }
    let log = open(folder).expect("opens");
    log.read_all(0, 1000).expect("reads")
}

/// Writes the same file with other bytes.
fn rewrite(folder: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let file = snapshot(folder);
    let mut bytes = fs::read(&file).expect("reads");
    change(&mut bytes);
    fs::write(file, bytes).expect("writes");
}

fn flip(at: impl Fn(usize) -> usize + 'static) -> Harm<'static> {
    Box::new(move |folder| {
        rewrite(folder, |bytes| {
            let place = at(bytes.len());
            bytes[place] ^= 0x10;
        });
    })
}

fn cut(to: impl Fn(usize) -> usize + 'static) -> Harm<'static> {
    Box::new(move |folder| rewrite(folder, |bytes| bytes.truncate(to(bytes.len()))))
}

#[test]
fn i23_a_wrong_snapshot_is_named_before_the_store_is_touched_and_a_copy_is_tried_without_it() {
    let root = tempfile::tempdir().expect("a folder");
    let [intact, older, other, kept] =
        ["intact", "older", "other", "kept"].map(|name| root.path().join(name));
    let records = settled(&intact, &older);
    settled(&other, &kept);
    let older = fs::read_dir(&older).expect("lists").next();
    let older = older.expect("one").expect("lists").path();
    let foreign = fs::read(snapshot(&other)).expect("reads");
    let own = snapshot(&intact);
    let name = |path: &Path| path.file_name().expect("a name").to_owned();
    let beside = intact.join("store").join("snap.7FFFFFFFFFFFFFF0");

    let harms: Vec<(&str, PathBuf, Harm<'_>)> = vec![
        ("its first byte", own.clone(), flip(|_| 0)),
        ("a byte near its start", own.clone(), flip(|_| 20)),
        (
            "a byte in its middle",
            own.clone(),
            flip(|length| length / 2),
        ),
        ("its length", own.clone(), flip(|length| length - 8)),
        ("its checksum", own.clone(), flip(|length| length - 1)),
        ("emptied", own.clone(), cut(|_| 0)),
        ("cut to less than its end", own.clone(), cut(|_| 12)),
        ("cut in half", own.clone(), cut(|length| length / 2)),
        ("cut by a byte", own.clone(), cut(|length| length - 1)),
        (
            "zeroed",
            own.clone(),
            Box::new(|folder| rewrite(folder, |bytes| bytes.fill(0))),
        ),
        (
            "an older one with the name of the newer",
            own.clone(),
            Box::new(|folder| {
                fs::copy(&older, snapshot(folder)).expect("copies");
            }),
        ),
        (
            "an older one in its place",
            intact.join("store").join(name(&older)),
            Box::new(|folder| {
                fs::remove_file(snapshot(folder)).expect("removes");
                fs::copy(&older, folder.join("store").join(name(&older))).expect("copies");
            }),
        ),
        (
            "one of another folder in its place",
            own.clone(),
            Box::new(|folder| fs::write(snapshot(folder), &foreign).expect("writes")),
        ),
        (
            "one of another folder beside it",
            beside.clone(),
            Box::new(|folder| {
                let beside = folder.join("store").join(name(&beside));
                fs::write(beside, &foreign).expect("writes");
            }),
        ),
    ];
    let database = fs::read(intact.join("store/db")).expect("reads");
    for (what, named, harm) in harms {
        let folder = root.path().join("harmed");
        copy(&intact, &folder);
        harm(&folder);
        let named = Path::new("store").join(name(&named));
        let refused = open(&folder).err().expect(what);
        let words = refused.to_string();
        let OpenError::Snapshot { file, .. } = refused else {
            panic!("{what}: {words}")
        };
        assert_eq!(file, named, "{what}");
        assert!(words.contains(&named.display().to_string()), "{words}");
        let after = fs::read(folder.join("store/db")).expect("reads");
        assert!(after == database, "{what}: the store was touched");

        let tried = SledLog::try_without_snapshot(&folder, root.path()).expect(what);
        let last = records.last().expect("records");
        let whole = Trial::Whole {
            position: last.position,
            hash: last.hash,
            compared: true,
        };
        assert_eq!(tried.map(|(_, trial)| trial), Some(whole), "{what}");
        let after = fs::read(folder.join("store/db")).expect("reads");
        assert!(after == database, "{what}: the trial touched the store");

        // What is advised then.
        fs::remove_file(folder.join(&named)).expect("removes");
        assert!(whole_or_told(&folder, &records), "{what}");
        fs::remove_dir_all(&folder).expect("removes");
    }
    let left = fs::read_dir(root.path()).expect("lists").count();
    assert_eq!(left, 4, "the copies were removed");
}

#[test]
fn i23_a_log_that_is_not_whole_without_its_snapshot_is_told_and_so_is_one_that_cannot_be_compared()
{
    let root = tempfile::tempdir().expect("a folder");
    let [intact, older] = ["intact", "older"].map(|name| root.path().join(name));
    let records = settled(&intact, &older);
    let tried = SledLog::try_without_snapshot(&intact, root.path()).expect("is tried");
    assert!(tried.is_none(), "nothing is wrong with it");

    // No snapshot at all: the log is read from its beginning, and all is there.
    let missing = root.path().join("missing");
    copy(&intact, &missing);
    let gone = snapshot(&missing);
    fs::remove_file(&gone).expect("removes");
    assert!(whole_or_told(&missing, &records));

    // Without it and without the end of the log.
    let halved = root.path().join("halved");
    copy(&intact, &halved);
    rewrite(&halved, Vec::clear);
    let database = halved.join("store/db");
    let bytes = fs::read(&database).expect("reads");
    let end = bytes.iter().rposition(|byte| *byte != 0).expect("content");
    fs::write(&database, &bytes[..end / 2]).expect("writes");
    let tried = SledLog::try_without_snapshot(&halved, root.path()).expect("is tried");
    let Some((_, Trial::Broken { reason })) = tried else {
        panic!("{tried:?}")
    };
    assert!(!reason.is_empty());
    let lost = snapshot(&halved);
    fs::remove_file(&lost).expect("removes");
    let words = open(&halved).err().expect("refused").to_string();
    let lost = lost
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    assert!(
        words.contains(&format!("store/{lost} is missing")),
        "{words}"
    );

    // Without it and without the mark nobody knows whether that is all.
    let unmarked = root.path().join("unmarked");
    copy(&intact, &unmarked);
    rewrite(&unmarked, |bytes| bytes[20] ^= 1);
    fs::remove_file(unmarked.join("mark")).expect("removes");
    let tried = SledLog::try_without_snapshot(&unmarked, root.path()).expect("is tried");
    let Some((_, Trial::Whole { compared, .. })) = tried else {
        panic!("{tried:?}")
    };
    assert!(!compared);
    assert!(!unmarked.join("mark").exists(), "nothing was changed");
}

#[test]
fn i07_i23_a_flipped_or_cut_snapshot_never_loses_anything_in_silence() {
    damage(30, |draw: &mut Draw, folder| {
        // The folder has its first snapshot from here on.
        drop(open(folder).expect("opens"));
        rewrite(folder, |bytes| {
            let place = usize::try_from(draw.below(bytes.len() as u64)).expect("fits");
            if draw.below(2) == 0 {
                bytes[place] ^= 1 << draw.below(8);
            } else {
                bytes.truncate(place);
            }
        });
    });
}

#[test]
fn i23_a_note_of_the_snapshot_that_is_garbage_or_gone_keeps_nothing_from_opening() {
    let root = tempfile::tempdir().expect("a folder");
    let [intact, older] = ["intact", "older"].map(|name| root.path().join(name));
    let records = settled(&intact, &older);
    for (number, note) in [None, Some(""), Some("none\n"), Some("snap.1 0\n0\n")]
        .iter()
        .enumerate()
    {
        let folder = root.path().join(number.to_string());
        copy(&intact, &folder);
        match note {
            Some(text) => fs::write(folder.join("snapshot"), text).expect("writes"),
            None => fs::remove_file(folder.join("snapshot")).expect("removes"),
        }
        assert!(whole_or_told(&folder, &records), "{note:?}");
    }
}
