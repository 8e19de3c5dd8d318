//! Runs on a store that has no room for a moment.

use std::sync::Arc;

use holdpoint_engine::run::RunStatus;
use holdpoint_engine::run::code::{Context, Failure, Workflows};
use holdpoint_storage::MemoryLog;
use holdpoint_storage::faulty::{Fault, FaultyLog};
use serde_json::{Value, json};

use crate::house::House;
use crate::world::World;

fn workflows() -> Workflows {
    Workflows::default().with("w", 1, async |ctx: Context, (): ()| {
        ctx.wait_for("go").await;
        ctx.call("set_label", json!({}))
            .await
            .map_err(Failure::from)
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_goes_on_when_there_is_room_again_whatever_it_was_about_to_write() {
    // The event, its taking, the step, the action, the call, its outcome, the end of the step.
    for after in 1..8 {
        let log = Arc::new(MemoryLog::new());
        let faulty = Arc::new(FaultyLog::new(log.clone()));
        let house = House::on(log, faulty.clone(), World::default().into(), workflows()).await;
        let id = house.call("w", Value::Null).await;
        house.until_status(id, RunStatus::Waiting).await;
        faulty.fail_after(after, Fault::Full);
        house.send(id, "go", Value::Null).await.expect("it is sent");
        house.until_status(id, RunStatus::Passed).await;
        assert_eq!(house.done("label"), 1, "after {after}");
    }
}
