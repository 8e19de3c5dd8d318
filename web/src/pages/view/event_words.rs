//! Events in words.

use holdpoint_engine::action::{AnswerBody, Event, Window};
use holdpoint_engine::approval::Vote;
use holdpoint_engine::canon::{CanonicalJson, Digest};

use super::again_words;
use super::args::{Row, value_row};
use super::{DiffRow, Names, diff_rows};
use crate::display::Shown;

/// One event for people.
#[derive(Clone, Debug, Default)]
pub(in crate::pages) struct Words {
    /// What happened, in one sentence of ours.
    pub(in crate::pages) headline: String,
    /// What somebody or something said; shown apart from our words.
    pub(in crate::pages) quote: Option<Shown>,
    /// Facts with names.
    pub(in crate::pages) facts: Vec<Row>,
    /// What moved.
    pub(in crate::pages) diff: Vec<DiffRow>,
}

impl Words {
    pub(super) fn say(headline: impl Into<String>) -> Self {
        Self {
            headline: headline.into(),
            ..Self::default()
        }
    }

    pub(super) fn quoting(mut self, text: Option<&str>) -> Self {
        self.quote = text.map(Shown::block);
        self
    }

    pub(super) fn fact(mut self, name: &str, value: &str) -> Self {
        self.facts
            .push(value_row(name, &CanonicalJson::of(&value.into())));
        self
    }

    pub(super) fn digest(self, name: &str, digest: Option<&Digest>) -> Self {
        match digest {
            Some(digest) => self.fact(name, &digest.to_string()),
            None => self,
        }
    }

    pub(super) fn status(self, http_status: Option<u16>) -> Self {
        match http_status {
            Some(status) => self.fact("HTTP status", &status.to_string()),
            None => self,
        }
    }

    pub(super) fn json(mut self, name: &str, json: &CanonicalJson) -> Self {
        self.facts.push(value_row(name, json));
        self
    }
}

/// How sure the state was at the call, in words.
pub(super) fn window_words(window: Window) -> &'static str {
    match window {
        Window::Closed => "closed: the version that was read travels with the call",
        Window::Narrowed => "narrowed: the state was read right before the call",
        Window::Open => "open: the tool has no state query",
    }
}

/// What an event says, in words. `name` finds the names of people.
#[expect(
    clippy::too_many_lines,
    reason = "one arm for each event; splitting would hide that none is missing"
)]
pub(in crate::pages) fn describe(event: &Event, names: &Names) -> Words {
    match event {
        Event::Staged {
            proposal,
            snapshot,
            request,
            ..
        } => Words::say("Submitted; waits for approval")
            .digest("digest", Some(&proposal.digest))
            .digest("tool definition", Some(&proposal.tool_digest))
            .digest("request", Some(&request.digest))
            .digest("snapshot", snapshot.as_ref().map(|s| &s.digest)),
        Event::Accepted {
            proposal,
            snapshot,
            request,
            ..
        } => Words::say("Submitted; needs no approval")
            .digest("digest", Some(&proposal.digest))
            .digest("request", Some(&request.digest))
            .digest("snapshot", snapshot.as_ref().map(|s| &s.digest)),
        Event::Refused { refused, .. } => Words::say("Refused at submission")
            .fact("code", &refused.code)
            .quoting(Some(&refused.message)),
        Event::VoteRecorded {
            cast,
            revision,
            digest,
            snapshot_digest,
        } => Words::say(match cast.vote {
            Vote::Approve => format!("Approval of revision {revision} recorded"),
            Vote::Reject => format!("Rejection of revision {revision} recorded"),
        })
        .fact("by", &names.of(&cast.voter.id))
        .quoting(cast.reason.as_deref())
        .digest("digest that was shown", Some(digest))
        .digest("snapshot that was shown", snapshot_digest.as_ref()),
        Event::Approved { hold_until, at } => {
            let words = Words::say("Approved: every need is met");
            if at < hold_until {
                words.fact("held back until", &hold_until.rfc3339())
            } else {
                words
            }
        }
        Event::Rejected { by, reason, .. } => Words::say("Rejected")
            .fact("by", &names.of(by))
            .quoting(Some(reason)),
        Event::Expired { .. } => Words::say("Expired: the deadline passed before it was sent"),
        Event::Withdrawn { by, reason, .. } => {
            Words::say("An approval was taken back in the hold window")
                .fact("by", &names.of(by))
                .quoting(reason.as_deref())
        }
        Event::Cancelled { by, reason, .. } => Words::say("Cancelled by the requester")
            .fact("by", &names.of(by))
            .quoting(reason.as_deref()),
        Event::Deferred {
            message, retry_at, ..
        } => Words::say(match retry_at {
            Some(at) => format!("The state could not be read; again at {}", at.rfc3339()),
            None => "The state could not be read; it is not tried again".into(),
        })
        .quoting(Some(message)),
        Event::ReplanRequired { reason, diff, .. } => Words {
            diff: diff_rows(diff),
            ..Words::say("Revalidated: the world is no longer the one that was approved; not done")
                .quoting(Some(&reason.message()))
        },
        Event::Restaged {
            revision,
            snapshot,
            diff,
            ..
        } => Words {
            diff: diff_rows(diff),
            ..Words::say(format!(
                "Revalidated: the state moved; back in the queue as revision {revision}"
            ))
            .digest("snapshot", Some(&snapshot.digest))
        },
        Event::CommitRecorded {
            attempt,
            digest,
            tool_digest,
            request_digest,
            revalidated,
            idempotency_key,
            send_deadline,
            window,
            approved_by,
            ..
        } => approved_by
            .iter()
            .fold(
                Words::say(format!(
                    "Revalidated and committed: attempt {attempt} may be sent"
                )),
                |words, id| words.fact("approved by", &names.of(id)),
            )
        .fact("idempotency key", idempotency_key)
        .fact("not sent after", &send_deadline.rfc3339())
        .fact("window", window_words(*window))
        .digest("digest", Some(digest))
        .digest("tool definition", Some(tool_digest))
        .digest("request", Some(request_digest))
        .digest("snapshot", revalidated.as_ref().map(|s| &s.digest)),
        Event::AttemptSucceeded {
            attempt,
            http_status,
            result,
            ..
        } => Words::say(format!("Attempt {attempt} took effect"))
            .status(*http_status)
            .json("answer", result),
        Event::AttemptRefused {
            attempt,
            http_status,
            answer,
            ..
        } => Words::say(format!("Attempt {attempt}: the target refused for certain"))
            .status(*http_status)
            .json("answer", answer),
        Event::AttemptNotDelivered {
            attempt,
            message,
            retry_at,
            ..
        } => Words::say(match retry_at {
            Some(at) => format!("Attempt {attempt} was not delivered; again at {}", at.rfc3339()),
            None => format!("Attempt {attempt} was not delivered; it was the last"),
        })
        .quoting(Some(message)),
        Event::AttemptUnknown {
            attempt,
            http_status,
            message,
            next_check,
            ..
        } => Words::say(match next_check {
            Some(at) => format!(
                "Attempt {attempt}: it may or may not have happened; the target is asked at {}",
                at.rfc3339()
            ),
            None => format!(
                "Attempt {attempt}: it may or may not have happened; a person must settle it"
            ),
        })
        .status(*http_status)
        .quoting(Some(message)),
        Event::FoundDone {
            attempt, evidence, ..
        } => Words::say(format!(
            "Reconciled: the target says that attempt {attempt} happened"
        ))
        .json("evidence", evidence),
        Event::FoundNotDone {
            attempt,
            evidence,
            retry_at,
            ..
        } => Words::say(match retry_at {
            Some(at) => format!(
                "Reconciled: attempt {attempt} did not happen; again at {}",
                at.rfc3339()
            ),
            None => format!("Reconciled: attempt {attempt} did not happen"),
        })
        .json("evidence", evidence),
        Event::CheckInconclusive {
            attempt,
            message,
            next_check,
            ..
        } => Words::say(match next_check {
            Some(at) => format!(
                "Reconciling attempt {attempt}: no reliable answer; asked again at {}",
                at.rfc3339()
            ),
            None => format!(
                "Reconciling attempt {attempt}: no reliable answer; a person must settle it"
            ),
        })
        .quoting(Some(message)),
        Event::Settled {
            attempt,
            by,
            happened,
            reason,
            ..
        } => Words::say(if *happened {
            format!("A person settled that attempt {attempt} happened")
        } else {
            format!("A person settled that attempt {attempt} did not happen")
        })
        .fact("by", &names.of(by))
        .quoting(Some(reason)),
        Event::LateAnswer {
            attempt,
            http_status,
            evidence,
            ..
        } => Words::say(format!(
            "An answer to attempt {attempt} did not settle it, or came after it was settled; kept, changes nothing"
        ))
        .status(*http_status)
        .json("answer", evidence),
        Event::LeaseGranted {
            attempt,
            worker,
            until,
            epoch,
            ..
        } => Words::say(format!("A worker has attempt {attempt}"))
            .fact("worker", &format!("{} ({})", worker.name, worker.id))
            .fact("has it until", &until.rfc3339())
            .fact("epoch", &epoch.to_string()),
        Event::AnswerKept { attempt, body, .. } => match body {
            AnswerBody::Text(text) => Words::say(format!(
                "The answer of attempt {attempt} was kept as it came: {} bytes",
                text.len()
            )),
            AnswerBody::Broken(why) => {
                let words = format!("The answer of attempt {attempt} has no body to look at");
                Words::say(words).fact("why", why)
            }
        },
        Event::LeaseKeyed { attempt, .. } => Words::say(format!(
            "The same claim again is answered with attempt {attempt} while the worker has it"
        )),
        Event::Instigated { by, .. } => {
            let names: Vec<_> = by.iter().map(|by| format!("{} ({})", by.name, by.id)).collect();
            Words::say("Others made the run go on that it is a step of; they may not vote on it")
                .fact("who", &names.join(", "))
        }
        Event::SecretNamed {
            attempt, secret, ..
        } => {
            let words = Words::say(format!("Attempt {attempt} is sent with one version of its secret"))
                .fact("secret", &secret.name)
                .fact("version", &secret.version);
            match secret.changed_at {
                Some(moment) => words.fact("its file last changed", &moment.rfc3339()),
                None => words,
            }
        }
        Event::LeaseExtended { attempt, until, .. } => Words::say(format!(
            "The worker is still at attempt {attempt}, and has it until {}",
            until.rfc3339()
        )),
        Event::WorkReported {
            attempt, report, ..
        } => Words::say(format!("The worker reported on attempt {attempt}"))
            .digest("report", Some(report)),
        Event::Scheduled { .. }
        | Event::KeyKept { .. }
        | Event::Reminded { .. }
        | Event::ResendPlanned { .. }
        | Event::ResendRecorded { .. }
        | Event::ResendFailed { .. }
        | Event::ResendDropped { .. } => again_words::timely(event, names),
    }
}
