//! Reading, page by page and for changes.

use std::collections::BTreeSet;

use http::HeaderValue;
use serde_json::Value;

use crate::world::{Answer, World, path, vote};

fn ids(answer: &Answer) -> Vec<String> {
    let json = answer.json();
    let data = json["data"].as_array().expect("a page");
    data.iter()
        .map(|one| one["id"].as_str().expect("an id").to_owned())
        .collect()
}

#[tokio::test]
async fn pages_neither_drop_nor_repeat_while_actions_arrive() {
    let world = World::new().await;
    let mut before = BTreeSet::new();
    for _ in 0..7 {
        before.insert(
            world.staged().await["id"]
                .as_str()
                .expect("an id")
                .to_owned(),
        );
    }
    let mut seen = Vec::new();
    let mut next = "/v1/actions?limit=2&status=staged".to_owned();
    loop {
        let page = world.get("auditor", &next).await;
        assert_eq!(page.status, 200, "{}", page.text);
        seen.extend(ids(&page));
        world.staged().await;
        let link = page.header("link").to_owned();
        assert_eq!(link.is_empty(), page.json()["next_cursor"].is_null());
        let Some(rest) = link.strip_prefix('<') else {
            break;
        };
        let (address, rel) = rest.split_once('>').expect("a link");
        assert_eq!(rel, "; rel=\"next\"");
        next = address.to_owned();
    }
    assert_eq!(
        seen.iter().collect::<BTreeSet<_>>().len(),
        seen.len(),
        "something came twice"
    );
    assert!(
        before.iter().all(|id| seen.contains(id)),
        "something was left out"
    );
}

#[tokio::test]
async fn lists_are_filtered_and_show_only_what_the_credential_may_see() {
    let world = World::new().await;
    let action = world.staged().await;
    world.staged().await;
    let order = action["args"]["order_id"].as_str().expect("an order");
    let one = world
        .get(
            "auditor",
            &format!("/v1/actions?label.order_id={order}&tool=issue_refund"),
        )
        .await;
    assert_eq!(ids(&one), [action["id"].as_str().expect("an id")]);
    assert_eq!(ids(&world.get("service", "/v1/actions").await).len(), 2);
    assert_eq!(
        ids(&world.get("owner", "/v1/actions").await).len(),
        2,
        "an owner sees the key's"
    );
    assert_eq!(ids(&world.get("stranger", "/v1/actions").await).len(), 0);
    assert_eq!(
        ids(&world
            .get("auditor", "/v1/actions?status=approved,rejected")
            .await)
        .len(),
        0
    );
}

#[tokio::test]
async fn wrong_parameters_are_refused_by_name() {
    let world = World::new().await;
    for (query, name) in [
        ("statsu=staged", "statsu"),
        ("status=stagd", "status"),
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("limit=1&limit=2", "limit"),
        ("from=yesterday", "from"),
        ("order=up", "order"),
        ("label.=x", "label."),
    ] {
        let answer = world.get("auditor", &format!("/v1/actions?{query}")).await;
        assert_eq!(answer.problem(), (400, "bad_request".into()), "{query}");
        assert_eq!(answer.json()["errors"][0]["pointer"], name, "{query}");
    }
    let answer = world.get("auditor", "/v1/actions?cursor=nonsense").await;
    assert_eq!(answer.problem(), (400, "bad_cursor".into()));
}

#[tokio::test]
async fn an_entity_tag_spares_the_body_until_something_happens() {
    let world = World::new().await;
    let action = world.staged().await;
    let first = world.get("service", &path(&action)).await;
    let tag = HeaderValue::from_str(first.header("etag")).expect("a tag");
    let known = || {
        let mut request = world.request("service", "GET", &path(&action), None);
        request.headers_mut().insert("if-none-match", tag.clone());
        request
    };
    let same = world.send(known()).await;
    assert_eq!((same.status.as_u16(), same.text.as_str()), (304, ""));
    world
        .post(
            "approver",
            &format!("{}/votes", path(&action)),
            &vote(&action, "reject"),
        )
        .await;
    let other = world.send(known()).await;
    assert_eq!(
        (other.status.as_u16(), other.json()["status"].as_str()),
        (200, Some("rejected"))
    );
}

#[tokio::test]
async fn a_long_poll_answers_when_the_action_changes() {
    let world = World::new().await;
    let action = world.staged().await;
    let waiting = format!("{}?wait=60s", path(&action));
    let votes = format!("{}/votes", path(&action));
    let ballot = vote(&action, "reject");
    let (waited, _) = tokio::join!(
        world.get("service", &waiting),
        world.post("approver", &votes, &ballot)
    );
    assert_eq!(waited.json()["status"], "rejected");
    assert_eq!(waited.header("preference-applied"), "wait=60");
}

#[tokio::test]
async fn long_polls_end_when_the_server_stops() {
    let world = World::new().await;
    let action = world.staged().await;
    let waiting = format!("{}?wait=60s", path(&action));
    let (waited, ()) = tokio::join!(world.get("service", &waiting), async {
        world.state.stopping.cancel();
    });
    assert_eq!(waited.json()["status"], "staged");
}

#[tokio::test]
async fn the_log_is_read_in_order_and_to_its_end() {
    let world = World::new().await;
    world.staged().await;
    let mut after = 0;
    let mut positions: Vec<u64> = Vec::new();
    loop {
        let page = world
            .get("auditor", &format!("/v1/events?after={after}&limit=3"))
            .await
            .json();
        let data = page["data"].as_array().expect("events");
        if data.is_empty() {
            break;
        }
        positions.extend(
            data.iter()
                .filter_map(|event: &Value| event["position"].as_u64()),
        );
        after = page["next_after"].as_u64().expect("a position");
    }
    assert!(
        positions.windows(2).all(|pair| pair[0] + 1 == pair[1]),
        "{positions:?}"
    );
    assert_eq!(
        world.get("service", "/v1/events").await.problem(),
        (403, "forbidden".into())
    );
}

#[tokio::test]
async fn a_cursor_is_good_for_the_filters_that_it_came_with_and_no_others() {
    let world = World::new().await;
    for _ in 0..3 {
        world.staged().await;
    }
    let list = |query: String| {
        let world = &world;
        async move {
            world
                .get("service", &format!("/v1/actions?limit=1{query}"))
                .await
        }
    };
    let first = list("&status=staged".into()).await.json();
    let cursor = first["next_cursor"].as_str().expect("a cursor");
    let next = list(format!("&status=staged&cursor={cursor}")).await;
    assert_eq!(next.status, 200, "{}", next.text);
    for other in [
        "",
        "&status=failed",
        "&status=staged&order=due",
        "&status=staged&tool=x",
    ] {
        let answer = list(format!("{other}&cursor={cursor}")).await;
        assert_eq!(answer.problem(), (400, "bad_cursor".into()), "{other}");
    }
}
