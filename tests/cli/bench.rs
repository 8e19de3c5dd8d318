//! `bench` against a running server. Nothing here says how fast it is.

use serde_json::Value;

use crate::support::{PASSWORD, Place, Run, Server, Shop};

const APPROVER: &str = "bob@example.com";
const ARGS: &str = "{\"order_id\":\"o1\",\"amount\":1,\"ref\":\"{n}\"}";

/// A place with people and a key in the file `key`, a shop, and a server that allows so many requests.
fn begin(requests_per_second: &str) -> (Place, Shop, Server) {
    let (place, shop) = (Place::new(), Shop::open());
    place.write("holdpoint.json", &shop.tools());
    place.add_person("ada@example.com", "admin");
    place.add_person(APPROVER, "approver");
    place.create_key("ada@example.com");
    let limit = ["--requests-per-second", requests_per_second];
    let server = Server::start(&place, &limit);
    (place, shop, server)
}

fn bench(place: &Place, server: &Server, more: &[&str]) -> Run {
    let args = [
        "bench",
        "--quick",
        "--json",
        "--server",
        &server.url,
        "--token-file",
        "key",
    ];
    place.run(&[&args[..], more].concat())
}

/// How many actions wait.
fn waiting(place: &Place, server: &Server) -> usize {
    let args = [
        "actions",
        "ls",
        "--json",
        "--status",
        "staged",
        "--server",
        &server.url,
        "--token-file",
        "key",
    ];
    let list = place.run(&args).code(0).json();
    list.pointer("/data")
        .and_then(Value::as_array)
        .map_or(0, Vec::len)
}

#[test]
fn a_running_server_is_measured_and_nothing_is_left_waiting() {
    let (place, shop, server) = begin("1000000");
    place.write("pw", PASSWORD);
    let login = [
        "login",
        APPROVER,
        "--password-file",
        "pw",
        "--server",
        &server.url,
        "--token-file",
        "bob",
    ];
    place.run(&login).ok();
    let more = [
        "--tool",
        "issue_refund",
        "--args",
        ARGS,
        "--approver-token-file",
        "bob",
    ];
    let report = bench(&place, &server, &more).code(0).json();
    for figure in [
        "staged_per_second_1",
        "staged_per_second_64",
        "completed_per_second_64",
    ] {
        let value = report.get(figure).and_then(Value::as_f64);
        assert!(
            value.is_some_and(|value| 0.0 < value),
            "{figure} in {report}"
        );
    }
    let succeeded = |name: &str| {
        let count = report.pointer(name).and_then(Value::as_u64);
        count.unwrap_or_else(|| panic!("{name} in {report}"))
    };
    let completed = succeeded("/ends_1/succeeded") + succeeded("/ends_64/succeeded");
    assert_eq!(u64::try_from(shop.refunds().len()), Ok(completed));
    assert_eq!(
        report.get("staged_per_second_64_refused_for_rate"),
        Some(&Value::from(0))
    );
    assert_eq!(waiting(&place, &server), 0);
}

#[test]
fn a_rate_limit_is_not_taken_for_the_speed_of_the_server() {
    let (place, shop, server) = begin("15");
    let run = bench(&place, &server, &["--args", ARGS]).code(0);
    assert!(run.err.contains("refused with 429"), "{}", run.err);
    assert!(run.err.contains("--requests-per-second"), "{}", run.err);
    assert_eq!(shop.refunds().len(), 0, "nobody approved");
}

#[test]
fn equal_arguments_and_other_tools_are_told_apart_from_a_slow_server() {
    let (place, _shop, server) = begin("1000000");
    let equal = [
        "--args",
        "{\"order_id\":\"o1\",\"amount\":1,\"ref\":\"same\"}",
    ];
    let run = bench(&place, &server, &equal).code(1);
    assert!(run.err.contains("{n}"), "{}", run.err);
    let run = bench(&place, &server, &["--tool", "no_such"]).code(2);
    assert!(
        run.err.contains("no_such is not an approval-bound tool"),
        "{}",
        run.err
    );
    let run = place.run(&[
        "bench",
        "--server",
        "https://h.example",
        "--token-file",
        "key",
    ]);
    assert!(run.code(2).err.contains("http://"));
}
