//! Keys: the one of the request, which a client chooses, and the one of the intent, which the tool
//! makes. Each is claimed in the same write as the first event (invariant I15), so that of any
//! number of callers at once one is first and all others learn of it.

use std::collections::BTreeMap;

use holdpoint_storage::Claim;

use super::draft::Draft;
use super::unavailable;
use crate::action::{Action, ActionId};
use crate::canon::{CanonicalJson, Digest};
use crate::engine::alone::{self, claim_key, claimed};
use crate::engine::{Engine, SubmitError};
use crate::seeded::Bug;
use crate::time::Timestamp;

/// The keys of a submission, as claims.
pub(super) struct Keys {
    /// That of the request, where the client chose one.
    request: Option<alone::Asked>,
    /// `ik/` and a digest over tool and key; none where the key is made from the action id.
    pub(super) intent: Option<Vec<u8>>,
    /// Whether the key of the intent is taken from an action that is over.
    pub(super) taken_over: bool,
    args: Digest,
    asked: Asked,
}

/// What is asked for, to be compared with what a key stands for already.
struct Asked {
    tool: String,
    args: CanonicalJson,
    reason: Option<String>,
    labels: BTreeMap<String, String>,
    not_before: Option<Timestamp>,
}

/// A key that is held already.
pub(super) struct Used {
    /// The action that holds it.
    pub(super) id: ActionId,
    /// Whether it stands for the same as what is asked for now.
    pub(super) same: bool,
    /// Which key.
    pub(super) by_request_key: bool,
}

impl Keys {
    pub(super) fn of(draft: &Draft<'_>, request: Option<alone::Asked>) -> Self {
        // A key that needs the state is made once more when the state is there.
        let intent = draft
            .tool
            .has_key_template()
            .then(|| draft.key().ok())
            .flatten();
        Self {
            request,
            intent: intent.map(|key| claim_key("ik/", &draft.tool.name, &key)),
            taken_over: false,
            // When it is to happen is part of what is asked for.
            args: match draft.not_before {
                None => draft.canonical.digest(),
                Some(moment) => Digest::of(format!("{}\n{moment}", draft.canonical).as_bytes()),
            },
            asked: Asked {
                tool: draft.tool.name.clone(),
                args: draft.canonical.clone(),
                reason: draft.reason.clone(),
                labels: draft.labels.clone(),
                not_before: draft.not_before,
            },
        }
    }

    /// The members of the request that differ from those of the first one.
    pub(super) fn differs(&self, first: &Action, by_request_key: bool) -> Vec<&'static str> {
        let (asked, was) = (&self.asked, &first.proposal);
        let mut differs = Vec::new();
        let mut compare = |member, is_same: bool| {
            if !is_same {
                differs.push(member);
            }
        };
        compare("/tool", asked.tool == was.tool);
        compare("/args", asked.args == was.args);
        compare("/not_before", asked.not_before == first.not_before);
        if by_request_key {
            compare("/reason", asked.reason == was.reason);
            compare("/labels", asked.labels == was.labels);
            if differs.is_empty() {
                // The one member of which only its effect is kept.
                differs.push("/expires_in");
            }
        }
        differs
    }

    /// Every claim of an action that is taken on.
    pub(super) fn claims(&self, id: ActionId) -> Vec<Claim> {
        if Bug::WebhookReplayAccepted.is_on() {
            return Vec::new();
        }
        let intent = self.intent.as_ref().map(|key| claim(key, self.args, id));
        self.request_claim(id).into_iter().chain(intent).collect()
    }

    /// What is given back in the same write.
    pub(super) fn releases(&self) -> Vec<Vec<u8>> {
        let intent = self.intent.iter().filter(|_| self.taken_over);
        intent.cloned().collect()
    }

    /// The claim of the request key.
    pub(super) fn request_claim(&self, id: ActionId) -> Option<Claim> {
        Some(self.request.as_ref()?.claim(id.as_bytes()))
    }

    /// Reads what the holder of one of these keys left.
    pub(super) fn used_by(&self, key: &[u8], holder: &[u8]) -> Result<Used, SubmitError> {
        match self.request.as_ref().filter(|request| request.key == key) {
            Some(request) => used_by_request(request, holder),
            None => used(self.args, false, holder),
        }
    }
}

/// What the holder of the key of a request left.
fn used_by_request(request: &alone::Asked, holder: &[u8]) -> Result<Used, SubmitError> {
    used(request.fingerprint, true, holder)
}

fn used(expected: Digest, by_request_key: bool, holder: &[u8]) -> Result<Used, SubmitError> {
    let (digest, id) = claimed(holder).map_err(unavailable)?;
    Ok(Used {
        id: ActionId::from_bytes(id),
        same: expected == digest,
        by_request_key,
    })
}

fn claim(key: &[u8], digest: Digest, id: ActionId) -> Claim {
    let mut value = digest.0.to_vec();
    value.extend_from_slice(id.as_bytes());
    Claim {
        key: key.to_vec(),
        value,
    }
}

impl Engine {
    /// Looks the key of a request up.
    pub(super) fn request_used(
        &self,
        request: Option<&alone::Asked>,
    ) -> Result<Option<Used>, SubmitError> {
        let Some(request) = request else {
            return Ok(None);
        };
        let held = request.held(self.log().as_ref()).map_err(unavailable)?;
        held.map(|holder| used_by_request(request, &holder))
            .transpose()
    }

    /// Looks the key of the intent up.
    pub(super) fn intent_used(&self, keys: &Keys) -> Result<Option<Used>, SubmitError> {
        let Some(key) = &keys.intent else {
            return Ok(None);
        };
        let held = self.log().claim(key).map_err(unavailable)?;
        held.map(|holder| keys.used_by(key, &holder)).transpose()
    }
}
