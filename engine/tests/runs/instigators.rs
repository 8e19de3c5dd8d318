//! Whoever makes a run go on that is not theirs stands on the asking side of it.

mod again;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use holdpoint_engine::action::{ActionId, Refusal, Status};
use holdpoint_engine::approval::{Ineligible, Vote};
use holdpoint_engine::engine::{ActError, Ballot, Resumption};
use holdpoint_engine::identity::{NewPerson, Principal, Role};
use holdpoint_engine::run::code::{Context, Failure, Workflows};
use holdpoint_engine::run::event::Waiting;
use holdpoint_engine::run::{Flags, Inputs, NewOrigin, NewRun, RunError, RunId, RunStatus};
use holdpoint_storage::MemoryLog;
use holdpoint_storage::faulty::{Fault, FaultyLog};
use serde_json::{Value, json};

use crate::house::{House, approver, waiting_in};
use crate::skill_files::RELEASE;
use crate::standing_in;
use crate::steered::SECRET;
use crate::world::World;

const STAGE: Flags = Flags {
    allow_writes: true,
    yes: false,
    stage: true,
};

fn again() -> Resumption {
    Resumption {
        flags: STAGE.into(),
        ..Resumption::default()
    }
}

async fn resume_as(house: &House, by: &Principal, id: RunId) -> Result<(), RunError> {
    let resumed = house.engine.resume_run(by, id, Resumption::default()).await;
    resumed.map(|_| ())
}

async fn vote_as(house: &House, by: &Principal, id: ActionId) -> Result<Status, ActError> {
    let view = house.engine.get(by, id)?;
    let ballot = Ballot {
        vote: Vote::Approve,
        reason: None,
        revision: view.action.revision,
        digest: view.action.proposal.digest,
        snapshot_digest: view.action.snapshot.as_ref().map(|state| state.digest),
    };
    let voted = house.engine.vote(by, id, ballot).await?;
    Ok(voted.action.status())
}

fn is_instigated(voted: &Result<Status, ActError>) -> bool {
    matches!(
        voted,
        Err(ActError::Refused(Refusal::Ineligible(
            Ineligible::Instigated
        )))
    )
}

/// Somebody who may ask and approve.
async fn person(house: &House, name: &str) -> Principal {
    let new = NewPerson {
        email: format!("{name}@example.com"),
        name: name.to_owned(),
        roles: BTreeSet::from([Role::Requester, Role::Approver, Role::Operator]),
        groups: BTreeSet::new(),
        scopes: BTreeSet::new(),
        attributes: BTreeMap::new(),
        password: None,
    };
    let identity = house.engine.identity();
    let id = identity
        .create_person("test", new)
        .await
        .expect("a person")
        .id;
    identity.principal(&id).expect("who can act")
}

/// A run of a skill file that somebody starts, once it waits for people.
async fn waits_as(house: &House, by: &Principal, text: &str) -> (RunId, ActionId) {
    let new = NewRun {
        what: NewOrigin::Skill {
            text: text.to_owned(),
            inputs: Inputs::Texts(Vec::new()),
            ignore_manifest: false,
        },
        flags: STAGE,
        unattended: true,
        schedule: None,
        continues: None,
    };
    let id = house.engine.start_run(by, new).await.expect("it starts").id;
    let waits =
        |run: &holdpoint_engine::run::Run| matches!(waiting_in(run), Some((_, Waiting::Approval)));
    let run = house.until(id, waits).await;
    (id, waiting_in(&run).expect("it waits").0)
}

#[tokio::test(flavor = "multi_thread")]
async fn i08_whoever_resumes_a_run_that_waits_does_not_decide_on_the_step_that_it_waits_with() {
    let house = House::open().await;
    let (ada, ben) = (approver(), person(&house, "ben").await);
    let (id, action) = waits_as(&house, &house.by, RELEASE).await;
    resume_as(&house, &ada, id).await.expect("it goes on");
    let voted = vote_as(&house, &ada, action).await;
    assert!(is_instigated(&voted), "{voted:?}");
    let house = house.die_and_start(Workflows::default()).await;
    house.until_status(id, RunStatus::Waiting).await;
    let voted = vote_as(&house, &ada, action).await;
    assert!(is_instigated(&voted), "{voted:?}");
    vote_as(&house, &ben, action)
        .await
        .expect("somebody else may");
    house.until_status(id, RunStatus::Passed).await;

    let text =
        "---\nname: a\ndescription: b\n---\n### Step 1 — Do it\n- intent: x\n- action: doubt {}\n";
    let flags = Flags {
        yes: true,
        ..Flags::default()
    };
    let id = house.start(text, flags).await;
    let run = house.until_status(id, RunStatus::Waiting).await;
    let (action, why) = waiting_in(&run).expect("it waits");
    assert_eq!(why, Waiting::Settlement);
    resume_as(&house, &ada, id).await.expect("it goes on");
    let settle = |by| house.engine.settle(by, action, false, "seen".to_owned());
    let settled = settle(&ada).await;
    assert!(
        matches!(settled, Err(ActError::Refused(Refusal::OwnOutcome))),
        "{settled:?}"
    );
    settle(&ben).await.expect("somebody else may");
}

#[tokio::test(flavor = "multi_thread")]
async fn i08_whoever_approved_a_step_does_not_give_its_run_the_secret_that_it_sends() {
    let house = House::open().await;
    let what = NewOrigin::Skill {
        text: SECRET.to_owned(),
        inputs: Inputs::Texts(vec![("token".to_owned(), "t0ken".to_owned())]),
        ignore_manifest: false,
    };
    let id = house
        .begin(
            what,
            Flags {
                allow_writes: false,
                ..STAGE
            },
        )
        .await
        .expect("it starts");
    house.until_status(id, RunStatus::Waiting).await;
    let house = house.die_and_start(Workflows::default()).await;
    house.until_status(id, RunStatus::Waiting).await;
    let (ada, action) = (approver(), house.waiting(id));
    house.vote(action, Vote::Approve).await;
    house
        .until(id, |run| waiting_in(run) == Some((action, Waiting::Secret)))
        .await;
    let with = |token: &str| Resumption {
        secrets: vec![("token".to_owned(), token.to_owned())],
        ..Resumption::default()
    };
    let refused = house.engine.resume_run(&ada, id, with("hers")).await;
    let Err(RunError::Forbidden(words)) = refused else {
        panic!("{refused:?}");
    };
    assert!(words.contains(&action.to_string()), "{words}");
    assert!(
        !house.engine.secrets_needed(&house.run(id)).is_empty(),
        "hers is not taken"
    );
    assert!(house.run(id).instigators.is_empty(), "nor does she ask");
    let resumed = house.engine.resume_run(&house.by, id, with("t0ken")).await;
    resumed.expect("somebody else may");
    house
        .until(id, |run| {
            waiting_in(run).is_some_and(|(other, _)| other != action)
        })
        .await;
    assert_eq!(house.done("label"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn i08_of_a_resumption_and_a_vote_of_one_person_at_once_at_most_one_comes_true() {
    let house = Arc::new(House::open().await);
    let ada = approver();
    for _ in 0..20 {
        let (id, action) = waits_as(&house, &house.by, RELEASE).await;
        let both = (Arc::clone(&house), Arc::clone(&house));
        let (by, too) = (ada.clone(), ada.clone());
        let resumes = tokio::spawn(async move { resume_as(&both.0, &by, id).await });
        let votes = tokio::spawn(async move { vote_as(&both.1, &too, action).await });
        let (resumed, voted) = (
            resumes.await.expect("no panic"),
            votes.await.expect("no panic"),
        );
        // Where the action was over in between, nobody decided on it after they had asked.
        let view = house.engine.get(&ada, action).expect("the action");
        let asks = view.action.instigators.iter().any(|by| by.id == ada.id);
        assert!(!(voted.is_ok() && asks), "{resumed:?} {voted:?}");
        assert!(voted.is_ok() || resumed.is_ok(), "{resumed:?} {voted:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i08_whoever_resumes_a_run_before_its_step_is_asked_for_does_not_vote_on_it() {
    let house = House::open().await;
    let ada = approver();
    for _ in 0..20 {
        let id = house.start(RELEASE, STAGE).await;
        resume_as(&house, &ada, id).await.expect("it goes on");
        house.until_status(id, RunStatus::Waiting).await;
        let voted = vote_as(&house, &ada, house.waiting(id)).await;
        assert!(is_instigated(&voted), "{voted:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i08_a_resumption_that_is_lost_on_the_way_takes_the_vote_and_nothing_else() {
    for fault in [Fault::CrashBefore, Fault::CrashAfter] {
        for successes in 0..2 {
            let log = Arc::new(MemoryLog::new());
            let faulty = Arc::new(FaultyLog::new(Arc::clone(&log)));
            let world = Arc::new(World::default());
            let house = House::on(log, faulty.clone(), world, Workflows::default()).await;
            let (id, action) = waits_as(&house, &house.by, RELEASE).await;
            faulty.fail_after(successes, fault);
            let ada = approver();
            resume_as(&house, &ada, id)
                .await
                .expect_err("it is not acknowledged");
            let house = house.die_and_start(Workflows::default()).await;
            house.until_status(id, RunStatus::Waiting).await;
            let view = house.engine.get(&ada, action).expect("the action");
            let on_action = view.action.instigators.iter().any(|by| by.id == ada.id);
            let on_run = house.run(id).instigators.iter().any(|by| by.id == ada.id);
            assert!(
                on_action || !on_run,
                "{fault:?} {successes}: the action knows it first"
            );
            let voted = vote_as(&house, &ada, action).await;
            assert_eq!(is_instigated(&voted), on_action, "{voted:?}");
            if on_action {
                let ben = person(&house, "ben").await;
                vote_as(&house, &ben, action)
                    .await
                    .expect("somebody else may");
            }
            house.until_status(id, RunStatus::Passed).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i08_whoever_starts_or_resumes_a_run_does_not_vote_on_the_older_action_that_stands_for_its_step()
 {
    let mut house = House::open().await;
    house.by = person(&house, "fay").await;
    let (ada, ben, cem) = (
        approver(),
        person(&house, "ben").await,
        person(&house, "cem").await,
    );
    let text = standing_in::file("pay_out", "1");
    let (first, action) = waits_as(&house, &house.by, &text).await;
    let (second, stands) = waits_as(&house, &ben, &text).await;
    assert_eq!(stands, action);
    let voted = vote_as(&house, &ben, action).await;
    assert!(
        is_instigated(&voted),
        "he started the second run: {voted:?}"
    );
    resume_as(&house, &ada, second).await.expect("it goes on");
    let voted = vote_as(&house, &ada, action).await;
    assert!(
        is_instigated(&voted),
        "she resumed the second run: {voted:?}"
    );

    let house = house.die_and_start(Workflows::default()).await;
    for id in [first, second] {
        house.until_status(id, RunStatus::Waiting).await;
    }
    for by in [&ada, &ben] {
        let voted = vote_as(&house, by, action).await;
        assert!(is_instigated(&voted), "{voted:?}");
    }
    let dan = person(&house, "dan").await;
    resume_as(&house, &cem, first).await.expect("it goes on");
    resume_as(&house, &dan, second).await.expect("it goes on");
    for by in [&cem, &dan] {
        let voted = vote_as(&house, by, action).await;
        assert!(is_instigated(&voted), "{voted:?}");
    }
    let view = house.engine.get(&ada, action).expect("the action");
    let names: BTreeSet<_> = view
        .action
        .instigators
        .iter()
        .map(|by| by.name.as_str())
        .collect();
    assert_eq!(names, BTreeSet::from(["Ada", "ben", "cem", "dan"]));
    let eve = person(&house, "eve").await;
    vote_as(&house, &eve, action)
        .await
        .expect("somebody else may");
    for id in [first, second] {
        house.until_status(id, RunStatus::Passed).await;
    }
    assert_eq!(house.done("remove"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn i08_whoever_sends_a_workflow_an_event_does_not_vote_on_what_it_asks_for() {
    let workflows = Workflows::default().with("asks", 1, async |ctx: Context, (): ()| {
        let (before, after) = (ctx.branch("before"), ctx.branch("after"));
        let asked = async {
            let order = after.wait_for("order").await;
            after.call("delete_all", order).await
        };
        let (one, other) = tokio::join!(before.call("delete_all", json!({})), asked);
        one?;
        other.map_err(Failure::from)
    });
    let house = House::with(workflows).await;
    let id = house.call("asks", Value::Null).await;
    let asked = |count: usize| {
        move |run: &holdpoint_engine::run::Run| {
            let open = run.steps.iter().filter_map(|step| step.open());
            open.filter(|made| made.waiting.is_some()).count() == count
        }
    };
    house.until(id, asked(1)).await;
    let ada = approver();
    let sent = house
        .engine
        .signal_run(&ada, id, "order", &json!({ "order": 7 }))
        .await;
    sent.expect("it is sent");
    let run = house.until(id, asked(2)).await;
    for made in run.steps.iter().filter_map(|step| step.open()) {
        let (action, _) = made.waiting.expect("it waits");
        let voted = vote_as(&house, &ada, action).await;
        assert!(is_instigated(&voted), "{voted:?}");
    }
    let by = &run.instigators[0];
    assert_eq!(
        (by.id.as_str(), run.instigators.len()),
        (ada.id.as_str(), 1)
    );
    house
        .send(id, "order", Value::Null)
        .await
        .expect("it is sent");
    assert_eq!(
        house.run(id).instigators.len(),
        1,
        "whoever started it asks anyway"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_a_skill_file_is_sent_no_event() {
    let house = House::open().await;
    let (id, _) = waits_as(&house, &house.by, RELEASE).await;
    let events = house.run(id).events;
    let refused = house.send(id, "go", Value::Null).await;
    let Err(RunError::Invalid(words)) = refused else {
        panic!("{refused:?}");
    };
    assert!(words.contains("workflows in code"), "{words}");
    assert_eq!(house.run(id).events, events);
}
