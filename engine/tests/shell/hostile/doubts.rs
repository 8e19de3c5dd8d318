//! Sources of truth that are hard to ask (fault N4).

use super::house::{json_answer, truth};

/// What a source of truth says, each time it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doubter {
    /// The truth.
    Honest,
    /// Nothing is found the first times, whatever happened.
    Lags(u32),
    /// The same, with 404.
    LagsWith404(u32),
    /// It cannot be asked the first times.
    DownFor(u32),
    /// It says nothing the first time.
    SilentOnce,
    /// What is found stands beside what others did.
    FindsOthersToo,
    /// It lists what it finds twice.
    FindsTwice,
    /// It has no answer that says anything, for ever.
    Never(Nonsense),
}

/// Answers that prove nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nonsense {
    Down,
    Unauthorised,
    Redirect,
    NotModified,
    Page,
    Cut,
    OtherForm,
    NextPage,
    Gigabyte,
    KeyTwice,
    NoUtf8,
    Closed,
}

impl Doubter {
    /// Everyone.
    pub(super) fn all() -> Vec<Self> {
        let nonsense = [
            Nonsense::Down,
            Nonsense::Unauthorised,
            Nonsense::Redirect,
            Nonsense::NotModified,
            Nonsense::Page,
            Nonsense::Cut,
            Nonsense::OtherForm,
            Nonsense::NextPage,
            Nonsense::Gigabyte,
            Nonsense::KeyTwice,
            Nonsense::NoUtf8,
            Nonsense::Closed,
        ];
        let all = [
            Self::Honest,
            Self::Lags(3),
            Self::LagsWith404(3),
            Self::DownFor(3),
            Self::SilentOnce,
            Self::FindsOthersToo,
            Self::FindsTwice,
        ];
        all.into_iter().chain(nonsense.map(Self::Never)).collect()
    }

    /// Whether asking it ever helps.
    pub(super) fn helps(self) -> bool {
        !matches!(self, Self::Never(_))
    }

    /// What is answered; none for silence.
    pub(super) fn answer(self, key: &str, count: u32, number: u32) -> Option<Vec<u8>> {
        Some(match self {
            Self::Lags(times) if number <= times => truth(key, 0),
            Self::LagsWith404(times) if number <= times => status("404 Not Found"),
            Self::DownFor(times) if number <= times => status("503 Down"),
            Self::SilentOnce if number <= 1 => return None,
            Self::FindsOthersToo => {
                let own = if count == 0 { "act_none" } else { key };
                json_answer(&format!(
                    "{{\"refunds\":[{{\"key\":\"act_other\"}},{{\"key\":\"{own}\"}}]}}"
                ))
            }
            Self::FindsTwice => truth(key, 2 * count),
            Self::Never(nonsense) => nonsense.answer(),
            Self::Honest
            | Self::Lags(_)
            | Self::LagsWith404(_)
            | Self::DownFor(_)
            | Self::SilentOnce => truth(key, count),
        })
    }
}

impl Nonsense {
    fn answer(self) -> Vec<u8> {
        match self {
            Self::Down => status("503 Down"),
            Self::Unauthorised => status("401 Who"),
            Self::Redirect => {
                b"HTTP/1.1 302 Go\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n"
                    .to_vec()
            }
            Self::NotModified => status("304 Not Modified"),
            Self::Page => json_answer("<html>nothing here</html>"),
            Self::Cut => b"HTTP/1.1 200 OK\r\ncontent-length: 90\r\n\r\n{\"refunds\":[]".to_vec(),
            Self::OtherForm => json_answer("{\"items\":[]}"),
            Self::NextPage => json_answer("{\"refunds\":[],\"next\":\"page2\"}"),
            Self::Gigabyte => {
                b"HTTP/1.1 200 OK\r\ncontent-length: 1073741824\r\n\r\n{\"refunds\":[]}".to_vec()
            }
            Self::KeyTwice => json_answer("{\"refunds\":[],\"refunds\":[]}"),
            Self::NoUtf8 => b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n\"\xff\xfe\"".to_vec(),
            Self::Closed => Vec::new(),
        }
    }
}

fn status(line: &str) -> Vec<u8> {
    format!("HTTP/1.1 {line}\r\ncontent-length: 0\r\n\r\n").into_bytes()
}
