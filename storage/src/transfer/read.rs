//! Reading the file, and believing nothing in it that was not checked.

use std::io::{self, BufRead, Read as _};

use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use super::FORMAT;
use super::lines::{self, ClaimLine, EndLine, HeaderLine, RecordLine, VersionOnly};
use crate::chain::Head;
use crate::claims::{Claims, Summed};
use crate::log::BODY_BYTES_MAX;
use crate::record::{Hash, Position, Record};

/// The longest line, in bytes: the longest body in base64, and more than everything else takes.
const LINE_BYTES_MAX: u64 = BODY_BYTES_MAX as u64 / 3 * 4 + 8 * 1024;

/// What the first line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The first record in the file.
    pub from: Position,
    /// The last record in the file.
    pub to: Position,
    /// Whether it is the whole log, with its claims.
    pub whole: bool,
    /// Which incarnation of the log it was written by.
    pub incarnation: u64,
}

/// One line of what is in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A record, checked against the one before.
    Record(Record),
    /// A key that is held, and what its holder left.
    Claim(Vec<u8>, Vec<u8>),
}

/// Why the file cannot be believed.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// A line is not what it should be.
    #[error("line {line}: {reason}")]
    Damaged {
        /// Which line, from 1.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// It could not be read.
    #[error("the file could not be read")]
    Io(#[from] io::Error),
}

/// A file that is being read, line by line.
pub struct LogFile<R> {
    input: R,
    line: u64,
    digest: Sha256,
    header: Header,
    head: Head,
    claims: Summed,
    last_claim: Option<Vec<u8>>,
    ended: bool,
}

impl<R: BufRead> LogFile<R> {
    /// Reads the first line.
    pub fn open(input: R) -> Result<Self, FileError> {
        let mut file = Self {
            input,
            line: 0,
            digest: Sha256::new(),
            header: Header {
                from: 1,
                to: 0,
                whole: false,
                incarnation: 0,
            },
            head: Head::default(),
            claims: Summed::default(),
            last_claim: None,
            ended: false,
        };
        let Some(text) = file.next_line()? else {
            return Err(file.damaged("the file is empty"));
        };
        file.digest.update(&text);
        let version = file
            .parse::<VersionOnly>(&text)
            .map_err(|_| file.damaged("it is not the first line of an exported log"))?
            .holdpoint_log;
        if version != FORMAT {
            return Err(file.damaged(format!(
                "the format is {version}, this version reads {FORMAT}; use the version that wrote it"
            )));
        }
        let first: HeaderLine = file.parse(&text)?;
        let prev = lines::hash("prev", &first.prev).map_err(|reason| file.damaged(reason))?;
        if first.from == 0 || first.to.saturating_add(1) < first.from {
            return Err(file.damaged("its positions make no sense"));
        }
        if first.from == 1 && prev != Hash::default() {
            return Err(
                file.damaged("nothing comes before record 1, and it names the hash of something")
            );
        }
        if first.whole && first.from != 1 {
            return Err(file.damaged("a whole log starts at record 1"));
        }
        file.header = Header {
            from: first.from,
            to: first.to,
            whole: first.whole,
            incarnation: first.incarnation,
        };
        file.head = Head {
            position: first.from - 1,
            hash: prev,
            time_ms: None,
        };
        Ok(file)
    }

    /// What the first line says.
    pub fn header(&self) -> Header {
        self.header
    }

    /// The last record that was read: its position and hash, to be compared with ones kept elsewhere.
    pub fn head(&self) -> Head {
        self.head
    }

    /// The line that was read last, from 1.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The claims that were read, to be compared with ones kept elsewhere.
    pub fn claims(&self) -> Claims {
        self.claims.claims()
    }

    /// What comes next; `None` once the end was reached and everything was found whole.
    pub fn next_item(&mut self) -> Result<Option<Item>, FileError> {
        if self.ended {
            return Ok(None);
        }
        let Some(text) = self.next_line()? else {
            let reason = format!(
                "the file was cut off: it ends after record {} of {}, without its last line",
                self.head.position, self.header.to
            );
            return Err(self.damaged(reason));
        };
        if text.starts_with(b"{\"end\":") {
            self.end(&text)?;
            return Ok(None);
        }
        self.digest.update(&text);
        if self.head.position < self.header.to {
            return self.record(&text).map(Some);
        }
        self.claim(&text).map(Some)
    }

    fn record(&mut self, text: &[u8]) -> Result<Item, FileError> {
        let line: RecordLine = self.parse(text)?;
        let record = line.into_record().map_err(|reason| self.damaged(reason))?;
        if let Some(reason) = self.head.refuse(&record) {
            let reason = format!("record {} breaks the chain: {reason}", record.position);
            return Err(self.damaged(reason));
        }
        self.head = Head::after(&record);
        Ok(Item::Record(record))
    }

    fn claim(&mut self, text: &[u8]) -> Result<Item, FileError> {
        if !self.header.whole {
            return Err(self.damaged("the last line should stand here"));
        }
        let line: ClaimLine = self.parse(text)?;
        let (key, value) = line.into_claim().map_err(|reason| self.damaged(reason))?;
        if self.last_claim.as_ref().is_some_and(|last| key <= *last) {
            return Err(self.damaged("the claims are not in order"));
        }
        self.claims.add(&key, &value);
        self.last_claim = Some(key.clone());
        Ok(Item::Claim(key, value))
    }

    fn end(&mut self, text: &[u8]) -> Result<(), FileError> {
        let last: EndLine = self.parse(text)?;
        let claims = self.claims.claims().count;
        let digest = Hash(std::mem::take(&mut self.digest).finalize().into());
        let wrong = if self.head.position != self.header.to || last.end != self.header.to {
            Some(format!(
                "records are missing: the first line promises {}, the last names {}, there are {}",
                self.header.to, last.end, self.head.position
            ))
        } else if last.last_hash != self.head.hash.to_string() {
            Some("it does not name the hash of the last record".to_owned())
        } else if last.claims != claims {
            Some(format!(
                "it names {} claims, there are {claims}",
                last.claims
            ))
        } else if last.sha256 != digest.to_string() {
            Some("the lines before it are not those that were written".to_owned())
        } else {
            None
        };
        if let Some(reason) = wrong {
            return Err(self.damaged(reason));
        }
        if self.next_line()?.is_some() {
            return Err(self.damaged("something follows the last line"));
        }
        self.ended = true;
        Ok(())
    }

    /// The next line with its end; `None` at the end of the file.
    fn next_line(&mut self) -> Result<Option<Vec<u8>>, FileError> {
        let mut text = Vec::new();
        (&mut self.input)
            .take(LINE_BYTES_MAX + 1)
            .read_until(b'\n', &mut text)?;
        if text.is_empty() {
            return Ok(None);
        }
        self.line += 1;
        if LINE_BYTES_MAX < text.len() as u64 {
            return Err(self.damaged(format!("it is longer than {LINE_BYTES_MAX} bytes")));
        }
        if text.last() != Some(&b'\n') {
            return Err(self.damaged("the file was cut off in the middle of it"));
        }
        Ok(Some(text))
    }

    fn parse<T: DeserializeOwned>(&self, text: &[u8]) -> Result<T, FileError> {
        serde_json::from_slice(text).map_err(|error| {
            // The line of the error is the one within this line.
            let words = error.to_string();
            let words = words.split(" at line ").next().unwrap_or_default();
            self.damaged(format!("column {}: {words}", error.column()))
        })
    }

    fn damaged(&self, reason: impl Into<String>) -> FileError {
        FileError::Damaged {
            line: self.line.max(1),
            reason: reason.into(),
        }
    }
}
