//! A service that pulls work, and goes on asking while the server is gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Client, Failure};

/// The tool whose calls it carries out: with a note at the shop, which counts it.
pub(crate) const TOOL: &str = "pack_parcel";
/// How long to wait before the same request is sent again.
const AGAIN: Duration = Duration::from_millis(15);

/// The definition of its tool, for a shop at an address.
pub(crate) fn definition(shop: std::net::SocketAddr) -> Value {
    let token = json!({ "bearer": { "file": "secrets/shop.token" } });
    json!({
        "description": "Pack the parcel of an order",
        "safetyClass": "write-once-checkable",
        "input": {
            "type": "object",
            "required": ["order_id"],
            "properties": { "order_id": { "type": "string" } },
        },
        "summary": "Pack order {order_id}",
        "idempotencyKey": "pack:{order_id}",
        "execute": {
            "worker": {},
            "timeout": "5s",
            "retry": { "attempts": 20, "backoff": "100ms..1s" },
        },
        "check": {
            "http": {
                "get": format!("http://{shop}/notes?key={{idempotency_key}}"),
                "auth": token,
            },
            "happened": "size(body.notes) > 0",
            "settle": "200ms",
        },
        "requestLifetime": "1s",
    })
}

/// A worker with its key and that of the shop.
pub(crate) struct Worker {
    server: Client,
    key: String,
    shop: Client,
    shop_token: String,
}

impl Worker {
    pub(crate) fn new(
        server: Client,
        key: String,
        shop: std::net::SocketAddr,
        shop_token: String,
    ) -> Result<Self, Failure> {
        Ok(Self {
            server,
            key,
            shop: Client::new(format!("http://{shop}"))?,
            shop_token,
        })
    }

    /// Claims and carries out until `stop`; returns how much it was given.
    pub(crate) async fn work(self, stop: Arc<AtomicBool>) -> Result<u64, Failure> {
        let wish = json!({ "tools": [TOOL], "wait": "1s", "lease_seconds": 10 });
        let mut given = 0;
        while !stop.load(Ordering::SeqCst) {
            let claimed = self
                .server
                .call(&self.key, "POST", "/v1/work/claim", Some(&wish))
                .await;
            match claimed {
                Ok(reply) if reply.status == 200 => {
                    given += 1;
                    self.carry_out(&reply.body).await?;
                }
                Ok(reply) if reply.status == 204 => {}
                Ok(reply) if reply.status == 429 || 500 <= reply.status => {
                    tokio::time::sleep(AGAIN).await;
                }
                Ok(reply) => {
                    return Err(format!(
                        "a claim was answered with {}: {}",
                        reply.status, reply.body
                    )
                    .into());
                }
                Err(_) => tokio::time::sleep(AGAIN).await,
            }
        }
        Ok(given)
    }

    /// Does it once, and reports until it is heard.
    async fn carry_out(&self, work: &Value) -> Result<(), Failure> {
        let order = work["args"]["order_id"].as_str().unwrap_or_default();
        let key = work["idempotency_key"].as_str().unwrap_or_default();
        let bearer = format!("Bearer {}", self.shop_token);
        let headers = [("authorization", bearer.as_str()), ("idempotency-key", key)];
        let note = json!({ "text": "Packed" });
        let done = self
            .shop
            .send(
                "POST",
                &format!("/orders/{order}/notes"),
                &headers,
                Some(&note),
            )
            .await;
        let epoch = &work["epoch"];
        let report = match done {
            Ok(reply) if reply.is_ok() => {
                json!({ "epoch": epoch, "outcome": "succeeded", "result": reply.body })
            }
            _ => json!({ "epoch": epoch, "outcome": "unknown", "reason": "the shop did not say" }),
        };
        let attempt = work["attempt"].as_str().unwrap_or_default();
        let path = format!("/v1/work/{attempt}/complete");
        loop {
            match self
                .server
                .call(&self.key, "POST", &path, Some(&report))
                .await
            {
                Ok(reply) if reply.is_ok() => return Ok(()),
                // It came too late, or twice: there is nothing more to say.
                Ok(reply) if ["lease_lost", "already_reported"].contains(&reply.text("/code")) => {
                    return Ok(());
                }
                Ok(reply) if reply.status == 429 || 500 <= reply.status => {}
                Ok(reply) => {
                    return Err(format!(
                        "a report was answered with {}: {}",
                        reply.status, reply.body
                    )
                    .into());
                }
                Err(_) => {}
            }
            tokio::time::sleep(AGAIN).await;
        }
    }
}
