//! The table of bad manners: what the target does, what it answers, and what must be concluded.

use std::time::Duration;

use super::answers::{bodies, endless};
use super::house::GOOD;

/// What a whole request brings about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    Never,
    Once,
    /// The target does it twice of its own accord.
    Twice,
    /// It takes effect that much later.
    Later(Duration),
}

/// What a second request with the same key comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keys {
    /// It is done once more.
    Ignored,
    /// Nothing more is done.
    Honoured,
    /// The same, and the definition says so, so that the same call may be sent again.
    Kept,
}

/// How a caller gets in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Door {
    Open,
    /// Connections are refused.
    Closed,
    /// The system takes the connection, and nobody ever looks at it.
    Unattended,
}

/// What happens on one connection, piece by piece; it is closed at the end.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    ReadHead,
    /// Reads the whole request and does the deed.
    Read,
    Write(Vec<u8>),
    /// Writes this again and again, with a pause in milliseconds.
    Ever(Vec<u8>, u64),
    Silence,
    /// The connection is reset instead of closed.
    Reset,
}

/// What the engine must make of the first attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    Done,
    Refused,
    NotDelivered,
    Unknown,
    /// Both are true.
    DoneOrUnknown,
    /// Both are true: nobody read anything, and whether something left is a matter of luck.
    NotDeliveredOrUnknown,
}

/// One way to behave.
#[derive(Clone, Debug)]
pub(super) struct Manner {
    pub(super) name: String,
    pub(super) deed: Deed,
    pub(super) door: Door,
    pub(super) script: Vec<Piece>,
    pub(super) seen: Seen,
    pub(super) keys: Keys,
    /// Whether requests after the first are done and answered as they should be.
    pub(super) kind_later: bool,
    /// Whether the call ends only by its own time limit.
    pub(super) ends_by_time: bool,
    pub(super) scheme: &'static str,
    pub(super) host: &'static str,
}

pub(super) fn manner(
    name: impl Into<String>,
    deed: Deed,
    script: Vec<Piece>,
    seen: Seen,
) -> Manner {
    let ends_by_time = script
        .iter()
        .any(|piece| matches!(piece, Piece::Silence | Piece::Ever(..)));
    Manner {
        name: name.into(),
        deed,
        door: Door::Open,
        script,
        seen,
        keys: Keys::Ignored,
        kind_later: true,
        ends_by_time,
        scheme: "http",
        host: "127.0.0.1",
    }
}

pub(super) fn write(text: impl Into<Vec<u8>>) -> Piece {
    Piece::Write(text.into())
}

/// Reads, does it, and answers with this.
pub(super) fn answers(name: impl Into<String>, answer: impl Into<Vec<u8>>, seen: Seen) -> Manner {
    manner(name, Deed::Once, vec![Piece::Read, write(answer)], seen)
}

/// The same without the deed.
pub(super) fn idle(mut manner: Manner) -> Manner {
    manner.name = format!("{}, and not done", manner.name);
    manner.deed = Deed::Never;
    manner
}

/// The same with a target that keeps keys, as its definition says.
pub(super) fn keeping_keys(mut manner: Manner) -> Manner {
    manner.name = format!("{}, keeping keys", manner.name);
    manner.keys = Keys::Kept;
    manner
}

fn status(line: &str) -> String {
    format!("HTTP/1.1 {line}\r\ncontent-length: 2\r\n\r\nno")
}

/// Before the request was read: nothing can have happened, and only where not one byte could leave
/// is that known.
fn doors() -> Vec<Manner> {
    let at = |name: &str, door, script, seen| Manner {
        door,
        ..manner(name, Deed::Never, script, seen)
    };
    let tls = |name: &str, script| Manner {
        scheme: "https",
        kind_later: false,
        ..manner(name, Deed::Never, script, Seen::NotDelivered)
    };
    let hello = || vec![Piece::Write(Vec::new())];
    vec![
        Manner {
            kind_later: false,
            ..at("a closed door", Door::Closed, vec![], Seen::NotDelivered)
        },
        Manner {
            kind_later: false,
            ends_by_time: true,
            ..at(
                "nobody at the door",
                Door::Unattended,
                vec![],
                Seen::Unknown,
            )
        },
        Manner {
            kind_later: false,
            ends_by_time: true,
            host: "nowhere.invalid",
            ..at("a name of nobody", Door::Open, vec![], Seen::NotDelivered)
        },
        Manner {
            kind_later: false,
            ..at(
                "accepted and closed",
                Door::Open,
                vec![],
                Seen::NotDeliveredOrUnknown,
            )
        },
        Manner {
            kind_later: false,
            ..at(
                "accepted and reset",
                Door::Open,
                vec![Piece::Reset],
                Seen::NotDeliveredOrUnknown,
            )
        },
        Manner {
            kind_later: false,
            ..at(
                "half read and closed",
                Door::Open,
                vec![Piece::ReadHead],
                Seen::Unknown,
            )
        },
        Manner {
            kind_later: false,
            ..at(
                "half read and reset",
                Door::Open,
                vec![Piece::ReadHead, Piece::Reset],
                Seen::Unknown,
            )
        },
        Manner {
            kind_later: false,
            ..at(
                "half read and silent",
                Door::Open,
                vec![Piece::ReadHead, Piece::Silence],
                Seen::Unknown,
            )
        },
        tls("TLS that is closed", hello()),
        tls("TLS that is reset", vec![Piece::Reset]),
        tls("TLS that is plain", vec![write(GOOD)]),
        tls(
            "TLS that is refused",
            vec![write(b"\x15\x03\x03\x00\x02\x02\x28".to_vec())],
        ),
        tls("TLS that is junk", vec![write(vec![0xff; 4096])]),
        tls("TLS that is silent", vec![Piece::Silence]),
    ]
}

/// Statuses.
fn statuses() -> Vec<Manner> {
    let doubtful = [
        "408 Late",
        "409 Busy",
        "425 Early",
        "429 Slow",
        "500 Oh",
        "501 Oh",
        "502 Gate",
        "503 Down",
        "504 Gate",
        "511 Net",
        "300 Many",
        "304 Same",
        "306 Odd",
        "999 Odd",
        "499 Odd",
    ];
    let mut all = Vec::new();
    for line in doubtful {
        let done = answers(line, status(line), Seen::Unknown);
        all.push(idle(done.clone()));
        all.push(done);
    }
    for line in ["301", "302", "303", "307", "308"] {
        for (to, place) in [
            ("itself", "pay"),
            ("another host", "http://nowhere.invalid/"),
            ("this machine", "http://127.0.0.1:1/?token=canary"),
        ] {
            let answer =
                format!("HTTP/1.1 {line} Go\r\nlocation: {place}\r\ncontent-length: 0\r\n\r\n");
            all.push(answers(format!("{line} to {to}"), answer, Seen::Unknown));
        }
    }
    for line in [
        "400 No", "401 No", "403 No", "404 No", "405 No", "410 No", "412 No", "413 No", "415 No",
        "422 No",
    ] {
        all.push(idle(answers(line, status(line), Seen::Refused)));
    }
    all.push(idle(answers(
        "a refusal with a broken body",
        "HTTP/1.1 400 No\r\ncontent-length: 100\r\n\r\nno",
        Seen::Refused,
    )));
    all
}

/// Doings that are not what was asked, and answers that are good all the same.
fn doings() -> Vec<Manner> {
    let late = |name: &str, seconds| {
        let deed = Deed::Later(Duration::from_secs(seconds));
        let script = vec![Piece::Read, write(status("504 Gate"))];
        Manner {
            kind_later: false,
            ..manner(name, deed, script, Seen::Unknown)
        }
    };
    let good = |name: &str, answer: String, seen| answers(name, answer, seen);
    vec![
        late("done a second later", 1),
        late("done a minute later", 59),
        late("done at the end of its lifetime", 89),
        Manner {
            keys: Keys::Honoured,
            kind_later: true,
            ..late("done after it was asked for again", 1000)
        },
        Manner {
            deed: Deed::Twice,
            ..good("done twice", GOOD.to_owned(), Seen::Done)
        },
        Manner {
            deed: Deed::Twice,
            ..good("done twice, no answer", String::new(), Seen::Unknown)
        },
        good(
            "an answer and a half",
            [GOOD, "HTTP/1.1 2"].concat(),
            Seen::Done,
        ),
        good("the answer twice", [GOOD, GOOD].concat(), Seen::Done),
        good(
            "news and an answer",
            format!("HTTP/1.1 100 Continue\r\n\r\n{GOOD}"),
            Seen::Done,
        ),
        good(
            "hints and an answer",
            format!("HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n{GOOD}"),
            Seen::Done,
        ),
        manner(
            "an answer and a reset",
            Deed::Once,
            vec![Piece::Read, write(GOOD), Piece::Reset],
            Seen::DoneOrUnknown,
        ),
        good(
            "a number beyond numbers",
            "HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n{\"id\":1e400}".to_owned(),
            Seen::Done,
        ),
        good("good manners", GOOD.to_owned(), Seen::Done),
    ]
}

/// A target that answers with this, whatever it is asked.
pub(super) fn echo(answer: String) -> Manner {
    answers("an echo", answer, Seen::DoneOrUnknown)
}

/// Every manner.
pub(super) fn all() -> Vec<Manner> {
    [doors(), statuses(), bodies(), endless(), doings()].concat()
}

/// A good answer, cut after each of its bytes: closed, and reset.
pub(super) fn cuts() -> Vec<Manner> {
    let cut = |end: usize, last: Option<Piece>| {
        let how = if last.is_some() { "reset" } else { "closed" };
        let script = [Piece::Read, write(&GOOD[..end])].into_iter().chain(last);
        let name = format!("{how} after {end} bytes");
        manner(name, Deed::Once, script.collect(), Seen::Unknown)
    };
    (0..GOOD.len())
        .flat_map(|end| [cut(end, None), cut(end, Some(Piece::Reset))])
        .collect()
}
