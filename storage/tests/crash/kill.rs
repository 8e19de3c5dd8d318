//! Kills, and two processes on one folder.

use std::io::BufRead;
use std::time::{Duration, Instant};

use holdpoint_storage::conformance::history::Draw;
use holdpoint_storage::{OpenError, SledLog, SledOptions};

use crate::child::{Acknowledged, check, kill, note, start};
use crate::set;

/// `HOLDPOINT_KILLS` sets the number of rounds, `HOLDPOINT_SEED` the moments.
#[test]
fn i05_i23_nothing_acknowledged_is_lost_when_the_process_is_killed() {
    let rounds = set("HOLDPOINT_KILLS").unwrap_or(15);
    let mut draw = Draw::new(set("HOLDPOINT_SEED").unwrap_or(1));
    let root = tempfile::tempdir().expect("a folder");
    let folder = root.path().join("log");
    let mut acknowledged: Acknowledged = Acknowledged::new();
    for round in 0..rounds {
        let (mut child, mut lines) = start(&folder);
        // Every third is killed while it starts, at a drawn moment of its first 40 ms.
        let wanted = if round % 3 == 0 { 0 } else { draw.below(400) };
        if wanted == 0 {
            let moment = Instant::now() + Duration::from_micros(draw.below(40_000));
            while Instant::now() < moment {
                std::thread::yield_now();
            }
        }
        let mut line = String::new();
        let mut heard = 0;
        while heard < wanted && lines.read_line(&mut line).expect("reads") != 0 {
            heard += 1;
            note(&line, &mut acknowledged);
            line.clear();
        }
        kill(&mut child);
        // What it said before it died counts as well.
        for line in lines.lines() {
            note(&line.expect("reads"), &mut acknowledged);
        }
        check(&folder, &acknowledged);
    }
    assert!(!acknowledged.is_empty(), "the child got nowhere");
}

#[test]
fn a_second_process_is_told_who_has_the_folder() {
    let root = tempfile::tempdir().expect("a folder");
    let (mut child, mut lines) = start(root.path());
    let mut line = String::new();
    while lines.read_line(&mut line).expect("reads") != 0 && line != "open\n" {
        line.clear();
    }
    // The child may speak on; nobody needs to read it.
    std::thread::spawn(move || lines.lines().count());
    let error = SledLog::open(root.path(), &SledOptions::default())
        .err()
        .expect("refused");
    let OpenError::Locked { holder, .. } = &error else {
        panic!("another error: {error}")
    };
    assert_eq!(*holder, format!("process {}", child.id()));
    kill(&mut child);
    SledLog::open(root.path(), &SledOptions::default()).expect("free again");
}
