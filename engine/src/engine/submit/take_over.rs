//! A step of a run takes the key of its intent from an action that is over and of which nothing ever left.
//!
//! A caller that asks once more is answered with the first action, whatever became of it. A step that is tried
//! once more, because somebody resumed its run, wants the deed: where the first action was rejected, ran out
//! or never got through, the key stands for the next one from then on. What left once, or might have, keeps
//! its key for ever (invariant I15).

use std::collections::BTreeSet;

use super::claims::{Keys, Used};
use super::draft::Draft;
use super::unavailable;
use crate::action::{ActionId, Event, Status};
use crate::engine::alone::Alone;
use crate::engine::{Engine, SubmitError, may_see};
use crate::identity::Principal;
use crate::limits::REPLAY_PAGE;
use crate::store::codec;

impl Engine {
    /// Whether a draft may have a key that is held.
    pub(super) fn is_free_for(
        &self,
        by: &Principal,
        draft: &Draft<'_>,
        used: &Used,
    ) -> Result<bool, SubmitError> {
        if !draft.is_step() || !used.same || used.by_request_key {
            return Ok(false);
        }
        let holder = self.inner.store.load(used.id).map_err(unavailable)?;
        let Some(view) = holder.filter(|view| may_see(by, &view.action)) else {
            return Ok(false);
        };
        let status = view.action.status();
        if !status.is_final() || status == Status::Succeeded {
            return Ok(false);
        }
        Ok(!self.has_left(used.id)?)
    }

    /// Takes the key of the intent over where that is free for the draft. Nobody else takes it until what
    /// this answers is dropped.
    pub(super) fn take_over(
        &self,
        by: &Principal,
        draft: &Draft<'_>,
        keys: &mut Keys,
    ) -> Result<Option<Alone>, SubmitError> {
        let Some(intent) = keys.intent.clone().filter(|_| draft.is_step()) else {
            return Ok(None);
        };
        let alone = self.begin(&intent).ok_or(SubmitError::InProgress)?;
        if let Some(holder) = self.log().claim(&intent).map_err(unavailable)? {
            let used = keys.used_by(&intent, &holder)?;
            keys.taken_over = self.is_free_for(by, draft, &used)?;
        }
        Ok(Some(alone))
    }

    /// Whether anything of an action may have left: each attempt that is not known to have stayed.
    fn has_left(&self, id: ActionId) -> Result<bool, SubmitError> {
        let stream = codec::stream_of(id);
        let (mut left, mut version) = (BTreeSet::new(), 0);
        loop {
            let page = self.log().read_stream(&stream, version, REPLAY_PAGE);
            let page = page.map_err(unavailable)?;
            let Some(last) = page.last() else {
                return Ok(!left.is_empty());
            };
            version = last.version;
            for record in &page {
                let event = codec::decode_event(record).map_err(unavailable)?;
                if let Event::CommitRecorded { attempt, .. } = event {
                    left.insert(attempt);
                } else if let Event::AttemptNotDelivered { attempt, .. } = event {
                    left.remove(&attempt);
                }
            }
        }
    }
}
