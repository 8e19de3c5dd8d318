//! Where a log ends, as it is printed, kept elsewhere and compared later: the position and hash of its
//! last record, and a digest over its claims, which stand in no record.

use std::fmt;

use holdpoint_storage::{Claims, EventLog, Hash, Position};
use serde_json::{Value, json};

use crate::failure::{Failure, Outcome};
use crate::output::{Output, counted};

/// The end of a log, or of a part of one.
pub(super) struct Proof {
    pub(super) records: u64,
    pub(super) position: Position,
    pub(super) hash: Hash,
    /// None for a part.
    pub(super) claims: Option<Claims>,
}

/// What was kept of an earlier one.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) position: Position,
    hash: String,
    claims: Option<String>,
}

impl Kept {
    /// Reads `POSITION:HASH`, with `:CLAIMS` behind it where that was printed.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let is_hash =
            |text: &&str| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let mut parts = text.split(':');
        let position = parts.next().and_then(|text| text.parse().ok());
        let hash = parts.next().filter(is_hash);
        let claims = parts.next();
        match (position, hash, claims, parts.next()) {
            (Some(position @ 1..), Some(hash), claims, None)
                if claims.as_ref().is_none_or(is_hash) =>
            {
                Ok(Self {
                    position,
                    hash: hash.to_ascii_lowercase(),
                    claims: claims.map(str::to_ascii_lowercase),
                })
            }
            _ => Err(
                "write the position, a colon and 64 hexadecimal digits, and where they were \
                 printed another colon and 64 more"
                    .to_owned(),
            ),
        }
    }

    /// Fails where the record at the position that was kept has another hash.
    pub(super) fn compare_record(&self, found: Hash) -> Outcome<()> {
        let Self { position, hash, .. } = self;
        let found = found.to_string();
        if *hash == found {
            return Ok(());
        }
        Err(Failure::failed(format!(
            "record {position} has the hash {found}, and {hash} was expected: the history was changed"
        ))
        .help("keep a copy of it as it is, and compare it with a backup"))
    }

    /// Fails where the claims are others; says so where they cannot be compared.
    pub(super) fn compare_claims(&self, end: &Proof, output: Output) -> Outcome<()> {
        let why = match (&self.claims, end.claims) {
            (None, _) => "--expect has no digest of them, which is its third part".to_owned(),
            (Some(_), None) => "a part of a log comes without them".to_owned(),
            (Some(_), Some(_)) if self.position != end.position => format!(
                "there are later records, which have claims of their own; the proof for record {} has them",
                end.position
            ),
            (Some(kept), Some(claims)) => {
                let found = claims.hash.to_string();
                if *kept == found {
                    return Ok(());
                }
                return Err(Failure::failed(format!(
                    "the {} have the digest {found}, and {kept} was expected: \
                     they were changed, though the records were not",
                    counted(usize::try_from(claims.count).unwrap_or(usize::MAX), "claim")
                ))
                .help(
                    "keep a copy of it as it is, and compare it with a backup: without its claims a \
                     request can be taken twice. A server that ran in between has added one without a \
                     record where it answered a request that was there already under another key",
                ));
            }
        };
        output.note(&format!(
            "its records are those that were there; its claims (the keys that were used) were not compared: {why}"
        ));
        Ok(())
    }
}

impl Proof {
    /// The end of a whole log.
    pub(super) fn of(log: &dyn EventLog, position: Position, hash: Hash) -> Outcome<Self> {
        let claims = Claims::of(log).map_err(|error| {
            Failure::because("the claims of the log cannot be read", &error)
                .help("look at the disk, then run it again")
        })?;
        Ok(Self {
            records: position,
            position,
            hash,
            claims: Some(claims),
        })
    }

    /// How many records and claims, in words.
    pub(super) fn counts(&self) -> String {
        match self.claims {
            Some(claims) => format!("{} records and {} claims", self.records, claims.count),
            None => format!("{} records", self.records),
        }
    }

    /// The members of what is printed as JSON.
    pub(super) fn json(&self) -> Value {
        json!({
            "records": self.records,
            "claims": self.claims.map(|claims| claims.count),
            "last_position": self.position,
            "last_hash": self.hash.to_string(),
            "claims_hash": self.claims.map(|claims| claims.hash.to_string()),
        })
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.position, self.hash)?;
        match self.claims {
            Some(claims) => write!(f, ":{}", claims.hash),
            None => Ok(()),
        }
    }
}
