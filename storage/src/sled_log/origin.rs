//! Whether a folder is the one that was last used, or a copy of it (invariant I29).
//!
//! The marker of the folder names the file of the store by what no copy of it shares: the moment that
//! the file came to be, as its file system tells it; where it tells none, the number of its inode.
//! Neither changes when the folder is moved on its disk, when the machine is started again, or when a
//! container with the folder as its volume is made anew. `docs/adr` says what cannot be told this way.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use crate::log::Origin;

/// What the marker of an imported folder says instead.
const IMPORTED: &str = "imported";

/// What tells a file from its copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Birth {
    /// When it came to be, since the Unix epoch; none where the file system does not tell.
    born: Option<Duration>,
    /// The number of its inode; none where there are no inodes.
    inode: Option<u64>,
}

/// What a marker says about where the folder comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Noted {
    /// It was imported, and nothing has used it since.
    Imported,
    /// The file of the store was this one.
    Store(Birth),
}

impl Birth {
    pub(super) fn of(file: &Path) -> io::Result<Self> {
        let found = fs::metadata(file)?;
        let born = found.created().ok();
        let born = born.and_then(|born| born.duration_since(UNIX_EPOCH).ok());
        Ok(Self {
            // Some file systems say "1970" for "I do not know".
            born: born.filter(|born| !born.is_zero()),
            inode: inode(&found),
        })
    }

    /// Whether both are of one file. The inode counts only where there is no better witness: numbers
    /// are given again, and a restored folder may well get the old ones.
    fn is_same(self, other: Self) -> bool {
        match (self.born, other.born) {
            (Some(left), Some(right)) => left == right,
            (None, _) | (_, None) => self.inode == other.inode,
        }
    }
}

impl Noted {
    /// As a line of the marker.
    pub(super) fn to_line(self) -> String {
        match self {
            Self::Imported => IMPORTED.to_owned(),
            Self::Store(Birth { born, inode }) => {
                let born = born.map_or_else(
                    || "-".to_owned(),
                    |born| format!("{}.{:09}", born.as_secs(), born.subsec_nanos()),
                );
                let inode = inode.map_or_else(|| "-".to_owned(), |inode| inode.to_string());
                format!("store born {born} inode {inode}")
            }
        }
    }

    /// The other way round; `None` for anything else.
    pub(super) fn parse(line: &str) -> Option<Self> {
        if line == IMPORTED {
            return Some(Self::Imported);
        }
        let (born, inode) = line.strip_prefix("store born ")?.split_once(" inode ")?;
        let born = match born {
            "-" => None,
            born => {
                let (seconds, nanos) = born.split_once('.')?;
                Some(Duration::new(seconds.parse().ok()?, nanos.parse().ok()?))
            }
        };
        let inode = match inode {
            "-" => None,
            inode => Some(inode.parse().ok()?),
        };
        Some(Self::Store(Birth { born, inode }))
    }

    /// Where a folder comes from whose store is in this file now.
    pub(super) fn judge(self, now: Birth) -> Origin {
        match self {
            Self::Imported => Origin::Imported,
            Self::Store(before) if before.is_same(now) => Origin::Own,
            Self::Store(_) => Origin::Copied,
        }
    }
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere there are no inodes")]
fn inode(found: &fs::Metadata) -> Option<u64> {
    Some(std::os::unix::fs::MetadataExt::ino(found))
}

#[cfg(not(unix))]
fn inode(_: &fs::Metadata) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn birth(born: Option<u64>, inode: u64) -> Birth {
        Birth {
            born: born.map(|nanos| Duration::new(5, u32::try_from(nanos).expect("small"))),
            inode: Some(inode),
        }
    }

    #[test]
    fn a_line_of_the_marker_is_read_as_it_was_written() {
        let all = [
            Noted::Imported,
            Noted::Store(birth(Some(7), 3)),
            Noted::Store(birth(None, 3)),
            Noted::Store(Birth::default()),
        ];
        for noted in all {
            assert_eq!(Noted::parse(&noted.to_line()), Some(noted));
        }
        for line in [
            "",
            "store",
            "store born 1 inode 2",
            "store born 1.x inode -",
        ] {
            assert_eq!(Noted::parse(line), None, "{line}");
        }
    }

    #[test]
    fn i29_a_file_is_told_from_its_copies_by_its_birth_and_else_by_its_inode() {
        let judge = |before, now| Noted::Store(before).judge(now);
        assert_eq!(judge(birth(Some(1), 3), birth(Some(1), 3)), Origin::Own);
        assert_eq!(
            judge(birth(Some(1), 3), birth(Some(2), 3)),
            Origin::Copied,
            "a restored file may get the old inode again"
        );
        assert_eq!(
            judge(birth(Some(1), 3), birth(Some(1), 4)),
            Origin::Own,
            "some file systems number their files anew at each mount"
        );
        assert_eq!(judge(birth(None, 3), birth(None, 3)), Origin::Own);
        assert_eq!(judge(birth(None, 3), birth(Some(1), 4)), Origin::Copied);
        assert_eq!(Noted::Imported.judge(birth(None, 3)), Origin::Imported);
    }
}
