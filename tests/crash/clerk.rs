//! A client that submits refunds and parcels, has refunds approved, and keeps every acknowledgement.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Client, Failure, Reply, refund};
use crate::random::Random;
use crate::setup::Cast;
use crate::shop::{Order, Shop};
use crate::worker;

/// The numbers of the orders of one clerk; more than any run gets through.
const ORDERS: u64 = 1_000_000;
/// How long to wait before the same request is sent again.
const AGAIN: Duration = Duration::from_millis(15);

/// What the server said it has.
#[derive(Clone, Debug)]
pub(crate) struct Acknowledged {
    /// The id of the action.
    pub(crate) id: String,
    /// What was submitted.
    pub(crate) args: Value,
    /// The names of the people whose votes were acknowledged.
    pub(crate) voted: Vec<String>,
}

/// One client with the sessions of two people.
pub(crate) struct Clerk {
    number: u64,
    client: Client,
    cast: Cast,
    shop: Shop,
    random: Random,
    /// Names and tokens of Fiona and Felix.
    approvers: [(String, String); 2],
}

impl Clerk {
    /// Signs both people in.
    pub(crate) async fn sign_in(
        number: u64,
        client: &Client,
        cast: &Cast,
        shop: &Shop,
        random: Random,
    ) -> Result<Self, Failure> {
        let fiona = client
            .sign_in(&cast.fiona.email, &cast.fiona.password)
            .await?;
        let felix = client
            .sign_in(&cast.felix.email, &cast.felix.password)
            .await?;
        Ok(Self {
            number,
            client: client.clone(),
            cast: cast.clone(),
            shop: shop.clone(),
            random,
            approvers: [
                (cast.fiona.name.clone(), fiona),
                (cast.felix.name.clone(), felix),
            ],
        })
    }

    /// Submits and approves one refund after another until `stop`; returns what was acknowledged.
    pub(crate) async fn work(
        mut self,
        stop: Arc<AtomicBool>,
    ) -> Result<Vec<Acknowledged>, Failure> {
        let mut acknowledged = Vec::new();
        for number in self.number * ORDERS..(self.number + 1) * ORDERS {
            if stop.load(Ordering::SeqCst) {
                break;
            }
            acknowledged.push(self.one(number).await?);
            if number % 3 == 0 {
                acknowledged.push(self.parcel(number).await?);
            }
        }
        Ok(acknowledged)
    }

    async fn one(&mut self, number: u64) -> Result<Acknowledged, Failure> {
        let order = format!("{number}");
        self.shop.ledger.change(|books| {
            let bought = Order::paid(&order, &customer(number), "A thing", amount(number));
            books.orders.insert(order.clone(), bought);
        })?;
        let body = refund(&order, &customer(number), amount(number), "Sent back");
        let key = format!("crash-{number}");
        let (key, submitted) = (&key, &body);
        let submit = |client: Client, cast: Cast| async move {
            client.submit(&cast.checkout_key, key, submitted).await
        };
        let taken = self.until(submit).await?;
        let mut entry = Acknowledged {
            id: taken.text("/id").to_owned(),
            args: body["args"].clone(),
            voted: Vec::new(),
        };
        if self.random.below(6) == 0 {
            self.shop.ledger.change(|books| {
                if let Some(order) = books.orders.get_mut(&order) {
                    order.refundable_minor -= 1;
                    order.version += 1;
                }
            })?;
        }
        let voters = if needs_two(number) { 2 } else { 1 };
        for (name, token) in &self.approvers[..voters] {
            let action = &taken.body;
            let reply = self
                .until(|client, _| async move { client.vote(token, action, "approve", None).await })
                .await?;
            if reply.is_ok() {
                entry.voted.push(name.clone());
            }
        }
        Ok(entry)
    }

    /// Has the parcel of an order packed, by whoever pulls that work.
    async fn parcel(&self, number: u64) -> Result<Acknowledged, Failure> {
        let body = json!({ "tool": worker::TOOL, "args": { "order_id": number.to_string() } });
        let key = format!("parcel-{number}");
        let (key, submitted) = (&key, &body);
        let submit = |client: Client, cast: Cast| async move {
            client.submit(&cast.checkout_key, key, submitted).await
        };
        let taken = self.until(submit).await?;
        Ok(Acknowledged {
            id: taken.text("/id").to_owned(),
            args: body["args"].clone(),
            voted: Vec::new(),
        })
    }

    /// Sends a request again and again until it is answered for good, as a careful client does.
    async fn until<F>(&self, mut send: impl FnMut(Client, Cast) -> F) -> Result<Reply, Failure>
    where
        F: Future<Output = Result<Reply, Failure>>,
    {
        loop {
            match send(self.client.clone(), self.cast.clone()).await {
                Ok(reply) if reply.is_ok() => return Ok(reply),
                // The answer to the first try was lost; the vote is there.
                Ok(reply)
                    if ["already_voted", "already_decided"].contains(&reply.text("/code")) =>
                {
                    return Ok(reply);
                }
                Ok(reply) if reply.status == 429 || reply.status >= 500 => {}
                Ok(reply) if reply.text("/code") == "in_progress" => {}
                Ok(reply) => {
                    return Err(format!("answered with {}: {}", reply.status, reply.body).into());
                }
                // Nobody there, or gone in the middle.
                Err(_) => {}
            }
            tokio::time::sleep(AGAIN).await;
        }
    }
}

/// The customer of an order.
fn customer(number: u64) -> String {
    format!("cus_{number}")
}

/// What was paid for it, and is refunded.
fn amount(number: u64) -> i64 {
    if needs_two(number) { 60_000 } else { 1_000 }
}

fn needs_two(number: u64) -> bool {
    number % 4 == 3
}
