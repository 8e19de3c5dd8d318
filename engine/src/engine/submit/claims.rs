//! Keys: the one of the request, which a client chooses, and the one of the intent, which the tool
//! makes. Each is claimed in the same write as the first event (invariant I15), so that of any
//! number of callers at once one is first and all others learn of it.

use std::collections::BTreeMap;

use holdpoint_storage::Claim;

use super::draft::Draft;
use super::unavailable;
use crate::action::{Action, ActionId};
use crate::canon::{CanonicalJson, Digest};
use crate::engine::alone::{claim_key, claimed};
use crate::engine::{Engine, SubmitError};
use crate::identity::Principal;
use crate::seeded::Bug;
use crate::time::Timestamp;

/// The keys of a submission, as claims.
pub(super) struct Keys {
    /// `rk/` and a digest over principal and key.
    pub(super) request: Option<Vec<u8>>,
    fingerprint: Option<Digest>,
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
    pub(super) fn of(by: &Principal, draft: &Draft<'_>) -> Self {
        let request = draft.request_key.as_ref();
        // A key that needs the state is made once more when the state is there.
        let intent = draft
            .tool
            .has_key_template()
            .then(|| draft.key().ok())
            .flatten();
        Self {
            request: request.map(|request| claim_key("rk/", &by.id, &request.key)),
            fingerprint: request.map(|request| request.fingerprint),
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
        Some(claim(self.request.as_ref()?, self.fingerprint?, id))
    }

    /// Reads what the holder of one of these keys left.
    pub(super) fn used_by(&self, key: &[u8], holder: &[u8]) -> Result<Used, SubmitError> {
        let by_request_key = self.request.as_deref() == Some(key);
        let expected = if by_request_key {
            self.fingerprint
        } else {
            Some(self.args)
        };
        let (digest, id) = claimed(holder).map_err(unavailable)?;
        Ok(Used {
            id: ActionId::from_bytes(id),
            same: expected == Some(digest),
            by_request_key,
        })
    }
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
    /// Looks the keys up, the one of the request first.
    pub(super) fn used(&self, keys: &Keys) -> Result<Option<Used>, SubmitError> {
        for key in [&keys.request, &keys.intent].into_iter().flatten() {
            if let Some(holder) = self.log().claim(key).map_err(unavailable)? {
                return keys.used_by(key, &holder).map(Some);
            }
        }
        Ok(None)
    }
}
