//! The core of runs: what follows which wish, case by case.

mod bounds;

use holdpoint_engine::run::event::{Note, StepOutcome, Verdict, Waiting};
use holdpoint_engine::run::{
    Command, End, Event, Flags, Run, RunRefusal, RunStatus, StepPath, decide, evolve,
};
use serde_json::{Value, json};

use crate::given::{
    Case, T0, action_id, begin, call, code, end_step, json_of, path, run_id, signal, skill, start,
};

fn end(end: End) -> Command {
    Command::End {
        end,
        output: json_of(&Value::Null),
        message: None,
    }
}

fn note(at: &str, note: Note) -> Command {
    let path = path(at);
    Command::Note { path, note }
}

fn wait_for(at: &str, name: &str) -> Command {
    let name = name.to_owned();
    note(at, Note::WaitFor { name })
}

fn receive(at: &str, name: &str) -> Command {
    let (path, name) = (path(at), name.to_owned());
    Command::Receive { path, name }
}

fn resume() -> Command {
    let flags = Flags::default();
    Command::Resume { flags }
}

fn waiting(why: Waiting) -> Command {
    Command::Wait {
        path: path("1"),
        action: action_id(),
        why,
    }
}

fn got(events: &[Event]) -> Option<u32> {
    match events {
        [
            Event::Noted {
                note: Note::Received { index, .. },
                ..
            },
        ] => Some(*index),
        _ => None,
    }
}

#[test]
fn nothing_happens_before_the_start_and_there_is_one_start() {
    assert_eq!(decide(None, begin("1", "a")), Err(RunRefusal::Start));
    let mut case = Case::new(code());
    assert_eq!(case.wish(start(code())), Err(RunRefusal::Start));
    let started = case.events[0].clone();
    assert!(evolve(Some(case.run), run_id(), T0, &started).is_err());
    let ended = Event::CancelRequested { reason: None };
    assert!(evolve(None, run_id(), T0, &ended).is_err());
}

#[test]
fn a_step_that_began_goes_on_and_is_not_begun_twice() {
    let mut case = Case::new(code()).after([begin("1", "a")]);
    assert_eq!(case.wish(begin("1", "a")), Ok(Vec::new()));
    case.wish(end_step("1", StepOutcome::Failed))
        .expect("it ends");
    assert_eq!(case.wish(begin("1", "a")), Ok(Vec::new()));
    assert_eq!(
        case.wish(end_step("1", StepOutcome::Passed)),
        Err(RunRefusal::NotUnderWay(path("1")))
    );
}

#[test]
fn another_call_at_the_same_place_is_a_divergence_that_names_both() {
    let mut case = Case::new(code()).after([begin("1", "a")]);
    let Err(RunRefusal::Diverged(difference)) = case.wish(begin("1", "b")) else {
        panic!("it differs");
    };
    assert_eq!(
        difference.to_string(),
        r#"at 1 the history has a with {"n":1}, and the code wants b with {"n":1}"#
    );
    let args = json!({ "n": 1, "deep": { "x/y": 2 } });
    let first = Command::BeginStep {
        path: path("2"),
        call: call("c", &args),
    };
    let second = Command::BeginStep {
        path: path("2"),
        call: call("c", &json!({ "n": 1, "deep": { "x/y": 3 } })),
    };
    case.wish(first).expect("it begins");
    let words = case.wish(second).expect_err("it differs").to_string();
    assert!(words.ends_with("they differ at /deep/x~1y"), "{words}");
}

#[test]
fn long_arguments_are_cut_in_the_words_of_a_divergence() {
    let long = |letter: &str| Command::BeginStep {
        path: path("1"),
        call: call("a", &json!({ "text": letter.repeat(100_000) })),
    };
    let mut case = Case::new(code()).after([long("x")]);
    let words = case.wish(long("y")).expect_err("it differs").to_string();
    assert!(words.len() < 3000 && words.contains("more characters"));
    assert!(words.ends_with("they differ at /text"), "{words}");
}

#[test]
fn after_a_resumption_a_file_tries_again_what_did_not_pass_and_only_that() {
    let ended = [
        begin("1", "a"),
        end_step("1", StepOutcome::Passed),
        begin("2", "b"),
        end_step("2", StepOutcome::Rejected),
        end(End::Rejected),
        resume(),
    ];
    let mut case = Case::new(skill()).after(ended);
    assert_eq!(case.run.status(), RunStatus::Running);
    assert_eq!(case.wish(begin("1", "a")), Ok(Vec::new()));
    let again = case.wish(begin("2", "b")).expect("it is tried again");
    let [Event::StepStarted { call, .. }] = again.as_slice() else {
        panic!("it begins: {again:?}");
    };
    assert_eq!(call.number, 2, "under another id and key");
    let attempts = |number: u32| case.run.try_of(&path("2")).map(|t| t.number == number);
    assert_eq!(attempts(2), Some(true));
}

#[test]
fn code_that_diverged_is_resumed_with_the_answers_that_it_had() {
    let diverged = [
        begin("1", "a"),
        end_step("1", StepOutcome::Failed),
        end(End::Diverged),
        resume(),
    ];
    let mut case = Case::new(code()).after(diverged);
    assert_eq!(case.wish(begin("1", "a")), Ok(Vec::new()));
    let settled = case.run.step(&path("1")).and_then(|step| step.made());
    assert!(settled.is_some_and(|made| made.settled().is_some()));
}

#[test]
fn what_has_passed_or_gone_on_and_code_that_ended_are_not_resumed() {
    let over = |origin, how| Case::new(origin).after([end(how)]);
    for mut case in [
        over(skill(), End::Passed),
        over(code(), End::Continued(run_id())),
        over(code(), End::Failed),
        over(code(), End::Cancelled),
    ] {
        let refused = case.wish(resume()).expect_err("it stays over");
        assert!(matches!(refused, RunRefusal::NotResumable(_)), "{refused}");
        let words = case.wish(begin("1", "a")).expect_err("over").to_string();
        assert_eq!(
            case.wish(signal("go", 1)).expect_err("over").to_string(),
            words
        );
        match case.run.status() {
            RunStatus::Continued => assert!(words.contains(&run_id().to_string()), "{words}"),
            _ => assert_eq!(words, RunRefusal::Over.to_string()),
        }
    }
}

#[test]
fn each_event_that_is_sent_is_taken_once() {
    let mut case = Case::new(code()).after([
        wait_for("left/1", "go"),
        wait_for("right/1", "go"),
        signal("go", 1),
    ]);
    assert_eq!(case.wish(receive("5", "go")), Ok(Vec::new()), "nobody");
    let left = case.wish(receive("left/1", "go")).expect("taken");
    assert_eq!(got(&left), Some(0));
    assert_eq!(case.wish(receive("left/1", "go")), Ok(Vec::new()));
    assert_eq!(case.wish(receive("right/1", "go")), Ok(Vec::new()));
    case.wish(signal("go", 2)).expect("sent");
    let right = case.wish(receive("right/1", "go")).expect("taken");
    assert_eq!(got(&right), Some(1));
    assert_eq!(case.wish(receive("right/1", "stop")), Ok(Vec::new()));
}

#[test]
fn a_run_waits_where_every_step_of_it_waits() {
    let mut case = Case::new(code()).after([begin("1", "a"), begin("2", "b")]);
    assert_eq!(case.run.status(), RunStatus::Running);
    case.wish(waiting(Waiting::Approval)).expect("it waits");
    assert_eq!(
        case.run.status(),
        RunStatus::Running,
        "the other one goes on"
    );
    assert_eq!(case.wish(waiting(Waiting::Approval)), Ok(Vec::new()));
    case.wish(end_step("2", StepOutcome::Passed))
        .expect("it ends");
    assert_eq!(case.run.status(), RunStatus::Waiting);
    case.wish(end_step("1", StepOutcome::Passed))
        .expect("it ends");
    let asleep = case.clone().after([note("3", Note::Sleep { until: T0 })]);
    assert_eq!(asleep.run.status(), RunStatus::Waiting);
    let awake = asleep.after([note("3", Note::Woke)]);
    assert_eq!(awake.run.status(), RunStatus::Running);
}

#[test]
fn a_step_that_is_not_under_way_neither_waits_nor_ends() {
    let mut case = Case::new(code());
    let not = Err(RunRefusal::NotUnderWay(path("1")));
    assert_eq!(case.wish(waiting(Waiting::Turn)), not);
    assert_eq!(case.wish(end_step("1", StepOutcome::Passed)), not);
    let skip = Command::SkipStep {
        path: path("1"),
        title: "One".to_owned(),
        reason: "when".to_owned(),
    };
    case.wish(skip.clone()).expect("left out");
    assert_eq!(case.wish(skip), Ok(Vec::new()));
    assert_eq!(case.wish(end_step("1", StepOutcome::Passed)), not);
    assert!(matches!(
        case.wish(begin("1", "a")),
        Err(RunRefusal::Diverged(_))
    ));
}

#[test]
fn a_second_wish_to_end_changes_nothing() {
    let cancel = |why: &str| Command::Cancel {
        reason: Some(why.to_owned()),
    };
    let mut case = Case::new(code()).after([cancel("first")]);
    assert_eq!(case.wish(cancel("second")), Ok(Vec::new()));
    assert_eq!(case.run.cancel, Some(Some("first".to_owned())));
}

#[test]
fn a_run_that_is_being_called_off_is_not_gone_on_with_until_it_is_over() {
    let cancel = Command::Cancel {
        reason: Some("stop".to_owned()),
    };
    let more = Flags {
        yes: true,
        ..Flags::default()
    };
    for origin in [skill(), code()] {
        let mut case = Case::new(origin).after([begin("1", "a"), cancel.clone()]);
        for flags in [Flags::default(), more] {
            let refused = case
                .wish(Command::Resume { flags })
                .expect_err("it is not over");
            assert!(matches!(refused, RunRefusal::NotResumable(_)), "{refused}");
            assert_eq!(case.run.cancel, Some(Some("stop".to_owned())));
        }
    }
    let mut case = Case::new(skill()).after([
        begin("1", "a"),
        cancel,
        end_step("1", StepOutcome::Cancelled),
        end(End::Cancelled),
    ]);
    case.wish(Command::Resume { flags: more })
        .expect("it is over");
    assert_eq!(case.run.cancel, None);

    // As a history has it in which a resumption came before the end.
    let resumed = Event::Resumed { flags: more };
    let called_off = Case::new(skill())
        .after([Command::Cancel { reason: None }])
        .run;
    let run = evolve(Some(called_off), run_id(), T0, &resumed).expect("it happened");
    assert_eq!(run.cancel, Some(None), "the cancel was acknowledged");
}

#[test]
fn an_action_belongs_to_the_step_that_its_id_was_made_for() {
    let case = Case::new(code()).after([begin("1", "a")]);
    let run: &Run = &case.run;
    let attempt = run.try_of(&path("1")).expect("it began");
    assert_eq!(
        run.try_made(&path("1"), attempt.action_id(T0)),
        Some(attempt.number)
    );
    assert_eq!(run.try_made(&path("1"), action_id()), None);
    let other: StepPath = path("2");
    assert_eq!(run.try_made(&other, attempt.action_id(T0)), None);
}

#[test]
fn a_step_of_which_nothing_was_sent_begins_anew_as_another_try_where_its_call_is_another() {
    let mut case = Case::new(skill());
    let anew = |verdict| {
        let (path, mut call) = (path("1"), call("label", &json!({ "n": 1 })));
        call.verdict = verdict;
        Command::BeginAnew { path, call }
    };
    assert!(case.wish(anew(Verdict::Go)).is_err(), "it has not begun");
    case.wish(begin("1", "label")).expect("it begins");
    assert_eq!(case.wish(anew(Verdict::Go)), Ok(Vec::new()));
    let events = case.wish(anew(Verdict::NeedsYes)).expect("it begins anew");
    assert!(
        matches!(&events[..], [Event::StepStarted { call, .. }] if call.number == 2 && call.verdict == Verdict::NeedsYes)
    );
}

#[test]
fn a_run_that_was_called_off_does_not_end_well() {
    for how in [End::Passed, End::Continued(run_id())] {
        let cancel = Command::Cancel {
            reason: Some("enough".to_owned()),
        };
        let case = Case::new(code()).after([cancel, end(how)]);
        assert_eq!(case.run.status(), RunStatus::Cancelled);
        let message = case.run.ended.and_then(|ended| ended.message);
        assert_eq!(message.as_deref(), Some("enough"));
    }
}
