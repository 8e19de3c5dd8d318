//! `holdpoint run` and `holdpoint runs`: skill files, run by the real program against real servers.

mod files;
mod gate;
mod goes_on;
mod kills;
mod model;
mod secrets;
mod server;
mod stage;
mod web;

use serde_json::Value;

use crate::support::{Place, Run};
use web::Web;

/// The header of a skill file without inputs.
const FRONT: &str = "---\nname: release-note\ndescription: Tell the team about a release\n---\n";

/// Two steps: read a version from one server, send it to another.
fn release(registry: &Web, hook: &Web) -> String {
    format!(
        "{FRONT}
### Step 1 — Read the version
- intent: Find out which version is the newest
- action: http.get {{\"url\": \"{}/version\"}}
- assert: status == 200
- assert: json.version is string
- bind: version = json.version
- bind: size = json.size

### Step 2 — Tell the team
- intent: Post it to the chat
- action: http.post {{\"url\": \"{}/hook\", \"body\": {{\"text\": \"v{{{{version}}}} is out\", \"size\": \"{{{{size}}}}\"}}}}
- effect: idempotent-write
- assert: status == 200
",
        registry.address, hook.address
    )
}

/// One step that removes something.
fn removal(web: &Web) -> String {
    format!(
        "{FRONT}\n### Step 1 — Remove the old one\n- intent: Nobody needs it\n- action: http.delete {{\"url\": \"{}/old\"}}\n- assert: status == 200\n",
        web.address
    )
}

/// The receipt that a run printed as JSON.
fn receipt(run: &Run) -> Value {
    serde_json::from_str(&run.out).unwrap_or_else(|error| panic!("{error}: {run:?}"))
}

/// The id of the run in a receipt.
fn id(receipt: &Value) -> &str {
    receipt["run"].as_str().expect("an id")
}

/// Every text that a folder holds below it has none of this.
fn assert_nowhere(place: &Place, folder: &str, secret: &str) {
    for path in crate::support::files_below(&place.path(folder)) {
        let bytes = std::fs::read(&path).expect("readable");
        let found = String::from_utf8_lossy(&bytes).contains(secret);
        assert!(!found, "{} holds the secret", path.display());
    }
}
