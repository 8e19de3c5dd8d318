//! The process of a run, killed at random moments and gone on with.
//!
//! `HOLDPOINT_RUN_KILLS` sets how often it is killed (12), `HOLDPOINT_SEED` replays the choices; what the
//! operating system does in between stays its own.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;

use super::FRONT;
use super::web::Web;
use crate::random::Random;
use crate::support::Place;

/// How many steps a run has; every other one writes.
const STEPS: usize = 10;

fn skill(web: &Web) -> String {
    let steps = (1..=STEPS).map(|number| {
        let action = if number % 2 == 0 {
            format!(
                "add_note {{\"n\": {number}, \"v\": \"{{{{v{}}}}}\"}}",
                number - 1
            )
        } else {
            format!("http.get {{\"url\": \"{}/version\"}}", web.address)
        };
        let bind = if number % 2 == 0 {
            "- assert: json.ok == true\n".to_owned()
        } else {
            format!("- bind: v{number} = json.version\n")
        };
        format!("\n### Step {number} — Step {number}\n- intent: Go on\n- action: {action}\n{bind}")
    });
    let steps: String = steps.collect();
    format!("{FRONT}{steps}")
}

/// A tool that can be asked whether it happened.
fn tools(web: &Web) -> String {
    let url = &web.address;
    json!({ "tools": { "add_note": {
        "safetyClass": "write-once-checkable",
        "execute": { "http": { "post": format!("{url}/notes"), "json": { "n": "{n}", "v": "{v}" } }, "timeout": "1s" },
        "check": { "http": { "get": format!("{url}/done/{{idempotency_key}}") }, "happened": "body.done == true" },
        "requestLifetime": "1s",
    } } })
    .to_string()
}

fn kills() -> u64 {
    let said = std::env::var("HOLDPOINT_RUN_KILLS").ok();
    said.map_or(12, |text| {
        text.parse().expect("HOLDPOINT_RUN_KILLS is a number")
    })
}

fn seed() -> u64 {
    match std::env::var("HOLDPOINT_SEED") {
        Ok(text) => text.parse().expect("HOLDPOINT_SEED is a number"),
        Err(_) => Random::fresh_seed().expect("the system has random bytes"),
    }
}

/// The newest run that is not over.
fn unfinished(place: &Place) -> Option<String> {
    if !place.path("holdpoint-runs").exists() {
        return None;
    }
    let page = place.run(&["runs", "ls", "--limit", "1", "--json"]).json();
    let run = page["data"].as_array()?.first()?.clone();
    (run["status"] != "passed").then(|| run["id"].as_str().expect("an id").to_owned())
}

#[test]
fn i02_killed_at_any_moment_and_resumed_every_write_of_a_run_arrives_once() {
    let (kills, seed) = (kills(), seed());
    println!("HOLDPOINT_SEED={seed} HOLDPOINT_RUN_KILLS={kills}");
    let mut random = Random::new(seed);
    let (place, web) = (Place::new(), Web::open());
    place.write("SKILL.md", &skill(&web));
    place.write("holdpoint.json", &tools(&web));
    web.slow_down(5);
    let began = Instant::now();
    place.run(&["run", "SKILL.md", "--allow-writes"]).code(0);
    let usual = began.elapsed();
    let mut runs = 1;

    let mut killed = 0;
    while killed < kills {
        let resumed = unfinished(&place);
        let args = match &resumed {
            Some(id) => vec!["run", "--resume", id],
            None => vec!["run", "SKILL.md", "--allow-writes"],
        };
        let mut command = place.command(&args);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the program starts");
        let span = u64::try_from(usual.as_micros()).expect("no long time");
        #[expect(clippy::disallowed_methods, reason = "it is a random moment")]
        std::thread::sleep(Duration::from_micros(random.below(span.max(1))));
        child.kill().expect("it can be killed");
        let was_killed = child.wait().expect("it ends").code().is_none();
        killed += u64::from(was_killed);
    }
    while let Some(id) = unfinished(&place) {
        place.run(&["run", "--resume", &id]).code(0);
    }
    let page = place
        .run(&["runs", "ls", "--limit", "200", "--json"])
        .json();
    let all = page["data"].as_array().expect("runs");
    assert!(all.iter().all(|run| run["status"] == "passed"), "{page}");
    runs = runs.max(all.len());

    let mut keys: BTreeMap<String, usize> = BTreeMap::new();
    let mut steps: BTreeMap<u64, usize> = BTreeMap::new();
    let calls = web.calls();
    for call in &calls {
        *keys.entry(call.key.clone()).or_default() += 1;
        let step = call.body["n"].as_u64().expect("a number, not a text");
        *steps.entry(step).or_default() += 1;
        assert_eq!(call.body["v"], "1.2.3");
    }
    assert!(keys.values().all(|count| *count == 1), "{keys:?}");
    assert!(
        steps.values().all(|count| *count == runs),
        "{runs} runs: {steps:?}"
    );
    assert_eq!(calls.len(), runs * STEPS / 2);
}
