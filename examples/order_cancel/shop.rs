//! A small shop, in memory: what the tools of the workflow do.
//!
//! It knows nothing of Holdpoint. Like a careful service it does what comes under one key once, however
//! often it is asked.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holdpoint_engine::target::{LocalCall, LocalError, Locals};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What a customer bought.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(clippy::struct_field_names, reason = "the names of the wire")]
pub(crate) struct Order {
    /// Its number.
    pub(crate) order_id: String,
    /// Who bought it.
    pub(crate) customer: String,
    /// What it cost, in the smallest unit of the currency.
    pub(crate) total_minor: i64,
    /// Whether the parcel has left.
    pub(crate) shipped: bool,
}

/// Something that was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Deed {
    /// The name of the tool.
    pub(crate) tool: String,
    /// The order.
    pub(crate) order_id: String,
    /// How often it was asked for under its key; it was done once.
    pub(crate) asked: usize,
}

#[derive(Default)]
struct Books {
    orders: BTreeMap<String, Order>,
    /// What was done, by idempotency key, in the order in which it was first asked for.
    deeds: Vec<(String, Deed)>,
}

/// The shop. Cheap to clone; a clone is the same shop.
#[derive(Clone, Default)]
pub(crate) struct Shop {
    books: Arc<Mutex<Books>>,
}

impl Shop {
    /// A shop that sold something.
    pub(crate) fn with(orders: impl IntoIterator<Item = Order>) -> Self {
        let shop = Self::default();
        let orders = orders.into_iter();
        shop.books().orders = orders
            .map(|order| (order.order_id.clone(), order))
            .collect();
        shop
    }

    /// The tools, as closures of this program.
    pub(crate) fn locals(&self) -> Locals {
        let reader = self.clone();
        let mut locals = Locals::default().with("read_order", move |call: LocalCall| {
            let order = reader.read(&call.args);
            async move { order }
        });
        for tool in [
            "refund_order",
            "cancel_shipment",
            "take_back_refund",
            "notify_customer",
        ] {
            let shop = self.clone();
            locals = locals.with(tool, move |call: LocalCall| {
                let done = shop.does(tool, &call);
                async move { done }
            });
        }
        locals
    }

    /// What was done to an order, in order.
    pub(crate) fn deeds_of(&self, order_id: &str) -> Vec<Deed> {
        let books = self.books();
        let deeds = books.deeds.iter().map(|(_, deed)| deed);
        deeds
            .filter(|deed| deed.order_id == order_id)
            .cloned()
            .collect()
    }

    fn read(&self, args: &Value) -> Result<Value, LocalError> {
        let books = self.books();
        let order = order_of(&books, args)?;
        serde_json::to_value(order).map_err(|error| LocalError::Refused(error.to_string()))
    }

    fn does(&self, tool: &str, call: &LocalCall) -> Result<Value, LocalError> {
        let mut books = self.books();
        let order = order_of(&books, &call.args)?.clone();
        if tool == "cancel_shipment" && order.shipped {
            let why = "the parcel has left and cannot be stopped";
            return Err(LocalError::Refused(why.to_owned()));
        }
        let key = &call.idempotency_key;
        if let Some((_, deed)) = books.deeds.iter_mut().find(|(other, _)| other == key) {
            deed.asked += 1;
        } else {
            let deed = Deed {
                tool: tool.to_owned(),
                order_id: order.order_id.clone(),
                asked: 1,
            };
            books.deeds.push((key.clone(), deed));
        }
        Ok(json!({ "done": tool, "order_id": order.order_id }))
    }

    // Nothing that runs under the lock can panic half-way through a change.
    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn order_of<'a>(books: &'a Books, args: &Value) -> Result<&'a Order, LocalError> {
    let id = args["order_id"].as_str().unwrap_or_default();
    let order = books.orders.get(id);
    order.ok_or_else(|| LocalError::Refused(format!("there is no order {id}")))
}
