//! Steps that are put before people.

use super::goes_on::wait_until;
use super::web::Web;
use super::{receipt, removal};
use crate::support::{Place, Server};

const ADMIN: &str = "ada@example.com";
const APPROVER: &str = "bob@example.com";

/// A folder with people in it, and a tools file that has nothing but what runs have.
fn place() -> Place {
    let place = Place::new();
    place.write(
        "holdpoint.json",
        r#"{ "tools": {}, "server": { "data": "holdpoint-runs", "runHttpTools": true, "allowRanges": ["127.0.0.0/8"] } }"#,
    );
    place.add_person(ADMIN, "admin");
    place.add_person(APPROVER, "approver");
    place
}

fn sign_in(place: &Place, server: &Server) {
    let args = [
        "login",
        APPROVER,
        "--password-file",
        "pw",
        "--server",
        &server.url,
        "--token-file",
        "bob",
    ];
    place.run(&args).ok();
}

/// The action that waits for people.
fn staged(place: &Place, server: &Server) -> serde_json::Value {
    let args = [
        "actions",
        "ls",
        "--status",
        "staged",
        "--json",
        "--server",
        &server.url,
        "--token-file",
        "bob",
    ];
    let page = place.run(&args).json();
    page["data"][0].clone()
}

#[test]
fn a_staged_run_of_a_folder_goes_on_by_itself_where_people_approve() {
    let (place, web) = (place(), Web::open());
    place.write("SKILL.md", &removal(&web));
    let run = place.run(&["run", "SKILL.md", "--stage", "--json"]).code(5);
    let told = receipt(&run);
    assert_eq!(
        (web.connections(), &told["steps"][0]["outcome"]),
        (0, &"waiting".into())
    );

    let server = Server::start(&place, &[]);
    sign_in(&place, &server);
    let action = staged(&place, &server);
    assert_eq!(action["labels"]["run"], told["run"]);
    let text = |pointer: &str| action.pointer(pointer).and_then(|value| value.as_str());
    let args = [
        "actions",
        "approve",
        text("/id").expect("an id"),
        "--yes",
        "--digest",
        text("/digest").expect("a digest"),
        "--server",
        &server.url,
        "--token-file",
        "bob",
    ];
    place.run(&args).code(0);
    wait_until("the step is made", || web.calls().len() == 1);
    server.stop();
    let shown = receipt(
        &place
            .run(&["runs", "show", super::id(&told), "--json"])
            .code(0),
    );
    assert_eq!(shown["passed"], true);
}
