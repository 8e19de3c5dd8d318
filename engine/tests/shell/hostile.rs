//! Targets that do the work and answer badly, or do not and answer well (faults N1 to N4): one effect
//! for each key, no doubt guessed away, and no claim that is not so.

mod answers;
mod doubts;
mod house;
mod manners;
mod rows;
mod run;
mod score;

use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;

use holdpoint_engine::action::{FailReason, Phase};
use holdpoint_storage::{EventLog, MemoryLog};
use serde_json::{Value, json};

use crate::world::{ManualClock, Scene, Shop, open};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn i02_i10_i25_no_target_however_hostile_makes_it_happen_twice_or_be_told_wrong() {
    let run = run::Run::begin(rows::rows()).await;
    let score = run.end().await;
    writeln!(std::io::stderr(), "{score}").expect("a line");
    assert!(40 <= score.manners, "{score}");
    assert_eq!(score.duplicates, 0, "{score}");
    assert_eq!((score.wrong_done, score.wrong_not_done), (0, 0), "{score}");
    assert!(0 < score.by_machine && 0 < score.by_person, "{score}");
}

#[tokio::test(flavor = "multi_thread")]
async fn i02_i10_what_takes_effect_late_is_waited_for_and_not_sent_again() {
    let score = run::Run::begin(rows::late()).await.end().await;
    assert!(3 <= score.manners && 0 < score.by_machine, "{score}");
}

fn tool(address: SocketAddr) -> Value {
    json!({
        "safetyClass": "irreversible",
        "execute": {
            "http": { "post": format!("http://{address}/0/pay"), "json": { "a": "{a}" } },
            "timeout": "30s",
            "result": { "type": "object", "required": ["id"] },
        },
    })
}

/// Every byte that the log holds.
fn all_bytes(log: &dyn EventLog) -> Vec<u8> {
    let records = log.read_all(0, 10_000).expect("the records");
    records.into_iter().flat_map(|record| record.body).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn i16_a_target_that_repeats_our_credential_does_not_bring_it_into_the_log() {
    const CANARY: &str = "canary-b7f1e0c2d9";
    let folder = tempfile::tempdir().expect("a folder");
    let secret = folder.path().join("token");
    std::fs::write(&secret, format!("{CANARY}\n")).expect("a secret");
    for (status, quoted) in [
        ("200 OK", true),
        ("200 OK", false),
        ("400 No", true),
        ("500 Oh", false),
    ] {
        let body = if quoted {
            format!("{{\"id\":1,\"headers\":{{\"authorization\":\"Bearer {CANARY}\"}}}}")
        } else {
            format!("you sent Bearer {CANARY}")
        };
        let length = body.len();
        let first = format!(
            "HTTP/1.1 {status}\r\netag: \"{CANARY}\"\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        let house = house::House::new(ManualClock::new());
        let address = house.door(Arc::new(manners::echo(first)));
        let mut echo = tool(address);
        echo["execute"]["http"]["auth"] =
            json!({ "bearer": { "file": secret.to_str().expect("a path") } });
        let log: Arc<MemoryLog> = Arc::new(MemoryLog::new());
        let engine = open(log.clone(), &json!({ "tools": { "echo": echo } }), None).await;
        let scene = Scene {
            shop: Shop::open().await,
            engine,
            log,
            clock: None,
        };
        let view = scene.submit("echo", json!({ "a": 1 })).await;
        let ended = scene
            .until_that(view.action.id, |view| {
                view.action
                    .attempts
                    .iter()
                    .any(|attempt| attempt.result.is_some())
            })
            .await;
        let told = format!("{:?}", ended.action);
        assert!(!told.contains(CANARY), "{told}");
        let bytes = all_bytes(scene.log.as_ref());
        let found = bytes
            .windows(CANARY.len())
            .any(|part| part == CANARY.as_bytes());
        assert!(!found, "{status}: the log holds the credential");
        if let Phase::Failed(FailReason::TargetRefused { answer }) = &ended.action.phase {
            assert!(
                answer.as_str().contains("id"),
                "the rest is kept: {answer:?}"
            );
        }
    }
}
