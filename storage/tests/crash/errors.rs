//! A disk that fails: each call of a life of the log, once and for ever, in any of three ways.
//!
//! `HOLDPOINT_ERRORS=all` tries each kind of error at each call; without it each call fails in two of
//! them, in turn.

use std::path::Path;

use crate::child::{Acknowledged, Finding, examine};
use crate::library::workshop;
use crate::library::{Act, Errno, How, Seen};
use crate::life::{Lived, Place, live};

const BATCHES: u64 = 10;

/// What a disk may answer, and for how long.
const KINDS: [(Errno, How); 7] = [
    (Errno::Io, How::Once),
    (Errno::Full, How::Ever),
    (Errno::Io, How::Ever),
    (Errno::Full, How::Torn),
    (Errno::Full, How::Once),
    (Errno::ReadOnly, How::Ever),
    (Errno::Io, How::Torn),
];

/// What happened in all lives.
#[derive(Debug, Default)]
struct Counted {
    failures: u64,
    refused_in_words: u64,
    stopped: u64,
}

/// Fails each call of a life after another, beginning each time with the same folder.
fn fail_each_call(left: &Place, acknowledged: &Acknowledged, root: &Path) -> Counted {
    let all = std::env::var("HOLDPOINT_ERRORS").is_ok_and(|value| value == "all");
    let mut counted = Counted::default();
    for call in 1.. {
        let mut fired = false;
        for (kind, (error, how)) in (0..).zip(KINDS) {
            if !all && kind != call % 7 && kind != (call + 3) % 7 {
                continue;
            }
            let place = left.copy(root, &format!("{call}-{error:?}-{how:?}"));
            let at = call;
            let disk = place.watch().kinds("wsnor");
            let disk = disk.act(Act::Fail { at, error, how });
            let lived = live(&place.log(), BATCHES, &disk);
            let mut acknowledged = acknowledged.clone();
            lived.note(&mut acknowledged);
            fired |= judge(&lived, &mut counted);
            match examine(&place.log(), &acknowledged) {
                Ok(()) => {}
                Err(Finding::Refused(what) | Finding::Lost(what)) => {
                    panic!("call {call} {error:?} {how:?}: {what}\n{}", around(&lived))
                }
            }
            place.remove();
        }
        if !fired {
            return counted;
        }
    }
    unreachable!("a life ends")
}

/// Whether a call failed at all. If so, nothing was taken that was tried after that.
fn judge(lived: &Lived, counted: &mut Counted) -> bool {
    assert!(
        lived.status.success(),
        "it ended with {:?}\n{}",
        lived.status,
        around(lived)
    );
    let Some(at) = first_failure(lived) else {
        return false;
    };
    counted.failures += 1;
    let Seen::Call { kind, what, .. } = &lived.trace[at] else {
        unreachable!("it is a call");
    };
    counted.refused_in_words += u64::from(lived.said().any(|line| line.starts_with("refused ")));
    counted.stopped += u64::from(lived.said().any(|line| line.starts_with("stopped ")));
    // The lock says who has the folder, for other processes to tell; the reserve is room for later; the
    // note of the snapshot is for the next start. None of them holds anything of the log, and a warning is
    // all that a failure there is worth.
    let apart = [" log/lock", " log/reserve", " log/snapshot"];
    let of_the_log = !apart.iter().any(|name| what.ends_with(name));
    if of_the_log && "ws".contains(*kind) {
        let mut tried = Vec::new();
        for seen in &lived.trace[at..] {
            let Seen::Mark(said) = seen else { continue };
            if let Some(what) = said.strip_prefix("try ") {
                tried.push(what.to_owned());
            } else if let Some(taken) = said.strip_prefix("ack ") {
                assert!(
                    !tried
                        .iter()
                        .any(|what| taken.starts_with(&format!("{what} "))),
                    "{taken} was tried and taken after this failed: {:?}",
                    lived.trace[at]
                );
            }
        }
    }
    true
}

fn first_failure(lived: &Lived) -> Option<usize> {
    let is_failure = |seen: &Seen| matches!(seen, Seen::Call { failed: true, .. });
    lived.trace.iter().position(is_failure)
}

/// The first failure and what came before and after it, a line each.
fn around(lived: &Lived) -> String {
    let at = first_failure(lived).unwrap_or(0);
    let lines = lived.trace.iter().skip(at.saturating_sub(6)).take(40);
    let lines: Vec<_> = lines.map(|seen| format!("{seen:?}")).collect();
    lines.join("\n")
}

#[test]
fn i22_each_call_of_a_first_life_fails_and_nothing_is_taken_after_that() {
    let root = workshop();
    let fresh = Place::new(root.path(), "fresh");
    let counted = fail_each_call(&fresh, &Acknowledged::new(), root.path());
    println!("{counted:?}");
    assert!(100 < counted.failures, "that is no whole life");
    assert!(counted.refused_in_words != 0 && counted.stopped != 0);
}

#[test]
fn i22_each_call_of_a_later_life_fails_and_nothing_acknowledged_is_lost() {
    let root = workshop();
    let left = Place::new(root.path(), "left");
    let mut acknowledged = Acknowledged::new();
    live(&left.log(), BATCHES, &left.watch()).note(&mut acknowledged);
    let killed = left.watch().act(Act::KillBefore(90));
    live(&left.log(), BATCHES, &killed).note(&mut acknowledged);
    let counted = fail_each_call(&left, &acknowledged, root.path());
    println!("{counted:?}");
    assert!(100 < counted.failures, "that is no whole life");
    assert!(counted.refused_in_words != 0 && counted.stopped != 0);
}
