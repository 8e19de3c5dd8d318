//! A recording of everything that a program did to its files, and what a power cut would leave of it.
//!
//! What was synced is there. Of what was not, anything may be: each block of a write for itself, in
//! any order, the length of a file, and each name that was made, changed or removed in a folder that
//! was not synced since. A sync covers what was done before it began, and counts once it has ended.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use holdpoint_storage::conformance::history::Draw;

/// A file, by its number on the recorded disk and how many had that number before.
type File = (u64, u32);

/// One thing that happened.
#[derive(Debug)]
enum Happened {
    /// A file was made under a name.
    Create(File, PathBuf),
    /// A folder was made.
    Folder(PathBuf),
    Write(File, u64, Vec<u8>),
    /// A file was given a length.
    Length(File, u64),
    /// From, to.
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
    /// A sync of a file or a folder began.
    Begin(u64, Synced),
    End(u64),
    /// The program said this to somebody.
    Said(Vec<u8>),
}

#[derive(Debug)]
enum Synced {
    File(File),
    Folder(PathBuf),
}

/// The files of a folder as they were when the recording began, and what happened since.
#[derive(Debug)]
pub(crate) struct Recording {
    folders: BTreeSet<PathBuf>,
    names: BTreeMap<PathBuf, File>,
    contents: BTreeMap<File, Vec<u8>>,
    happened: Vec<Happened>,
}

/// How unkind the device was.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weather {
    /// Of 8 blocks that were not synced, how many are there. 0 is a device that wrote nothing on its
    /// own, 8 one that wrote all of it.
    kept: u64,
    /// The size of a block that is written whole or not at all.
    block: usize,
    /// Names reach the disk in order, as in a journal; else each on its own.
    journal: bool,
}

impl Weather {
    /// Any weather.
    pub(crate) fn draw(draw: &mut Draw) -> Self {
        Self {
            kept: [0, 1, 4, 7, 8][index(draw, 5)],
            block: [512, 4096][index(draw, 2)],
            journal: draw.below(2) == 0,
        }
    }
}

fn index(draw: &mut Draw, below: u64) -> usize {
    usize::try_from(draw.below(below)).expect("small")
}

impl Recording {
    /// What is in a folder now, before the program that is recorded starts.
    pub(crate) fn base(folder: &Path) -> Self {
        let mut base = Self {
            folders: BTreeSet::new(),
            names: BTreeMap::new(),
            contents: BTreeMap::new(),
            happened: Vec::new(),
        };
        let mut rest = vec![folder.canonicalize().expect("the folder is there")];
        while let Some(path) = rest.pop() {
            for entry in fs::read_dir(&path).expect("reads the folder") {
                let path = entry.expect("reads the folder").path();
                if path.is_dir() {
                    rest.push(path);
                    continue;
                }
                let number = fs::metadata(&path).expect("reads the file").ino();
                let bytes = fs::read(&path).expect("reads the file");
                base.contents.insert((number, 0), bytes);
                base.names.insert(path, (number, 0));
            }
            base.folders.insert(path);
        }
        base
    }

    /// Adds what a recording says.
    pub(crate) fn read(&mut self, path: &Path) {
        let bytes = fs::read(path).unwrap_or_default();
        let mut rest = bytes.as_slice();
        let mut uses: BTreeMap<u64, u32> = BTreeMap::new();
        // A process that was killed may have left half an entry; nothing came after it.
        while let Some((entry, after)) = Entry::take(rest) {
            rest = after;
            let number = |uses: &BTreeMap<u64, u32>| {
                (entry.file, uses.get(&entry.file).copied().unwrap_or(0))
            };
            let happened = match entry.kind {
                b'C' => {
                    // The number of a file that was removed may be given to the next.
                    *uses.entry(entry.file).or_default() += 1;
                    Happened::Create(number(&uses), entry.path)
                }
                b'D' => Happened::Folder(entry.path),
                b'W' => Happened::Write(number(&uses), entry.offset, entry.data.to_vec()),
                b'T' => Happened::Length(number(&uses), entry.offset),
                b'R' => Happened::Rename(path_from(entry.data), entry.path),
                b'U' => Happened::Remove(entry.path),
                b'B' if self.is_folder(&entry.path) => {
                    Happened::Begin(entry.offset, Synced::Folder(entry.path))
                }
                b'B' => Happened::Begin(entry.offset, Synced::File(number(&uses))),
                b'E' => Happened::End(entry.offset),
                b'M' => Happened::Said(entry.data.to_vec()),
                other => panic!("a recording has no entries of kind {other}"),
            };
            self.happened.push(happened);
        }
    }

    fn is_folder(&self, path: &Path) -> bool {
        self.folders.contains(path)
            || self
                .happened
                .iter()
                .any(|one| matches!(one, Happened::Folder(made) if made == path))
    }

    /// How many moments there are to cut the power at, from 0 to this one.
    pub(crate) fn moments(&self) -> usize {
        self.happened.len()
    }

    /// What had been said before a moment, in order.
    pub(crate) fn said(&self, moment: usize) -> impl Iterator<Item = &[u8]> {
        let happened = self.happened[..moment].iter();
        happened.filter_map(|one| match one {
            Happened::Said(said) => Some(said.as_slice()),
            _ => None,
        })
    }

    /// Builds in `to` what the disk may hold after the power was cut at a moment. `to` stands for the
    /// recorded folder.
    pub(crate) fn cut(&self, moment: usize, weather: Weather, draw: &mut Draw, to: &Path) {
        let root = self.folders.first().expect("the folder itself");
        let place = |path: &Path| to.join(path.strip_prefix(root).expect("is in the folder"));
        let happened = &self.happened[..moment];
        let durable = durable(happened);
        let (names, folders) = self.names_after(happened, &durable, weather, draw);
        let mut contents = self.contents_after(happened, &durable, weather, draw);
        fs::create_dir_all(to).expect("makes a folder");
        // In order, so a folder whose parent was lost is lost with it.
        for folder in folders.iter().filter(|folder| *folder != root) {
            let path = place(folder);
            if path.parent().is_some_and(Path::is_dir) {
                fs::create_dir(path).expect("makes a folder");
            }
        }
        for (path, file) in names {
            let path = place(&path);
            // So is a file.
            if path.parent().is_some_and(Path::is_dir) {
                fs::write(path, contents.remove(&file).unwrap_or_default()).expect("writes a file");
            }
        }
    }

    /// The files at first, and what happened before a moment, a line each: what to read after a
    /// failure. `+` is what was durable by then.
    pub(crate) fn describe(&self, moment: usize) -> String {
        let happened = &self.happened[..moment];
        let at_first = self.names.iter().map(|(path, file)| {
            let length = self.contents.get(file).map_or(0, Vec::len);
            format!("{}: file {file:?} of {length} bytes", path.display())
        });
        let then = happened
            .iter()
            .zip(durable(happened))
            .map(|(one, durable)| {
                let sign = if durable { '+' } else { ' ' };
                match one {
                    Happened::Write(file, offset, bytes) => {
                        format!("{sign} write {file:?} at {offset}, {} bytes", bytes.len())
                    }
                    Happened::Said(said) => format!("  {:?}", String::from_utf8_lossy(said)),
                    other => format!("{sign} {other:?}"),
                }
            });
        at_first.chain(then).collect::<Vec<_>>().join("\n")
    }

    fn names_after(
        &self,
        happened: &[Happened],
        durable: &[bool],
        weather: Weather,
        draw: &mut Draw,
    ) -> (BTreeMap<PathBuf, File>, BTreeSet<PathBuf>) {
        let (mut names, mut folders) = (self.names.clone(), self.folders.clone());
        let mut journal_ended = false;
        for (one, durable) in happened.iter().zip(durable) {
            let names_something = matches!(
                one,
                Happened::Create(..)
                    | Happened::Folder(_)
                    | Happened::Rename(..)
                    | Happened::Remove(_)
            );
            if !names_something {
                continue;
            }
            let kept = *durable || (!journal_ended && draw.below(8) < weather.kept);
            if !kept {
                journal_ended |= weather.journal;
                continue;
            }
            match one {
                Happened::Create(file, path) => {
                    names.insert(path.clone(), *file);
                }
                Happened::Folder(path) => {
                    folders.insert(path.clone());
                }
                Happened::Rename(from, to) => {
                    if let Some(file) = names.remove(from) {
                        names.insert(to.clone(), file);
                    }
                }
                Happened::Remove(path) => {
                    names.remove(path);
                    folders.remove(path);
                }
                Happened::Write(..)
                | Happened::Length(..)
                | Happened::Begin(..)
                | Happened::End(_)
                | Happened::Said(_) => {}
            }
        }
        (names, folders)
    }

    fn contents_after(
        &self,
        happened: &[Happened],
        durable: &[bool],
        weather: Weather,
        draw: &mut Draw,
    ) -> BTreeMap<File, Vec<u8>> {
        let mut contents = self.contents.clone();
        for (one, durable) in happened.iter().zip(durable) {
            match one {
                Happened::Write(file, offset, bytes) => {
                    let content = contents.entry(*file).or_default();
                    let offset = usize::try_from(*offset).expect("small files");
                    if *durable {
                        put(content, offset, bytes);
                    } else {
                        put_some(content, offset, bytes, weather, draw);
                    }
                }
                Happened::Length(file, length) => {
                    let content = contents.entry(*file).or_default();
                    if *durable || draw.below(8) < weather.kept {
                        content.resize(usize::try_from(*length).expect("small files"), 0);
                    }
                }
                _ => {}
            }
        }
        contents
    }
}

/// Writes some blocks of what was not synced. A block that is lost behind the end leaves the file
/// short, or with zeros where a later one was kept.
fn put_some(content: &mut Vec<u8>, offset: usize, bytes: &[u8], weather: Weather, draw: &mut Draw) {
    let mut from = 0;
    while from < bytes.len() {
        // Blocks lie at multiples of their size, whatever the write began with.
        let until = (weather.block - (offset + from) % weather.block + from).min(bytes.len());
        if draw.below(8) < weather.kept {
            put(content, offset + from, &bytes[from..until]);
        }
        from = until;
    }
}

fn put(content: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if content.len() < end {
        content.resize(end, 0);
    }
    content[offset..end].copy_from_slice(bytes);
}

/// For each thing that happened, whether a sync that has ended covers it.
fn durable(happened: &[Happened]) -> Vec<bool> {
    let ended: BTreeSet<u64> = happened
        .iter()
        .filter_map(|one| match one {
            Happened::End(sync) => Some(*sync),
            _ => None,
        })
        .collect();
    // From the end, so that what was synced later is known.
    let (mut files, mut folders) = (BTreeSet::new(), BTreeSet::new());
    let mut durable = vec![false; happened.len()];
    for (one, durable) in happened.iter().zip(&mut durable).rev() {
        let in_synced = |path: &Path| path.parent().is_some_and(|parent| folders.contains(parent));
        match one {
            Happened::Begin(sync, synced) if ended.contains(sync) => match synced {
                Synced::File(file) => {
                    files.insert(*file);
                }
                Synced::Folder(path) => {
                    folders.insert(path.clone());
                }
            },
            Happened::Write(file, ..) | Happened::Length(file, _) => {
                *durable = files.contains(file);
            }
            Happened::Create(_, path)
            | Happened::Folder(path)
            | Happened::Rename(_, path)
            | Happened::Remove(path) => *durable = in_synced(path),
            Happened::Begin(..) | Happened::End(_) | Happened::Said(_) => {}
        }
    }
    durable
}

/// One entry as `disk.c` writes it.
struct Entry<'a> {
    kind: u8,
    file: u64,
    offset: u64,
    path: PathBuf,
    data: &'a [u8],
}

impl<'a> Entry<'a> {
    fn take(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (kind, rest) = bytes.split_first()?;
        let (file, rest) = rest.split_first_chunk()?;
        let (offset, rest) = rest.split_first_chunk()?;
        let (path_length, rest) = rest.split_first_chunk()?;
        let (data_length, rest) = rest.split_first_chunk()?;
        let (path, rest) = rest.split_at_checked(u32::from_ne_bytes(*path_length) as usize)?;
        let (data, rest) = rest.split_at_checked(u32::from_ne_bytes(*data_length) as usize)?;
        let entry = Self {
            kind: *kind,
            file: u64::from_ne_bytes(*file),
            offset: u64::from_ne_bytes(*offset),
            path: path_from(path),
            data,
        };
        Some((entry, rest))
    }
}

fn path_from(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}
