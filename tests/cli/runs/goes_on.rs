//! Runs that are interrupted, looked at, called off and gone on with.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::web::Web;
use super::{id, receipt, release, removal};
use crate::support::{Place, Run};

/// How long a condition may take to come true.
const PATIENCE: Duration = Duration::from_mins(1);

pub(super) fn wait_until(what: &str, is: impl Fn() -> bool) {
    let began = Instant::now();
    while !is() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        #[expect(
            clippy::disallowed_methods,
            reason = "a process tells nobody how far it is"
        )]
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub(super) fn spawn(place: &Place, args: &[&str]) -> Child {
    let mut command = place.command(args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the program starts")
}

pub(super) fn end(child: Child) -> Run {
    let output = child.wait_with_output().expect("it ends");
    Run {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).expect("UTF-8"),
        err: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

/// The newest run of the folder.
fn newest(place: &Place) -> Value {
    let page = place.run(&["runs", "ls", "--json"]).code(0).json();
    page["data"][0].clone()
}

#[test]
fn of_two_runs_at_once_the_second_is_refused_and_told_what_to_do() {
    let (place, web) = (Place::new(), Web::open());
    place.write("SKILL.md", &release(&web, &web));
    web.hold(true);
    let first = spawn(&place, &["run", "SKILL.md", "--allow-writes"]);
    wait_until("the first run calls", || web.requests() == 2);
    let second = place.run(&["run", "SKILL.md", "--allow-writes"]).code(6);
    for part in [
        "another run or a server holds it",
        "--server URL",
        "--data FOLDER",
    ] {
        assert!(second.err.contains(part), "{part}: {}", second.err);
    }
    let elsewhere = spawn(
        &place,
        &["run", "SKILL.md", "--allow-writes", "--data", "other"],
    );
    wait_until("the other run calls", || web.requests() == 4);
    web.hold(false);
    for child in [first, elsewhere] {
        let run = end(child);
        assert_eq!(run.code, 0, "{run:?}");
    }
    assert_eq!(web.calls().len(), 2);
}

#[test]
fn ctrl_c_lets_the_call_on_its_way_end_and_says_how_to_go_on() {
    let (place, web) = (Place::new(), Web::open());
    place.write("SKILL.md", &release(&web, &web));
    web.hold(true);
    let run = spawn(&place, &["run", "SKILL.md", "--allow-writes"]);
    wait_until("the write is on its way", || web.requests() == 2);
    let asked = Command::new("kill")
        .args(["-INT", &run.id().to_string()])
        .status();
    assert!(asked.expect("kill starts").success());
    web.hold(false);
    let run = end(run).code(130);
    let line = run
        .err
        .lines()
        .find(|line| line.contains("holdpoint run --resume"));
    let command = line.unwrap_or_else(|| panic!("{}", run.err)).trim();
    let args: Vec<&str> = command.split(' ').skip(1).collect();
    let run = place.run(&args).code(0);
    assert!(run.out.contains("2 passed"), "{}", run.out);
    assert_eq!(web.calls().len(), 1, "it was made once");
}

#[test]
fn a_run_whose_output_nobody_reads_goes_on_and_ends_with_its_own_code() {
    let (place, web) = (Place::new(), Web::open());
    place.write("SKILL.md", &release(&web, &web));
    let outputs: [fn() -> Stdio; 2] = [Stdio::piped, || {
        let full = std::fs::File::create("/dev/full");
        full.expect("a device that is always full").into()
    }];
    for (count, output) in (0..).zip(outputs) {
        for (args, code, made) in [
            (&["run", "SKILL.md"][..], 1, 0),
            (&["run", "SKILL.md", "--json", "--allow-writes"], 0, 1),
        ] {
            let mut command = place.command(args);
            command.stdout(output()).stderr(Stdio::piped());
            let mut child = command.spawn().expect("the program starts");
            drop(child.stdout.take());
            let run = end(child).code(code);
            assert_eq!(run.err.contains("cannot be written"), count == 1, "{run:?}");
            assert_eq!(web.calls().len(), count + made, "{args:?}");
        }
    }
}

#[test]
fn a_write_whose_answer_was_lost_in_a_crash_is_never_sent_again_without_a_person() {
    let (place, web) = (Place::new(), Web::open());
    place.write("SKILL.md", &release(&web, &web));
    web.hold(true);
    let mut run = spawn(&place, &["run", "SKILL.md", "--allow-writes"]);
    wait_until("the write is on its way", || web.requests() == 2);
    run.kill().expect("it runs");
    run.wait().expect("it ends");
    web.hold(false);
    let found = newest(&place);
    assert_eq!(found["status"], "interrupted");
    let args = ["run", "--resume", found["id"].as_str().expect("an id")];
    for _ in 0..2 {
        let run = place.run(&args).code(5);
        assert!(
            run.out.contains("nobody knows yet whether it happened"),
            "{}",
            run.out
        );
        assert!(
            run.err.contains("holdpoint serve --data holdpoint-runs"),
            "{}",
            run.err
        );
    }
    assert!(web.calls().len() <= 1);
    assert_eq!(web.requests(), 2, "it was not sent again");

    // Nothing can be taken back here: whoever calls the run off learns that, and what to do.
    let off = place.run(&["runs", "cancel", args[2]]).code(5);
    for part in ["act_", "is in doubt and must be settled first", "--data"] {
        assert!(off.err.contains(part), "{part}: {}", off.err);
    }
    assert!(off.out.contains("[waiting]"), "{}", off.out);
}

#[test]
fn runs_are_listed_shown_and_called_off_in_their_folder() {
    let (place, web) = (Place::new(), Web::open());
    place.run(&["runs", "ls"]).code(2);
    place.write("SKILL.md", &release(&web, &web));
    place.run(&["run", "SKILL.md", "--allow-writes"]).code(0);
    place.write("SKILL.md", &removal(&web));
    let run = place.run(&["run", "SKILL.md", "--stage"]).code(5);
    assert!(
        run.out.contains("[waiting]") && run.out.contains("act_"),
        "{}",
        run.out
    );
    for part in [
        "holdpoint serve --data holdpoint-runs",
        "goes on there by itself",
    ] {
        assert!(run.err.contains(part), "{part}: {}", run.err);
    }
    let waiting = place
        .run(&["runs", "ls", "--status", "waiting", "--json"])
        .json();
    assert_eq!(waiting["data"].as_array().map(Vec::len), Some(1));
    let staged = waiting["data"][0]["id"].as_str().expect("an id").to_owned();
    let all = place.run(&["runs", "ls"]).ok();
    assert!(all.contains("passed") && all.contains("waiting") && all.contains("release-note"));
    let first = place.run(&["runs", "ls", "--limit", "1", "--json"]).json();
    assert_eq!(first["data"][0]["id"], staged.as_str(), "the newest first");
    let cursor = first["next_cursor"].as_str().expect("there are more");
    let rest = place
        .run(&["runs", "ls", "--cursor", cursor, "--json"])
        .json();
    assert_eq!(rest["data"][0]["status"], "passed");

    let shown = receipt(&place.run(&["runs", "show", &staged, "--json"]).code(0));
    assert_eq!(shown["steps"][0]["outcome"], "waiting");
    let signal = place
        .run(&["runs", "signal", &staged, "go", "--payload", "{\"a\":1}"])
        .code(2);
    assert!(signal.err.contains("workflows in code"), "{}", signal.err);
    place
        .run(&["runs", "signal", &staged, "go", "--payload", "{"])
        .code(2);
    let off = place
        .run(&["runs", "cancel", &staged, "--reason", "not today"])
        .code(1);
    assert!(
        off.out.contains("[cancelled]") && off.out.contains("not today"),
        "{}",
        off.out
    );
    let shown = receipt(&place.run(&["runs", "show", &staged, "--json"]).code(1));
    assert_eq!(
        (id(&shown), &shown["status"]),
        (staged.as_str(), &Value::from("cancelled"))
    );
    let missing = "run_0190000000007000a000000000000000";
    place.run(&["runs", "show", missing]).code(1);
    assert_eq!(web.calls().len(), 1);
}
