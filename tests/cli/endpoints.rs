//! Webhook endpoints that need somebody: what the doctor says of them, and what the way on is.

use crate::support::{Place, Run, Server};
use crate::webhooks::{Receiver, add, place, sign_in, submit, until};

/// Nobody listens there.
const NOWHERE: &str = "http://127.0.0.1:9/";

fn said(found: &Run) -> String {
    let lines = found.out.lines();
    let from = lines.skip_while(|line| !line.contains("webhooks"));
    from.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_doctor_calls_nothing_good_that_it_did_not_look_at() {
    let place = place();
    place.add_person("olga@example.com", "operator");
    let (id, _) = add(&place, NOWHERE);
    let disable = ["webhooks", "disable", &id, "--reason", "a move"];
    place.run(&disable).ok();
    let server = Server::start(&place, &[]);
    submit(&place, &server, 1);
    let at = ["--server", server.url.as_str(), "--token-file"];
    let login = ["login", "olga@example.com", "--password-file", "pw"];
    place.run(&[&login[..], &at, &["olga"]].concat()).ok();
    let as_operator = place.run(&[&["doctor"][..], &at, &["olga"]].concat());
    let told = said(&as_operator);
    assert!(told.contains("is disabled since"), "{}", as_operator.out);
    let as_service = place.run(&[&["doctor"][..], &at, &["key"]].concat());
    let told = said(&as_service);
    assert!(told.contains("not looked at"), "{}", as_service.out);
    let listed = place.run(&[&["webhooks", "ls"][..], &at, &["key"]].concat());
    assert!(listed.err.contains("that you may see"), "{listed:?}");
    server.stop();
    place.run(&["export", "log.jsonl"]).ok();
    place.run(&["import", "log.jsonl", "--data", "other"]).ok();
    let found = place.run(&["doctor", "--data", "other"]);
    let mut lines = found
        .out
        .lines()
        .filter(|line| line.contains("not looked at: the folder"));
    for what in ["actions", "webhooks"] {
        let line = lines.next().unwrap_or_default();
        assert!(
            line.starts_with("warning") && line.contains(what),
            "{}",
            found.out
        );
    }
}

fn change(place: &Place, id: &str, args: &[&str]) -> Run {
    place.run(&[&["webhooks", "change", id], args].concat())
}

#[test]
fn what_an_endpoint_hears_and_where_can_be_changed_in_the_folder() {
    let place = place();
    let (id, _) = add(&place, NOWHERE);
    let nothing = change(&place, &id, &[]).code(2);
    assert!(nothing.err.contains("--url"), "{}", nothing.err);
    let both = change(&place, &id, &["--type", "action.approved", "--all-types"]);
    both.code(2);
    let wrong = change(&place, &id, &["--url", "http://example.com/"]).code(2);
    assert!(wrong.err.contains("https://"), "{}", wrong.err);
    let args = [
        "--name",
        "parcels",
        "--type",
        "action.approved",
        "--tool",
        "pay",
    ];
    let shown = change(
        &place,
        &id,
        &[&args[..], &["--reason", "as agreed"]].concat(),
    )
    .ok();
    for words in ["parcels", NOWHERE, "action.approved", "pay"] {
        assert!(shown.contains(words), "{shown}");
    }
    let json = [
        "--all-types",
        "--url",
        "https://orders.example.com/",
        "--json",
    ];
    let changed = change(&place, &id, &json).json();
    assert_eq!(changed["types"].as_array().map(Vec::len), Some(0));
    assert_eq!(changed["tools"][0], "pay");
    assert_eq!(changed["url"], "https://orders.example.com/");
    let unknown = "whk_00000000000000000000000000000000";
    let missing = change(&place, unknown, &["--name", "x"]).code(1);
    assert!(missing.err.contains("webhooks ls"), "{}", missing.err);
}

#[test]
fn the_doctor_tells_of_endpoints_that_hear_nothing_and_what_to_do() {
    let (place, receiver) = (place(), Receiver::open());
    let found = place.run(&["doctor"]);
    assert!(said(&found).contains("no endpoint"), "{}", found.out);
    let (id, _) = add(&place, NOWHERE);
    let found = place.run(&["doctor"]);
    assert!(said(&found).contains("1 endpoint, none"), "{}", found.out);

    let server = Server::start(&place, &[]);
    sign_in(&place, &server);
    let at = ["--server", server.url.as_str(), "--token-file", "ada"];
    let run = |args: &[&str]| place.run(&[args, &at].concat());
    submit(&place, &server, 1);
    until("a first attempt", || {
        !run(&["webhooks", "show", &id, "--json"]).json()["trying"].is_null()
    });
    let told = said(&run(&["doctor"]));
    assert!(
        told.contains("orders") && told.contains("falls behind"),
        "{told}"
    );
    assert!(told.contains("webhooks deliveries"), "{told}");
    // The way that it names is one.
    let moved = run(&["webhooks", "change", &id, "--url", &receiver.url]).ok();
    assert!(moved.contains(&receiver.url), "{moved}");
    let tested = run(&["webhooks", "test", &id]).ok();
    assert!(tested.contains("delivered"), "{tested}");
    run(&["webhooks", "disable", &id, "--reason", "a move"]).ok();
    let told = said(&run(&["doctor"]));
    assert!(
        told.contains("is disabled since") && told.contains("a move"),
        "{told}"
    );
    server.stop();
    let told = said(&place.run(&["doctor"]));
    assert!(told.contains("is disabled since"), "{told}");
    assert!(told.contains(&format!("webhooks enable {id}")), "{told}");
}
