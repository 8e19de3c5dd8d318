//! What a run lets out is not more than whoever started it may let out at that moment.

use std::collections::{BTreeMap, BTreeSet};

use holdpoint_engine::action::PrincipalKind;
use holdpoint_engine::approval::Vote;
use holdpoint_engine::identity::{NewKey, PersonChange, Principal, Role};
use holdpoint_engine::run::code::{Context, Workflows};
use holdpoint_engine::run::{Flags, RunStatus};
use holdpoint_engine::skill::Skill;
use serde_json::{Value, json};

use crate::house::House;

const NONE: Flags = Flags {
    allow_writes: false,
    yes: false,
    stage: false,
};

const ALL: Flags = Flags { yes: true, ..NONE };

fn file(steps: &[(&str, &str)]) -> String {
    let front = "---\nname: tidy\ndescription: Tidy up\n---\n".to_owned();
    let steps = (1..).zip(steps).map(|(number, (action, line))| {
        format!("\n### Step {number} — Do it\n- intent: Do it\n- action: {action}\n{line}")
    });
    std::iter::once(front).chain(steps).collect()
}

/// The same file with the hash that anybody can make.
fn approved(action: &str) -> String {
    let skill = Skill::parse(&file(&[(action, "")])).expect("a skill");
    let digest = skill.steps[0].approve_digest();
    file(&[(action, &format!("- approve: {digest}\n"))])
}

/// The house as an agent with these scopes finds it.
async fn as_agent(house: House, scopes: &[&str]) -> House {
    let new = NewKey {
        name: "agent".to_owned(),
        kind: PrincipalKind::Agent,
        owner: house.by.id.clone(),
        scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
        attributes: BTreeMap::new(),
        expires_at: None,
    };
    let made = house.engine.identity().create_key("test", new).await;
    let by = house
        .engine
        .identity()
        .principal(&made.expect("a key").0.id);
    House {
        by: by.expect("who can act"),
        ..house
    }
}

/// Takes the role of requester away.
async fn demote(house: &House, person: &Principal) {
    let change = PersonChange {
        roles: Some(BTreeSet::from([Role::Auditor])),
        ..PersonChange::default()
    };
    let identity = house.engine.identity();
    let changed = identity.change_person("test", &person.id, change).await;
    changed.expect("a change");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_line_of_a_file_lets_out_what_the_scopes_of_the_key_do_not() {
    let house = House::open().await;
    let mut house = as_agent(house, &["runs"]).await;
    let read = "- effect: read\n";
    let cases = [
        (
            file(&[("set_label {\"label\": \"a\"}", read)]),
            "runs:writes",
        ),
        (
            file(&[("remove_label {\"label\": \"b\"}", read)]),
            "runs:writes",
        ),
        (approved("set_label {\"label\": \"c\"}"), "runs:writes"),
        (approved("remove_label {\"label\": \"d\"}"), "runs:writes"),
        (file(&[("delete_all {}", read)]), "runs:writes"),
    ];
    for (text, scope) in &cases {
        let id = house.start(text, NONE).await;
        house.until_status(id, RunStatus::Failed).await;
        let why = house.message(id);
        assert!(
            why.contains("withheld") && why.ends_with(&format!("scope {scope}")),
            "{why}"
        );

        let stage = Flags {
            stage: true,
            ..NONE
        };
        let id = house.start(text, stage).await;
        house.until_status(id, RunStatus::Waiting).await;
    }
    house = as_agent_again(house, &["runs", "runs:writes"]).await;
    let id = house.start(&cases[1].0, NONE).await;
    house.until_status(id, RunStatus::Failed).await;
    assert!(house.message(id).ends_with("scope runs:destructive"));
    assert_eq!((house.done("label"), house.done("remove")), (0, 0));
    let id = house.start(&cases[0].0, NONE).await;
    house.until_status(id, RunStatus::Passed).await;
    assert_eq!(house.done("label"), 1, "what the scopes cover goes");
}

async fn as_agent_again(house: House, scopes: &[&str]) -> House {
    let owner = house.by.owner.clone().expect("an owner");
    let by = house.engine.identity().principal(&owner).expect("a person");
    as_agent(House { by, ..house }, scopes).await
}

#[tokio::test(flavor = "multi_thread")]
async fn i18_a_role_that_is_taken_away_stops_the_steps_that_follow_after_a_restart_too() {
    let text = file(&[
        ("delete_all {}", ""),
        ("remove_label {\"label\": \"x\"}", ""),
    ]);
    for dies in [false, true] {
        let mut house = House::open().await;
        let id = house.start(&text, ALL).await;
        house.until_status(id, RunStatus::Waiting).await;
        demote(&house, &house.by).await;
        if dies {
            house = house.die_and_start(Workflows::default()).await;
            house.until_status(id, RunStatus::Waiting).await;
        }
        house.vote(house.waiting(id), Vote::Approve).await;
        house.until_status(id, RunStatus::Failed).await;
        let why = house.message(id);
        assert!(why.starts_with("step 2: withheld"), "{why}");
        assert!(why.contains("the role requester"), "{why}");
        assert_eq!(house.done("remove"), 1, "only what people approved");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i18_code_makes_no_call_for_somebody_who_may_start_no_runs_any_more() {
    let code = Workflows::default().with("tidy", 1, async |ctx: Context, _: Value| {
        ctx.wait_for("go").await;
        Ok(ctx.call("set_label", json!({ "label": "a" })).await?)
    });
    let house = House::with(code).await;
    let id = house.call("tidy", Value::Null).await;
    house.until_status(id, RunStatus::Waiting).await;
    demote(&house, &house.by).await;
    house.send(id, "go", Value::Null).await.expect("it is sent");
    house.until_status(id, RunStatus::Failed).await;
    let why = house.message(id);
    assert!(why.contains("the role requester"), "{why}");
    assert_eq!(house.done("label"), 0);
}
