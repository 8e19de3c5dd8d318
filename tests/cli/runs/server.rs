//! Runs on a server: the same receipts, and exit codes that say how people decided.

use serde_json::{Value, json};

use super::goes_on::{end, spawn, wait_until};
use super::web::Web;
use super::{FRONT, id, receipt, release, removal};
use crate::support::{Place, Run, Server};

const REQUESTER: &str = "rita@example.com";
const APPROVER: &str = "bob@example.com";

/// A server that runs skill files, with Rita who starts runs and Bob who decides.
struct House {
    place: Place,
    server: Server,
}

impl House {
    fn open(tools: &Value, skill: &str) -> Self {
        let place = Place::new();
        let server = json!({ "runHttpTools": true, "allowRanges": ["127.0.0.0/8"] });
        let file = json!({ "tools": tools, "server": server });
        place.write("holdpoint.json", &file.to_string());
        place.write("SKILL.md", skill);
        place.add_person(REQUESTER, "requester");
        place.add_person(APPROVER, "approver");
        let server = Server::start(&place, &[]);
        let house = Self { place, server };
        for who in [REQUESTER, APPROVER] {
            house
                .through(who, &["login", who, "--password-file", "pw"])
                .ok();
        }
        house
    }

    fn through(&self, token: &str, args: &[&str]) -> Run {
        let env = [
            ("HOLDPOINT_SERVER", self.server.url.as_str()),
            ("HOLDPOINT_TOKEN_FILE", token),
        ];
        self.place.run_with(args, &env)
    }

    /// Arguments that go to the server, as Rita.
    fn args<'a>(&'a self, args: &[&'a str]) -> Vec<&'a str> {
        let server = ["--server", &self.server.url, "--token-file", REQUESTER];
        [args, &server].concat()
    }

    fn run(&self, args: &[&str]) -> Run {
        self.place.run(&self.args(args))
    }

    /// Decides on the action that waits.
    fn decide(&self, decision: impl Fn(&Value) -> Vec<String>) {
        let ls = ["actions", "ls", "--status", "staged", "--json"];
        let staged = || self.through(APPROVER, &ls).json()["data"][0].clone();
        wait_until("an action waits", || !staged().is_null());
        let args = decision(&staged());
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        self.through(APPROVER, &args);
    }
}

#[test]
fn a_run_on_a_server_has_the_same_receipt_and_goes_on_with_more_flags() {
    let web = Web::open();
    let house = House::open(&json!({}), &release(&web, &web));
    let run = house.run(&["run", "SKILL.md"]).code(1);
    for part in [
        "effects: read=1 idempotent-write=1 destructive=0",
        "✓ Step 1 — Read the version [passed]",
        "⊘ Step 2 — Tell the team [withheld] 0 ms",
        "\"text\": \"v1.2.3 is out\"",
    ] {
        assert!(run.out.contains(part), "{part}: {}", run.out);
    }
    assert!(web.calls().is_empty());
    let told = receipt(&house.run(&["run", "SKILL.md", "--json"]).code(1));
    let args = ["run", "--resume", id(&told), "--allow-writes", "--json"];
    let again = receipt(&house.run(&args).code(0));
    assert_eq!(
        (&again["run"], &again["passed"]),
        (&told["run"], &json!(true))
    );
    assert_eq!(web.calls().len(), 1);
    let shown = receipt(&house.run(&["runs", "show", id(&told), "--json"]).code(0));
    assert_eq!(shown["steps"], again["steps"]);
    let page = house
        .run(&["runs", "ls", "--status", "passed", "--json"])
        .json();
    assert_eq!(page["data"][0]["id"], told["run"]);
    house.run(&["run", "SKILL.md", "--var", "x=1"]).code(2);
}

#[test]
fn whoever_waits_for_a_staged_run_learns_how_it_ended() {
    let web = Web::open();
    let tools = json!({ "set_price": {
        "safetyClass": "write-once-checkable",
        "state": { "http": { "get": format!("{}/order", web.address) }, "watch": ["/left"] },
        "execute": { "http": { "post": format!("{}/price", web.address), "json": { "p": "{p}" } } },
    } });
    let house = House::open(&tools, &removal(&web));
    let stage = |decision: &dyn Fn(&Value) -> Vec<String>| {
        let child = spawn(
            &house.place,
            &house.args(&["run", "SKILL.md", "--stage", "--wait=5m"]),
        );
        house.decide(decision);
        end(child)
    };
    let approved = stage(&super::stage::approve);
    assert_eq!((approved.code, web.calls().len()), (0, 1), "{approved:?}");
    let rejected = stage(&|action| {
        let id = action["id"].as_str().expect("an id");
        ["actions", "reject", id, "--reason", "keep it"]
            .map(str::to_owned)
            .into()
    });
    assert_eq!(rejected.code, 3, "{rejected:?}");
    assert!(rejected.out.contains("keep it"), "{}", rejected.out);

    let skill = "\n### Step 1 — Set it\n- intent: Make it cheaper\n- action: set_price {\"p\": 3}\n- assert: json.ok == true\n";
    house.place.write("SKILL.md", &format!("{FRONT}{skill}"));
    let moved = stage(&|action| {
        web.set_left(7);
        super::stage::approve(action)
    });
    assert_eq!((moved.code, web.calls().len()), (6, 1), "{moved:?}");
}

#[test]
fn a_run_that_nobody_waits_for_says_where_it_is_and_is_called_off_over_the_api() {
    let web = Web::open();
    let house = House::open(&json!({}), &removal(&web));
    let run = house
        .run(&["run", "SKILL.md", "--stage", "--detach", "--json"])
        .code(5);
    let told = receipt(&run);
    let place = format!("{}/runs/{}", house.server.url, id(&told));
    assert!(run.err.contains(&place), "{}", run.err);
    let late = house
        .run(&["run", "SKILL.md", "--stage", "--wait=1s"])
        .code(5);
    assert!(late.out.contains("[waiting]"), "{}", late.out);
    let off = house.run(&["runs", "cancel", id(&told), "--reason", "not today"]);
    assert!(off.code(1).out.contains("[cancelled]"));
    let show = ["runs", "show", id(&told), "--json"];
    wait_until("it is over", || {
        receipt(&house.run(&show))["status"] == "cancelled"
    });
    assert!(web.calls().is_empty());
}

#[test]
fn a_pause_that_holds_a_run_is_named_to_whoever_waits_for_it_or_looks_at_it() {
    let web = Web::open();
    let House { place, server } = House::open(&json!({}), &release(&web, &web));
    server.stop();
    let reason = "the shop is being moved";
    place.run(&["pause", "--reason", reason]).ok();
    let server = Server::start(&place, &[]);
    let house = House { place, server };
    let run = house.run(&["run", "SKILL.md", "--detach", "--json"]);
    let told = receipt(&run);
    let waited = ["run", "SKILL.md", "--wait=1s"];
    for (told, code) in [
        (run, 5),
        (house.run(&waited), 5),
        (house.run(&[&waited[..], &["--json"]].concat()), 5),
        (house.run(&["runs", "show", id(&told)]), 0),
    ] {
        let told = told.code(code).err;
        assert!(told.contains("nothing new is sent"), "{told}");
        assert_eq!(told.matches(reason).count(), 1, "{told}");
    }
    assert_eq!(web.requests(), 0);
}

#[test]
fn a_schedule_takes_its_file_and_its_variables_as_a_run_does() {
    let web = Web::open();
    let house = House::open(&json!({}), &removal(&web));
    let front = FRONT.replace(
        "description",
        "inputs: {\"version\": {\"required\": true}}\ndescription",
    );
    let text = removal(&web).replace(FRONT, &front);
    let text = text.replace("/old", "/{{version}}");
    house.place.write("SKILL.md", &text);
    house.place.write(
        "bad.md",
        &text
            .replace("- intent", "- intnt")
            .replace("status == 200", "status = 200"),
    );
    let add = |file: &str, cron: &str, var: &str| {
        house.run(&[
            "schedules",
            "add",
            file,
            "--name",
            "yearly",
            "--cron",
            cron,
            "--var",
            var,
            "--json",
        ])
    };
    let made = add("SKILL.md", "0 0 1 1 *", "version=1.10").code(0).json();
    let id = made["id"].as_str().expect("an id");
    let run = house
        .run(&["schedules", "run", id, "--json"])
        .code(0)
        .json();
    let show = ["runs", "show", run["id"].as_str().expect("an id"), "--json"];
    wait_until("it is over", || {
        receipt(&house.run(&show))["status"] == "failed"
    });
    let withheld = receipt(&house.run(&show))["steps"][0]["withheld"].clone();
    assert_eq!(withheld["args"]["url"], format!("{}/1.10", web.address));
    for (file, cron, var, words) in [
        (
            "bad.md",
            "0 0 1 1 *",
            "version=1.10",
            &["bad.md:8:3", "bad.md:10:11"][..],
        ),
        ("missing.md", "0 0 1 1 *", "version=1.10", &["missing.md"]),
        ("SKILL.md", "0 0 30 2 *", "version=1.10", &["never due"]),
        (
            "SKILL.md",
            "0 0 1 1 *",
            "versoin=1.10",
            &["is not one of this skill", "is required"],
        ),
    ] {
        let refused = add(file, cron, var).code(2);
        for words in words {
            assert!(refused.err.contains(words), "{words}: {}", refused.err);
        }
    }
}
