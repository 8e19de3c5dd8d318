//! The rows: each manner with each class, with and without a check, and what must come of it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use holdpoint_engine::action::Status;
use holdpoint_engine::limits::RESENDS_MAX;
use serde_json::{Value, json};

use super::doubts::Doubter;
use super::manners::{Deed, Keys, Manner, Seen, all, cuts, keeping_keys};

/// The classes that are recorded.
const CLASSES: [&str; 3] = ["write-once-checkable", "irreversible", "approval-bound"];

/// After so long the call is given up.
const TIMEOUT: Duration = Duration::from_secs(30);

/// So long after that a request may still take effect, as the definition says.
const LIFETIME: Duration = Duration::from_mins(1);

/// One call of one tool.
pub(super) struct Row {
    pub(super) manner: Arc<Manner>,
    pub(super) class: &'static str,
    /// The source of truth; none where the tool has no check.
    pub(super) doubter: Option<Doubter>,
}

/// How a row must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The engine concludes this by itself.
    Machine(Status),
    /// A person is asked.
    Person,
    /// It fails for certain, or a person is asked: a matter of luck, and nothing happened.
    NothingDone,
}

/// Every row.
pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    let mut add = |manner: &Arc<Manner>, class, doubter: Option<Doubter>| {
        let too_late = matches!(manner.deed, Deed::Later(wait) if Duration::from_mins(2) < wait);
        // A request that takes effect after its declared lifetime breaks the definition's word; only
        // a target that knows the key again makes up for that.
        if !(too_late && class == "irreversible" && doubter.is_some()) {
            let manner = Arc::clone(manner);
            rows.push(Row {
                manner,
                class,
                doubter,
            });
        }
    };
    for manner in all() {
        let manner = Arc::new(manner);
        for class in CLASSES {
            add(&manner, class, None);
            add(&manner, class, Some(Doubter::Honest));
        }
        if manner.name.starts_with("500 Oh") {
            for class in CLASSES {
                for doubter in Doubter::all() {
                    add(&manner, class, Some(doubter));
                }
            }
        }
    }
    for manner in all().into_iter().map(keeping_keys) {
        let manner = Arc::new(manner);
        add(&manner, CLASSES[0], None);
        add(&manner, CLASSES[0], Some(Doubter::Honest));
        if manner.name.starts_with("500 Oh") {
            for class in &CLASSES[1..] {
                add(&manner, class, None);
            }
            for doubter in Doubter::all() {
                add(&manner, CLASSES[0], Some(doubter));
            }
        }
    }
    for manner in cuts() {
        add(&Arc::new(manner), CLASSES[0], Some(Doubter::Honest));
    }
    rows
}

/// The rows of targets that do late what they were asked for.
pub(super) fn late() -> Vec<Row> {
    let mut rows = rows();
    rows.retain(|row| matches!(row.manner.deed, Deed::Later(_)));
    rows
}

impl Row {
    /// In words, for failures.
    pub(super) fn name(&self) -> String {
        format!("{}, {}, {:?}", self.manner.name, self.class, self.doubter)
    }

    /// How it must end after what was seen first.
    pub(super) fn end(&self, first: Seen) -> End {
        let may_be_resent = self.class != "irreversible";
        if self.manner.seen == Seen::NotDeliveredOrUnknown {
            return End::NothingDone;
        }
        match first {
            Seen::Done => End::Machine(Status::Succeeded),
            Seen::NotDelivered if self.manner.kind_later => End::Machine(Status::Succeeded),
            Seen::Refused | Seen::NotDelivered => End::Machine(Status::Failed),
            Seen::Unknown | Seen::DoneOrUnknown | Seen::NotDeliveredOrUnknown => match self.doubter
            {
                Some(doubter) if doubter.helps() => {
                    let resent = may_be_resent && self.manner.kind_later;
                    End::Machine(if self.is_done_in_time() || resent {
                        Status::Succeeded
                    } else {
                        Status::Failed
                    })
                }
                // The same call again, with the key that the target kept.
                Some(_) | None if self.manner.keys == Keys::Kept && self.manner.kind_later => {
                    End::Machine(Status::Succeeded)
                }
                Some(_) | None => End::Person,
            },
        }
    }

    /// Whether the first request takes effect within its declared lifetime.
    fn is_done_in_time(&self) -> bool {
        match self.manner.deed {
            Deed::Once | Deed::Twice => true,
            Deed::Later(wait) => wait < TIMEOUT + LIFETIME,
            Deed::Never => false,
        }
    }

    /// Whether what the first request did can be found, so that there is no reason for a second one.
    pub(super) fn is_found(&self) -> bool {
        self.manner.seen == Seen::Unknown
            && self.is_done_in_time()
            && self.doubter.is_some_and(Doubter::helps)
    }

    /// How many effects the target may make of it.
    pub(super) fn effects_max(&self) -> u32 {
        match self.manner.deed {
            Deed::Twice => 2,
            Deed::Never | Deed::Once | Deed::Later(_) => 1,
        }
    }

    /// How often it may be sent while nobody knows what came of it.
    pub(super) fn sends_max(&self) -> u32 {
        if self.manner.keys == Keys::Kept {
            1 + RESENDS_MAX
        } else {
            1
        }
    }

    /// Its definition.
    pub(super) fn tool(&self, number: usize, door: SocketAddr, desk: SocketAddr) -> Value {
        let (scheme, host, port) = (self.manner.scheme, self.manner.host, door.port());
        let timeout = if self.manner.ends_by_time || self.doubter == Some(Doubter::SilentOnce) {
            Duration::from_secs(2)
        } else {
            TIMEOUT
        };
        let seconds = |time: Duration| format!("{}s", time.as_secs());
        let mut tool = json!({
            "safetyClass": self.class,
            "execute": {
                "http": {
                    "post": format!("{scheme}://{host}:{port}/{number}/pay"),
                    "json": { "amount": "{amount}" },
                },
                "timeout": seconds(timeout),
                "retry": { "attempts": 3, "backoff": "1s..5s" },
                "result": { "type": "object", "required": ["id"] },
            },
            "requestLifetime": seconds(LIFETIME),
        });
        if self.class != "write-once-checkable" {
            tool["state"] = json!({
                "http": { "get": format!("http://{desk}/{number}/state") },
                "watch": ["/balance"],
            });
        }
        if self.manner.keys == Keys::Kept {
            tool["keyRetention"] = json!("24h");
        }
        if self.doubter.is_some() {
            tool["check"] = json!({
                "http": { "get": format!("http://{desk}/{number}/find?key={{idempotency_key}}") },
                // A list that goes on elsewhere proves nothing, so the rule fails on it.
                "happened": "has(body.next) ? body.undecided : \
                             body.refunds.exists(found, found.key == idempotency_key)",
                "settle": "1s",
            });
        }
        tool
    }
}
