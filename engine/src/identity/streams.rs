//! Where in the log it all is.

use holdpoint_storage::StreamId;

use super::error::StoreError;
use crate::canon::Digest;

/// Index: id of every person → nothing. Tells [`open`](super::Identity::open) which streams to read.
pub(super) const PEOPLE: u8 = 20;
/// Index: id of every key → nothing.
pub(super) const KEYS: u8 = 21;
/// Index: id of a key → when it was last used.
pub(super) const KEY_USE: u8 = 22;
/// Index: hash of a session token → the [`Session`](super::Session).
pub(super) const SESSIONS: u8 = 23;
/// Index: id of a person, `/`, id of a session → hash of its token.
pub(super) const SESSIONS_OF: u8 = 24;
/// Index: hash of a link's token → what is needed to redeem it.
pub(super) const LINKS: u8 = 25;
/// Index: id of a person, `/`, id of a link → hash of its token.
pub(super) const LINKS_OF: u8 = 26;

/// Index: what is known about the indexes themselves.
pub(super) const META: u8 = 27;
/// In [`META`]: the version of the lists of people and keys.
pub(super) const META_LISTS: &[u8] = b"lists";

/// The prefixes of ids, with the kinds of stream that belong to them.
const KINDS: [(&str, &str, &str); 4] = [
    ("per_", "person/", "person"),
    ("key_", "key/", "key"),
    ("ses_", "session/", "session"),
    ("lnk_", "link/", "link"),
];
const REFUSED: &str = "sign-ins/refused";

/// The stream of a person, key, session or link, by its id.
pub(super) fn of(id: &str) -> Result<StreamId, StoreError> {
    KINDS
        .iter()
        .find_map(|(prefix, kind, _)| Some((kind, id.strip_prefix(prefix)?)))
        .and_then(|(kind, rest)| StreamId::new(format!("{kind}{rest}")))
        .ok_or_else(|| StoreError::Damaged {
            place: "an id of people and keys".to_owned(),
            reason: format!("{id:?} names no stream"),
        })
}

/// The stream of refused sign-ins.
pub(super) fn refused() -> Result<StreamId, StoreError> {
    StreamId::new(REFUSED).ok_or_else(|| StoreError::Damaged {
        place: REFUSED.to_owned(),
        reason: "it is no name of a stream".to_owned(),
    })
}

/// What a stream is about: the field for its id, and the id where it has one. `None` where the
/// stream is not one of identity.
pub(super) fn subject(stream: &StreamId) -> Option<(&'static str, Option<String>)> {
    if stream.as_str() == REFUSED {
        return Some(("sign_in", None));
    }
    KINDS.iter().find_map(|(prefix, kind, what)| {
        let rest = stream.as_str().strip_prefix(kind)?;
        Some((*what, Some(format!("{prefix}{rest}"))))
    })
}

/// The key of an entry that belongs to a person.
pub(super) fn owned(person: &str, id: &str) -> Vec<u8> {
    format!("{person}/{id}").into_bytes()
}

/// The claim on an email address.
pub(super) fn email_claim(folded: &str) -> Vec<u8> {
    format!("id/email/{folded}").into_bytes()
}

/// The claim on the public part of a key.
pub(super) fn key_claim(public: &str) -> Vec<u8> {
    format!("id/key/{public}").into_bytes()
}

/// The hash of a token, as an index holds it.
pub(super) fn stored_hash(bytes: &[u8]) -> Result<Digest, StoreError> {
    bytes
        .try_into()
        .map(Digest)
        .map_err(|_| StoreError::Damaged {
            place: "a stored hash of a token".to_owned(),
            reason: format!("it has {} bytes instead of 32", bytes.len()),
        })
}
