//! The example's shop by itself: what the promises are counted with must be right first.

#[expect(dead_code, reason = "the example uses more of it")]
#[path = "../examples/refunds/client.rs"]
mod client;
#[path = "../examples/refunds/shop/mod.rs"]
mod shop;

use std::path::Path;

use client::{Client, Failure, Reply};
use serde_json::{Value, json};
use shop::{Order, Shop};

/// A shop that serves, and a client of it.
async fn open(folder: &Path) -> Result<(Shop, Client), Failure> {
    let orders = vec![Order::paid("1", "cus_1", "A thing", 1_000)];
    let shop = Shop::open(folder.join("shop.json"), "secret", orders)?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let client = Client::new(format!("http://{}", listener.local_addr()?))?;
    tokio::spawn(shop.clone().serve(listener));
    Ok((shop, client))
}

async fn refund(
    client: &Client,
    key: &str,
    amount: i64,
    more: &[(&str, &str)],
) -> Result<Reply, Failure> {
    let mut headers = vec![("authorization", "Bearer secret"), ("idempotency-key", key)];
    headers.extend(more);
    let body = json!({ "order": "1", "amount": amount });
    client.send("POST", "/refunds", &headers, Some(&body)).await
}

#[tokio::test]
async fn one_key_is_one_refund_and_another_body_is_refused() -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let (shop, client) = open(folder.path()).await?;
    let first = refund(&client, "a", 100, &[]).await?;
    let again = refund(&client, "a", 100, &[]).await?;
    let other = refund(&client, "a", 200, &[]).await?;
    assert_eq!((first.status, again.status, other.status), (201, 201, 422));
    assert_eq!(first.body, again.body);
    let books = shop.ledger.read();
    assert_eq!((books.effects("a"), books.calls["a"]), (1, 3));
    Ok(())
}

#[tokio::test]
async fn a_version_that_moved_is_412_and_more_than_is_left_is_422() -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let (shop, client) = open(folder.path()).await?;
    let version = shop.ledger.read().orders["1"].etag();
    let with = [("if-match", version.as_str())];
    assert_eq!(refund(&client, "a", 100, &with).await?.status, 201);
    assert_eq!(refund(&client, "b", 100, &with).await?.status, 412);
    assert_eq!(refund(&client, "c", 901, &[]).await?.status, 422);
    assert_eq!(shop.ledger.read().refunds_of("1"), 1);
    Ok(())
}

#[tokio::test]
async fn a_lost_answer_and_a_500_come_after_the_work() -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let (shop, client) = open(folder.path()).await?;
    shop.switches.lose_answers(1);
    assert!(refund(&client, "a", 100, &[]).await.is_err());
    shop.switches.fail_after(1);
    assert_eq!(refund(&client, "b", 100, &[]).await?.status, 500);
    let bearer = [("authorization", "Bearer secret")];
    for key in ["a", "b"] {
        let path = format!("/refunds?key={key}");
        let found = client.send("GET", &path, &bearer, None).await?;
        assert_eq!(
            found.body["refunds"].as_array().map(Vec::len),
            Some(1),
            "{key}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn the_books_are_on_disk_before_the_answer() -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let (shop, client) = open(folder.path()).await?;
    refund(&client, "a", 100, &[])
        .await?
        .expect_ok("refunding")?;
    let (again, client) = open(folder.path()).await?;
    assert!(again.ledger.read() == shop.ledger.read());
    let counts = client.send("GET", "/counts", &[], None).await?;
    assert_eq!(
        counts.body["keys"]["a"],
        json!({ "calls": 1, "effects": 1 })
    );
    Ok(())
}

#[tokio::test]
async fn without_the_token_nothing_is_read_or_done() -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let (shop, client) = open(folder.path()).await?;
    let before = shop.ledger.read();
    for (method, path) in [
        ("GET", "/orders/1"),
        ("GET", "/refunds?key=a"),
        ("POST", "/refunds"),
    ] {
        let body: Option<Value> = (method == "POST").then(|| json!({ "order": "1", "amount": 1 }));
        let headers = [("authorization", "Bearer wrong"), ("idempotency-key", "a")];
        let reply = client.send(method, path, &headers, body.as_ref()).await?;
        assert_eq!(reply.status, 401, "{method} {path}");
    }
    assert!(shop.ledger.read() == before);
    Ok(())
}
