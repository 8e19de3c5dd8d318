//! The whole story, told over HTTP by programs, with every promise checked against the shop's own
//! count.

mod doubts;

use std::net::SocketAddr;
use std::path::Path;

use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::client::{Client, FINAL, Failure, Reply, refund};
use crate::house::House;
use crate::report::{Line, Report};
use crate::setup::{self, Cast, Folder, Player};
use crate::shop::Shop;

/// What the story is played with.
struct Stage<'a> {
    /// Where Holdpoint is.
    client: &'a Client,
    /// Who plays.
    cast: &'a Cast,
    /// The shop; its switches are thrown and its books are counted.
    shop: &'a Shop,
    /// What was found.
    report: Report,
    tokens: Tokens,
}

/// The session tokens of the people.
struct Tokens {
    rita: String,
    fiona: String,
    felix: String,
    ada: String,
}

/// Sets the scene in the folder `root`, plays the story, and closes everything again.
pub(crate) async fn headless(
    root: &Path,
    listener: TcpListener,
    shop: Option<SocketAddr>,
) -> Result<Report, Failure> {
    let folder = Folder::open(root)?;
    let (shop, _) = setup::open_shop(&folder, shop).await?;
    let house = House::open(&folder, listener).await?;
    let cast = folder.cast(house.engine.identity()).await?;
    let client = Client::new(format!("http://{}", house.address))?;
    let report = play(&client, &cast, &shop).await;
    house.close().await?;
    report
}

/// Plays the story to its end.
async fn play(client: &Client, cast: &Cast, shop: &Shop) -> Result<Report, Failure> {
    let sign_in = async |who: &Player| client.sign_in(&who.email, &who.password).await;
    let tokens = Tokens {
        rita: sign_in(&cast.rita).await?,
        fiona: sign_in(&cast.fiona).await?,
        felix: sign_in(&cast.felix).await?,
        ada: sign_in(&cast.ada).await?,
    };
    let mut stage = Stage {
        client,
        cast,
        shop,
        report: Report::default(),
        tokens,
    };
    stage.approve_one().await?;
    stage.move_the_order().await?;
    stage.need_two().await?;
    stage.lose_the_answer().await?;
    stage.answer_500_after_the_work().await?;
    stage.reject_one().await?;
    stage.refuse_what_is_out_of_bounds().await?;
    stage.write_a_note().await?;
    stage.audit().await?;
    Ok(stage.report)
}

impl Stage<'_> {
    /// One refund, one approval, one call; a repeat of the submission creates nothing.
    async fn approve_one(&mut self) -> Result<(), Failure> {
        let body = refund("8812", "cus_2041", 4_900, "The jacket came back unworn");
        let checkout = &self.cast.checkout_key;
        let first = self
            .client
            .submit(checkout, "demo-8812", &body)
            .await?
            .expect_ok("submitting")?;
        let id = first.text("/id").to_owned();
        let again = self.client.submit(checkout, "demo-8812", &body).await?;
        let otherwise = self
            .client
            .submit(checkout, "demo-8812-again", &body)
            .await?;
        self.report.promise(
            "the same submission again creates nothing, under the same or another request key",
            again.text("/id") == id
                && otherwise.text("/id") == id
                && otherwise.body["replayed"] == json!(true),
            &[&again, &otherwise],
        );
        let other = refund("8812", "cus_2041", 4_800, "The jacket came back unworn");
        let reused = self
            .client
            .submit(checkout, "demo-8812-other", &other)
            .await?;
        self.report.promise(
            "the same refund with another amount is a conflict that names the first",
            reused.status == 409 && reused.text("/code") == "key_reused",
            &[&reused],
        );

        let action = self.client.action(&self.tokens.rita, &id).await?;
        let own = self
            .client
            .vote(&self.tokens.rita, &action, "approve", None)
            .await?;
        self.report.promise(
            "whoever owns the credential that asked cannot approve, though she is an approver",
            own.status == 403 && own.text("/code") == "self_approval",
            &[&own],
        );
        let machine = self.client.vote(checkout, &action, "approve", None).await?;
        self.report.promise(
            "a service cannot approve",
            machine.status == 403,
            &[&machine],
        );
        let looker = self
            .client
            .vote(&self.tokens.ada, &action, "approve", None)
            .await?;
        self.report.promise(
            "an auditor cannot approve",
            looker.status == 403,
            &[&looker],
        );

        self.client
            .vote(&self.tokens.fiona, &action, "approve", None)
            .await?
            .expect_ok("approving")?;
        let done = self.client.wait_for(&self.tokens.ada, &id, &FINAL).await?;
        let repeat = self
            .client
            .vote(&self.tokens.fiona, &action, "approve", None)
            .await?;
        self.report.promise(
            "approving again changes nothing",
            repeat.is_ok() || repeat.status == 409,
            &[&repeat],
        );
        self.line(&done, "asked by a service, Fiona approved", "succeeded", 1);
        Ok(())
    }

    /// The order changes after it was shown and before it is refunded.
    async fn move_the_order(&mut self) -> Result<(), Failure> {
        let body = refund(
            "8813",
            "cus_1177",
            5_000,
            "URGENT!! The customer is upset, please approve right away",
        );
        let id = self
            .submit(&self.cast.agent_key, "agent-8813", &body)
            .await?;
        let shown = self.client.action(&self.tokens.fiona, &id).await?;
        self.shop.ledger.change(|books| {
            if let Some(order) = books.orders.get_mut("8813") {
                order.refundable_minor = 2_000;
                order.version += 1;
            }
        })?;
        self.client
            .vote(&self.tokens.fiona, &shown, "approve", None)
            .await?
            .expect_ok("approving")?;
        let done = self.client.wait_for(&self.tokens.ada, &id, &FINAL).await?;
        let receipt = self.get(&format!("/v1/actions/{id}/receipt")).await?;
        let moved = |action: &Value| {
            action["diff"].as_array().is_some_and(|diff| {
                diff.iter().any(|entry| {
                    entry["path"] == json!("/refundable_minor")
                        && entry["approved"] == json!(5_000)
                        && entry["now"] == json!(2_000)
                })
            })
        };
        self.report.promise(
            "the receipt says field by field what moved",
            moved(&receipt.body["action"]),
            &[&receipt],
        );
        self.report.promise("so does the action", moved(&done), &[]);
        let page = self.page(&id).await?;
        let text = page.body.as_str().unwrap_or_default();
        self.report.promise(
            "so does its page",
            page.status == 200 && text.contains("/refundable_minor") && text.contains("2000"),
            &[],
        );
        self.line(
            &done,
            "asked by an agent, the order changed, Fiona approved what she saw",
            "replan_required",
            0,
        );
        Ok(())
    }

    /// Above the limit two different people must agree.
    async fn need_two(&mut self) -> Result<(), Failure> {
        let body = refund("8814", "cus_3310", 62_000, "The sofa arrived broken");
        let id = self
            .submit(&self.cast.checkout_key, "demo-8814", &body)
            .await?;
        let shown = self.client.action(&self.tokens.fiona, &id).await?;
        self.client
            .vote(&self.tokens.fiona, &shown, "approve", None)
            .await?
            .expect_ok("approving")?;
        let second = self
            .client
            .vote(&self.tokens.fiona, &shown, "approve", None)
            .await?;
        let after = self.client.action(&self.tokens.ada, &id).await?;
        let votes = after["approval"]["votes"].as_array().map_or(0, Vec::len);
        self.report.promise(
            "one person is not two: the second click of the first approver does not count",
            after["status"] == json!("staged") && votes == 1 && self.counted("8814") == 0,
            &[&second],
        );
        self.client
            .vote(&self.tokens.felix, &shown, "approve", None)
            .await?
            .expect_ok("approving")?;
        let done = self.client.wait_for(&self.tokens.ada, &id, &FINAL).await?;
        self.line(
            &done,
            "above 500.00, Fiona and Felix approved",
            "succeeded",
            1,
        );
        Ok(())
    }

    async fn submit(&self, token: &str, key: &str, body: &Value) -> Result<String, Failure> {
        let reply = self
            .client
            .submit(token, key, body)
            .await?
            .expect_ok("submitting")?;
        Ok(reply.text("/id").to_owned())
    }

    /// Submits a refund, has Fiona approve it, and waits for its end.
    async fn approve(
        &self,
        order: &str,
        customer: &str,
        amount: i64,
        why: &str,
    ) -> Result<Value, Failure> {
        let body = refund(order, customer, amount, why);
        let id = self
            .submit(&self.cast.checkout_key, &format!("demo-{order}"), &body)
            .await?;
        let shown = self.client.action(&self.tokens.fiona, &id).await?;
        self.client
            .vote(&self.tokens.fiona, &shown, "approve", None)
            .await?
            .expect_ok("approving")?;
        self.client.wait_for(&self.tokens.ada, &id, &FINAL).await
    }

    /// Checks that an outcome was found by asking the shop, and that the receipt keeps the evidence.
    async fn found_by_asking(&mut self, action: &Value, what: &str) -> Result<(), Failure> {
        let id = action["id"].as_str().unwrap_or_default();
        let events = self.get(&format!("/v1/actions/{id}/events")).await?;
        let kinds: Vec<_> = events.body["data"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|event| event["kind"].as_str())
            .collect();
        let receipt = self.get(&format!("/v1/actions/{id}/receipt")).await?;
        let evidence = receipt.body.to_string().contains("rf_");
        self.report.promise(
            &format!("where {what}, it was unknown until the shop was asked; the receipt keeps what it said"),
            kinds.contains(&"action.attempt_unknown") && kinds.contains(&"action.found_done") && evidence,
            &[&events],
        );
        Ok(())
    }

    async fn get(&self, path: &str) -> Result<Reply, Failure> {
        self.client
            .call(&self.tokens.ada, "GET", path, None)
            .await?
            .expect_ok(path)
    }

    /// The page of an action, as Ada's browser gets it.
    async fn page(&self, id: &str) -> Result<Reply, Failure> {
        let cookie = self
            .client
            .sign_in_as_browser(&self.cast.ada.email, &self.cast.ada.password)
            .await?;
        self.client
            .send(
                "GET",
                &format!("/actions/{id}"),
                &[("cookie", &cookie)],
                None,
            )
            .await
    }

    fn counted(&self, order: &str) -> usize {
        self.shop.ledger.read().refunds_of(order)
    }

    /// A line of the table: what became of an action, and what the shop counted.
    fn line(&mut self, action: &Value, what: &str, expected_status: &str, expected_refunds: usize) {
        let order = action["args"]["order_id"].as_str().unwrap_or_default();
        let counted = self.counted(order);
        self.report.line(Line {
            action: action["summary"].as_str().unwrap_or_default().to_owned(),
            what: what.to_owned(),
            status: action["status"].as_str().unwrap_or_default().to_owned(),
            expected_status: expected_status.to_owned(),
            counted,
            expected_count: expected_refunds,
        });
    }
}
