//! What is found of the world right before a call leaves, or a worker gets it (invariant I3).

use super::work::Work;
use crate::action::{Action, Revalidation, Snapshot, Window};
use crate::run::StepTry;
use crate::seeded::Bug;
use crate::tool::{Context, Execute, StateView, Tool};

impl Work {
    /// Whether it is a step of a run that must be given a secret again. It is offered once more when it is.
    pub(super) fn lacks_secret(&self, action: &Action) -> bool {
        let missing = self.world.asides.missing_secret(action);
        missing.is_some() && StepTry::of_action(action).is_some()
    }

    /// Reads the world again, as far as the tool is still there.
    pub(super) async fn look_again(&self, action: &Action) -> Result<Revalidation, String> {
        match self.registry.get(&action.proposal.tool) {
            Some(tool) => self.revalidate(action, tool).await,
            None => Ok(tool_is_gone()),
        }
    }

    /// What is to be compared with what was approved; fails where the state cannot be read.
    pub(super) async fn revalidate(
        &self,
        action: &Action,
        tool: &Tool,
    ) -> Result<Revalidation, String> {
        let proposal = &action.proposal;
        let args = proposal.args.value();
        let asking = Context {
            args: &args,
            caller: &proposal.caller,
            state: None,
            action_id: Some(action.id),
            idempotency_key: Some(&proposal.idempotency_key),
        };
        let same_tool = tool.digest == proposal.tool_digest;
        let reads = proposal.class.revalidates() || sends_etag(tool);
        let snapshot = if same_tool && reads && !Bug::SkipRevalidation.is_on() {
            self.world
                .read_state(tool, &asking, &self.store.time)
                .await?
        } else {
            // Nothing is asked on behalf of a definition that nobody approved.
            action.snapshot.clone().filter(|_| same_tool)
        };
        if same_tool && sends_without_etag(tool, snapshot.as_ref()) {
            return Err(
                "the answer of the state query has no ETag, which the call needs".to_owned(),
            );
        }
        let state = snapshot.as_ref().map(|snapshot| snapshot.state.value());
        let ctx = Context {
            state: view_of(state.as_ref(), snapshot.as_ref()),
            ..asking
        };
        let failed_precondition = tool
            .failed_precondition(&ctx)
            .unwrap_or_else(|error| Some(error.to_string()));
        let requirement = action
            .approval
            .as_ref()
            .map(|_| tool.requirement(&ctx, self.store.time.now(), None));
        Ok(Revalidation {
            by_conditions: tool.state_may_move(),
            failed_precondition,
            tool_digest: Some(tool.digest),
            request: tool.render_execute(&ctx).ok(),
            requirement,
            window: state_window(tool, reads && snapshot.is_some()),
            secret: if same_tool {
                self.world.secret_of(tool).await
            } else {
                None
            },
            snapshot,
        })
    }
}

/// How sure the state is when the call leaves.
fn state_window(tool: &Tool, was_read: bool) -> Window {
    if was_read && sends_etag(tool) {
        Window::Closed
    } else if was_read {
        Window::Narrowed
    } else {
        Window::Open
    }
}

/// Whether the call needs a version of the state that is not there.
pub(crate) fn sends_without_etag(tool: &Tool, snapshot: Option<&Snapshot>) -> bool {
    sends_etag(tool) && snapshot.is_none_or(|snapshot| snapshot.etag.is_none())
}

fn sends_etag(tool: &Tool) -> bool {
    match &tool.execute {
        Execute::Http(call) => call.sends_state_etag(),
        Execute::Worker | Execute::Local(_) | Execute::Request(_) => false,
    }
}

pub(super) fn view_of<'a>(
    state: Option<&'a serde_json::Value>,
    snapshot: Option<&'a Snapshot>,
) -> Option<StateView<'a>> {
    Some(StateView {
        body: state?,
        etag: snapshot?.etag.as_deref(),
    })
}

/// What is found of a tool that is not defined any more.
fn tool_is_gone() -> Revalidation {
    Revalidation {
        snapshot: None,
        by_conditions: false,
        failed_precondition: None,
        tool_digest: None,
        request: None,
        requirement: None,
        window: Window::Open,
        secret: None,
    }
}
