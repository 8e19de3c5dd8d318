//! One step on the page of a run.

use holdpoint_engine::run::receipt::{BEFORE_PEOPLE, PEOPLE_DECIDE, StepReceipt};
use holdpoint_engine::run::{Made, Run, StepPath};
use holdpoint_engine::time::Timestamp;
use serde_json::Value;

use super::standing::{form_words, in_form_words};
use crate::display::Shown;
use crate::pages::view::{Rejected, Row, StatusView, span_words, step_outcome, value_row};

/// A part of a whole, in hundredths of its length, as attributes of a drawing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::pages) struct Bar {
    pub(in crate::pages) from: String,
    pub(in crate::pages) width: String,
}

/// So that something very short can still be seen.
const NARROWEST: f64 = 0.8;

impl Bar {
    /// From a moment to another one, of a span; all in milliseconds.
    fn of_span(from: u64, until: u64, whole: u64) -> Self {
        let hundredths = |ms: u64| {
            // Milliseconds of years are below 2^53.
            #[expect(clippy::cast_precision_loss, reason = "a drawing of a hundred units")]
            let part = ms as f64 / whole.max(1) as f64;
            (part * 100.0).clamp(0.0, 100.0)
        };
        let width = (hundredths(until) - hundredths(from)).max(NARROWEST);
        let from = hundredths(from).min(100.0 - width);
        Self {
            from: format!("{from:.1}"),
            width: format!("{width:.1}"),
        }
    }
}

/// So many of so many.
pub(in crate::pages) fn bar_of(part: u32, whole: u32) -> Bar {
    if part == 0 || whole == 0 {
        return Bar {
            from: "0".to_owned(),
            width: "0".to_owned(),
        };
    }
    Bar::of_span(0, part.into(), whole.into())
}

/// A span as precise as it is useful: `12 ms`, `3.4 s`, `2 min 5 s`.
pub(in crate::pages) fn took(ms: u64) -> String {
    match ms {
        0..1000 => format!("{ms} ms"),
        1000..60_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        _ => span_words(std::time::Duration::from_millis(ms)),
    }
}

/// An assertion and whether it held.
pub(super) struct AssertView {
    pub(super) text: Shown,
    pub(super) held: bool,
    pub(super) seen: Option<Shown>,
}

/// A call that was not made.
pub(super) struct WithheldView {
    pub(super) tool: Shown,
    pub(super) args: Shown,
    pub(super) is_marked: bool,
    /// What allows it, in the words of the form below.
    pub(super) allows: Option<&'static str>,
}

/// What should be known of a step.
pub(super) struct NoteView {
    pub(super) text: Shown,
    pub(super) is_warning: bool,
}

impl NoteView {
    fn new(text: &str) -> Self {
        let is_plain =
            [BEFORE_PEOPLE, PEOPLE_DECIDE].contains(&text) || text.starts_with("healed at level");
        Self {
            text: Shown::block(text),
            is_warning: !is_plain,
        }
    }
}

/// A step.
pub(super) struct StepView {
    pub(super) path: Shown,
    pub(super) title: Shown,
    pub(super) outcome: StatusView,
    pub(super) intent: Option<Shown>,
    pub(super) tool: Option<Shown>,
    pub(super) effect: Option<&'static str>,
    pub(super) bar: Option<Bar>,
    pub(super) took: String,
    /// Where it began, after the start of the run.
    pub(super) after: String,
    pub(super) failures: Vec<Shown>,
    pub(super) asserts: Vec<AssertView>,
    pub(super) binds: Vec<Row>,
    pub(super) notes: Vec<NoteView>,
    pub(super) withheld: Option<WithheldView>,
    pub(super) action: Option<String>,
    pub(super) is_waiting: bool,
    pub(super) tried: u32,
    /// What people said to earlier tries.
    pub(super) rejected: Option<Rejected>,
    pub(super) attempts: u32,
    pub(super) http_status: Option<u16>,
    pub(super) args: Option<Shown>,
    pub(super) args_digest: Option<String>,
    pub(super) answer: Option<Shown>,
    pub(super) key: Option<Shown>,
}

impl StepView {
    /// A step of a receipt; `until` is the end of the run, or now.
    pub(super) fn new(step: &StepReceipt, run: &Run, until: Timestamp) -> Self {
        let path = StepPath::new(step.path.as_str()).ok();
        let made = path.and_then(|path| run.step(&path).and_then(|step| step.made()));
        let report = made.and_then(|made| made.ended.as_ref().map(|(_, report)| report));
        let binds = report.iter().flat_map(|report| &report.binds);
        Self {
            path: Shown::line(&step.path),
            title: Shown::line(&step.title),
            outcome: step_outcome(step.outcome),
            intent: step.intent.as_deref().map(Shown::line),
            tool: step.tool.as_deref().map(Shown::line),
            effect: step.effect,
            bar: made.map(|made| bar(made, run, until)),
            took: took(step.ms),
            after: made.map_or_else(String::new, |made| {
                took(millis(made.started_at, run.created_at))
            }),
            failures: step
                .failures
                .iter()
                .map(|text| Shown::block(&in_form_words(text)))
                .collect(),
            asserts: step
                .asserts
                .iter()
                .map(|assert| AssertView {
                    text: Shown::line(&assert.assert),
                    held: assert.passed,
                    seen: assert.seen.as_deref().map(Shown::block),
                })
                .collect(),
            binds: binds.map(|(name, value)| value_row(name, value)).collect(),
            notes: step.notes.iter().map(|text| NoteView::new(text)).collect(),
            withheld: step.withheld.as_ref().map(|withheld| {
                let args = pretty(&withheld.args);
                WithheldView {
                    tool: Shown::line(&withheld.tool),
                    is_marked: args.is_marked(),
                    args,
                    allows: withheld.flag.and_then(form_words),
                }
            }),
            action: step.action.clone(),
            is_waiting: step.outcome == "waiting",
            tried: step.tried,
            rejected: made.and_then(|made| {
                let next = made.call.number + u32::from(made.again);
                Rejected::before(made, next, until)
            }),
            attempts: step.attempts,
            http_status: step.http_status,
            args: made.map(|made| pretty(&made.call.args.value())),
            args_digest: step.args_digest.clone(),
            answer: report
                .map(|report| report.answer.value())
                .filter(|answer| !answer.is_null())
                .map(|answer| pretty(&answer)),
            key: step.idempotency_key.as_deref().map(Shown::line),
        }
    }
}

fn bar(made: &Made, run: &Run, until: Timestamp) -> Bar {
    let ended = made.ended.as_ref().map_or(until, |(at, _)| *at);
    Bar::of_span(
        millis(made.started_at, run.created_at),
        millis(ended, run.created_at),
        millis(until, run.created_at),
    )
}

fn millis(later: Timestamp, earlier: Timestamp) -> u64 {
    u64::try_from(later.since(earlier).as_millis()).unwrap_or(u64::MAX)
}

/// JSON on several lines, with everything that cannot be seen written out.
fn pretty(value: &Value) -> Shown {
    Shown::block(&serde_json::to_string_pretty(value).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_stays_inside_and_can_be_seen() {
        let bar = |from, until, whole| {
            let Bar { from, width } = Bar::of_span(from, until, whole);
            (from, width)
        };
        let of = |from: &str, width: &str| (from.to_owned(), width.to_owned());
        assert_eq!(bar(0, 50, 100), of("0.0", "50.0"));
        assert_eq!(bar(100, 100, 100), of("99.2", "0.8"));
        assert_eq!(bar(0, 0, 0), of("0.0", "0.8"));
        assert_eq!(bar(5, 500, 100), of("5.0", "95.0"));
        assert_eq!(bar_of(0, 3).width, "0");
        assert_eq!(bar_of(3, 3).width, "100.0");
    }

    #[test]
    fn spans_are_said_as_precisely_as_is_useful() {
        for (ms, words) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (3_450, "3.4 s"),
            (125_000, "2 min 5 s"),
        ] {
            assert_eq!(took(ms), words);
        }
    }
}
