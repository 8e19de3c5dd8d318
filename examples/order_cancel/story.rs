//! The story by itself: three orders, an approver, a parcel that has left, and a restart in between.

use std::fmt::Write as _;
use std::path::Path;

use holdpoint_engine::approval::Vote;
use holdpoint_engine::run::RunStatus;

use crate::desk::{Desk, Failure, Stand};
use crate::shop::{Order, Shop};
use crate::workflow::{Outcome, Wish};

/// What was told, and whether everything was as it should be.
pub(crate) struct Story {
    /// The story, for people.
    pub(crate) text: String,
    /// Whether each order was cancelled wholly or not at all, and each deed done once.
    pub(crate) holds: bool,
}

/// What a scene is about, and what must be done at the end of it.
struct Scene {
    order_id: &'static str,
    title: &'static str,
    vote: Vote,
    cancelled: bool,
    deeds: &'static [&'static str],
}

const SCENES: [Scene; 3] = [
    Scene {
        order_id: "1001",
        title: "An order that has not left",
        vote: Vote::Approve,
        cancelled: true,
        deeds: &["refund_order", "cancel_shipment", "notify_customer"],
    },
    Scene {
        order_id: "1002",
        title: "An order whose parcel has left",
        vote: Vote::Approve,
        cancelled: false,
        deeds: &["refund_order", "take_back_refund", "notify_customer"],
    },
    Scene {
        order_id: "1003",
        title: "An order that the approver keeps",
        vote: Vote::Reject,
        cancelled: false,
        deeds: &["notify_customer"],
    },
];

/// The orders of the story.
pub(crate) fn shop() -> Shop {
    let order = |order_id: &str, customer: &str, shipped| Order {
        order_id: order_id.to_owned(),
        customer: customer.to_owned(),
        total_minor: 4900,
        shipped,
    };
    Shop::with([
        order("1001", "ana@example.com", false),
        order("1002", "ben@example.com", true),
        order("1003", "cem@example.com", false),
    ])
}

/// Plays it on a folder of its own.
pub(crate) async fn play(folder: &Path) -> Result<Story, Failure> {
    let mut story = Story {
        text: String::new(),
        holds: true,
    };
    let mut desk = Desk::open(folder, shop()).await?;
    for scene in SCENES {
        desk = scene.play(desk, &mut story).await?;
    }
    desk.close().await;
    let end = if story.holds {
        "Every order was cancelled wholly or not at all, and everything was done once."
    } else {
        "Something is not as it should be."
    };
    writeln!(story.text, "{end}")?;
    Ok(story)
}

impl Scene {
    async fn play(&self, desk: Desk, story: &mut Story) -> Result<Desk, Failure> {
        let wish = Wish {
            order_id: self.order_id.to_owned(),
            reason: "The customer has changed their mind".to_owned(),
        };
        let id = desk.cancel_order(&wish).await?;
        writeln!(story.text, "{} ({}), {id}", self.title, self.order_id)?;
        let Stand::Waits(action) = desk.stand(id).await? else {
            return Err("the refund should wait for a person".into());
        };
        writeln!(story.text, "  waits for: {}", action.proposal.summary)?;
        // The process may go away while a run waits; the next one goes on with it.
        let desk = desk.restart().await?;
        writeln!(story.text, "  the program was stopped and started again")?;
        desk.vote(&action, self.vote).await?;
        writeln!(story.text, "  Fiona decides: {:?}", self.vote)?;
        let Stand::Over(run) = desk.after(id, action.id).await? else {
            return Err("nobody else should be asked".into());
        };
        for step in &run.steps {
            let report = step.made().and_then(|made| made.settled());
            let outcome = report.map_or("under way", |report| report.outcome.name());
            writeln!(
                story.text,
                "  {:>2} {:<17} {outcome}",
                step.path.as_str(),
                step.title()
            )?;
        }
        let output = run.ended.as_ref().map(|ended| ended.output.value());
        let outcome: Outcome = serde_json::from_value(output.unwrap_or_default())?;
        writeln!(story.text, "  the customer reads: {}\n", outcome.told)?;
        let deeds = desk.shop().deeds_of(self.order_id);
        let names: Vec<_> = deeds.iter().map(|deed| deed.tool.as_str()).collect();
        story.holds &= run.status() == RunStatus::Passed
            && outcome.cancelled == self.cancelled
            && names == self.deeds
            && deeds.iter().all(|deed| deed.asked == 1);
        Ok(desk)
    }
}
