//! A house in trouble: what operators and administrators are called for.

use std::collections::BTreeMap;
use std::time::Duration;

use holdpoint_engine::action::ActionId;
use holdpoint_engine::engine::{ClaimWish, Submission, Submitted};
use holdpoint_engine::identity::Principal;
use holdpoint_engine::time::{Clock as _, SystemClock};
use holdpoint_engine::webhook::NewEndpoint;
use serde_json::{Value, json};

use crate::house::House;

/// One action of each kind.
pub(crate) struct Trouble {
    /// The call went out, and nobody knows what came of it.
    pub(crate) unknown: ActionId,
    /// A worker has it.
    pub(crate) leased: ActionId,
    /// It may not be called before tomorrow.
    pub(crate) scheduled: ActionId,
}

impl House {
    /// Makes trouble: an unknown outcome, a lease, a schedule, and an endpoint that is disabled.
    pub(crate) async fn trouble(&self) -> Trouble {
        let root = self.root();
        let new = NewEndpoint {
            name: "ledger of the finance department".to_owned(),
            url: "https://ledger.example.com/hooks/holdpoint".to_owned(),
            ..NewEndpoint::default()
        };
        let made = self.engine.create_webhook(&root, new).await;
        let (endpoint, _) = made.expect("an endpoint");
        let reason = "it moves to another machine";
        let disabled = self.engine.disable_webhook(&root, endpoint.id, reason);
        disabled.await.expect("disabled");
        let id = "DE-7710-0000-4821-9937-long-names-must-wrap-on-a-telephone";
        let unknown = self.ask("close_account", json!({ "id": id }), false).await;
        let leased = self.ask("ship", json!({ "order_id": "8815" }), false).await;
        let wish = ClaimWish {
            tools: vec!["ship".to_owned()],
            lease: Some(Duration::from_hours(1)),
            wait: Duration::from_secs(10),
            request_key: None,
        };
        let work = self.engine.claim(&self.service, wish).await;
        assert!(work.expect("allowed").is_some(), "there is work");
        let args = json!({ "order_id": "8816", "refund_ref": "later", "amount_minor": 1900,
            "currency": "EUR" });
        let scheduled = self.ask("issue_refund", args, true).await;
        Trouble {
            unknown,
            leased,
            scheduled,
        }
    }

    /// Lets the administrator pause everything.
    pub(crate) async fn pause(&self) {
        let reason = "the payment provider has an incident; see the status page before you resume";
        let paused = self.engine.pause(&self.root(), reason).await;
        paused.expect("paused");
    }

    fn root(&self) -> Principal {
        let identity = self.engine.identity();
        let root = identity.person_by_email("root@example.com").expect("root");
        identity.principal(&root.id).expect("enabled")
    }

    async fn ask(&self, tool: &str, args: Value, later: bool) -> ActionId {
        let submission = Submission {
            tool: tool.to_owned(),
            args,
            reason: None,
            labels: BTreeMap::new(),
            expires_in: None,
            not_before: later.then(|| SystemClock.now().plus(Duration::from_hours(20))),
            request_key: None,
        };
        match self.engine.submit(&self.service, submission).await {
            Ok(Submitted::Action { action, .. }) => action.action.id,
            other => panic!("it is recorded: {other:?}"),
        }
    }
}
