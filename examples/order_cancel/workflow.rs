//! The workflow: an order is cancelled, wholly or not at all.
//!
//! It is an ordinary async function. What makes it durable is that it asks its context for everything
//! that happens outside: after a crash it is called again, and is answered from the history.

use holdpoint_engine::run::code::{CallError, Context, Failure, Workflows};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::shop::Order;

/// What a clerk wants.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Wish {
    /// Which order.
    pub(crate) order_id: String,
    /// Why, for whoever approves the refund.
    pub(crate) reason: String,
}

/// What came of it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// Whether the order is cancelled.
    pub(crate) cancelled: bool,
    /// What the customer was told.
    pub(crate) told: String,
}

/// The workflows of this program.
pub(crate) fn workflows() -> Workflows {
    Workflows::default().with("order_cancel", 1, order_cancel)
}

/// Refunds an order and stops its parcel, and tells the customer. Where the parcel cannot be stopped, the
/// refund is taken back.
async fn order_cancel(ctx: Context, wish: Wish) -> Result<Outcome, Failure> {
    let order_id = &wish.order_id;
    let order = ctx
        .call("read_order", json!({ "order_id": order_id }))
        .await?;
    let order: Order = serde_json::from_value(order)?;

    let refund = json!({ "order_id": order_id, "amount_minor": order.total_minor });
    // The tool is approval-bound: the run waits here for a person, for as long as it takes.
    let refunded = ctx.call("refund_order", &refund).intent(&wish.reason).await;
    match refunded {
        Ok(_) => {}
        Err(CallError::Rejected(why)) => {
            return tell(&ctx, &order, false, format!("We keep your order: {why}")).await;
        }
        Err(CallError::Expired) => {
            let words = "We keep your order: nobody could look at it in time";
            return tell(&ctx, &order, false, words.to_owned()).await;
        }
        Err(other) => return Err(other.into()),
    }

    let stopped = ctx.call("cancel_shipment", json!({ "order_id": order_id }));
    if let Err(why) = stopped.await {
        // A call that failed has certainly not taken effect, so there is one thing to undo.
        undo(&ctx, &refund, &why).await?;
        let words = "Your parcel is on its way already; please send it back when it is there";
        return tell(&ctx, &order, false, words.to_owned()).await;
    }
    let words = "Your order is cancelled and the money is on its way".to_owned();
    tell(&ctx, &order, true, words).await
}

/// The compensation: what was refunded is charged again.
async fn undo(ctx: &Context, refund: &Value, why: &CallError) -> Result<(), CallError> {
    let intent = format!("The shipment was not cancelled: {why}");
    ctx.call("take_back_refund", refund).intent(intent).await?;
    Ok(())
}

async fn tell(
    ctx: &Context,
    order: &Order,
    cancelled: bool,
    told: String,
) -> Result<Outcome, Failure> {
    let message = json!({ "order_id": order.order_id, "to": order.customer, "text": told });
    ctx.call("notify_customer", message).await?;
    Ok(Outcome { cancelled, told })
}
