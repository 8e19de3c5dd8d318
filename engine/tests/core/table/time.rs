//! Events about time, about sending again, and about who made a run go on.

use holdpoint_engine::action::{Event, Reminder, Resend, Window};
use holdpoint_engine::canon::Digest;

use crate::given::{T0, at, instigator};

/// One of every kind.
pub(super) fn events() -> Vec<Event> {
    let digest = Digest::of(b"binding");
    let words = || "why".to_owned();
    vec![
        Event::Scheduled {
            not_before: at(9),
            at: T0,
        },
        Event::KeyKept { kept_ms: 9, at: T0 },
        Event::Instigated {
            by: vec![instigator("opa", None)],
            at: T0,
        },
        Event::Reminded {
            reminder: Reminder::Half,
            deadline: at(9),
            at: T0,
        },
        Event::ResendPlanned {
            attempt: 1,
            resend_at: at(9),
            kept_until: at(9),
            because: None,
            at: T0,
        },
        Event::ResendRecorded {
            resend: Resend {
                attempt: 2,
                first: 1,
                digest,
                approved_by: Vec::new(),
                tool_digest: digest,
                request_digest: digest,
                revalidated: None,
                etag: None,
                idempotency_key: words(),
                send_deadline: at(9),
                kept_until: at(9),
                window: Window::Open,
            },
            at: T0,
        },
        Event::ResendFailed {
            attempt: 2,
            http_status: Some(422),
            answer: None,
            message: words(),
            at: T0,
        },
        Event::ResendDropped {
            attempt: 1,
            message: words(),
            at: T0,
        },
    ]
}
