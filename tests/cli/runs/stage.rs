//! Steps that are put before people: a folder with a run that waits is handed to a server.

use serde_json::{Value, json};

use super::goes_on::wait_until;
use super::web::Web;
use super::{FRONT, id, receipt, removal};
use crate::support::{Place, Run, Server};

const APPROVER: &str = "bob@example.com";
const AUDITOR: &str = "eve@example.com";

/// A place with people in the folder of its runs, where a run waits.
struct Staged {
    place: Place,
    run: String,
}

impl Staged {
    /// `tools` are those of the tools file.
    fn begin(web: &Web, tools: &Value, skill: &str) -> Self {
        let place = Place::new();
        let server = json!({ "data": "holdpoint-runs", "runHttpTools": true, "allowRanges": ["127.0.0.0/8"] });
        let file = json!({ "tools": tools, "server": server });
        place.write("holdpoint.json", &file.to_string());
        place.write("SKILL.md", skill);
        place.add_person(APPROVER, "approver");
        place.add_person(AUDITOR, "auditor");
        let told = receipt(&place.run(&["run", "SKILL.md", "--stage", "--json"]).code(5));
        assert_eq!(told["steps"][0]["outcome"], "waiting");
        assert_eq!(told["steps"][0]["approval"], "waiting");
        assert!(web.calls().is_empty());
        Self {
            place,
            run: id(&told).to_owned(),
        }
    }

    /// Serves the folder, decides on the action as `decision` says, and waits until the run is over.
    fn decide(&self, decision: impl Fn(&Value) -> Vec<String>) {
        let server = Server::start(&self.place, &[]);
        let through = |token: &str, args: &[&str]| -> Run {
            let env = [
                ("HOLDPOINT_SERVER", server.url.as_str()),
                ("HOLDPOINT_TOKEN_FILE", token),
            ];
            self.place.run_with(args, &env)
        };
        for who in [APPROVER, AUDITOR] {
            through(who, &["login", who, "--password-file", "pw"]).ok();
        }
        let ls = ["actions", "ls", "--status", "staged", "--json"];
        let action = through(APPROVER, &ls).json()["data"][0].clone();
        assert_eq!(
            action["labels"]["run"],
            self.run.as_str(),
            "it says whose step it is"
        );
        let args = decision(&action);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        through(APPROVER, &args);
        wait_until("the run goes on by itself", || {
            let tail = ["events", "tail", "--json", "--limit", "200"];
            through(AUDITOR, &tail).ok().contains("run.ended")
        });
        server.stop();
    }

    /// The receipt, after checking how the run ended.
    fn ended(&self, code: i32) -> Value {
        let show = ["runs", "show", &self.run, "--json"];
        receipt(&self.place.run(&show).code(code))
    }
}

/// What approves exactly what was shown.
pub(super) fn approve(action: &Value) -> Vec<String> {
    let mut args: Vec<String> = ["actions", "approve"].map(str::to_owned).into();
    args.push(text(action, "/id"));
    args.extend(["--yes", "--digest"].map(str::to_owned));
    args.push(text(action, "/digest"));
    if action.pointer("/snapshot/digest").is_some() {
        args.push("--snapshot-digest".to_owned());
        args.push(text(action, "/snapshot/digest"));
    }
    args
}

fn text(action: &Value, pointer: &str) -> String {
    let value = action.pointer(pointer).and_then(Value::as_str);
    value
        .unwrap_or_else(|| panic!("{pointer} in {action}"))
        .to_owned()
}

#[test]
fn a_staged_run_goes_on_by_itself_where_people_approve() {
    let web = Web::open();
    let staged = Staged::begin(&web, &json!({}), &removal(&web));
    staged.decide(approve);
    let told = staged.ended(0);
    assert_eq!((&told["passed"], web.calls().len()), (&json!(true), 1));
    let step = &told["steps"][0];
    assert_eq!(
        (&step["number"], &step["approval"]),
        (&json!(1), &json!("approved"))
    );
}

#[test]
fn a_rejected_run_ends_with_3_and_the_reason() {
    let web = Web::open();
    let staged = Staged::begin(&web, &json!({}), &removal(&web));
    staged.decide(|action| {
        let reject = [
            "actions",
            "reject",
            &text(action, "/id"),
            "--reason",
            "keep it",
        ];
        reject.map(str::to_owned).into()
    });
    let told = staged.ended(3);
    assert_eq!(told["steps"][0]["approval"], "rejected");
    let message = told["message"].as_str().expect("why");
    assert!(message.contains("keep it"), "{message}");
    assert!(web.calls().is_empty());
}

#[test]
fn a_run_behind_which_the_world_moved_ends_with_6() {
    let web = Web::open();
    let tools = json!({ "set_price": {
        "safetyClass": "write-once-checkable",
        "state": { "http": { "get": format!("{}/order", web.address) }, "watch": ["/left"] },
        "execute": { "http": { "post": format!("{}/price", web.address), "json": { "p": "{p}" } } },
    } });
    let skill = format!(
        "{FRONT}\n### Step 1 — Set it\n- intent: Make it cheaper\n- action: set_price {{\"p\": 3}}\n- assert: json.ok == true\n"
    );
    let staged = Staged::begin(&web, &tools, &skill);
    staged.decide(|action| {
        web.set_left(7);
        approve(action)
    });
    let told = staged.ended(6);
    assert_eq!(told["steps"][0]["outcome"], "replan_required");
    assert!(web.calls().is_empty());
}
