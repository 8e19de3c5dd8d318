//! A message that survives one redirect, and words that survive a lost session.
//!
//! Both travel in cookies of their own. A message is a code and the id of an action, never text: the
//! page makes its words from what is true when it is shown.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use holdpoint_engine::action::ActionId;
use http::header::SET_COOKIE;
use http::{HeaderMap, HeaderValue};

use crate::auth::read_cookie;
use crate::state::WebConfig;

const MESSAGE: &str = "holdpoint-message";
const DRAFT: &str = "holdpoint-draft";
/// Cookies hold about 4 KiB; longer words are not kept.
const DRAFT_BYTES_MAX: usize = 2_700;

/// What just happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Happened {
    /// The person's vote was recorded.
    Voted,
    /// The same vote was there already.
    Repeated,
    /// Somebody or something was first; the vote was not recorded.
    LostRace,
    /// An approval was taken back.
    Withdrawn,
    /// The action was cancelled.
    Cancelled,
    /// An unknown outcome was settled.
    Settled,
    /// The person came back after signing in again; nothing was recorded yet.
    DraftKept,
}

impl Happened {
    /// The class of its note: good only where the form was taken.
    pub(super) fn tone(self) -> &'static str {
        match self {
            Self::Voted | Self::Withdrawn | Self::Cancelled | Self::Settled => "good",
            Self::Repeated | Self::DraftKept => "plain",
            Self::LostRace => "bad",
        }
    }
}

const ALL: [(Happened, &str); 7] = [
    (Happened::Voted, "voted"),
    (Happened::Repeated, "repeated"),
    (Happened::LostRace, "lost_race"),
    (Happened::Withdrawn, "withdrawn"),
    (Happened::Cancelled, "cancelled"),
    (Happened::Settled, "settled"),
    (Happened::DraftKept, "draft_kept"),
];

/// A message for the next page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flash {
    pub(super) happened: Happened,
    pub(super) action: ActionId,
}

impl Flash {
    pub(super) fn read(headers: &HeaderMap) -> Option<Self> {
        let (code, id) = read_cookie(headers, MESSAGE)?.split_once('.')?;
        let (happened, _) = ALL.into_iter().find(|(_, name)| *name == code)?;
        Some(Self {
            happened,
            action: id.parse().ok()?,
        })
    }

    pub(super) fn set(self, config: &WebConfig, headers: &mut HeaderMap) {
        let code = ALL.iter().find(|(happened, _)| *happened == self.happened);
        let code = code.map_or("", |(_, name)| name);
        set_cookie(
            config,
            headers,
            MESSAGE,
            &format!("{code}.{}", self.action),
            60,
        );
    }

    pub(super) fn forget(config: &WebConfig, headers: &mut HeaderMap) {
        set_cookie(config, headers, MESSAGE, "", 0);
    }
}

/// The words that somebody typed on the page of an action before the session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Draft {
    pub(super) action: ActionId,
    /// The id of who typed them: nobody else is shown them.
    pub(super) person: String,
    pub(super) reason: String,
}

impl Draft {
    pub(super) fn read(headers: &HeaderMap) -> Option<Self> {
        let (id, rest) = read_cookie(headers, DRAFT)?.split_once('.')?;
        let (person, text) = rest.split_once('.')?;
        let reason = String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
        Some(Self {
            action: id.parse().ok()?,
            person: person.to_owned(),
            reason,
        })
    }

    /// Keeps the words, where they fit and somebody is named.
    pub(super) fn set(&self, config: &WebConfig, headers: &mut HeaderMap) {
        let is_id = |c: u8| c.is_ascii_alphanumeric() || c == b'_';
        let is_named = (1..=64).contains(&self.person.len()) && self.person.bytes().all(is_id);
        if is_named && self.reason.len() <= DRAFT_BYTES_MAX {
            let text = URL_SAFE_NO_PAD.encode(&self.reason);
            set_cookie(
                config,
                headers,
                DRAFT,
                &format!("{}.{}.{text}", self.action, self.person),
                600,
            );
        }
    }

    pub(super) fn forget(config: &WebConfig, headers: &mut HeaderMap) {
        set_cookie(config, headers, DRAFT, "", 0);
    }
}

fn set_cookie(config: &WebConfig, headers: &mut HeaderMap, name: &str, value: &str, age: u32) {
    let secure = if config.is_https() { "; Secure" } else { "" };
    let text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={age}{secure}");
    if let Ok(value) = HeaderValue::from_str(&text) {
        headers.append(SET_COOKIE, value);
    }
}

#[cfg(test)]
mod tests {
    use http::header::COOKIE;

    use super::*;

    fn sent_back(set: &HeaderMap) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for cookie in set.get_all(SET_COOKIE) {
            let pair = cookie.to_str().expect("ascii").split(';').next();
            headers.append(COOKIE, pair.expect("a pair").parse().expect("a header"));
        }
        headers
    }

    #[test]
    fn a_message_and_typed_words_come_back_as_they_were() {
        let config = WebConfig::default();
        let action = ActionId::from_bytes([7; 16]);
        let mut headers = HeaderMap::new();
        for (happened, _) in ALL {
            let mut headers = HeaderMap::new();
            let flash = Flash { happened, action };
            flash.set(&config, &mut headers);
            assert_eq!(Flash::read(&sent_back(&headers)), Some(flash));
        }
        let draft = Draft {
            action,
            person: "per_1".into(),
            reason: "Zu teuer; \"nein\"\r\nSet-Cookie: x=y".into(),
        };
        draft.set(&config, &mut headers);
        assert_eq!(Draft::read(&sent_back(&headers)), Some(draft));
    }

    #[test]
    fn a_planted_cookie_says_nothing() {
        for planted in [
            "voted",
            "hacked.act_00000000000000000000000000000000",
            "voted.x",
            ".",
        ] {
            let mut headers = HeaderMap::new();
            let cookie = format!("{MESSAGE}={planted}");
            headers.append(COOKIE, cookie.parse().expect("a header"));
            assert_eq!(Flash::read(&headers), None, "{planted}");
        }
    }
}
