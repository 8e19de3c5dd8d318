//! How an action begins: as somebody asked for it.

use std::collections::{BTreeMap, BTreeSet};

use holdpoint_engine::action::{Event, Proposal};
use holdpoint_engine::canon::{CanonicalJson, Digest};
use serde_json::{Value, json};

use super::Model;
use super::attempt::must;
use crate::known;

impl Model {
    /// An action begins, of those that were `asked` for, under one of the tools files.
    pub(crate) fn begin(
        event: &Event,
        id: &str,
        asked: &BTreeMap<String, Vec<Value>>,
        tools: usize,
    ) -> Result<Self, String> {
        let (proposal, snapshot, request, approval, status) = match event {
            Event::Staged {
                proposal,
                snapshot,
                request,
                requirement,
                ..
            } => (
                proposal,
                snapshot.as_ref(),
                Some(request),
                Some(requirement),
                "staged",
            ),
            Event::Accepted {
                proposal,
                snapshot,
                request,
                ..
            } => (proposal, snapshot.as_ref(), Some(request), None, "accepted"),
            Event::Refused { proposal, .. } => (proposal, None, None, None, "refused"),
            other => return Err(format!("{} begins no action", other.kind())),
        };
        let (tool, args) = (&proposal.tool, proposal.args.value());
        let known = known::of(tool, tools)?;
        let reference = args["reference"].as_str().unwrap_or_default();
        let asked = asked.get(reference).map_or(&[][..], Vec::as_slice);
        let asked = asked
            .iter()
            .find(|body| body["tool"] == **tool && body["args"] == args);
        let Some(asked) = asked else {
            return Err(format!("I13: nobody asked for {tool} with {args}"));
        };
        must!(
            status == "refused" || known.approval.is_some() == approval.is_some(),
            "I3: {tool} is {status}"
        );
        let at = event.at().0;
        if let (Some(known), Some(required)) = (&known.approval, approval) {
            must!(
                required.deadline.0 == at + known.expires_ms,
                "I9: the deadline of {tool} is {:?}, asked for at {at}",
                required.deadline
            );
        }
        must!(
            proposal.digest == bound(proposal, asked["not_before"].as_str()),
            "I3: the digest of {tool} is not that of the call, its definition and who asks"
        );
        let key = known.key(id, &args);
        must!(
            proposal.idempotency_key == key,
            "I15: the key is {}, and not {key}",
            proposal.idempotency_key
        );
        let caller = &proposal.caller;
        Ok(Self {
            tool: tool.clone(),
            known,
            chosen: asked["not_before"].as_str().map(str::to_owned),
            args,
            key,
            class: proposal.class,
            askers: caller.owner.iter().chain([&caller.id]).cloned().collect(),
            asked_at: at,
            allowed_at: at,
            digest: proposal.digest,
            tool_digest: proposal.tool_digest,
            request: request.map(|request| request.digest),
            snapshot: snapshot.map(|snapshot| snapshot.digest),
            approval: approval.cloned(),
            votes: Vec::new(),
            revision: 1,
            status,
            version: None,
            quiet_at: 0,
            not_before: None,
            tries: (proposal.terms.attempts_max, 0),
            kept: None,
            is_past_asking: false,
            asked: 0,
            resend_is_planned: false,
            attempts: Vec::new(),
            statuses: vec![status],
            said: BTreeSet::new(),
        })
    }
}

/// The digest of what an approval binds to.
fn bound(proposal: &Proposal, not_before: Option<&str>) -> Digest {
    let caller = &proposal.caller;
    let mut call = json!({
        "args": proposal.args.value(),
        "caller": {
            "attributes": caller.attributes, "id": caller.id, "kind": caller.kind.name(),
            "owner": caller.owner,
        },
        "definition": proposal.tool_digest.to_string(),
        "tool": proposal.tool,
    });
    if let Some(moment) = not_before {
        call["not_before"] = json!(moment);
    }
    Digest::of(CanonicalJson::of(&call).as_str().as_bytes())
}
