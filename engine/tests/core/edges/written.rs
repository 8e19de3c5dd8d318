//! Names, ids and digests as they are written.

use holdpoint_engine::action::{
    ActionId, AttemptResult, PrincipalKind, Reminder, ReplanReason, SafetyClass, Status, Trouble,
    Window,
};
use holdpoint_engine::approval::Vote;
use holdpoint_engine::canon::Digest;

use crate::given::T0;

#[test]
fn a_name_on_the_wire_never_changes() {
    for status in Status::ALL {
        assert_eq!(Status::parse(status.name()), Some(status));
    }
    assert_eq!(Status::parse("approval"), None);
    assert_eq!(
        SafetyClass::ALL.map(SafetyClass::name),
        [
            "idempotent",
            "write-once-checkable",
            "irreversible",
            "approval-bound"
        ]
    );
    let kinds = [
        PrincipalKind::Person,
        PrincipalKind::Service,
        PrincipalKind::Agent,
    ];
    assert_eq!(
        kinds.map(PrincipalKind::name),
        ["person", "service", "agent"]
    );
    let windows = [Window::Closed, Window::Narrowed, Window::Open];
    assert_eq!(windows.map(Window::name), ["closed", "narrowed", "open"]);
    let results = [
        AttemptResult::Done,
        AttemptResult::NotDone,
        AttemptResult::Unknown,
    ];
    assert_eq!(
        results.map(|result| result.name()),
        ["done", "not_done", "unknown"]
    );
    let reminders = [Reminder::Half, Reminder::NineTenths];
    assert_eq!(reminders.map(Reminder::name), ["half", "nine_tenths"]);
    let votes = [Vote::Approve, Vote::Reject];
    assert_eq!(votes.map(Vote::name), ["approve", "reject"]);
    assert_eq!(Trouble::Stuck.name(), "stuck");
    let moved = ReplanReason::StateMoved.message();
    assert_eq!(moved, "the state is no longer the one that was approved");
}

#[test]
fn an_id_and_a_digest_are_read_as_they_are_written_and_in_no_other_way() {
    let id = ActionId::new(T0, [7; 10]);
    let text = id.to_string();
    assert_eq!(text.parse(), Ok(id));
    assert_eq!(format!("{id:?}"), text);
    assert_eq!(ActionId::from_bytes(*id.as_bytes()), id);
    let digest = Digest::of(b"anything");
    let written = digest.to_string();
    assert_eq!(written.parse(), Ok(digest));
    assert_eq!(format!("{digest:?}"), written);
    for end in ["", "00", "g", "A"] {
        let changed = |text: &str| format!("{}{end}", &text[..text.len() - 1]);
        assert!(changed(&text).parse::<ActionId>().is_err(), "{end}");
        assert!(changed(&written).parse::<Digest>().is_err(), "{end}");
    }
}
