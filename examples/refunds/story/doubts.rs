//! The later scenes: lost answers, people who say no, what is out of bounds, and the audit.

use serde_json::json;

use super::Stage;
use crate::client::{FINAL, Failure, refund};

impl Stage<'_> {
    /// The shop does the work and closes the connection without an answer.
    pub(super) async fn lose_the_answer(&mut self) -> Result<(), Failure> {
        self.shop.switches.lose_answers(1);
        let done = self
            .approve("8815", "cus_0452", 1_250, "Wrong size")
            .await?;
        self.found_by_asking(&done, "its answer was lost").await?;
        self.line(&done, "Fiona approved, the answer was lost", "succeeded", 1);
        Ok(())
    }

    /// The shop does the work and answers 500.
    pub(super) async fn answer_500_after_the_work(&mut self) -> Result<(), Failure> {
        self.shop.switches.fail_after(1);
        let done = self
            .approve("8816", "cus_9087", 3_300, "Cancelled before it was sent")
            .await?;
        self.found_by_asking(&done, "its answer was 500").await?;
        self.line(
            &done,
            "Fiona approved, the shop did it and answered 500",
            "succeeded",
            1,
        );
        Ok(())
    }

    /// A person says no.
    pub(super) async fn reject_one(&mut self) -> Result<(), Failure> {
        let body = refund("8817", "cus_5150", 9_900, "The customer asked nicely");
        let id = self
            .submit(&self.cast.agent_key, "agent-8817", &body)
            .await?;
        let shown = self.client.action(&self.tokens.felix, &id).await?;
        let silent = self
            .client
            .vote(&self.tokens.felix, &shown, "reject", None)
            .await?;
        self.report
            .promise("a rejection needs a reason", !silent.is_ok(), &[&silent]);
        let why = Some("The parcel was delivered; see ticket 771");
        self.client
            .vote(&self.tokens.felix, &shown, "reject", why)
            .await?
            .expect_ok("rejecting")?;
        let done = self.client.wait_for(&self.tokens.ada, &id, &FINAL).await?;
        let late = self
            .client
            .vote(&self.tokens.fiona, &shown, "approve", None)
            .await?;
        self.report.promise(
            "after a rejection nobody can approve",
            late.status == 409,
            &[&late],
        );
        self.line(&done, "asked by an agent, Felix rejected", "rejected", 0);
        Ok(())
    }

    /// An agent may not ask for more than 100.00, and nobody for a tool that is not in the file.
    pub(super) async fn refuse_what_is_out_of_bounds(&mut self) -> Result<(), Failure> {
        let body = refund("8817", "cus_5150", 15_000, "The customer asked again");
        let mut body = body;
        body["args"]["refund_ref"] = json!("r2");
        let large = self
            .client
            .submit(&self.cast.agent_key, "agent-large", &body)
            .await?;
        self.report.promise(
            "an agent that asks for more than it may is refused",
            large.status == 403 && large.text("/code") == "identity_check_failed",
            &[&large],
        );
        let unknown = json!({ "tool": "issue_refunds", "args": {} });
        let unknown = self
            .client
            .submit(&self.cast.checkout_key, "unknown", &unknown)
            .await?;
        self.report.promise(
            "a tool that is not in the file is refused",
            unknown.text("/code") == "unknown_tool",
            &[&unknown],
        );
        Ok(())
    }

    /// The two other kinds of tools: a read is answered at once; a note is written once, unasked.
    pub(super) async fn write_a_note(&mut self) -> Result<(), Failure> {
        let read = json!({ "tool": "get_order", "args": { "order_id": "8812" } });
        let read = self
            .client
            .submit(&self.cast.agent_key, "agent-read", &read)
            .await?;
        self.report.promise(
            "a read is answered at once",
            read.is_ok() && read.text("/status") == "succeeded",
            &[&read],
        );
        self.shop.switches.lose_answers(1);
        let note = json!({
            "tool": "order_note",
            "args": { "order_id": "8812", "note_ref": "n1", "text": "Refund explained to the customer" },
        });
        let id = self
            .submit(&self.cast.checkout_key, "demo-note", &note)
            .await?;
        let done = self.client.wait_for(&self.tokens.ada, &id, &FINAL).await?;
        let notes = self.shop.ledger.read().notes.len();
        self.report.promise(
            "a note whose answer was lost is found at the shop and not written again",
            done["status"] == json!("succeeded") && notes == 1,
            &[],
        );
        Ok(())
    }

    /// The auditor reads everything, in order, and every key was called for at most once.
    pub(super) async fn audit(&mut self) -> Result<(), Failure> {
        let events = self.get("/v1/events?after=0&limit=200").await?;
        let kinds: Vec<_> = events.body["data"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|event| event["kind"].as_str())
            .collect();
        let wanted = [
            "action.staged",
            "action.vote_recorded",
            "action.commit_recorded",
            "action.found_done",
        ];
        self.report.promise(
            "the auditor finds it all in the history",
            wanted.iter().all(|wanted| kinds.contains(wanted)),
            &[],
        );
        let books = self.shop.ledger.read();
        let once = books
            .calls
            .iter()
            .all(|(key, calls)| *calls == 1 && books.effects(key) <= 1);
        self.report.promise(
            "the shop was called once, and never twice, for each of them",
            once,
            &[],
        );
        Ok(())
    }
}
